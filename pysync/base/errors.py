"""What a person reads when pysync refuses: one line that says what, where, and what to do.

PysyncError        exit code 1: the world is not as it should be
└── UsageError     exit code 2: the configuration or the command line is not
"""

from __future__ import annotations


class PysyncError(Exception):
    """A refusal, in one line: `message`, and in `hint` what to do about it."""

    exit_code: int = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class UsageError(PysyncError):
    """The configuration or the arguments are wrong: nothing was begun."""

    exit_code: int = 2
