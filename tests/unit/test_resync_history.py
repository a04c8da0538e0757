"""The trigger history: what a part of the history touched is refreshed at one target, whatever dies in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from structlog.testing import capture_logs

from pysync.base.errors import PysyncError
from pysync.model.event import Event, Kind
from pysync.model.names import TableName
from pysync.model.operation import PutDatabase, PutTable
from pysync.model.wire import decode_event, encode_event
from pysync.queue import EventQueue
from pysync.replay.drain import Drain
from pysync.replay.replayer import Replayer
from pysync.replay.window.translate import Translator
from pysync.resync.ranges import Range
from pysync.resync.refreshes import Refreshes
from pysync.resync.triggers import Resyncs
from tests.support import wait_until
from tests.support.events import create_table, database, event, rename_table, settings
from tests.support.queues import Disk, Reopener, park
from tests.support.refreshing import Hms, Target


class Stand:
    """The worker of the target dr on a real queue, whose turns the test takes, and a drain that can be started."""

    def __init__(self, queue: EventQueue, source: Hms | None, stack: ExitStack, **values: Any) -> None:
        self.queue, self.source, self.target = queue, source, Target()
        wanted = settings(retry_max_seconds=0.01, parked_retry_seconds=0, **values)
        translator = Translator.of(wanted)
        self.drain = Drain(Replayer(queue, wanted, translator, source=lambda: source or Hms()), self.target.opener)
        self.resyncs = Resyncs.of(
            queue,
            Refreshes(queue, "onprem"),
            wanted,
            translator,
            source=None if source is None else lambda: source,
            drain=lambda: self.drain,
            tables_per_second=1e9,
        )
        self.job, self.begin = self.resyncs.job, self.resyncs.history.begin
        queue.target("dr").register()
        stack.callback(self._stop)

    def _stop(self) -> None:
        self.drain.stop()
        self.drain.join(60)

    def put(self, *events: Event) -> None:
        """Take events in; the target is done with them."""
        for found in events:
            self.queue.intake.append("jvm", self.queue.last + 1, "onprem", encode_event(found))
        self.queue.target("dr").advance(self.queue.last)

    def asked(self) -> list[str]:
        """What waits in the queue for the target: `db.t`, `db`, or `*` for the list of databases."""
        waiting = [decode_event(it.data) for it in self.queue.target("dr").window(100_000, 10**9)]
        assert all(it.kind is Kind.REFRESH and it.attributes["targets"] == "dr" for it in waiting)
        return [_named(it.attributes) for it in waiting]

    def state(self) -> dict[str, Any]:
        (found,) = self.job.status()
        return found

    def run(self) -> dict[str, Any]:
        """Let worker and drain do all of it."""
        self.job.turn()
        self.drain.start()
        wait_until(lambda: self.queue.target("dr").depth().queued == 0, seconds=60, what="the target")
        self.job.turn()
        return self.state()


def _named(names: dict[str, str]) -> str:
    return f"{names['database']}.{names['table']}" if "table" in names else names.get("database", "*")


@pytest.fixture
def source() -> Hms:
    return Hms("sales.orders", "sales.items", "web.visits")


@pytest.fixture
def stands(reopen: Reopener) -> Iterator[Callable[..., Stand]]:
    """Each call is a new process on the same queue."""
    with ExitStack() as stack, capture_logs():
        yield lambda source, **values: Stand(reopen(), source, stack, **values)


def test_what_the_events_touched_is_refreshed_with_its_databases(stands, source) -> None:
    stand = stands(source)
    stand.put(create_table("web.visits"), create_table("sales.orders"), create_table("sales.orders"))
    assert stand.begin(Range(2, 3))
    stand.job.turn()
    assert stand.asked() == ["sales", "sales.orders"]


def test_the_target_gets_what_the_source_has_now_and_its_position_never_moves_back(stands, source) -> None:
    stand = stands(source)
    stand.put(create_table("sales.orders"), create_table("web.visits"))
    before = stand.queue.target("dr").position()
    stand.begin(Range(1, 2))
    found = stand.run()
    assert (found["state"], found["total"], found["done"]) == ("finished", 4, 4)
    put = [it.key for it in stand.target.applied if isinstance(it, (PutDatabase, PutTable))]
    assert sorted(put) == ["sales", "sales.orders", "web", "web.visits"]
    assert min(stand.target.positions()) > before, "marks of newer events than any before"


def test_one_table_alone_is_refreshed_without_its_database(stands, source) -> None:
    stand = stands(source)
    stand.put(create_table("sales.orders"), create_table("sales.items"))
    stand.begin(Range(1, 2, TableName("sales", "items")))
    stand.job.turn()
    assert stand.asked() == ["sales.items"]


def test_a_table_that_is_gone_at_the_source_is_dropped_and_a_newer_one_is_not(stands, source) -> None:
    stand = stands(source)
    stand.target.has("sales.gone")
    stand.target.has("sales.orders", created=50)
    stand.target.has("sales.theirs", source=None)
    stand.put(create_table("sales.gone"), create_table("sales.orders"), create_table("sales.theirs"))
    stand.begin(Range(1, 3))
    stand.run()
    assert set(stand.target.dropped()) == {"sales.gone"}


def test_a_database_that_is_gone_at_the_source_is_dropped(stands, source) -> None:
    stand = stands(source)
    stand.target.has("old.t")
    stand.put(event(Kind.DROP_DATABASE, before=[database("old")]))
    stand.begin(Range(1, 1))
    stand.job.turn()
    assert stand.asked() == ["*", "old"]
    stand.run()
    assert set(stand.target.dropped()) == {"old.t", "old"}


def test_what_is_not_in_scope_is_left_alone(stands, source) -> None:
    stand = stands(source, include=["sales.o*"])
    stand.put(*(create_table(name) for name in ("sales.orders", "sales.items", "web.visits")))
    stand.begin(Range(1, 3))
    stand.job.turn()
    assert stand.asked() == ["sales", "sales.orders"]


# --- stops and kills


def test_parked_events_of_the_tables_are_made_good(stands, source) -> None:
    stand = stands(source)
    stand.put(create_table("sales.orders"))
    stand.queue.target("dr").advance(1, [park(1)])
    stand.begin(Range(1, 1))
    stand.run()
    assert stand.queue.target("dr").parked.count() == 0


@pytest.mark.parametrize("ahead", [0, 50, 99])
def test_a_new_start_goes_on_where_it_was_and_asks_for_nothing_twice(stands, ahead) -> None:
    names = [f"sales.t{number:03}" for number in range(120)]
    source = Hms(*names)
    first = stands(source)
    first.put(*map(create_table, names))
    first.begin(Range(1, 120))
    queued: list[int] = []

    def stop_soon() -> None:
        queued.append(1)
        first.job.worker.stop()

    first.job._feed.meanwhile, first.job._feed._most_ahead = stop_soon, ahead
    first.job.turn()
    before = len(first.asked())
    assert queued
    assert before < 121
    second = stands(source)
    second.job._feed._most_ahead = 10_000
    assert second.state()["state"] == "running"
    assert second.queue.trim() == 0, "the history that it needs is held"
    second.job.turn()
    assert second.asked() == ["sales", *names]
    assert second.run()["state"] == "finished"
    assert second.queue.trim() > 0


def test_a_kill_before_the_end_is_noted_repeats_little(stands, source) -> None:
    first = stands(source)
    first.put(create_table("sales.orders"))
    first.begin(Range(1, 1))
    first.job.turn()
    second = stands(source)
    second.job.turn()
    assert second.asked() == ["sales", "sales.orders"], "not twice"
    assert second.run()["state"] == "finished"
    third = stands(source)
    assert third.state()["state"] == "finished"
    third.job.turn()
    assert third.asked() == []


def test_a_source_that_is_away_is_waited_for(stands, source) -> None:
    stand = stands(source)
    stand.put(create_table("sales.orders"))
    stand.begin(Range(1, 1))
    source.fails = PysyncError("the source is away")
    with pytest.raises(PysyncError):
        stand.job.turn()
    source.fails = None
    assert stand.run()["state"] == "finished"


def test_history_that_is_gone_after_a_restart_ends_it_and_another_can_begin(stands, source, disk: Disk) -> None:
    first = stands(source)
    first.put(create_table("sales.orders"), create_table("sales.items"))
    first.begin(Range(1, 2))
    disk.free = 1_240_000  # near its floor: history goes, held or not
    assert first.queue.trim() == 2
    second = stands(source)
    with capture_logs() as lines:
        second.job.turn()
    assert [it["event"] for it in lines] == ["resync_failed"]
    assert (second.state()["state"], "deleted meanwhile" in second.state()["obstacle"]) == ("failed", True)
    disk.free = 10**9
    second.put(create_table("web.visits"))
    assert second.begin(Range(3, 3))
    assert second.run()["state"] == "finished"


# --- more than one


def test_the_same_range_again_joins_it_and_a_wider_one_widens_it(stands, source) -> None:
    stand = stands(source)
    stand.put(*map(create_table, ("sales.orders", "sales.items", "web.visits")))
    assert stand.begin(Range(2, 2))
    assert not stand.begin(Range(2, 2))
    assert stand.begin(Range(3, 3))
    assert stand.state()["scope"] == {"first": 2, "last": 3, "table": None}
    stand.job.turn()
    assert stand.asked() == ["sales", "sales.items", "web", "web.visits"]
    with pytest.raises(PysyncError, match="a replay is not finished: events 2 to 3") as caught:
        stand.begin(Range(1, 1, TableName("sales", "orders")))
    assert "pysync replay dr --from 2 --to 3" in str(caught.value)


def test_one_that_is_widened_while_it_is_queued_begins_anew(stands) -> None:
    names = [f"sales.t{number:03}" for number in range(120)]
    stand = stands(Hms(*names))
    stand.put(*map(create_table, [*names, "sales.a"]))
    stand.begin(Range(2, 120))

    def widen() -> None:
        stand.job._feed.meanwhile = lambda: None
        assert stand.begin(Range(1, 121))

    stand.job._feed.meanwhile, stand.job._feed._most_ahead = widen, 10_000
    stand.job.turn()
    stand.job.turn()
    assert {"sales", "sales.a", *names} <= set(stand.asked())
    assert stand.run()["state"] == "finished"


def test_renamed_tables_are_refreshed_under_both_names(stands, source) -> None:
    stand = stands(source)
    stand.put(rename_table("sales.before", "sales.orders"))
    stand.begin(Range(1, 1))
    stand.job.turn()
    assert stand.asked() == ["sales", "sales.before", "sales.orders"]


def test_without_a_source_or_its_history_nothing_begins(stands, source) -> None:
    with pytest.raises(PysyncError, match="metastore is not set"):
        stands(None).begin(Range(1, 1))
    stand = stands(source)
    stand.put(create_table("sales.orders"))
    stand.queue.trim()
    with pytest.raises(PysyncError, match="deleted meanwhile"):
        stand.begin(Range(1, 1))
    assert stand.job.status() == []


def test_its_begin_and_end_are_logged(stands, source) -> None:
    stand = stands(source)
    stand.put(create_table("sales.orders"))
    with capture_logs() as lines:
        stand.begin(Range(1, 1))
        stand.run()
    reported = [it for it in lines if it["event"].startswith("resync_")]
    assert [(it["event"], it["log_level"], it["trigger"]) for it in reported] == [
        ("resync_started", "info", "history"),
        ("resync_queued", "info", "history"),
        ("resync_finished", "info", "history"),
    ]
