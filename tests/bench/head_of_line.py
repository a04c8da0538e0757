"""bench-replay, head of line: how soon a change of one table is to be seen while another table's partitions are added.

The same changes are timed on the same drain and target, first with nothing else to do, then while 10,000 partitions, an
event each, go to another table; the ratio of the medians is what the small table has to wait for the big one. Its
baseline is the ratio without pysync, by plain calls of two clients: the server is not as quick either while it is busy.
"""

from __future__ import annotations

import itertools
import statistics
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Protocol

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab import EmbeddedMetastore
from pysync.metastore.client import PARTITIONS_PER_CALL, Metastore
from pysync.model.event import Event
from pysync.model.wire import encode_event
from pysync.queue import Entry, EventQueue
from pysync.replay.drain import Drain
from pysync.replay.replayer import Replayer
from pysync.replay.window.translate import Translator
from pysync.targets.kinds import target_kind
from tests.bench.frame import Row, Say
from tests.bench.histories import History

_DATABASE = "head_of_line"
_PARTITIONS = 10_000
_TIMES = 15
_POLL_SECONDS = 0.002
_PATIENCE_SECONDS = 900.0


class _Tables(Protocol):
    """A big and a small table, and a way to change them."""

    def change(self, note: str) -> None:
        """Ask for the small one's parameter `note` to be that."""

    def fill(self) -> None:
        """Begin to add the partitions of the big one."""

    @property
    def filling(self) -> bool:
        """Whether some of them are still to come."""

    @property
    def small(self) -> str:
        """The name of the small one."""


class _Drained:
    """By way of a drain: events in its queue."""

    small = "small"

    def __init__(self, server: EmbeddedMetastore, queue: EventQueue, lanes: int) -> None:
        kind = target_kind("hms")
        values = {"name": "target", "kind": "hms", "metastore": server.uri, "lanes": lanes}
        settings = kind.settings.model_validate(values)
        self._history = History(_DATABASE, f"file:{server.warehouse}")
        self._big, self._small = self._history.table("big"), self._history.table(self.small)
        self._queue = queue
        self.drain = Drain(Replayer(queue, settings, Translator.of(settings)), lambda: kind.open(settings))

    def begin(self) -> None:
        """Make the tables, and wait for them."""
        self._append(self._history.begin(), self._history.create(self._big), self._history.create(self._small))
        self.drain.start()
        until = time.monotonic() + _PATIENCE_SECONDS
        while self._queue.target("target").depth().queued:
            if time.monotonic() > until:
                raise TimeoutError(f"not drained: {self.drain.progress.status()}")
            time.sleep(0.01)

    def change(self, note: str) -> None:
        self._append(self._history.alter(self._small, note))

    def fill(self) -> None:
        self._append(*self._history.ingest([self._big], _PARTITIONS))

    @property
    def filling(self) -> bool:
        return self._queue.target("target").depth().queued > 1

    def _append(self, *events: Event) -> None:
        self._queue.intake.append_all([Entry(it.instance, it.sequence, it.source, encode_event(it)) for it in events])


class _ByHand:
    """By plain calls, each in a batch as large as pysync's: what the server itself makes of it."""

    small = "by_hand_small"

    def __init__(self, server: EmbeddedMetastore, metastore: Metastore) -> None:
        history = History(_DATABASE, f"file:{server.warehouse}")
        self._uri = server.uri
        self._metastore = metastore
        self._big, self._small = history.table("by_hand_big"), history.table(self.small)
        self._parts = [history.partition(self._big, number) for number in range(_PARTITIONS)]
        for each in (self._big, self._small):
            metastore.call(lambda client, it=each: client.create_table(it))
        self._filler = threading.Thread(target=self._add, name="by-hand")

    def change(self, note: str) -> None:
        self._small.parameters = {**self._small.parameters, "note": note}
        self._metastore.call(lambda client: client.alter_table(_DATABASE, self.small, self._small))

    def fill(self) -> None:
        self._filler.start()

    @property
    def filling(self) -> bool:
        return self._filler.is_alive()

    def _add(self) -> None:
        with closing(Metastore(self._uri)) as metastore:
            for at in range(0, _PARTITIONS, PARTITIONS_PER_CALL):
                part = self._parts[at : at + PARTITIONS_PER_CALL]
                request = hive.AddPartitionsRequest(_DATABASE, self._big.tableName, part, True, False)
                metastore.call(lambda client, it=request: client.add_partitions_req(it))


def rows(server: EmbeddedMetastore, directory: Path, lanes: int, say: Say) -> list[Row]:
    """The rows `replay.head_of_line` and `replay.head_of_line.times_alone`."""
    with (
        EventQueue(directory / "queue-head-of-line", min_free_bytes=0) as queue,
        closing(Metastore(server.uri)) as metastore,
    ):
        queue.target("target").register()
        tables = _Drained(server, queue, lanes)
        tables.begin()
        ratio = _ratio(tables, metastore, "through pysync", say)
        tables.drain.stop()
        tables.drain.join(60)
        by_hand = _ratio(_ByHand(server, metastore), metastore, "by hand", say)
    # The server itself is not as quick while it is busy: what it does to two plain clients is no fault of pysync.
    return [
        Row("replay.head_of_line.times_alone", ratio, "times alone", baseline=by_hand),
        Row("replay.head_of_line", ratio / by_hand, "of by hand", goal=1.15),
    ]


def _ratio(tables: _Tables, metastore: Metastore, how: str, say: Say) -> float:
    """How long a change of the small table takes while the big one is filled, over that when nothing else is done."""
    say(f"head of line, {how}: a small table alone, then while {_PARTITIONS:,} partitions go to a big one")
    notes = map(str, itertools.count())
    alone = statistics.median(_visible(tables, metastore, next(notes)) for _ in range(_TIMES))
    tables.fill()
    behind = [_visible(tables, metastore, next(notes))]
    while tables.filling:
        behind.append(_visible(tables, metastore, next(notes)))
    say(f"head of line, {how}: alone {alone:.3f} s; {len(behind)} changes behind, {statistics.median(behind):.3f} s")
    return statistics.median(behind) / alone


def _visible(tables: _Tables, metastore: Metastore, note: str) -> float:
    """Seconds until a change of the small table is to be seen; a moment after the last, as clients make them."""
    time.sleep(0.25)
    began = time.perf_counter()
    tables.change(note)
    while metastore.table(_DATABASE, tables.small).parameters.get("note") != note:
        if time.perf_counter() - began > _PATIENCE_SECONDS:
            raise TimeoutError(f"the change {note} of {tables.small} is not to be seen")
        time.sleep(_POLL_SECONDS)
    return time.perf_counter() - began
