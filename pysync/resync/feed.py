"""Feed: brings refreshes into the queue, in chunks, at a pace, and never far ahead of the targets.

The healer has one, and the job of each target (pysync.resync.job).
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from pysync.resync.refreshes import Refreshes
from pysync.resync.wanted import Names

# One transaction of the queue each; a bootstrap notes its progress after each, so a kill repeats few.
_CHUNK = 50
_AHEAD = 500
"""Refreshes that may wait in the queue at most: later changes wait behind them, and a kill repeats them."""
_AHEAD_SECONDS = 5.0
"""For so long a later change waits behind refreshes, about: a target that is slow, or limited, gets fewer at a time."""
_LEAST = 50  # whatever the rate is: all lanes have work
_EVERY_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Fed:
    """How many refreshes were queued, a position that none of them is behind, and whether they are all."""

    refreshes: int
    upto: int
    whole: bool


@dataclass(slots=True)
class Feed:
    """For one thread. `stopping` ends it within a moment.

    `done` returns the position up to which the slowest of its targets has everything. `meanwhile` is called while it
    waits, several times a second. `tables_per_second` limits how many tables are queued for reading.
    """

    refreshes: Refreshes
    stopping: threading.Event
    done: Callable[[], int]
    tables_per_second: float = math.inf
    meanwhile: Callable[[], object] = lambda: None
    _waiting: deque[tuple[int, int]] = field(default_factory=deque)  # of each chunk: its last position, its length
    _most_ahead: int = _LEAST
    _measured: tuple[float, int] = (0.0, 0)  # since when (monotonic seconds) how many were finished

    def queue(
        self,
        wanted: Iterable[Names],
        *,
        live_source: bool = True,
        queued: Callable[[Sequence[Names]], object] = lambda _: None,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> Fed:
        """Queue the wanted refreshes, which are read lazily; `queued` gets each chunk that is on disk.

        Ends early if it is stopped, or if `goes_on` returns False. Raises as Refreshes.ask, and what reading raises;
        what was queued by then stays queued.
        """
        upto, count, names = self.refreshes.upto, 0, iter(wanted)
        self._measured = (time.monotonic(), 0)
        while chunk := list(islice(names, _CHUNK)):
            upto = self.refreshes.ask(chunk, live_source=live_source)
            count += len(chunk)
            self._waiting.append((upto, len(chunk)))
            queued(chunk)
            if not self._keep_pace() or not goes_on():
                return Fed(count, upto, whole=False)
        return Fed(count, upto, whole=True)

    def _keep_pace(self) -> bool:
        """Keep the pace and wait for the targets; False if it is time to stop."""
        self.stopping.wait(_CHUNK / self.tables_per_second)
        self.meanwhile()
        while self._unfinished() > self._most_ahead and not self.stopping.is_set():
            self.stopping.wait(_EVERY_SECONDS)
            self.meanwhile()
        return not self.stopping.is_set()

    def _unfinished(self) -> int:
        """How many refreshes wait for the slowest target. Other events, of which there may be many, do not count."""
        done, finished = self.done(), 0
        while self._waiting and self._waiting[0][0] <= done:
            finished += self._waiting.popleft()[1]
        if finished:
            self._measure(finished)
        return sum(count for _, count in self._waiting)

    def _measure(self, finished: int) -> None:
        """Let as many wait as the slowest target finishes in `_AHEAD_SECONDS`, by its rate of the last seconds."""
        (since, before), now = self._measured, time.monotonic()
        rate = (before + finished) / max(now - since, _EVERY_SECONDS)
        self._most_ahead = min(_AHEAD, max(_LEAST, int(rate * _AHEAD_SECONDS)))
        self._measured = (since, before + finished) if now - since < _AHEAD_SECONDS else (now, 0)
