"""Changes: what the writes of an operation have changed, for the journal; and who hears of it before tables change."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext

from pysync.model.difference import Difference, left_out
from pysync.model.names import TableName

MOST = 20
"""Fields that are noted between two calls of `take`."""

Redefining = Callable[[Collection[TableName]], AbstractContextManager[None]]
"""Called with tables, or views, by their names at the target; its context is the write that redefines them."""


class Changes:
    """What was written since it was last taken. Used by one thread at a time."""

    def __init__(self) -> None:
        self._differences: list[Difference] = []
        self._left_out = 0
        self.redefining: Redefining = lambda _: nullcontext()

    def note(self, *differences: Difference) -> None:
        """Note some, as long as there is room; count the others."""
        room = MOST - len(self._differences)
        self._differences += differences[:room]
        self._left_out += len(differences[room:])

    def take(self) -> list[Difference]:
        """All of them, which are forgotten then. Of more than MOST the last one says how many are left out."""
        differences, self._differences = self._differences, []
        number, self._left_out = self._left_out, 0
        return [*differences[:-1], left_out(number + 1)] if number else differences
