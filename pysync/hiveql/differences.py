"""Differences between the rows of a view in Hive and in Athena that a person may accept, each by an id.

A rule that has only a translation with such a difference calls `accept`, which refuses the view unless the difference
is among those of the setting `views_accept`, and else notes that the view has it. A rule that is right but at a few
values calls `accepts`, and has Athena fail at these with an error of `fails_without` unless the difference is accepted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from pysync.hiveql.refusal import CannotTranslate

DIFFERENCES: Mapping[str, str] = {
    "char-blanks": "a char ends with blanks, which never count, where Hive leaves them out or counts them in places",
    "decimal-average": "an average of decimals is a number of its type where Hive 3.1 makes it NULL for lack of "
    "digits, or has more",
    "double-text": "a double as text may have other last digits; a float has seven",
    "json-text": "in JSON, a long or large double may have other last digits, and an object with equal keys, or "
    "one of an array, another order; without this, Athena fails there",
    "negative-zero": "0.0 and -0.0 are equal, where Hive may take them for two values",
    "odd-time": "a time before 1900 or after 9999 may be another one, and a text that is no time written in full, or "
    "has a zone, NULL or midnight; without this, Athena fails there",
    "odd-url": "parts of a URL of jar or mailto, with an address of IPv6 or a wrong host, may be others; without this, "
    "Athena fails there",
    "percentile": "an approximate percentile is one of the values near it, where Hive takes one between two of them",
    "regexp-group": "a repeated group of a pattern may hold another part of the match",
}
"""What a person may accept, by id: a sentence that says what may differ."""


@dataclass(slots=True)
class _Acceptance:
    """What may differ in the view that is translated now, and what does."""

    ids: Collection[str]
    used: set[str] = field(default_factory=set)
    failing: set[str] = field(default_factory=set)


# The rules are functions of an expression's operands. This says for all of them what a person accepts.
_ACCEPTED: ContextVar[_Acceptance] = ContextVar("_ACCEPTED")


@contextmanager
def accepting(ids: Collection[str]) -> Iterator[tuple[set[str], set[str]]]:
    """Accept the differences with these ids in the block.

    Yields two sets that get ids: those of the differences that a view has, and those without which Athena fails.
    """
    acceptance = _Acceptance(ids)
    token = _ACCEPTED.set(acceptance)
    try:
        yield acceptance.used, acceptance.failing
    finally:
        _ACCEPTED.reset(token)


def accept(difference: str, reason: str) -> None:
    """Note that the view has this difference. Raises CannotTranslate, with the reason, if it is not accepted."""
    acceptance = _ACCEPTED.get(None)
    if acceptance is None or difference not in acceptance.ids:
        raise CannotTranslate(reason, difference=difference)
    acceptance.used.add(difference)


def accepts(difference: str) -> bool:
    """Whether this difference is accepted: then the view has it, else Athena fails at some values. Notes which."""
    acceptance = _ACCEPTED.get(None)
    if acceptance is None:
        return False
    is_accepted = difference in acceptance.ids
    (acceptance.used if is_accepted else acceptance.failing).add(difference)
    return is_accepted


def fails_without(difference: str, words: str, value: str) -> str:
    """A bigint of Trino that is never one: an error with these words and the value, a text; NULL if the value is."""
    return f"CAST(concat('{words} (see {difference} of views_accept): ', {value}) AS bigint)"


def in_words(ids: Collection[str]) -> str:
    """`double-text: a double or float as text may have other last digits; …`, in the order of the table."""
    return "; ".join(f"{it}: {words}" for it, words in DIFFERENCES.items() if it in ids)


def with_differences(comment: str | None, ids: Collection[str]) -> str | None:
    """The comment of a view at the target, which names the differences."""
    return " ".join(filter(None, (comment, f"(accepted: {in_words(ids)})"))) if ids else comment


def differences_in(comment: str | None) -> Sequence[str]:
    """The ids that `with_differences` has put into a comment."""
    return [it for it, words in DIFFERENCES.items() if f"{it}: {words}" in (comment or "")]
