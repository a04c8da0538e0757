"""Look back: when the last ids of the log are read again, and not only what is behind them.

An event may yet come that shares one of these ids (`reader`). Where they are costly to read, that is done seldom: a row
of 40 MB, or one that the metastore cannot send, would otherwise be asked for at each turn while it is among them.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from pysync.capture.notifications.reader import LOOK_BACK

SETTLE_SECONDS = 60.0
"""For so long after the last event the last ids are read again; and so long after they were, if they are costly."""
_COSTLY_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, order=True)
class Turn:
    """A turn of the poller: its number, and when it began, in monotonic seconds."""

    number: int = 0
    began: float = -math.inf


class LookBack:
    """What one poller knows of it. `ask` is for any thread, all else for the poller's."""

    def __init__(self) -> None:
        self.latest = Turn()
        """The turn that has looked back last."""
        self._up_to, self._is_costly, self._asked = 0, False, 0
        self.event_came()

    def event_came(self) -> None:
        """Another may come that shares its id."""
        self._settled_at = time.monotonic() + SETTLE_SECONDS

    def ask(self, turn: int) -> None:
        """Have the turn of this number look back, whatever it costs: somebody waits for all that the log has now."""
        self._asked = max(self._asked, turn)

    def is_over(self, last: int, current: int) -> bool:
        """Whether nothing is expected; `last` is the highest id that was read, `current` that of the log."""
        return current == last and self.latest.began >= self._settled_at

    def is_due(self, last: int, current: int) -> bool:
        """Whether to look back now, by the same ids."""
        if self.is_over(last, current):
            return False
        if current < last:  # a log that was begun again shows by ids that were read
            return True
        since = time.monotonic() - self.latest.began
        is_long_ago = since >= SETTLE_SECONDS or last - self._up_to >= LOOK_BACK // 2
        return not self._is_costly or is_long_ago or self._asked > self.latest.number

    def done(self, turn: Turn, last: int, size: int, refused: int) -> None:
        """A turn has looked back, from this id on: so many bytes came, and so many requests were refused."""
        self.latest, self._up_to = turn, last
        self._is_costly = bool(refused) or size > _COSTLY_BYTES
