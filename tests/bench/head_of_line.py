"""bench-replay, head of line: how soon a change of one table is to be seen while another table's partitions are added.

The same changes are timed on the same drain and target, first with nothing else to do, then while 10,000 partitions, an
event each, go to another table; the ratio of the medians is what the small table has to wait for the big one.
"""

from __future__ import annotations

import statistics
import time
from contextlib import closing
from pathlib import Path

from pysync.embedded import EmbeddedMetastore
from pysync.metastore.client import Metastore
from pysync.model.event import Event
from pysync.model.wire import encode_event
from pysync.queue import Entry, EventQueue
from pysync.replay.drain import Drain
from pysync.replay.translate import Translator
from pysync.targets.kinds import target_kind
from tests.bench.frame import Row, Say
from tests.bench.histories import History

_PARTITIONS = 10_000
_TIMES = 15
_POLL_SECONDS = 0.002
_PATIENCE_SECONDS = 900.0


class _Stand:
    """A drain with two tables at its target, of which one is small."""

    def __init__(self, server: EmbeddedMetastore, queue: EventQueue, lanes: int) -> None:
        kind = target_kind("hms")
        values = {"name": "target", "kind": "hms", "metastore": server.uri, "lanes": lanes}
        settings = kind.settings.model_validate(values)
        self.history = History("head_of_line", f"file:{server.warehouse}")
        self.big, self.small = self.history.table("big"), self.history.table("small")
        self.queue = queue
        self.drain = Drain(queue, settings, Translator.of(settings), lambda: kind.open(settings))
        self._changes = 0

    def visible(self, metastore: Metastore) -> float:
        """Seconds from the append of a change of the small table to the moment at which the target shows it."""
        self._changes += 1
        note = str(self._changes)
        began = time.perf_counter()
        _append(self.queue, self.history.alter(self.small, note))
        while metastore.table("head_of_line", "small").parameters.get("note") != note:
            if time.perf_counter() - began > _PATIENCE_SECONDS:
                raise TimeoutError(f"not to be seen: {self.drain.progress.status()}")
            time.sleep(_POLL_SECONDS)
        return time.perf_counter() - began

    @property
    def queued(self) -> int:
        return self.queue.depth("target").queued

    def finish(self) -> None:
        until = time.monotonic() + _PATIENCE_SECONDS
        while self.queued:
            if time.monotonic() > until:
                raise TimeoutError(f"not drained: {self.drain.progress.status()}")
            time.sleep(0.01)


def rows(server: EmbeddedMetastore, directory: Path, lanes: int, say: Say) -> list[Row]:
    """The row `replay.head_of_line`."""
    with (
        EventQueue(directory / "queue-head-of-line", min_free_bytes=0) as queue,
        closing(Metastore(server.uri)) as metastore,
    ):
        queue.register("target")
        stand = _Stand(server, queue, lanes)
        history = stand.history
        _append(queue, history.begin(), history.create(stand.big), history.create(stand.small))
        stand.drain.start()
        stand.finish()
        say("head of line: a small table alone")
        alone = [_spaced(stand, metastore) for _ in range(_TIMES)]
        stand.finish()
        say(f"head of line: a small table while {_PARTITIONS:,} partitions go to a big one")
        _append(queue, *history.ingest([stand.big], _PARTITIONS))
        behind: list[float] = []
        while stand.queued > 1 or not behind:
            behind.append(_spaced(stand, metastore))
        stand.drain.stop()
        stand.drain.join(60)
    found = statistics.median(behind)
    say(f"head of line: {len(behind)} changes, median {found:.3f} s; alone {statistics.median(alone):.3f} s")
    return [Row("replay.head_of_line", found / statistics.median(alone), "times alone", goal=2.0)]


def _spaced(stand: _Stand, metastore: Metastore) -> float:
    """One change, a moment after the last: as clients make them, not in the pace of the drain."""
    time.sleep(0.25)
    return stand.visible(metastore)


def _append(queue: EventQueue, *events: Event) -> None:
    queue.append_all([Entry(event.instance, event.sequence, event.source, encode_event(event)) for event in events])
