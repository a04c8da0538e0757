"""The thread that closes gaps: what it asks for, when, how fast, and what happens when the source is away."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
import structlog

from pysync.capture.gaps import GapWatch
from pysync.capture.overlaps import Overlaps
from pysync.metastore import source as source_module
from pysync.metastore.errors import MetastoreUnavailable
from pysync.model.event import Event
from pysync.model.names import TableName
from pysync.model.wire import decode_event
from pysync.queue import EventQueue
from pysync.queue.gaps import new_gaps, scope_gaps
from pysync.resync import feed, healing, wanted
from pysync.resync.healing import Healer
from pysync.resync.refreshes import Refreshes
from tests.support import table, wait_for_items, wait_for_value, wait_until
from tests.support.events import create_table, rename_table
from tests.support.queues import Reopener, park

URI = "thrift://127.0.0.1:1"


class Source:
    """A metastore with so many tables in one database; `away` refuses, `calls` counts."""

    def __init__(self, tables: int = 3) -> None:
        self.names = [f"t{number:04}" for number in range(tables)]
        self.away = False
        self.opened = 0

    def __call__(self, uri: str, **_options: float) -> Source:
        assert uri == URI
        self.opened += 1
        if self.away:
            raise MetastoreUnavailable(f"cannot reach {uri}")
        return self

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    def databases(self) -> list[str]:
        return ["db"]

    def tables(self, _: str) -> list[str]:
        return self.names

    def tables_by_name(self, of: str, names: list[str]) -> list[Any]:
        return [table(of, name) for name in names]

    def table(self, of: str, name: str) -> Any | None:
        return table(of, name) if name in self.names else None


class Stand:
    """A healer on a real queue with one target, whose position the test moves."""

    def __init__(self, queue: EventQueue, stack: ExitStack, source: Source | None, lines: list[dict[str, Any]]) -> None:
        self.queue, self.source = queue, source
        self._lines = lines
        self.overlaps, self.watch = Overlaps(), GapWatch(queue, 1000)
        self.is_held = False
        self._stack = stack
        queue.target("dr").register()

    def start(self, tables_per_second: float = 1e6, *, relays: bool = False) -> Healer:
        self.refreshes = Refreshes(self.queue, "onprem")
        healer = Healer(
            self.queue,
            self.watch,
            self.overlaps,
            self.refreshes,
            source=URI if self.source else None,
            done=lambda: 0 if self.is_held else self.queue.last,
            tables_per_second=tables_per_second,
            relays=relays,
        )
        healer.start()
        self._stack.callback(healer.worker.end, 60)
        return healer

    def asked(self) -> list[Event]:
        return [decode_event(item.data) for item in self.queue.target("dr").window(100_000, 10**9)]

    def tables(self) -> list[str]:
        return [it.attributes["table"] for it in self.asked() if "table" in it.attributes]

    def states(self) -> list[str]:
        return [_state(gap) for gap in self.queue.gaps.latest()]

    def logged(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self._lines if line["event"] == event]

    def wait_for(self, *states: str) -> None:
        wait_for_value(self.states, list(states), what="the states of the gaps")


def _state(gap: Any) -> str:
    return "closed" if gap.closed_at_ms else "closing" if gap.upto else "open"


@pytest.fixture
def stands(reopen: Reopener, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Stand]]:
    """Each call is a new sidecar on the same queue; no look and no try waits long."""
    monkeypatch.setattr(healing, "_EVERY_SECONDS", 0.01)
    monkeypatch.setattr(healing, "_RETRY_SECONDS", 0.05)
    with ExitStack() as stack, structlog.testing.capture_logs() as lines:

        def stand(source: Source | None = None) -> Stand:
            if source is not None:
                monkeypatch.setattr(source_module, "Metastore", source)
            return Stand(reopen(), stack, source, lines)

        yield stand


def test_a_gap_is_closed_once_everything_is_asked_for_and_the_target_is_past_it(stands) -> None:
    stand = stands(Source(3))
    stand.queue.gaps.open("a", "why")
    stand.start()
    stand.wait_for("closing")
    assert stand.tables() == ["t0000", "t0001", "t0002"]
    stand.queue.target("dr").advance(stand.queue.last - 1)
    time.sleep(0.1)
    assert stand.states() == ["closing"], "the target is not past it"
    stand.queue.target("dr").advance(stand.queue.last)
    stand.wait_for("closed")
    assert stand.source.opened == 1


def test_tables_that_changed_lately_come_first(stands) -> None:
    stand = stands(Source(3))
    stand.overlaps.seen(create_table("db.t0002", attributes={"thread": "1"}))
    stand.queue.gaps.open("a", "why")
    stand.start()
    stand.wait_for("closing")
    assert stand.tables() == ["t0002", "t0000", "t0001", "t0002"]


def test_gaps_that_are_found_together_are_closed_together_and_a_later_one_by_itself(stands) -> None:
    stand = stands(Source(2))
    for key in ("a", "b"):
        stand.queue.gaps.open(key, "why")
    stand.start()
    stand.wait_for("closing", "closing")
    assert stand.source.opened == 1
    stand.queue.gaps.open("c", "why")
    stand.wait_for("closing", "closing", "closing")
    assert stand.source.opened == 2, "what was lost after the first comparison is compared anew"


def test_a_gap_is_logged_when_it_opens_when_its_resync_begins_and_when_it_closes(stands) -> None:
    stand = stands(Source(3))
    stand.queue.gaps.open("a", "a listener is lost")
    stand.queue.gaps.open("a", "a listener is lost")
    stand.start()
    stand.wait_for("closing")
    assert stand.logged("gap_closed") == [], "the target is not past it"
    stand.queue.target("dr").advance(stand.queue.last)
    stand.wait_for("closed")
    wait_for_items(lambda: stand.logged("gap_closed"), 1, what="the line")
    reported = [(it["event"], it["log_level"]) for it in stand._lines]
    assert reported == [
        ("gap_opened", "warning"),
        ("resync_started", "info"),
        ("resync_queued", "info"),
        ("gap_closed", "info"),
    ]
    assert [stand.logged(it)[0]["reason"] for it in ("gap_opened", "gap_closed")] == ["a listener is lost"] * 2
    assert stand.logged("gap_closed")[0]["seconds"] >= 0


def test_a_gap_that_stays_open_is_not_logged_as_closed_with_another(stands) -> None:
    source = Source(3)
    stand = stands(source)
    stand.queue.gaps.open("a", "the first")
    stand.start()
    stand.wait_for("closing")
    source.away = True
    stand.queue.gaps.open("b", "the second")
    stand.queue.target("dr").advance(stand.queue.last)
    stand.wait_for("open", "closed")
    wait_for_value(lambda: [it["reason"] for it in stand.logged("gap_closed")], ["the first"], what="the line")


def test_a_gap_that_a_parked_event_opens_anew_is_logged_as_a_resync_of_its_own(stands) -> None:
    stand = stands(Source(3))
    stand.queue.gaps.open("a", "why")
    stand.start()
    stand.wait_for("closing")
    stand.queue.target("dr").advance(stand.queue.last, [park(1)])
    time.sleep(0.2)
    assert len(stand.logged("resync_started")) == 1, "it waits for what is parked"
    stand.queue.target("dr").parked.remove_at([1])
    wait_until(lambda: len(stand.logged("resync_queued")) == 2, what="the resync")
    assert len(stand.logged("resync_started")) == 2


def test_a_resync_begins_once_in_the_log_however_often_it_is_tried(stands) -> None:
    source = Source(120)
    read, left = source.tables_by_name, iter(range(4))

    def fails_often(of: str, names: list[str]) -> list[Any]:
        if names[0] == "t0100" and next(left, None) is not None:
            raise MetastoreUnavailable("it went away")
        return read(of, names)

    source.tables_by_name = fails_often
    source.away = True
    stand = stands(source)
    stand.queue.gaps.open("a", "why")
    stand.start()
    wait_until(lambda: source.opened >= 3, what="three tries")
    assert stand.logged("resync_started") == [], "nothing has begun while the source is away"
    assert (stand.states(), stand.asked()) == (["open"], [])
    source.away = False
    stand.wait_for("closing")
    assert set(source.names) == set(stand.tables()), "it is begun anew"
    wait_until(lambda: stand.logged("worker_recovered") != [], what="the worker being well")
    assert [it["gaps"] for it in stand.logged("resync_started")] == [1]
    assert {it["worker"] for it in stand.logged("worker_waiting")} == {"gap-resync"}
    stand.queue.gaps.open("b", "why")
    stand.wait_for("closing", "closing")
    assert len(stand.logged("resync_started")) == 2, "another gap is another resync"


def test_without_the_source_s_address_the_gap_stays_open(stands) -> None:
    stand = stands(None)
    stand.queue.gaps.open("a", "why")
    stand.start()
    time.sleep(0.2)
    assert stand.states() == ["open"]


def test_a_healer_that_was_ended_in_the_middle_begins_anew_at_the_next_start(stands) -> None:
    source = Source(400)
    stand = stands(source)
    stand.queue.gaps.open("a", "why")
    healer = stand.start(tables_per_second=100)
    wait_until(lambda: len(stand.tables()) >= 50, what="a part of it")
    assert healer.worker.end(60)
    assert stand.states() == ["open"]
    before = len(stand.tables())
    assert before < 400
    again = stands(source)
    again.start()
    again.wait_for("closing")
    assert again.tables()[before:] == source.names
    instance = next(it for it in again.queue.intake.instances())
    assert instance.missing == (), "its numbers go on where they were"


def test_the_pace_is_kept(stands) -> None:
    stand = stands(Source(200))
    stand.queue.gaps.open("a", "why")
    begun = time.monotonic()
    stand.start(tables_per_second=200)
    stand.wait_for("closing")
    assert time.monotonic() - begun >= 0.75, "200 tables at 200 a second"


def test_it_waits_for_a_target_that_does_not_come_along(stands, monkeypatch) -> None:
    monkeypatch.setattr(feed, "_AHEAD", feed._CHUNK)
    stand = stands(Source(300))
    stand.is_held = True
    stand.queue.gaps.open("a", "why")
    stand.start()
    wait_until(lambda: len(stand.asked()) > 0, what="the first of it")
    time.sleep(0.2)
    asked = len(stand.asked())
    assert asked <= 3 * feed._CHUNK, "it must not fill the queue"
    assert stand.states() == ["open"]
    stand.is_held = False
    stand.wait_for("closing")


# --- what people ask for


def test_tables_that_are_asked_for_are_the_only_ones_compared(stands, monkeypatch) -> None:
    stand = stands(Source(3))
    healer = stand.start()
    opened = stand.queue.gaps.open

    def slowly(*args: Any) -> bool:
        is_new = opened(*args)
        time.sleep(0.3)  # the healer looks for gaps meanwhile
        return is_new

    monkeypatch.setattr(stand.queue.gaps, "open", slowly)
    healer.refresh([TableName("db", "t0001")])
    stand.wait_for("closing")
    assert stand.tables() == ["t0001"]


def test_a_database_that_is_asked_for_is_compared_without_its_tables(stands) -> None:
    stand = stands(Source(3))
    reason = stand.start().refresh([], ["db"])
    stand.wait_for("closing")
    assert [it.attributes.get("database", "*") for it in stand.asked()] == ["*", "db"]
    assert (stand.tables(), reason) == ([], "comparison of db requested by hand")


def test_what_is_only_read_again_opens_no_gap(stands) -> None:
    stand = stands(Source(3))
    stand.start().read_again([TableName("db", "t0002")])
    assert (stand.tables(), stand.states()) == (["t0002"], [])


def test_after_a_restart_the_log_says_what_a_lost_listener_may_have_missed(stands, monkeypatch) -> None:
    since = list[int]()

    def touched(_: object, after: int) -> list[SimpleNamespace]:
        since.append(after)
        return [SimpleNamespace(database="db", table="t0001")]

    monkeypatch.setattr(healing, "reaches", lambda *_: True)
    monkeypatch.setattr(wanted, "touched", touched)
    stand = stands(Source(3))
    healer = stand.start()
    stand.watch.note_event("hms", 5000)
    assert stand.watch.report(json.dumps({"instance": "hms", "sequence": 0, "waiting": 0}))
    wait_for_value(lambda: stand.queue.notes.get("notification-id"), "5000", what="the id that is sure")
    assert healer.worker.end(60)
    again = stands(Source(3))
    again.queue.gaps.open("missing:hms", "events are missing")
    again.start()
    again.wait_for("closing")
    assert (again.tables(), since) == (["t0001"], [4000])


def test_a_request_that_was_cut_short_compares_what_was_asked_for(stands, monkeypatch) -> None:
    stand = stands(Source(3))

    def killed(*_: Any) -> None:
        raise SystemExit

    healer = stand.start()
    assert healer.worker.end(60)
    monkeypatch.setattr(stand.queue.gaps, "open", killed)
    with pytest.raises(SystemExit):
        healer.refresh([TableName("db", "t0001")])
    assert (stand.tables(), stand.states()) == (["t0001"], [])


# --- events that overlap


def overlap(stand: Stand, name: str = "db.t0000") -> None:
    for thread in "12":
        stand.overlaps.seen(create_table(name, attributes={"thread": thread}))


@pytest.fixture
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pysync.capture.overlaps.CALM_SECONDS", 0.05)


@pytest.mark.usefixtures("calm")
def test_a_table_whose_events_overlap_is_refreshed_once(stands) -> None:
    stand = stands(Source())
    stand.start()
    overlap(stand)
    wait_for_value(stand.tables, ["t0000"], what="the refresh")
    time.sleep(0.2)
    assert stand.tables() == ["t0000"]
    assert stand.states() == [], "it is no gap"


@pytest.mark.usefixtures("calm")
def test_tables_that_overlap_while_the_source_is_away_are_not_forgotten(stands) -> None:
    source = Source()
    source.away = True
    stand = stands(source)
    stand.start()
    overlap(stand)
    wait_until(lambda: source.opened >= 2, what="two tries")
    overlap(stand, "db.t0001")
    wait_until(lambda: source.opened >= 4, what="more tries")
    source.away = False
    wait_for_value(lambda: sorted(stand.tables()), ["t0000", "t0001"], what="both")


def test_tables_that_overlapped_before_a_restart_are_refreshed_without_their_events(
    stands, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CALM_SECONDS", "_LATEST_SECONDS"):
        monkeypatch.setattr(f"pysync.capture.overlaps.{name}", 3600.0)  # the first process never refreshes them
    stand = stands(Source())
    first = stand.start()
    overlap(stand)
    wait_until(lambda: "t0000" in (stand.queue.notes.get("unsettled") or ""), what="the note")
    first.worker.end(60)
    assert stand.tables() == [], "they are not calm"
    stand.overlaps = Overlaps()
    stand.start()
    wait_for_value(stand.tables, ["t0000"], what="the refresh")
    wait_until(lambda: stand.queue.notes.get("unsettled") == "[]", what="the end of the note")


@pytest.mark.usefixtures("calm")
def test_what_is_renamed_while_refreshes_wait_is_refreshed_in_turn(stands) -> None:
    stand = stands(Source(3))
    stand.queue.gaps.open("a", "why")
    stand.start()
    stand.wait_for("closing")
    before = len(stand.tables())
    stand.overlaps.seen(rename_table("db.t0001", "db.moved"))
    wait_for_value(lambda: sorted(stand.tables()[before:]), ["moved", "t0001"], what="both names")


@pytest.mark.usefixtures("calm")
def test_what_is_renamed_while_none_waits_is_left_alone(stands) -> None:
    stand = stands(Source(3))
    stand.start()
    stand.overlaps.seen(rename_table("db.t0001", "db.moved"))
    overlap(stand)  # proof that it looked
    wait_for_value(stand.tables, ["t0000"], what="the one that overlaps")


def words(stand: Stand) -> list[str]:
    return [it.attributes["home"] for it in stand.asked() if it.attributes.get("reread") == "true"]


@pytest.mark.parametrize(
    ("keys", "relays", "reported"),
    [
        (["missing:jvm"], True, ["onprem"]),
        (["missing:jvm", "reported:jvm:7", "requested:1"], True, ["onprem"]),
        (["reported:jvm:7"], True, []),  # else the clusters of a ring would tell each other without end
        (["requested:1"], True, []),
        (["missing:jvm"], False, []),
    ],
)
def test_clusters_behind_the_targets_are_told_of_what_may_be_lost_here(stands, keys, relays, reported) -> None:
    stand = stands(Source(2))
    for key in keys:
        stand.queue.gaps.open(key, "why")
    stand.start(relays=relays)
    stand.wait_for(*["closing"] * len(keys))
    assert words(stand) == reported
    assert {gap.upto for gap in stand.queue.gaps.latest()} == {stand.queue.last}, "it is closed once all that is done"


def test_gaps_of_one_target_are_left_to_it(stands) -> None:
    stand = stands(Source(2))
    for key in (f"{new_gaps('dr')}1:0", f"{scope_gaps('dr')}1:1"):
        stand.queue.gaps.open(key, "why")
    stand.start()
    time.sleep(0.2)
    assert (stand.states(), stand.asked()) == (["open", "open"], [])
    stand.queue.gaps.open("missing:jvm", "why")
    stand.wait_for("closing", "open", "open")
    assert {it.attributes.get("targets") for it in stand.asked()} == {None}
