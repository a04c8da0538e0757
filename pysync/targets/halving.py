"""Halving: a batch that a place refuses is written by halves, so that only what it refuses of it is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from pysync.base.errors import PysyncError
from pysync.targets.base import Forbidden, OutcomeUnknown, Rejected, Unavailable

ENOUGH = 10
"""Refused items after which no other is tried: then it may be their table that is wrong."""

T = TypeVar("T")


class Halving(Generic[T]):
    """The writing of one batch. `write` writes some items in one call, all or none.

    `error_of` gives the error of pysync.targets.base for what `write` has raised about these items; it raises what is a
    bug of ours. An error that may pass is raised as it came: another half would meet it, too.
    """

    def __init__(
        self, write: Callable[[Sequence[T]], object], error_of: Callable[[Exception, Sequence[T]], PysyncError]
    ) -> None:
        self._write = write
        self._error_of = error_of
        self._refused: list[tuple[T, PysyncError]] = []
        self._is_any_written = False

    def write(self, items: Sequence[T]) -> None:
        """Write them, or those of them that are not refused, until ENOUGH are."""
        if not items or len(self._refused) >= ENOUGH:
            return
        error = self._error_in(items)
        if error is None:
            self._is_any_written = True
        elif len(items) == 1:
            self._refused.append((items[0], error))
        else:
            middle = len(items) // 2
            self.write(items[:middle])
            self.write(items[middle:])

    @property
    def refused(self) -> list[tuple[T, PysyncError]]:
        """The items that were refused, each alone, with the error.

        An answer that nobody has classified is a refusal if it was about this item, and others were written.
        """
        return [(item, _as_refusal(error) if self._is_any_written else error) for item, error in self._refused]

    def _error_in(self, items: Sequence[T]) -> PysyncError | None:
        try:
            self._write(items)
        except Exception as raised:
            error = self._error_of(raised, items)
            if may_pass(error):
                raise
            return error
        return None


def may_pass(error: PysyncError) -> bool:
    """Whether it is about the place and not about what was asked. A permission may be missing for one object."""
    return isinstance(error, (Unavailable, OutcomeUnknown)) and not isinstance(error, Forbidden)


def _as_refusal(error: PysyncError) -> PysyncError:
    if isinstance(error, (Rejected, Forbidden)):
        return error
    refusal = Rejected(error.message, error.hint)
    refusal.__cause__ = error.__cause__
    return refusal
