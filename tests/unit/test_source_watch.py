"""The watch of the source: a source that does not answer, and one that was restored from a backup."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.errors import PysyncError
from pysync.capture import source_watch
from pysync.capture.gaps import GapWatch
from pysync.capture.source_watch import SourceWatch
from pysync.model.event import SIDECAR, Event, Kind
from pysync.model.wire import encode_event
from pysync.queue import EventQueue
from tests.support import partition, table
from tests.support.events import INSTANCE, create_table, event
from tests.support.queues import Reopener
from tests.support.refreshing import Hms

REASON = "the source's metastore is older than its events, as after a restore: db.t is not there"


class Stand:
    """A watch on a real queue, whose turns the test takes; `now` is its clock."""

    def __init__(self, queue: EventQueue, monkeypatch: pytest.MonkeyPatch) -> None:
        self.queue, self.now, self.source, self.calls = queue, 1000.0, Hms("db.t"), 0
        self.listeners = GapWatch(queue, 15.0)
        self.is_away = False
        monkeypatch.setattr(source_watch.time, "monotonic", lambda: self.now)
        self.begin()

    def begin(self, *, by_log: bool = False) -> None:
        """Another sidecar begins; of the log it has read what there was at `read_at`."""
        self.read_at, self.missed = self.now, 0
        settled = (lambda moment: self.read_at >= moment) if by_log else (lambda _: self.listeners.is_settled())
        self.watch = SourceWatch(self.queue, self.opened, self.listeners, has_come=settled, missed=lambda: self.missed)

    @contextmanager
    def opened(self) -> Iterator[Hms]:
        if self.is_away:
            raise PysyncError("cannot read the source")
        self.calls += 1
        yield self.source

    def send(self, *events: Event) -> None:
        """Events come from the listener, which has no more."""
        for it in events:
            self.queue.intake.append(it.instance, it.sequence, it.source, encode_event(it))
            self.report(it.instance, it.sequence)

    def report(self, instance: str = INSTANCE, sequence: int = 1, *, waiting: int = 0) -> None:
        self.listeners.report(
            json.dumps({"instance": instance, "source": "onprem", "sequence": sequence, "waiting": waiting})
        )

    def turn(self, seconds: float = 5.0) -> list[str]:
        """The next turn, so many seconds later; returns the reasons of all gaps."""
        self.now += seconds
        self.watch.turn()
        return [it.reason for it in self.queue.gaps.latest()]


@pytest.fixture
def stand(reopen: Reopener, monkeypatch: pytest.MonkeyPatch) -> Stand:
    return Stand(reopen(), monkeypatch)


def restored(stand: Stand) -> None:
    """The source is as it was before `db.t` was created."""
    stand.source = Hms("db.other")


def test_a_restored_source_is_a_gap_once_it_was_seen_twice(stand):
    stand.send(create_table("db.t"))
    assert stand.turn() == []
    restored(stand)
    assert [stand.turn(30), [it[: len(REASON)] for it in stand.turn()]] == [[], [REASON]]
    assert len(stand.turn(60)) == 1, "the same is no second gap"


def test_a_change_that_comes_after_the_first_look_is_no_gap(stand):
    stand.send(create_table("db.t"))
    stand.turn()
    restored(stand)
    assert stand.turn(30) == []
    stand.send(event(Kind.DROP_TABLE, before=[table("db", "t")], sequence=2))
    assert stand.turn() == stand.turn(30) == []


def test_nothing_is_a_gap_while_a_listener_has_events_left(stand):
    stand.send(create_table("db.t"))
    stand.turn()
    restored(stand)
    stand.report(waiting=100)
    assert [stand.turn(30), stand.turn(), stand.turn()] == [[], [], []]
    stand.report()
    assert len(stand.turn()) == 1


def test_the_next_sidecar_looks_first_at_what_came_before_many_changes(stand):
    """A metastore that begins with a backup may have many changes before anybody looks at it."""
    stand.send(create_table("db.t"))
    stand.turn()
    restored(stand)
    stand.begin()
    names = [f"t{number}" for number in range(100)]
    stand.source = Hms("db.other", *(f"db.{name}" for name in names))
    events = (create_table(f"db.{name}", instance="jvm-2", sequence=1 + at) for at, name in enumerate(names))
    stand.send(*events)
    assert [stand.turn(), len(stand.turn())] == [[], 1]


def test_after_more_events_than_are_looked_at_nothing_is_known_for_certain(stand, monkeypatch):
    monkeypatch.setattr(source_watch, "_MOST_EVENTS", 3)
    stand.send(create_table("db.t"))
    stand.turn()
    restored(stand)
    stand.send(*(create_table("db.other", sequence=2 + number) for number in range(4)))
    assert [stand.turn(), stand.turn(60), stand.turn()] == [[], [], []]


def test_events_that_nobody_has_seen_leave_nothing_certain(stand):
    stand.send(create_table("db.t"))
    stand.turn()
    restored(stand)
    stand.send(event(Kind.DROP_TABLE, before=[table("db", "t")], sequence=2))
    stand.queue.trim()
    assert [stand.turn(30), stand.turn()] == [[], []]


def test_what_was_in_the_queue_before_the_first_sidecar_counts(stand):
    stand.send(create_table("db.t"))
    stand.begin()
    restored(stand)
    assert [stand.turn(), len(stand.turn())] == [[], 1]


NAMES = {"database": "db", "table": "t"}


@pytest.mark.parametrize(
    ("later", "gaps"),
    [
        ({"kind": Kind.DROP_TABLE, "before": [table("db", "t")], "attributes": {"uncommitted": "true"}}, 0),
        ({"kind": Kind.TABLE_CHANGED, "attributes": {**NAMES, "absent": "true"}}, 0),
        ({"kind": Kind.REFRESH, "attributes": NAMES, "instance": SIDECAR}, 1),
        ({"kind": Kind.CREATE_TABLE, "after": [table("db", "t")], "attributes": {"thread": "2"}}, 0),
    ],
)
def test_only_what_is_certain_is_a_gap(stand, later, gaps):
    """Not what is not committed yet, too long to be sent, or of two threads at once; a refresh says nothing."""
    stand.send(create_table("db.t"), event(**{"sequence": 2, **later}))
    restored(stand)
    assert [len(stand.turn()), len(stand.turn()), len(stand.turn(30))] == [0, gaps, gaps]


def test_the_source_is_asked_until_a_new_metastore_has_delivered_its_events(stand):
    stand.turn()
    stand.report("jvm-2", waiting=10)
    for calls in (2, 3):
        stand.turn()
        assert stand.calls == calls
    stand.report("jvm-2")
    for calls in (4, 4):
        stand.turn()
        assert stand.calls == calls


def test_a_connection_is_no_contact_before_the_source_has_answered(stand, monkeypatch):
    def away(_: str) -> None:
        raise PysyncError("nobody there")

    monkeypatch.setattr(stand.source, "database", away)
    with pytest.raises(PysyncError, match="nobody there"):
        stand.turn()
    assert stand.watch.last_contact() is None


def test_an_idle_source_is_asked_each_half_minute(stand):
    assert stand.watch.last_contact() is None
    stand.turn()
    for seconds, calls in ((5, 1), (20, 1), (5, 2), (5, 2), (30, 3)):
        stand.turn(seconds)
        assert stand.calls == calls
    assert stand.watch.last_contact() is not None


def test_a_source_that_is_away_is_asked_again_and_its_events_are_noted_meanwhile(stand):
    stand.is_away = True
    stand.send(create_table("db.t"))
    for _ in range(2):
        with pytest.raises(PysyncError, match="cannot read the source"):
            stand.turn(30)
    stand.is_away = False
    restored(stand)
    assert [stand.turn(), len(stand.turn())] == [[], 1]


def test_an_object_that_the_source_fails_to_read_hinders_no_other(stand, monkeypatch):
    read = Hms.table

    def odd(source: Hms, of: str, name: str) -> object:
        if name == "odd":
            raise hive.MetaException("it is odd")
        return read(source, of, name)

    monkeypatch.setattr(Hms, "table", odd)
    stand.send(create_table("db.odd"), create_table("db.t", sequence=2))
    stand.turn()
    restored(stand)
    assert [stand.turn(30), len(stand.turn())] == [[], 1]


def test_a_partition_that_does_not_fit_its_table_hinders_nothing(stand):
    odd = partition(table("db", "t"), ["1", "2"])
    stand.send(event(Kind.ADD_PARTITION, of=table("db", "t"), after=[odd]), create_table("db.u", sequence=2))
    restored(stand)
    assert stand.turn() == []
    assert len(stand.turn()) == 1


def test_no_more_is_remembered_while_the_source_is_away(stand):
    stand.is_away = True
    for turn in range(4):
        stand.send(*(create_table(f"db.t{turn}x{it}", sequence=1 + turn * 50 + it) for it in range(50)))
        with pytest.raises(PysyncError):
            stand.turn(30)
    assert len(json.loads(stand.queue.notes.get("latest-objects"))["states"]) == 20


def test_a_table_of_the_log_that_the_source_lacks_is_a_gap_once_all_was_read(stand):
    """Hive 3 logs a table whose transaction a deadlock has undone (before: an extra table, until a comparison)."""
    stand.begin(by_log=True)
    stand.send(create_table("db.t"))
    restored(stand)
    assert [stand.turn(30), stand.turn(), stand.turn()] == [[], [], []], "its drop may come with the next poll"
    stand.read_at = stand.now
    assert [it[: len(REASON)] for it in stand.turn()] == [REASON]


def test_where_rows_of_the_log_are_missing_nothing_is_older(stand):
    """They are a gap already, and one of them may be the drop."""
    stand.begin(by_log=True)
    stand.send(create_table("db.t"))
    restored(stand)
    stand.turn(30)
    stand.read_at, stand.missed = stand.now, 1
    assert [stand.turn(), stand.turn(30)] == [[], []]
    stand.send(create_table("db.u", sequence=2))
    assert stand.turn(30) == []
    stand.read_at = stand.now
    assert len(stand.turn()) == 1, "what comes later counts again"


def test_a_drop_that_the_log_brings_later_is_no_gap(stand):
    stand.begin(by_log=True)
    stand.send(create_table("db.t"))
    restored(stand)
    assert stand.turn(30) == []
    stand.read_at = stand.now
    stand.send(event(Kind.DROP_TABLE, before=[table("db", "t")], sequence=2))
    assert [stand.turn(), stand.turn(30)] == [[], []]
