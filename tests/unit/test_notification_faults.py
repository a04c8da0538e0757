"""The poller with faults at every step: every row is in the queue, in its order."""

from __future__ import annotations

import tempfile
from collections import deque
from pathlib import Path
from unittest.mock import patch

from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given, settings
from hypothesis import strategies as st

from pysync.capture.notifications import Poller, look_back, poller, rows
from pysync.model.event import Event, Kind
from pysync.model.wire import decode, decode_event
from pysync.queue import EventQueue, QueueFailed, QueueFull
from tests.support.notifications import MemoryLog, row
from tests.support.pollers import made, turn


class _Faulty:
    """A queue that fails before or after what it is asked to write, as told in `faults`."""

    def __init__(self, queue: EventQueue, faults: deque[str]) -> None:
        self._queue, self._faults = queue, faults
        self.instances, self.keep_unreadable = queue.intake.instances, queue.intake.keep_unreadable
        self.get, self.last = queue.notes.get, 0
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
_BOUNDS = st.sampled_from([-1, 2**60])
_MORE = st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), min_size=1, max_size=8)


@settings(max_examples=40, deadline=None)
@given(faults=_FAULTS, more=_MORE, page=st.integers(1, 5), costly=_BOUNDS, most=_BOUNDS)
def test_every_row_is_in_the_queue_whatever_fails_and_whenever_it_is_restarted(faults, more, page, costly, most):
    """`more`: how many rows are committed, whether the last has a twin, and whether the poller starts anew then."""
    with tempfile.TemporaryDirectory() as directory, EventQueue(Path(directory), min_free_bytes=0) as queue:
        queue.target("dr").register()
        source, faulty = MemoryLog([row(1)]), _Faulty(queue, deque())
        with (
            patch.object(poller, "PAGE", page),
            patch.object(look_back, "_COSTLY_BYTES", costly),
            patch.object(rows, "_MOST_BYTES", most),
        ):
            one = made(faulty)
            _persist(one, source)
            faulty._faults.extend(faults)
            for number, twin, restart in more:
                _commit(source, number, twin)
                _persist(one, source)
                one = made(faulty) if restart else one
            one.begin_call()
            _persist(one, source)
        reported = [decode_event(found.data) for found in queue.target("dr").window(10_000, 10**9)]
        assert [event.sequence for event in reported] == list(range(1, len(reported) + 1)), "sequences have holes"
        names = [_name(event) for event in reported]
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
