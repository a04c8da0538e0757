"""Gaps that concern one target alone: everything in scope is refreshed for that target, which closes them."""

from __future__ import annotations

import json

from pysync.metastore.reads import Reads
from pysync.model.names import TableName
from pysync.queue import EventQueue, Gap, Resync
from pysync.resync.trigger import ResyncRequest, Trigger, Wanted
from pysync.resync.wanted import RefreshScope, everything


class OwnGaps(Trigger):
    """The gaps whose keys begin with `begin`. One that opens while another is being closed begins it anew."""

    def __init__(self, queue: EventQueue, begin: str, scope: RefreshScope) -> None:
        self._queue = queue
        self._begin = begin
        self._scope = scope

    def due(self, last: Resync | None, now: float) -> ResyncRequest | None:  # noqa: ARG002
        """The newest gap that nothing closes yet; one may open again, too."""
        gaps = self._open()
        if not gaps:
            return None
        request = ResyncRequest(gaps[-1].reason, json.dumps({"gap": gaps[-1].key}))
        return None if last is not None and last.is_queueing and last.scope == request.scope else request

    def wanted(self, source: Reads, resync: Resync) -> Wanted:
        """Everything in scope behind the cursor; nothing if the gaps are closed by something else meanwhile."""
        after = TableName(*resync.cursor) if resync.cursor else None
        return Wanted(everything(source, self._last, scope=self._scope, after=after) if self._open() else iter(()))

    def all_queued(self, resync: Resync) -> bool:  # noqa: ARG002
        """The gaps wait only for the target now."""
        self._queue.gaps.healed_by([gap.key for gap in self._open()], self._queue.last)
        return True

    def _open(self) -> list[Gap]:
        return [it for it in self._queue.gaps.unclosed() if it.upto is None and it.key.startswith(self._begin)]

    def _last(self) -> int:
        return self._queue.last
