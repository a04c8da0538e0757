"""Verdict: what a wait has come to, so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

THERE, WAITS, CANNOT = "there", "waits", "cannot"


@dataclass(frozen=True, slots=True)
class WaitVerdict:
    """`state` is one of the three; `code` is one of those in docs/verify.md, `hint` a command to type.

    `position` is the event up to which the target has, or has to have, everything; None while that is not known.
    """

    state: str
    code: str
    text: str
    hint: str | None = None
    position: int | None = None
    more: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """As in docs/verify.md."""
        fields = {"state": self.state, "code": self.code, "text": self.text, "hint": self.hint}
        return {**fields, "position": self.position, **self.more}


def waits(code: str, text: str, hint: str | None = None, position: int | None = None) -> WaitVerdict:
    """It may still come."""
    return WaitVerdict(WAITS, code, text, hint, position)


def cannot(code: str, text: str, hint: str | None = None, position: int | None = None, **more: Any) -> WaitVerdict:
    """It does not come by itself: somebody has to do something first."""
    return WaitVerdict(CANNOT, code, text, hint, position, more)
