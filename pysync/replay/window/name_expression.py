"""NameExpression: a regular expression of a policy, which whole names match or not. Pure.

RE2 matches it, in a time that is linear in the name, whatever the expression is. With an engine that backtracks, one
name that somebody gives a table at the source could stop the process for ever.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from typing import Any

import re2

from pysync.base.errors import UsageError

_OPTIONS = re2.Options()
_OPTIONS.case_sensitive = False
_OPTIONS.log_errors = False  # else C++ writes to stderr


@dataclass(frozen=True, slots=True)
class NameExpression:
    """Matches whole names, in any case, as Hive does. Raises UsageError, which says why, if it is none."""

    text: str
    _compiled: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_compiled", _compiled(self.text))

    def fullmatch(self, name: str) -> bool:
        """Whether the whole name matches."""
        return self._compiled.fullmatch(_as_bytes(name)) is not None


def _compiled(text: str) -> Any:
    if reason := _not_as_in_hive(text):
        raise UsageError(reason)
    try:
        return re2.compile(_as_bytes(text), _OPTIONS)
    except re2.error as error:
        raise UsageError(f"{error.args[0].decode()} (RE2 has no lookaround, and no references to groups)") from error


def _not_as_in_hive(text: str) -> str:
    """What RE2 takes for characters, and Java, and so Hive, does not; empty if there is nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            re.compile(text)
    except FutureWarning:
        return "sets within sets, and &&, are not supported"
    except OverflowError:
        return "a repetition is too large"
    except re.error:
        pass  # RE2 says what is wrong, if it does not take it
    return ""


def _as_bytes(text: str) -> bytes:
    """Also of half a character, which a name from outside may have."""
    return text.encode(errors="surrogatepass")
