"""Stop and start: a stop is quick and loses nothing whatever the target does, a start waits for nobody, clocks jump."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from pysync.lab.aws import EmbeddedAws
from pysync.model.event import Kind
from pysync.model.wire import encode_event
from pysync.queue import Entry, EventQueue
from tests.support import partition, table, wait_for_items, wait_until
from tests.support.drains import Maker, create, create_database
from tests.support.events import INSTANCE, database, event
from tests.support.queues import Disk, Reopener, fill, numbered, seen
from tests.support.sidecars import FaultyPlace, Place, Sidecar, send, sidecar, wait_for

EVENTS = 5000
DAY = 86_400.0
STOP_SECONDS = 5.0


def fill_up(place: Place, clock: float | None = None, events: int = EVENTS) -> None:
    """A queue with events that no target has seen: a database and its tables."""
    makers = [create_database(), *(create(f"db.t{number}") for number in range(2, events + 1))]
    now = time.time() if clock is None else clock
    with EventQueue(place.queue, min_free_bytes=0, clock=lambda: now) as queue:
        made = (replace(make(at), time_ms=round(now * 1000)) for at, make in enumerate(makers, 1))
        entries = (Entry(INSTANCE, it.sequence, "onprem", encode_event(it)) for it in made)
        queue.intake.append_all(list(entries))


def applied(log: str) -> set[str]:
    """The keys that the sidecar's log says were applied."""
    words = (word for line in log.splitlines() if "operation_applied" in line for word in line.split())
    return {word.removeprefix("key=") for word in words if word.startswith("key=")}


@pytest.fixture
def place(tmp_path: Path) -> FaultyPlace:
    return FaultyPlace(tmp_path)


# --- stop


def stop_seconds(running: Sidecar) -> float:
    """Stop it with SIGTERM; how long that took: no minute."""
    began = time.monotonic()
    running.process.terminate()
    assert running.process.wait(60) == 0, running.log()
    return time.monotonic() - began


def usual_stop(place: Place) -> float:
    """How long it takes when there is nothing to do: on a busy machine the interpreter itself needs its time."""
    with sidecar(place) as running:
        return stop_seconds(running)


@pytest.mark.crash
@pytest.mark.parametrize("fault", ['{ kind = "delay", seconds = 0.05 }', '{ kind = "hang", seconds = 120 }'])
def test_sigterm_with_a_full_queue_and_a_slow_target_is_quick_and_loses_nothing(place: FaultyPlace, fault: str) -> None:
    usual = usual_stop(place)
    place.write(more=f'faults = [{fault}]\n[log]\nlevel = "debug"\n')
    fill_up(place)
    with sidecar(place) as running:
        if "delay" in fault:
            wait_for_items(lambda: applied(running.log()), 11, seconds=30, what="the first operations")
        else:
            wait_until(lambda: running.status()["targets"][0]["queued"] == EVENTS, what="the backlog")
        took = stop_seconds(running)
        done = applied(running.log())
    assert took < STOP_SECONDS + usual, f"it took {took:.1f} s, and {usual:.1f} s with nothing to do"
    with EventQueue(place.queue, min_free_bytes=0) as queue:
        position = queue.target("try").position()
        left = queue.target("try").window(EVENTS, 10**9)
        assert [event.position for event in left] == list(range(position + 1, EVENTS + 1)), "an event is gone"
        passed = {"db" if at == 1 else f"db.t{at}" for at in range(1, position + 1)}
    assert passed <= done, f"moved on past what was never applied: {sorted(passed - done)[:5]}"
    assert position < EVENTS, "the target was not slow"


class GluePlace(Place):
    """The target is a Glue Data Catalog at `url`."""

    url = ""

    def target(self) -> str:
        return f'name = "lake"\nkind = "glue"\nregion = "us-east-1"\nendpoint_url = "{self.url}"'


def many_partitions() -> list[Maker]:
    """A database, a table, and more partitions at once than go into one call."""
    owner = table("db", "t", partition_keys=[("day", "string")], location="s3://bucket/t")
    parts = [partition(owner, [str(number)]) for number in range(250)]
    for part in parts:
        part.sd.location = f"s3://bucket/t/{part.values[0]}"
    home = database("db", locationUri="s3://bucket/db")
    return [
        lambda at: event(Kind.CREATE_DATABASE, after=[home], sequence=at),
        lambda at: event(Kind.CREATE_TABLE, after=[owner], sequence=at),
        lambda at: event(Kind.ADD_PARTITION, of=owner, after=parts, sequence=at),
    ]


@pytest.mark.crash
def test_calls_of_a_pool_that_hang_do_not_keep_it_from_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter waits for the threads of pools, daemons or not, and each of these waits for its answer."""
    with EmbeddedAws(athena=False) as aws:
        for key, value in aws.environment().items():
            monkeypatch.setenv(key, value)
        place = GluePlace(tmp_path)
        place.url = aws.url
        place.write()
        aws.fault("Glue.BatchCreatePartition", delay_seconds=600, count=10)
        with sidecar(place) as running:
            send(running, *many_partitions())
            wait_until(lambda: aws.calls().get("Glue.BatchCreatePartition", 0) > 0, what="the call that hangs")
            stop_seconds(running)
            assert "target_hung" in running.log()


def test_what_a_stop_left_over_is_applied_after_the_next_start(place: FaultyPlace) -> None:
    place.write(more='faults = [{ kind = "hang", seconds = 120 }]\n')
    fill_up(place, events=500)
    with sidecar(place) as running:
        assert running.stop() == 0
    place.write()
    with sidecar(place) as running:
        assert wait_for(running, queued=0)["position"] == 500


# --- start


@contextmanager
def mute_server() -> Iterator[tuple[int, socket.socket]]:
    """A port where connections come up and no byte is ever answered: it is worse than one that refuses."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1], server


def test_a_start_never_waits_for_a_target_or_a_source_that_says_nothing(tmp_path: Path) -> None:
    """Its connections wait 120 s for an answer: had the start waited for one, `sidecar` would give up after 30."""
    place = Place(tmp_path)
    with mute_server() as (port, server), mute_server() as (source, _):
        text = place.file.read_text().replace(str(place.away), f"thrift://127.0.0.1:{port}")
        place.file.write_text(
            text.replace('name = "onprem"', f'name = "onprem"\nmetastore = "thrift://127.0.0.1:{source}"')
        )
        fill_up(place, events=100)
        with sidecar(place) as running:
            server.settimeout(20)
            with closing(server.accept()[0]):  # the target is being asked, and has not answered
                send(running, create("db.more"), first=101)
                status = running.status()
                assert (status["targets"][0]["queued"], status["targets"][0]["position"]) == (101, 0)
                running.process.terminate()
                assert running.process.wait(60) == 0


# --- clocks


def test_positions_and_sequences_do_not_care_for_the_clock(reopen: Reopener, disk: Disk) -> None:
    queue = reopen()
    queue.target("dr").register()
    for first, now in ((1, 1e9), (4, 1.0), (7, 4e9), (10, 2e9)):
        disk.now = now
        fill(queue, first, first + 2)
    assert seen(queue, "dr") == numbered(1, 12)
    queue.target("dr").advance(5)
    assert queue.trim() == 5
    disk.now = 0.0
    again = reopen()
    assert seen(again, "dr") == numbered(6, 12)
    assert (again.intake.append("jvm", 12, "onprem", b"12"), again.intake.append("jvm", 13, "onprem", b"13")) == (
        False,
        True,
    )
    assert [(it.received, it.highest, it.missing) for it in again.intake.instances()] == [(13, 13, ())]


def test_waiting_ends_in_time_whatever_the_clock_says(reopen: Reopener, disk: Disk) -> None:
    queue = reopen()
    queue.target("dr").register()
    disk.now = -1e9
    began = time.monotonic()
    assert queue.target("dr").wait(0.05) is False
    fill(queue, 1, 1)
    disk.now = 1e10
    assert queue.target("dr").wait(30) is True
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(("ahead", "least", "most"), [(DAY, 0.0, 0.0), (-DAY, DAY, DAY + 600)])
def test_the_lag_is_never_negative_and_never_without_bounds(
    tmp_path: Path, ahead: float, least: float, most: float
) -> None:
    """The events were queued by a clock that was a day ahead, or behind."""
    place = Place(tmp_path)
    fill_up(place, clock=time.time() + ahead, events=10)
    with sidecar(place) as running:
        assert least <= running.status()["targets"][0]["lag_seconds"] <= most
