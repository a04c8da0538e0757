"""Bootstrap: what it asks for, for whom, how far it has come, and that a stop or a kill loses and repeats little."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import structlog

from pysync.base.errors import PysyncError
from pysync.metastore import source as source_module
from pysync.metastore.errors import MetastoreUnavailable
from pysync.metastore.source import reading
from pysync.model.event import Kind
from pysync.model.names import TableName
from pysync.model.operation import Operation, PutPartitions, PutTable
from pysync.model.wire import decode_event
from pysync.queue import EventQueue
from pysync.replay.drain import Drain
from pysync.replay.replayer import Replayer
from pysync.replay.tally import Count, Tally
from pysync.replay.window.translate import Translator
from pysync.resync import feed as feed_module
from pysync.resync import healing, job
from pysync.resync.bootstrap import begin_bootstraps, bootstrap_status
from pysync.resync.feed import _CHUNK, Feed
from pysync.resync.refreshes import LIVING, Refreshes
from pysync.resync.triggers import Resyncs
from pysync.resync.wanted import RefreshScope, everything, place
from pysync.targets.base import Outcome, Rejected
from tests.support import wait_for_items, wait_for_value, wait_until
from tests.support.events import settings
from tests.support.queues import Reopener
from tests.support.refreshing import Hms, Target
from tests.support.resyncs import Bench

URI = "thrift://127.0.0.1:1"


class Source(Hms):
    """A metastore of partitioned tables; `away` refuses, and `fails_at` once, when that table is listed."""

    def __init__(self, *databases: str, tables: int = 3) -> None:
        super().__init__()
        del self.bases["default"]
        self.away = False
        self.fails_at = ""
        self.names = [f"{of}.t{number:04}" for of in databases for number in range(tables)]
        for name in self.names:
            self.add(name, "1", "2")

    def __call__(self, _: str = URI, **_options: float) -> Source:
        return self

    def databases(self) -> list[str]:
        if self.away:
            raise MetastoreUnavailable("cannot reach it")
        return super().databases()

    def tables_by_name(self, of: str, names: list[str]) -> list[Any]:
        if self.fails_at in names:
            self.fails_at = ""
            raise MetastoreUnavailable("it went away")
        return super().tables_by_name(of, names)


class Stand:
    """The jobs of targets in memory on a real queue, with their drains."""

    def __init__(self, queue: EventQueue, stack: ExitStack, source: Source | None, **targets: dict[str, Any]) -> None:
        self.queue, self.source = queue, source
        self.refreshes = Refreshes(queue, "onprem")
        self.targets = {name: Target() for name in targets}
        self.resyncs = {name: self._resyncs(name, values) for name, values in targets.items()}
        self.drains = {name: self._drain(name, values) for name, values in targets.items()}
        for name in targets:
            queue.target(name).register()
        stack.callback(self.stop)

    def _drain(self, name: str, values: dict[str, Any]) -> Drain:
        wanted = settings(name=name, retry_max_seconds=0.01, **values)
        opener, tally = self.targets[name].opener, self.resyncs[name].bootstrap.tally
        return Drain(Replayer(self.queue, wanted, Translator.of(wanted), source=self.source, tally=tally), opener)

    def _resyncs(self, name: str, values: dict[str, Any]) -> Resyncs:
        wanted = settings(name=name, **values)
        return Resyncs.of(
            self.queue,
            self.refreshes,
            wanted,
            Translator.of(wanted),
            source=partial(reading, URI) if self.source else None,
            drain=lambda: self.drains[name],
            tables_per_second=1,  # a bootstrap has no pace
        )

    def begin(self, *names: str) -> bool:
        return begin_bootstraps([self.resyncs[name].bootstrap for name in names])

    def start(self, *drains: str) -> None:
        for it in self.resyncs.values():
            it.job.start()
        for name in drains:
            self.drains[name].start()

    def stop(self) -> None:
        for it in self.resyncs.values():
            assert it.job.worker.end(60)
        for drain in self.drains.values():
            drain.stop()
            drain.join(60)

    def status(self) -> dict[str, Any]:
        found = bootstrap_status(it.bootstrap for it in self.resyncs.values())
        assert found is not None
        return found

    def wait_for(self, state: str) -> None:
        wait_for_value(lambda: self.status()["state"], state, what="the state")

    def asked(self, target: str = "dr") -> list[str]:
        """The tables that were asked for, in the order of the queue."""
        found = [decode_event(it.data).attributes for it in self.queue.target(target).window(100_000, 10**9)]
        return [f"{names['database']}.{names['table']}" for names in found if "table" in names]


@pytest.fixture
def stands(reopen: Reopener, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Stand]]:
    """Each call is a new process on the same queue; no look and no try waits long."""
    monkeypatch.setattr(job, "_EVERY_SECONDS", 0.01)
    monkeypatch.setattr(job, "_RETRY_SECONDS", 0.05)
    monkeypatch.setattr(healing, "_EVERY_SECONDS", 0.01)
    with ExitStack() as stack, structlog.testing.capture_logs():

        def stand(source: Source | None, **targets: dict[str, Any]) -> Stand:
            if source is not None:
                monkeypatch.setattr(source_module, "Metastore", source)
            return Stand(reopen(), stack, source, **(targets or {"dr": {}}))

        yield stand


def test_a_target_gets_everything_in_scope_and_it_is_counted(stands) -> None:
    source = Source("db", "other", "out", tables=60)
    stand = stands(source, dr={"include": ["db", "other.*1"]})
    assert stand.begin("dr")
    stand.start("dr")
    stand.wait_for("finished")
    applied = stand.targets["dr"].applied
    in_scope = [
        name for name in source.names if name.startswith("db.") or (name.startswith("other.") and name[-1] == "1")
    ]
    assert sorted(it.key for it in applied if isinstance(it, PutTable)) == in_scope
    assert sum(len(it.partitions) for it in applied if isinstance(it, PutPartitions)) == 2 * len(in_scope)
    (found,) = stand.status()["targets"]
    assert (found["in_scope"], found["tables"], found["partitions"]) == (66, 66, 132)
    assert found["seconds_left"] == 0.0
    assert stand.queue.notes.get(LIVING) is not None, "the source was read for it"
    (kept,) = stands(source, dr={}).status()["targets"]
    assert (kept["tables"], kept["partitions"]) == (66, 132), "also by a process that begins later"


def test_a_bootstrap_is_logged_when_it_begins_and_when_it_is_finished(stands) -> None:
    stand = stands(Source("db"))
    with structlog.testing.capture_logs() as lines:
        assert stand.begin("dr")
        assert not stand.begin("dr")
        stand.start("dr")
        stand.wait_for("finished")
        stand.stop()
    reported = [it for it in lines if it["event"].startswith("resync_")]
    assert [(it["event"], it["target"], it["trigger"]) for it in reported] == [
        ("resync_started", "dr", "bootstrap"),
        ("resync_queued", "dr", "bootstrap"),
        ("resync_finished", "dr", "bootstrap"),
    ]


def test_another_target_gets_none_of_it(stands) -> None:
    stand = stands(Source("db"), dr={}, other={})
    stand.begin("dr")
    stand.start("dr", "other")
    stand.wait_for("finished")
    wait_until(lambda: stand.queue.target("other").depth().queued == 0, what="the other target being past it")
    assert (bool(stand.targets["dr"].applied), stand.targets["other"].applied) == (True, [])


def test_what_comes_meanwhile_is_applied_after_it(stands) -> None:
    """The refreshes are in the queue before any event of a change made since."""
    stand = stands(Source("db"))
    stand.begin("dr")
    stand.start()
    wait_for_items(stand.asked, 3, what="all being asked for")
    found = [decode_event(it.data) for it in stand.queue.target("dr").window(100, 10**9)]
    assert {(it.kind, it.attributes["targets"]) for it in found} == {(Kind.REFRESH, "dr")}


class SlowTarget:
    """Finishes so many refreshes a second of its own clock, which moves when somebody waits."""

    upto = 0

    def __init__(self, rate: float) -> None:
        self.now, self._rate, self._finished, self.most_waiting = 1000.0, rate, 0.0, 0

    def ask(self, names: list[Any], *, live_source: bool) -> int:
        assert live_source
        self.upto += len(names)
        self.most_waiting = max(self.most_waiting, self.upto - int(self._finished))
        return self.upto

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self._finished = min(self.upto, self._finished + self._rate * seconds)

    def is_set(self) -> bool:
        return False

    def done(self) -> int:
        return int(self._finished)


@pytest.mark.parametrize(("rate", "most"), [(1, 50), (30, 150), (10_000, 500)])
def test_as_many_wait_as_the_target_finishes_in_five_seconds(monkeypatch, rate: int, most: int) -> None:
    """A change that comes meanwhile waits behind these alone, whatever limits the target."""
    target = SlowTarget(rate)
    monkeypatch.setattr(feed_module, "time", SimpleNamespace(monotonic=lambda: target.now))
    feed = Feed(target, target, target.done)
    assert feed.queue({"database": str(it)} for it in range(3000)).whole
    assert most <= target.most_waiting <= most + _CHUNK


def test_a_new_start_goes_on_where_it_was_and_asks_for_nothing_twice(stands, monkeypatch) -> None:
    source = Source("a", "b", tables=200)
    first = stands(source)
    first.begin("dr")
    first.start()
    wait_until(lambda: len(first.asked()) >= 50, what="the first of it")
    first.stop()
    before = len(first.asked())
    assert before < len(source.names)
    second = stands(source)
    second.resyncs["dr"].job._feed._most_ahead = 10_000
    assert second.begin("dr") is False, "it is the same one"
    second.start()
    wait_for_value(second.asked, source.names, what="the rest of it")
    second.drains["dr"].start()
    second.wait_for("finished")
    (found,) = second.status()["targets"]
    assert (found["tables"], found["partitions"]) == (400, 800)


def test_a_source_that_goes_away_in_the_middle_is_waited_for(stands) -> None:
    source = Source("db", tables=120)
    stand = stands(source)
    stand.begin("dr")
    source.fails_at, stand.resyncs["dr"].job._feed._most_ahead = "t0100", 10_000
    stand.start()
    wait_for_value(stand.asked, source.names, what="all being asked for")
    assert source.fails_at == ""


def test_the_status_says_what_it_waits_for(stands) -> None:
    source = Source("db")
    stand = stands(source)
    stand.begin("dr")
    source.away = True
    stand.start("dr")
    stand.wait_for("waiting")
    assert URI in stand.status()["reason"]
    source.away = False
    stand.wait_for("finished")


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda stand: setattr(stand.source, "away", True), "cannot read the source"),
        (lambda stand: stand.queue.target("dr").pause("for now"), "is paused: for now"),
        (lambda stand: stand.queue.target("shadow").pause("for now"), "runs in shadow mode"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(stands, prepare, words) -> None:
    stand = stands(Source("db"), dr={}, other={}, shadow={"mode": "shadow"})
    prepare(stand)
    names = ["dr", "shadow"] if "shadow" in words else ["dr"]
    with pytest.raises(PysyncError, match=words) as refused:
        stand.begin(*names)
    assert "\n" not in str(refused.value)


def test_without_the_source_s_address_there_is_none(stands) -> None:
    with pytest.raises(PysyncError, match="address"):
        stands(None).begin("dr")


def test_after_the_end_another_may_begin(stands) -> None:
    stand = stands(Source("db"), dr={}, other={})
    stand.begin("dr")
    stand.start("dr", "other")
    stand.wait_for("finished")
    assert stand.begin("other")
    stand.wait_for("finished")
    assert [it["name"] for it in stand.status()["targets"]] == ["other"]


def test_the_gap_of_a_new_target_is_left_to_it_and_closed_by_it(stands) -> None:
    stand = stands(Source("db"))
    stand.queue.gaps.open("new:dr:1:0", "target dr is new")
    stand.begin("dr")
    stand.start("dr")
    stand.wait_for("finished")
    stand.queue.gaps.close_passed()
    assert stand.queue.gaps.unclosed() == []
    assert len(stand.targets["dr"].applied) == 1 + 2 * 3, "nothing was compared twice"
    assert [it["trigger"] for it in stand.resyncs["dr"].job.status()] == ["bootstrap"]


def test_a_bootstrap_that_begins_while_a_new_target_is_compared_takes_its_place(stands) -> None:
    source = Source("db", tables=120)
    stand = stands(source)
    stand.queue.gaps.open("new:dr:1:0", "target dr is new")
    read, job = source.tables_by_name, stand.resyncs["dr"].job
    job._feed._most_ahead, job._pace = 10_000, 1e9

    def beginning(of: str, names: list[str]) -> list[Any]:
        if "t0000" in names and not stand.resyncs["dr"].bootstrap.is_unfinished:
            stand.begin("dr")
        return read(of, names)

    source.tables_by_name = beginning
    stand.start("dr")
    wait_until(lambda: stand.resyncs["dr"].bootstrap.last is not None, what="the bootstrap")
    stand.wait_for("finished")
    wait_until(lambda: all(it["state"] == "finished" for it in job.status()), what="both rows")
    wait_until(lambda: stand.queue.gaps.close_passed() or not stand.queue.gaps.unclosed(), what="the gap being closed")
    compared = {it["trigger"]: it["queued"] for it in job.status()}
    assert compared["bootstrap"] == 121
    assert compared["new_target"] < 121, "the rest of it was left to the bootstrap"


def test_what_was_refused_is_tried_again_before_it_is_over(stands) -> None:
    """A foreign key, say: the table that it refers to may come after its own."""

    class Picky(Target):
        def apply(self, operation: Operation) -> Outcome:
            later = any(it.key == "db.t0002" for it in self.applied)
            if operation.key == "db.t0000" and not later:
                raise Rejected("the other table is not there")
            return super().apply(operation)

    stand = stands(Source("db"), dr={"lanes": 1})
    stand.drains["dr"]._open_target = (target := Picky()).opener
    stand.begin("dr")
    stand.start("dr")
    stand.wait_for("finished")
    (found,) = stand.status()["targets"]
    assert (stand.queue.target("dr").parked.count(), found["tables"], found["partitions"]) == (0, 3, 6)
    assert "db.t0000" in {it.key for it in target.applied}


def test_what_is_refused_for_good_stays_parked_and_is_not_counted(stands) -> None:
    stand = stands(Source("db"))
    stand.targets["dr"].rejects.add("db.t0001")
    stand.begin("dr")
    stand.start("dr")
    stand.wait_for("finished")
    assert (stand.queue.target("dr").parked.count(), stand.status()["targets"][0]["tables"]) == (1, 2)


def test_the_status_says_how_fast_and_how_long_since_this_process_began(reopen: Reopener) -> None:
    def work(bench: Bench, tables: int) -> dict[str, Any]:
        bench.now += 8
        bench.resyncs.bootstrap.tally.note(bench.queue.last + tables, Count(tables, 40))
        return bench.resyncs.bootstrap.status()

    source = Hms(*(f"db.t{number}" for number in range(12)))
    first = Bench(reopen(), source)
    first.resyncs.bootstrap.begin(1)
    first.pauses = True
    first.turn()
    shown = work(first, 4)
    assert (shown["tables"], shown["tables_per_second"], shown["partitions_per_second"]) == (4, 0.5, 5.0)
    assert shown["seconds_left"] == 16.0
    first.resyncs.bootstrap.tally.settle(first.queue.last + 4)
    second = Bench(reopen(), source)
    shown = work(second, 2)
    assert (shown["tables"], shown["tables_per_second"], shown["seconds_left"]) == (6, 0.25, 24.0)


def test_a_table_that_has_vanished_since_it_was_counted_is_not_missing_in_the_end(stands) -> None:
    source = Source("db")
    stand = stands(source)
    stand.begin("dr")
    listed = source.tables("db")
    source.tables = lambda _: listed
    source.found.pop(TableName("db", "t0001"))
    stand.start("dr")
    stand.wait_for("finished")
    (shown,) = stand.status()["targets"]
    assert (shown["in_scope"], shown["tables"]) == (3, 3)
    assert len({it.key for it in stand.targets["dr"].applied if isinstance(it, PutTable)}) == 2


def test_a_target_that_is_not_in_the_configuration_any_more_is_left_out(stands) -> None:
    stands(Source("db"), dr={}, other={}).begin("dr", "other")
    again = stands(Source("db"), dr={})
    assert [it["name"] for it in again.status()["targets"]] == ["dr"]


# --- the parts


def test_everything_can_be_gone_on_with_after_any_of_it() -> None:
    source = Source("a", "b", "c")
    scope = RefreshScope(lambda name: name != "c", lambda name: name.table != "t0001")
    whole = list(everything(source, lambda: 7, scope=scope))
    assert [place(names) for names in whole] == sorted(place(names) for names in whole)
    assert {names.get("table") for names in whole} == {None, "t0000", "t0002"}
    for at, names in enumerate(whole, 1):
        assert list(everything(source, lambda: 7, scope=scope, after=place(names))) == whole[at:]


def test_a_refresh_that_is_done_again_counts_once() -> None:
    tally = Tally()
    tally.note(5, Count(0, 500))
    tally.note(5, Count(1, 700))
    tally.note(9, Count(1, 1))
    assert (tally.not_taken(), tally.take(4)) == (Count(2, 701), Count())
    assert (tally.take(5), tally.take(5), tally.not_taken()) == (Count(1, 700), Count(), Count(1, 1))
    tally.note(20, Count(1, 3))
    tally.note(21, Count(1, 4))
    assert tally.take(30, after=20) == Count(1, 4), "the one before was counted before a kill"
    assert TableName("db", "t") > TableName("db", "") > TableName("", "")
