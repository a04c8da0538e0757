"""What Athena's failures mean, in this order: the code of the call, the type of the failure, the text of the reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from pysync.errors import PysyncError
from pysync.targets.aws.errors import of_code
from pysync.targets.base import Forbidden, Missing, OutcomeUnknown, Rejected, Unavailable

_LONGEST = 500  # characters: a message travels in logs, in status and on the web page

_DENIED = frozenset({234, 1500, 1501})
_VERSIONS = 1402  # too many versions of a table, which waiting does not cure
_THROTTLED = frozenset(range(1400, 1407)) - {_VERSIONS}
_MISSING = frozenset({1110, 1301})
_SYNTAX = 1006
_SYSTEM = range(100, 500)

_VERSIONS_HINT = "statements keep every version of a table: delete old ones, or leave alters to the Glue API"
_DENIED_HINT = "grant it to the role that pysync works as"

_WRAPPED = re.compile(r"Error Code: (\w+)[;)]")
_Kind = tuple[type[PysyncError], str | None]

# For almost every failure the type is only "the DDL failed" (1003): then the text tells them apart. A parser's message
# comes first, as it quotes what it could not read, which may look like any of the others.
_REASONS: tuple[tuple[str, _Kind], ...] = (
    (r"ParseException|mismatched input|no viable alternative|extraneous input", (Rejected, None)),
    (r"Rate exceeded|Throttl|TooManyRequests|SlowDown|reduce your request rate", (Unavailable, None)),
    (r"Number of TABLE_VERSION|ResourceNumberLimitExceeded", (Rejected, _VERSIONS_HINT)),
    (r"Insufficient (Lake Formation )?permission|Access ?Denied|not authorized", (Forbidden, _DENIED_HINT)),
    (r"ExpiredToken|UnrecognizedClient|InvalidClientTokenId", (Unavailable, None)),
    (r"\[Error 100(01|72)\]|Database does not exist|(Database|Table|Schema) \S* ?not found", (Missing, None)),
    (r"InternalService|InternalFailure|ServiceUnavailable|OperationTimeout", (OutcomeUnknown, None)),
    (r"(Semantic|AlreadyExists|Invalid\w+|NoSuchObject|EntityNotFound|Validation)Exception", (Rejected, None)),
    (r"Unable to alter|not supported", (Rejected, None)),
)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a statement ended: Athena's state, reason and, where it gives one, the type of the failure."""

    state: str
    reason: str = ""
    type: int | None = None

    @property
    def succeeded(self) -> bool:
        """Whether it was done."""
        return self.state == "SUCCEEDED"

    @property
    def is_final(self) -> bool:
        """Whether nothing more comes of it."""
        return self.state in {"SUCCEEDED", "FAILED", "CANCELLED"}


def failure(ending: Ending, what: str) -> PysyncError:
    """The error of a target for a statement with this ending; `what` says which statement, and where."""
    line = _line(f"{what}: {ending.reason or ending.state}")
    if ending.state != "FAILED":
        return OutcomeUnknown(line)  # somebody cancelled it, and nobody says how far it was
    known = _of_type(ending.type)
    if known is not None:
        return known[0](line, known[1])
    wrapped = _WRAPPED.search(ending.reason)
    if wrapped is not None:
        return of_code(wrapped[1], ending.reason, what)
    for pattern, (kind, hint) in _REASONS:
        if re.search(pattern, ending.reason, re.IGNORECASE):
            return kind(line, hint)
    return PysyncError(line)


def _of_type(number: int | None) -> _Kind | None:
    """The kind that the number alone tells; None where the text must."""
    if number is None:
        return None
    return next((found for is_one, found in _TYPES if is_one(number)), None)


_TYPES: tuple[tuple[Callable[[int], bool], _Kind], ...] = (
    (_THROTTLED.__contains__, (Unavailable, None)),
    (_DENIED.__contains__, (Forbidden, _DENIED_HINT)),
    (_MISSING.__contains__, (Missing, None)),
    (_VERSIONS.__eq__, (Rejected, _VERSIONS_HINT)),
    (_SYNTAX.__eq__, (Rejected, None)),
    (_SYSTEM.__contains__, (OutcomeUnknown, None)),
)


def _line(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"
