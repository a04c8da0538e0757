"""Differences between the rows of a view in Hive and in Athena that a person may accept, each by an id.

A rule that has only a translation with such a difference calls `accept`, which refuses the view unless the difference
is among those of the setting `views_accept`, and else notes that the view has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from pysync.hiveql.refusal import CannotTranslate

DIFFERENCES: Mapping[str, str] = {
    "char-blanks": "a char ends with blanks, which never count, where Hive leaves them out or counts them in places",
    "decimal-average": "an average of decimals is a number where Hive 3.1 makes it NULL for lack of digits",
    "double-text": "a double as text may have other last digits; a float has seven",
    "json-text": "in JSON, a long or large double may have other last digits, and an object with equal keys another "
    "order; without this, Athena fails there",
    "negative-zero": "0.0 and -0.0 are equal, where Hive may take them for two values",
    "percentile": "an approximate percentile is another value near the exact one",
    "regexp-group": "a repeated group of a pattern may hold another part of the match",
}
"""What a person may accept, by id: a sentence that says what may differ."""


@dataclass(slots=True)
class _Acceptance:
    """What may differ in the view that is translated now, and what does."""

    ids: Collection[str]
    used: set[str] = field(default_factory=set)


# The rules are functions of an expression's operands. This says for all of them what a person accepts.
_ACCEPTED: ContextVar[_Acceptance] = ContextVar("_ACCEPTED")


@contextmanager
def accepting(ids: Collection[str]) -> Iterator[set[str]]:
    """Accept the differences with these ids in the block; yields a set that gets the ids of those that it has."""
    acceptance = _Acceptance(ids)
    token = _ACCEPTED.set(acceptance)
    try:
        yield acceptance.used
    finally:
        _ACCEPTED.reset(token)


def accept(difference: str, reason: str) -> None:
    """Note that the view has this difference. Raises CannotTranslate, with the reason, if it is not accepted."""
    if not accepts(difference):
        raise CannotTranslate(reason, difference=difference)


def accepts(difference: str) -> bool:
    """Whether this difference is accepted; then the view has it. For a rule that has a translation without it, too."""
    acceptance = _ACCEPTED.get(None)
    if acceptance is None or difference not in acceptance.ids:
        return False
    acceptance.used.add(difference)
    return True


def in_words(ids: Collection[str]) -> str:
    """`double-text: a double or float as text may have other last digits; …`, in the order of the table."""
    return "; ".join(f"{it}: {words}" for it, words in DIFFERENCES.items() if it in ids)


def with_differences(comment: str | None, ids: Collection[str]) -> str | None:
    """The comment of a view at the target, which names the differences."""
    return " ".join(filter(None, (comment, f"(accepted: {in_words(ids)})"))) if ids else comment


def differences_in(comment: str | None) -> Sequence[str]:
    """The ids that `with_differences` has put into a comment."""
    return [it for it, words in DIFFERENCES.items() if f"{it}: {words}" in (comment or "")]
