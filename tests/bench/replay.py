"""bench-replay: fold and lanes against event-by-event replay, and against what the bare target can do.

Event by event is the same drain with windows of one event and one lane, on the same target in the same run, in turn
with the folded one; as it is slow, it gets a tenth of the history, and calls and rates are compared for each event.
Hand-made batches are `add_partitions_req` of 500 by as many threads as there are lanes. The backlog is drained by a
process of its own, whose peak memory is its own.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab import EmbeddedMetastore
from pysync.metastore.client import Metastore
from pysync.model.event import Event
from pysync.model.wire import encode_event
from pysync.queue import Entry, EventQueue
from pysync.replay.drain import Drain
from pysync.replay.replayer import Replayer
from pysync.replay.window.translate import Translator
from pysync.targets.kinds import target_kind
from tests.bench import head_of_line
from tests.bench.frame import Row, Say
from tests.bench.histories import TPC_DS, History

LANES = 4
ROUNDS = 3
_INGEST = 10_000
_TABLES = 20
_BACKLOG = 1_000_000
_PART = 200_000
_BATCH = 500
_PATIENCE_SECONDS = 1800.0
_NO_BRAKE = {"max_drop_share": 0.0}  # the churn drops most tables of its database


@dataclass(frozen=True, slots=True)
class Run:
    """One replay of a history."""

    events: int
    calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Way:
    """How to replay: events a window, lanes, and one part in how many of the history."""

    window: int
    lanes: int
    share: int


_FOLDED, _SINGLE = Way(2000, LANES, 1), Way(1, 1, 10)


def run(say: Say) -> Iterator[Row]:
    """The rows `replay.{churn,ingest,mixed}.*`, `replay.head_of_line`, `replay.backlog.*`, `replay.journal`."""
    with tempfile.TemporaryDirectory(prefix="pysync-bench-") as name:
        directory = Path(name)
        with EmbeddedMetastore(directory / "target", name="target", heap_mb=2048) as server:
            for workload in _WORKLOADS:
                yield from _workload(workload, server, directory, say)
            yield from head_of_line.rows(server, directory, LANES, say)
        yield from _backlog(directory, say)


def _workload(name: str, server: EmbeddedMetastore, directory: Path, say: Say) -> list[Row]:
    folded, single, bare = [], [], []
    for number in range(ROUNDS):
        say(f"{name}, round {number + 1} of {ROUNDS}: folded")
        folded.append(_replay(name, f"{name}_f{number}", server, directory, _FOLDED))
        say(f"{name}, round {number + 1} of {ROUNDS}: event by event")
        single.append(_replay(name, f"{name}_s{number}", server, directory, _SINGLE))
        if name == "ingest":
            say(f"{name}, round {number + 1} of {ROUNDS}: hand-made batches")
            bare.append(_by_hand(f"{name}_b{number}", server))
    rows = [
        _rate(f"replay.{name}.events_per_second", folded, single),
        Row(
            f"replay.{name}.calls_ratio",
            _calls_an_event(single) / _calls_an_event(folded),
            "times fewer",
            goal=None if name == "mixed" else 10.0,
            more_is_better=True,
        ),
    ]
    if bare:
        by_hand = statistics.median(bare)
        ratio = _median([run.events / run.seconds for run in folded]) / by_hand
        rows.append(Row("replay.ingest.by_hand_per_second", by_hand, "partitions/s"))
        rows.append(Row("replay.ingest.rate_ratio", ratio, "of by hand", goal=0.95, more_is_better=True))
    return rows


def _rate(measure: str, folded: Sequence[Run], single: Sequence[Run]) -> Row:
    rates = [_median([run.events / run.seconds for run in runs]) for runs in (folded, single)]
    return Row(measure, rates[0], "events/s", baseline=rates[1], more_is_better=True)


def _calls_an_event(runs: Sequence[Run]) -> float:
    return _median([run.calls / run.events for run in runs])


def _median(values: Sequence[float]) -> float:
    return float(statistics.median(values))


def _replay(name: str, database: str, server: EmbeddedMetastore, directory: Path, way: Way) -> Run:
    """Replay the workload into a database of its own; its tables are made before the clock starts."""
    history = History(database, f"file:{server.warehouse}")
    kind = target_kind("hms")
    values = {"name": "target", "kind": "hms", "metastore": server.uri, "window": way.window, "lanes": way.lanes}
    settings = kind.settings.model_validate(values | _NO_BRAKE)
    with EventQueue(directory / f"queue-{database}", min_free_bytes=0) as queue:
        prepared, workload = _WORKLOADS[name](history, way.share)
        queue.target("target").register()
        append_all(queue, prepared)
        with draining(Drain(Replayer(queue, settings, Translator.of(settings)), lambda: kind.open(settings)), queue):
            pass
        events = append_all(queue, workload)
        calls = _Calls()
        began = time.perf_counter()
        with (
            mock.patch.object(Metastore, "call", calls.counted(Metastore.call)),
            draining(Drain(Replayer(queue, settings, Translator.of(settings)), lambda: kind.open(settings)), queue),
        ):
            pass
        seconds = time.perf_counter() - began
        if queue.target("target").parked.count():
            raise RuntimeError(f"events were parked: {queue.target('target').parked.events(limit=1)}")
        return Run(events, calls.count, seconds)


class _Calls:
    """Counts the calls to a metastore."""

    def __init__(self) -> None:
        self.count = 0

    def counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def count_and_call(metastore: Metastore, request: Callable[[Any], Any]) -> Any:
            self.count += 1
            return call(metastore, request)

        return count_and_call


@contextmanager
def draining(drain: Drain, queue: EventQueue) -> Iterator[None]:
    """Run the drain until it has done everything; the block runs first."""
    drain.start()
    yield
    until = time.monotonic() + _PATIENCE_SECONDS
    while queue.target(drain.name).depth().queued:
        if time.monotonic() > until:
            raise TimeoutError(f"not drained: {drain.progress.status()}")
        time.sleep(0.005)
    drain.stop()
    drain.join(60)


def append_all(queue: EventQueue, events: Iterator[Event]) -> int:
    """Put the events into the queue, in transactions of a thousand; returns how many there were."""
    total, batch = 0, list[Entry]()
    for event in events:
        batch.append(Entry(event.instance, event.sequence, event.source, encode_event(event)))
        total += 1
        if len(batch) == 1000:
            queue.intake.append_all(batch)
            batch = []
    queue.intake.append_all(batch)
    return total


def _by_hand(database: str, server: EmbeddedMetastore) -> float:
    """Partitions a second by hand-made batches: 500 a call, as many threads as there are lanes."""
    history = History(database, f"file:{server.warehouse}")
    owners = [history.table(f"t{number}") for number in range(_TABLES)]
    with closing(Metastore(server.uri)) as metastore:
        base = hive.Database(database, "bench", f"file:{server.warehouse}/{database}.db", {})
        metastore.call(lambda client: client.create_database(base))
        for owner in owners:
            metastore.call(lambda client, it=owner: client.create_table(it))
    parts = [
        (owner, [history.partition(owner, number) for number in range(at, _INGEST, _TABLES)])
        for at, owner in enumerate(owners)
    ]
    began = time.perf_counter()
    with ThreadPoolExecutor(LANES) as pool:
        list(pool.map(lambda part: _add(server.uri, *part), parts))
    return _INGEST / (time.perf_counter() - began)


def _add(uri: str, owner: Any, partitions: Sequence[Any]) -> None:
    with closing(Metastore(uri)) as metastore:
        for start in range(0, len(partitions), _BATCH):
            part = list(partitions[start : start + _BATCH])
            request = hive.AddPartitionsRequest(owner.dbName, owner.tableName, part, True, False)
            metastore.call(lambda client, it=request: client.add_partitions_req(it))


def _churn(history: History, share: int) -> tuple[Iterator[Event], Iterator[Event]]:
    return iter([history.begin()]), history.churn(tables=10, rounds=30 // share)


def _ingest(history: History, share: int) -> tuple[Iterator[Event], Iterator[Event]]:
    owners = [history.table(f"t{number}") for number in range(_TABLES)]
    prepared = [history.begin(), *map(history.create, owners)]
    return iter(prepared), history.ingest(owners, _INGEST // share)


def _mixed(history: History, share: int) -> tuple[Iterator[Event], Iterator[Event]]:
    owners = [history.table(name, columns) for name, columns in TPC_DS.items()]
    prepared = [history.begin(), *map(history.create, owners)]
    return iter(prepared), history.mixed(owners, rounds=60 // share)


_WORKLOADS: dict[str, Callable[[History, int], tuple[Iterator[Event], Iterator[Event]]]] = {
    "churn": _churn,
    "ingest": _ingest,
    "mixed": _mixed,
}


def _backlog(directory: Path, say: Say) -> list[Row]:
    """A million events, drained into a target that does nothing, by a process of its own, with a journal."""
    say("backlog: a million events are queued")
    place = directory / "backlog"
    with EventQueue(place, min_free_bytes=0) as queue:
        for name in ("target", *_names("with"), *_names("without")):
            queue.target(name).register()
        history = History("backlog", "hdfs://nn/warehouse")
        owners = [history.table(f"t{number}") for number in range(_TABLES)]
        append_all(queue, iter([history.begin(), *map(history.create, owners)]))
        append_all(queue, history.ingest(owners, _BACKLOG))
    say("backlog: it is drained")
    found = _drained(place, "target", _BACKLOG, directory / "journal.db")
    return [
        Row("replay.backlog.events_per_second", found["rate"], "events/s", goal=20_000, more_is_better=True),
        Row("replay.backlog.rss_mb", found["rss_mb"], "MiB", goal=300),
        _with_journal(place, directory, say),
    ]


def _with_journal(place: Path, directory: Path, say: Say) -> Row:
    """The rate with a journal over that without one, each in turn, on a part of the backlog."""
    rates: dict[str, list[float]] = {"with": [], "without": []}
    for number, (one, other) in enumerate(zip(_names("with"), _names("without"), strict=True)):
        say(f"journal, round {number + 1} of {ROUNDS}")
        runs = [("with", one, directory / f"journal-{number}.db"), ("without", other, None)]
        for which, name, file in runs if number % 2 else reversed(runs):  # neither is always the first
            rates[which].append(_drained(place, name, _PART, file)["rate"])
    ratio = _median(rates["with"]) / _median(rates["without"])
    return Row("replay.journal", ratio, "of the rate without", goal=0.95, more_is_better=True)


def _names(prefix: str) -> list[str]:
    return [f"{prefix}-{number}" for number in range(ROUNDS)]


def _drained(place: Path, name: str, events: int, journal: Path | None) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.backlog", str(place), name, str(events)]
    command += [str(journal)] if journal else []
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found
