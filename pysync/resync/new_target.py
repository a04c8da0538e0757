"""New targets: the queue knows nothing of what they have, so they get everything in scope."""

from __future__ import annotations

from collections.abc import Callable

from pysync.model.reread import RereadRequest
from pysync.queue import EventQueue, Resync
from pysync.queue.gaps import new_gaps
from pysync.resync.bootstrap import Bootstrap
from pysync.resync.own_gaps import OwnGaps
from pysync.resync.refreshes import Refreshes
from pysync.resync.trigger import ResyncRequest
from pysync.resync.wanted import RefreshScope

_PATIENCE_SECONDS = 60.0
"""How long a comparison waits for listeners that still have older events: those would undo some of it for a while."""


class NewTarget(OwnGaps):
    """A target that the queue did not know: what the source had before is in no event.

    A `bootstrap` of it does the same. `settled` says whether no listener has anything left to send, and `listens`
    whether changes are captured already. `relays`: targets pass on what they get, so clusters behind them must know.
    `timer` returns seconds that only grow.
    """

    name = "new_target"

    def __init__(
        self,
        queue: EventQueue,
        refreshes: Refreshes,
        scope: RefreshScope,
        bootstrap: Bootstrap,
        *,
        settled: Callable[[], bool],
        listens: Callable[[], bool],
        relays: bool,
        timer: Callable[[], float],
    ) -> None:
        super().__init__(queue, new_gaps(bootstrap.target), scope)
        self._refreshes = refreshes
        self._bootstrap = bootstrap
        self._settled = settled
        self._listens = listens
        self._relays = relays
        self._timer = timer
        self._waits_since: float | None = None

    def due(self, last: Resync | None, now: float) -> ResyncRequest | None:
        """None while a bootstrap does it."""
        return None if self._bootstrap.is_unfinished else super().due(last, now)

    def is_ready(self) -> bool:
        """Whether nothing older is to come, or was awaited long enough, and changes are captured."""
        if self._bootstrap.is_unfinished or not self._listens():
            return False
        now = self._timer()
        self._waits_since = self._waits_since if self._waits_since is not None else now
        return self._settled() or now - self._waits_since > _PATIENCE_SECONDS

    def all_queued(self, resync: Resync) -> bool:
        """Have the targets pass on that they may lack changes of this cluster, too."""
        if self._relays and self._open():
            self._refreshes.ask([RereadRequest("", home=self._refreshes.source).attributes()])
        return super().all_queued(resync)
