"""The poller: from a notification log into a real queue, with faults at every step."""

from __future__ import annotations

import json
import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given, settings
from hypothesis import strategies as st

from pysync.capture.notifications import Poller, Position, instance_of, poller, read
from pysync.model.event import Event, Kind
from pysync.model.wire import decode, decode_event
from pysync.queue import EventQueue, QueueFailed, QueueFull
from tests.support.notifications import MemoryLog, recorded, row

INSTANCE = "notification-log:onprem"


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[EventQueue]:
    with EventQueue(tmp_path, min_free_bytes=0) as opened:
        opened.target("dr").register()
        yield opened


class Gaps(list):
    """What the poller reported; `raises` once, if set."""

    raises: Exception | None = None

    def __call__(self, reason: str) -> None:
        if self.raises is not None:
            error, self.raises = self.raises, None
            raise error
        self.append(reason)


def made(queue: EventQueue, gaps: Gaps | None = None) -> Poller:
    return Poller(queue, "onprem", "thrift://nowhere", Gaps() if gaps is None else gaps)


def turn(one: Poller, source: MemoryLog) -> None:
    """As its thread does, until there is nothing more."""
    while one._turn(source):
        pass


def queued(queue: EventQueue) -> list[int | None]:
    """The notification ids in the queue, in its order."""
    return [decode_event(found.data).notification_id for found in queue.target("dr").window(10_000, 10**9)]


def sequences(queue: EventQueue) -> list[int]:
    return [decode_event(found.data).sequence for found in queue.target("dr").window(10_000, 10**9)]


def test_it_begins_with_what_comes_after_its_first_start(queue):
    source, one = MemoryLog([row(1), row(2)]), made(queue)
    turn(one, source)
    assert (queued(queue), one.status()["position"], one.status()["state"]) == ([], 2, "running")
    source.rows += [row(3), row(4)]
    turn(one, source)
    assert queued(queue) == [3, 4]
    assert one.status()["counts"] == {"events": 2, "ignored": 0, "gaps": 0}


def test_it_goes_on_where_it_ended_with_the_next_sequence(queue):
    source = MemoryLog([row(1)])
    turn(made(queue), source)
    source.rows += [row(2), row(3)]
    turn(made(queue), source)
    source.rows += [row(4)]
    turn(made(queue), source)
    assert (queued(queue), sequences(queue)) == ([2, 3, 4], [1, 2, 3])
    (instance,) = queue.intake.instances()
    assert (instance.instance, instance.source, instance.missing) == (INSTANCE, "onprem", ())
    assert instance_of("onprem") == INSTANCE


def test_an_empty_log_waits_with_a_hint_and_its_first_event_is_taken(queue):
    source, one = MemoryLog(), made(queue)
    turn(one, source)
    status = one.status()
    assert (status["state"], status["position"]) == ("waiting", 0)
    assert "DbNotificationListener" in status["last_error"]["reason"]
    source.rows.append(row(1))
    turn(made(queue), source)
    assert queued(queue) == [1]


def test_kinds_and_catalogs_that_are_not_replayed_cost_no_sequence(queue):
    source, one = MemoryLog([row(1)]), made(queue)
    turn(one, source)
    source.rows += [row(2), row(3, kind="OPEN_TXN"), row(4, catalog="spark"), row(5)]
    turn(one, source)
    assert (queued(queue), sequences(queue)) == ([2, 5], [1, 2])
    assert one.status()["counts"]["ignored"] == 2


def test_a_gap_is_reported_and_the_rest_taken(queue):
    source, gaps = MemoryLog([row(1)]), Gaps()
    turn(made(queue), source)
    source.rows = [row(5)]
    one = made(queue, gaps)
    turn(one, source)
    assert queued(queue) == [5]
    assert len(gaps) == 1
    assert "2 to 4" in gaps[0]
    turn(one, source)
    assert (len(gaps), one.status()["counts"]["gaps"]) == (1, 1)


def test_a_gap_that_could_not_be_reported_is_found_again_in_the_same_words(queue):
    source, gaps = MemoryLog([row(1)]), Gaps()
    turn(made(queue), source)
    source.rows = [row(5)]
    gaps.raises = RuntimeError("the healer stumbled")
    with pytest.raises(RuntimeError):
        turn(made(queue, gaps), source)
    first = made(queue, gaps)
    turn(first, source)
    assert gaps == [
        "the notification log no longer holds notifications 2 to 4: pysync did not read the log for longer than the "
        "metastore keeps events"
    ]
    assert queued(queue) == [5, 5], "what was queued before comes again, it is not lost"


def test_a_message_that_cannot_be_read_is_kept_aside_and_a_gap(queue):
    source, gaps = MemoryLog([row(1)]), Gaps()
    one = made(queue, gaps)
    turn(one, source)
    source.rows += [row(2), replace(row(3), message="no message"), row(4)]
    turn(one, source)
    assert (queued(queue), sequences(queue)) == ([2, 4], [1, 2])
    assert len(gaps) == 1
    assert gaps[0].startswith("notification 3 (DROP_TABLE of db.t3) cannot be read")
    assert [kept.data for kept in queue.intake.unreadable()] == [b"no message"]


def test_an_event_that_is_too_large_for_the_queue_is_a_gap(queue, monkeypatch):
    monkeypatch.setattr("pysync.queue.values.MAX_DATA", 5_000)
    source, gaps = MemoryLog([row(1)]), Gaps()
    one = made(queue, gaps)
    turn(one, source)
    big = json.dumps({"db": "db", "table": "t" * 6_000})
    source.rows += [replace(row(2), message=big), row(3)]
    turn(one, source)
    assert queued(queue) == [3]
    assert len(gaps) == 1


def test_a_position_that_cannot_be_read_is_a_gap(queue):
    queue.notes.put(INSTANCE, "spoiled")
    gaps = Gaps()
    turn(made(queue, gaps), MemoryLog([row(1)]))
    assert gaps == ["the position in the notification log was lost"]
    assert Position.from_json(queue.notes.get(INSTANCE) or "").last == 1


def test_the_last_ids_are_read_again_until_the_log_has_been_quiet_for_a_while(queue, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(poller.time, "monotonic", lambda: clock[0])
    source, one = MemoryLog([row(1)]), made(queue)
    turn(one, source)
    source.rows.append(row(2))
    turn(one, source)
    clock[0] += 59
    source.rows.append(row(2, "late"))
    turn(one, source)
    assert queued(queue) == [2, 2]
    clock[0] += 61
    asked = len(source.asked)
    turn(one, source)
    assert len(source.asked) == asked, "a quiet log is asked for its current id alone"


def test_a_created_database_is_read_at_the_source(queue, monkeypatch):
    created = recorded("2.3")[0]
    source, one = MemoryLog(), made(queue)
    turn(one, source)
    source.rows.append(created)
    monkeypatch.setattr(source.metastore, "database", lambda _: None)
    turn(one, source)
    assert (queued(queue), one.status()["counts"]["ignored"]) == ([], 1)


# --- any faults


class _Faulty:
    """A queue that fails before or after what it is asked to write, as told in `faults`."""

    def __init__(self, queue: EventQueue, faults: deque[str]) -> None:
        self._queue, self._faults = queue, faults
        self.instances, self.keep_unreadable = queue.intake.instances, queue.intake.keep_unreadable
        self.get = queue.notes.get
        self.intake = self.notes = self

    def append_all(self, entries):
        return self._maybe("append", lambda: self._queue.intake.append_all(entries))

    def put(self, key, value):
        return self._maybe("note", lambda: self._queue.notes.put(key, value))

    def _maybe(self, what, action):
        fault = self._faults.popleft() if self._faults else ""
        if fault == f"before {what}":
            raise QueueFull("no room")
        answer = action()
        if fault == f"after {what}":
            raise QueueFailed("the disk failed after it was written")
        return answer


_FAULTS = st.lists(st.sampled_from(["", "before append", "after append", "before note", "after note"]), max_size=12)
_MORE = st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), min_size=1, max_size=8)


@settings(max_examples=40, deadline=None)
@given(faults=_FAULTS, more=_MORE, page=st.integers(1, 5))
def test_every_row_is_in_the_queue_whatever_fails_and_whenever_it_is_restarted(faults, more, page):
    """`more`: how many rows are committed, whether the last has a twin, and whether the poller starts anew then."""
    with tempfile.TemporaryDirectory() as directory, EventQueue(Path(directory), min_free_bytes=0) as queue:
        queue.target("dr").register()
        source, faulty = MemoryLog([row(1)]), _Faulty(queue, deque())
        with patch.object(poller, "read", partial(read, page=page)):
            one = made(faulty)
            _persist(one, source)
            faulty._faults.extend(faults)
            for number, twin, restart in more:
                _commit(source, number, twin)
                _persist(one, source)
                one = made(faulty) if restart else one
            _persist(one, source)
        told = [decode_event(found.data) for found in queue.target("dr").window(10_000, 10**9)]
        assert [event.sequence for event in told] == list(range(1, len(told) + 1)), "sequences have holes"
        names = [_name(event) for event in told]
        wanted = [(found.id, found.table) for found in source.rows[1:]]
        assert set(wanted) == set(names)
        if not any(twin for _, twin, _ in more):
            assert list(dict.fromkeys(names)) == wanted


def _commit(source: MemoryLog, number: int, twin: bool) -> None:
    for _ in range(number):
        source.rows.append(row(source.current() + 1))
    if twin and source.current() > 1:
        source.rows.append(row(source.current(), f"twin{len(source.rows)}"))


def _persist(one: Poller, source: MemoryLog) -> None:
    """As its thread does: what fails is tried again."""
    for _ in range(100):
        try:
            turn(one, source)
        except (QueueFull, QueueFailed):
            continue
        return
    raise AssertionError("it did not get through")


def _name(event: Event) -> tuple[int, str]:
    assert event.kind is Kind.DROP_TABLE
    return event.notification_id, decode(hive.Table, event.before[0]).tableName
