"""Answers: what the errors of a place mean to the replay. Each kind of target has one table of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pysync.base.errors import PysyncError
from pysync.base.text import one_line
from pysync.targets.base import OutcomeUnknown, Unavailable

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Answer(Generic[E]):
    """A row of such a table: errors that `match` are of this kind (pysync.targets.base), and `hint` says what to do."""

    match: Callable[[E], object]
    kind: type[PysyncError]
    hint: str | None = None

    def error(self, action: str, message: object, *, reading: bool = False) -> PysyncError:
        """The error to raise: `action` was tried, and the place answered with `message`.

        Where nothing could have been changed (`reading`), there is no unknown outcome: then it is Unavailable.
        """
        kind = Unavailable if reading and self.kind is OutcomeUnknown else self.kind
        return kind(one_line(f"{action}: {message}"), self.hint)


def answer(table: Sequence[Answer[E]], error: E) -> Answer[E]:
    """The first row that matches; a plain PysyncError if nobody has classified this error."""
    return next((row for row in table if row.match(error)), Answer(lambda _: True, PysyncError))
