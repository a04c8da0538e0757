"""What Athena's failures mean: by the type of the failure, then the text of the reason, then the category.

A failure that is the statement's own is a refusal: it would be repeated, and the Glue API may do what was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pysync.base.errors import PysyncError
from pysync.targets.answers import Answer, answer
from pysync.targets.aws.errors import of_code
from pysync.targets.base import Forbidden, Missing, OutcomeUnknown, Rejected, Unavailable

_VERSIONS = 1402  # too many versions of a table, which waiting does not cure
_VERSIONS_HINT = "Athena DDL keeps every table version: delete old versions, or have the Glue API alter tables"
_DENIED_HINT = "grant the permission to the role of pysync"
_USER, _SYSTEM = 2, 1
"""Categories of failures: the statement's fault, and Athena's own."""
_DDL_FAILED = 1003


# How errors of other services come through: the status is not in every message.
_WRAPPED = re.compile(r"(?:Status Code: (?P<status>[0-9]{1,3}); )?Error Code: (?P<name>\w+)[;)]")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a statement ended: Athena's state, reason and, where it gives them, type and category of the failure."""

    state: str
    reason: str = ""
    type: int | None = None
    category: int | None = None

    @property
    def succeeded(self) -> bool:
        """Whether it was done."""
        return self.state == "SUCCEEDED"

    @property
    def is_final(self) -> bool:
        """Whether nothing more comes of it."""
        return self.state in {"SUCCEEDED", "FAILED", "CANCELLED"}


def _typed(*numbers: int) -> Callable[[Ending], bool]:
    return lambda it: it.type in numbers


def _reason_has(pattern: str) -> Callable[[Ending], object]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda it: compiled.search(it.reason)


_TYPES: Sequence[Answer[Ending]] = (
    Answer(lambda it: it.state != "FAILED", OutcomeUnknown),  # somebody cancelled it, and nobody says how far it was
    Answer(_typed(_VERSIONS), Rejected, _VERSIONS_HINT),
    Answer(_typed(*range(1400, 1407)), Unavailable),  # throttled
    Answer(_typed(234, 1500, 1501), Forbidden, _DENIED_HINT),
    Answer(_typed(1110, 1301), Missing),
    Answer(_typed(1006), Rejected),  # a syntax error
    Answer(_typed(*range(100, 500)), OutcomeUnknown),  # an error of Athena's own
)


# For almost every failure the type is only "the DDL failed" (1003): then the text decides. A parser's message
# comes first, as it quotes what it could not read, which may look like any of the others.
_REASONS: Sequence[Answer[Ending]] = (
    Answer(_reason_has(r"ParseException|mismatched input|no viable alternative|extraneous input"), Rejected),
    Answer(_reason_has(r"Rate exceeded|Throttl|TooManyRequests|SlowDown|reduce your request rate"), Unavailable),
    Answer(_reason_has(r"Number of TABLE_VERSION|ResourceNumberLimitExceeded"), Rejected, _VERSIONS_HINT),
    Answer(
        _reason_has(r"Insufficient (Lake Formation )?permission|Access ?Denied|not authorized"),
        Forbidden,
        _DENIED_HINT,
    ),
    Answer(_reason_has(r"ExpiredToken|UnrecognizedClient|InvalidClientTokenId"), Unavailable),
    Answer(
        _reason_has(r"\[Error 100(01|72)\]|Database does not exist|(Database|Table|Schema) \S* ?not found"), Missing
    ),
    Answer(_reason_has(r"InternalService|InternalFailure|ServiceUnavailable|OperationTimeout"), OutcomeUnknown),
    Answer(_reason_has(r"Unable to execute HTTP request|Connection (reset|refused)|timed out"), OutcomeUnknown),
    Answer(
        _reason_has(r"(Semantic|AlreadyExists|Invalid\w{1,60}|NoSuchObject|EntityNotFound|Validation)Exception"),
        Rejected,
    ),
    Answer(_reason_has(r"Unable to alter|not supported"), Rejected),
    # Whatever else it says: that a serde is unknown, a schema cannot be read, a bucket is not there.
    Answer(lambda it: it.category == _USER or it.type == _DDL_FAILED, Rejected),
    Answer(lambda it: it.category == _SYSTEM, OutcomeUnknown),
)


def failure(ending: Ending, action: str) -> PysyncError:
    """The error of a target for a statement with this ending; `action` names the statement and the target."""
    if not any(row.match(ending) for row in _TYPES):
        wrapped = _wrapped(ending, action)
        if wrapped is not None:
            return wrapped
    return answer((*_TYPES, *_REASONS), ending).error(action, ending.reason or ending.state)


def _wrapped(ending: Ending, action: str) -> PysyncError | None:
    """The error of another service that made the statement fail, if it names one whose meaning is known."""
    match = _WRAPPED.search(ending.reason)
    if match is None:
        return None
    error = of_code(match["name"], ending.reason, action, int(match["status"] or 0))
    return error if type(error) is not PysyncError else None
