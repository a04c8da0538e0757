"""A switch of the capture: what may have been missed in between is a gap, once, whatever ends the sidecar meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pysync.capture.notifications import instance_of
from pysync.capture.switch import LISTENER, NOTIFICATION_LOG, SWITCHED, note_capture
from pysync.model.event import SIDECAR
from pysync.model.wire import encode_event
from pysync.queue import EventQueue
from tests.support.events import INSTANCE, create_table

LOG = instance_of("onprem")


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[EventQueue]:
    with EventQueue(tmp_path, min_free_bytes=0) as opened:
        yield opened


def reasons(queue: EventQueue) -> list[str]:
    return [gap.reason for gap in reversed(queue.gaps.latest()) if gap.key.startswith(SWITCHED)]


def came(queue: EventQueue, instance: str) -> None:
    queue.intake.append(instance, 1, "onprem", encode_event(create_table("db.t")))


@pytest.mark.parametrize("capture", [LISTENER, NOTIFICATION_LOG])
def test_the_first_start_and_those_after_it_open_no_gap(queue, capture):
    for _ in range(3):
        note_capture(queue, "onprem", capture)
        came(queue, INSTANCE if capture == LISTENER else LOG)
        queue.notes.put(LOG, '{"last":1,"seen":[]}') if capture == NOTIFICATION_LOG else None
    assert reasons(queue) == []


def test_each_switch_is_one_gap(queue):
    for capture in (LISTENER, NOTIFICATION_LOG, NOTIFICATION_LOG, LISTENER, LISTENER, NOTIFICATION_LOG):
        note_capture(queue, "onprem", capture)
    assert reasons(queue) == [
        f"capture was switched from {before} to {now}: pysync compares source and targets"
        for before, now in ((LISTENER, NOTIFICATION_LOG), (NOTIFICATION_LOG, LISTENER), (LISTENER, NOTIFICATION_LOG))
    ]


def test_a_switch_to_the_log_forgets_the_position_that_is_old_by_now(queue):
    queue.notes.put(LOG, '{"last":7,"seen":[]}')
    note_capture(queue, "onprem", LISTENER)
    assert queue.notes.get(LOG) == '{"last":7,"seen":[]}'
    note_capture(queue, "onprem", NOTIFICATION_LOG)
    assert queue.notes.get(LOG) == ""
    queue.notes.put(LOG, '{"last":9,"seen":[]}')
    note_capture(queue, "onprem", NOTIFICATION_LOG)
    assert queue.notes.get(LOG) == '{"last":9,"seen":[]}'


@pytest.mark.parametrize(
    ("instance", "position", "now", "gaps"),
    [
        (INSTANCE, None, LISTENER, 0),
        (INSTANCE, None, NOTIFICATION_LOG, 1),
        (LOG, '{"last":1,"seen":[]}', NOTIFICATION_LOG, 0),
        (LOG, '{"last":1,"seen":[]}', LISTENER, 1),
        (SIDECAR, None, NOTIFICATION_LOG, 0),
        (SIDECAR, None, LISTENER, 0),
    ],
)
def test_a_queue_of_an_older_release_tells_by_its_events_how_they_came(queue, instance, position, now, gaps):
    came(queue, instance)
    if position:
        queue.notes.put(LOG, position)
    note_capture(queue, "onprem", now)
    assert len(reasons(queue)) == gaps


@pytest.mark.parametrize("fails", ["gap", "position", "note"])
@pytest.mark.parametrize("now", [LISTENER, NOTIFICATION_LOG])
def test_a_start_that_is_cut_off_before_any_write_is_made_good_by_the_next(queue, monkeypatch, fails, now):
    before = LISTENER if now == NOTIFICATION_LOG else NOTIFICATION_LOG
    note_capture(queue, "onprem", before)
    queue.notes.put(LOG, "old")
    with monkeypatch.context() as cut:
        if fails == "gap":
            cut.setattr(queue.gaps, "open", _cut_off)
        else:
            key, put = (LOG if fails == "position" else "capture"), queue.notes.put
            cut.setattr(queue.notes, "put", lambda name, value: _cut_off() if name == key else put(name, value))
        if (fails, now) == ("position", LISTENER):
            note_capture(queue, "onprem", now)  # it needs no position
        else:
            with pytest.raises(KeyboardInterrupt):
                note_capture(queue, "onprem", now)
    note_capture(queue, "onprem", now)
    assert reasons(queue), "no gap"
    assert queue.notes.get(LOG) == ("" if now == NOTIFICATION_LOG else "old")
    found = len(reasons(queue))
    note_capture(queue, "onprem", now)
    assert len(reasons(queue)) == found


def _cut_off(*_: object) -> bool:
    raise KeyboardInterrupt
