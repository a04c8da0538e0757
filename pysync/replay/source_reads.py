"""Source reads: which objects of a target were lately brought to what the source had, and when.

Such an object may show more than the events that the target has: a consistent point must know.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pysync.model.names import TableName
from pysync.model.snapshot import Snapshot

_MOST = 20_000


class SourceReads:
    """When objects were read at the source last, by their keys at the target; from any thread. Bounded.

    `clock` returns seconds that only grow. `snapshots` are those whose rows the target has of transactional tables, by
    their names at the source.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: OrderedDict[str, float] = OrderedDict()
        self._forgotten = -math.inf  # when the latest of those was read that are forgotten
        self._lock = threading.Lock()
        self.snapshots: dict[TableName, Snapshot] = {}

    @contextmanager
    def of(self, key: str) -> Iterator[None]:
        """While an object is read, and the target brought to it."""
        self._note(key)
        try:
            yield
        finally:
            self._note(key)

    def since(self, when: float) -> set[str] | None:
        """The objects that were read at `when` or later; None if there were too many to remember."""
        with self._lock:
            return None if self._forgotten >= when else {key for key, at in self._last.items() if at >= when}

    def rename(self, old: TableName, new: TableName) -> None:
        """The target has the rows of a transactional table under another name, `new` at the source."""
        if (snapshot := self.snapshots.pop(old, None)) is not None:
            self.snapshots[new] = snapshot

    def _note(self, key: str) -> None:
        with self._lock:
            self._last[key] = self._clock()
            self._last.move_to_end(key)
            while len(self._last) > _MOST:
                self._forgotten = self._last.popitem(last=False)[1]
