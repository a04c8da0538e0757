"""Every prefix of what the queue writes, recorded from a real run: it opens, and holds all that was answered by then.

Run as a program it is what is recorded: appends, two targets, parking, trimming, gaps, ends in order and a kill; in a
new file.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from pysync.queue import Entry, EventQueue
from tests.support.queues import park
from tests.support.recorder import NOTES, CannotRecord, crashes, lay_out, steps, strace

pytestmark = pytest.mark.crash

EVENTS = 24


def data_of(number: int) -> bytes:
    return b"event %d " % number * (number * 53 % 900)


def record(directory: Path) -> None:
    """What is recorded; each answer is noted as soon as it is there."""
    notes = os.open(directory / NOTES, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    os.write(notes, b"begun 1\n")
    for number in range(1, EVENTS + 1, 8):
        with EventQueue(directory, min_free_bytes=0) as queue:
            session(queue, notes, number, number + 8)
    queue = EventQueue(directory, min_free_bytes=0)
    session(queue, notes, EVENTS + 1, EVENTS + 5)
    os.kill(os.getpid(), signal.SIGKILL)


def session(queue: EventQueue, notes: int, first: int, end: int) -> None:
    for target in ("dr", "lake"):
        queue.target(target).register()
    for number in range(first, end):
        queue.intake.append_all([Entry("jvm", number, "onprem", data_of(number), firm=True)])
        os.write(notes, b"event %d\n" % number)
    queue.gaps.open(f"gap {first}", "a gap")
    os.write(notes, b"gap %d\n" % first)
    queue.target("dr").advance(first + 2, [park(first, data=data_of(first))])
    os.write(notes, b"parked %d\n" % first)
    queue.target("lake").advance(first + 1)
    queue.trim()


def lost(directory: Path, noted: bytes) -> list[str]:
    """What was answered and is not there. Raises what keeps the queue from opening."""
    with EventQueue(directory, min_free_bytes=0, lock_timeout=0) as queue:
        there = {event.position: event.data for event in queue.events(0, 10**6, 10**9)}
        assert all(data == data_of(at) for at, data in there.items())
        done = min(queue.positions().values(), default=0)
        gaps = {gap.key for gap in queue.gaps.latest()}
        false = [gap for gap in gaps if not gap.startswith("gap ")]
        parked = {it.position for it in queue.target("dr").parked.events()} if "dr" in queue.positions() else set()
        assert queue.intake.append("after", 1, "onprem", b"goes on")
    missing = [f"a gap that is none: {it}" for it in false]
    for what, number in (line.split() for line in noted.decode().splitlines()):
        at = int(number)
        kept = {"event": at in there or at <= done, "gap": f"gap {at}" in gaps, "parked": at in parked, "begun": True}
        missing += [] if kept[what] else [f"{what} {number}"]
    return missing


@pytest.fixture
def recorded(tmp_path):
    directory = tmp_path / "queue"
    directory.mkdir(mode=0o700)
    try:
        command = strace(tmp_path / "record")
    except CannotRecord as error:
        pytest.skip(str(error))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command += [sys.executable, __file__, str(directory)]
    done = subprocess.run(command, env=environment, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return steps(tmp_path / "record", directory)


@pytest.fixture
def memory(tmp_path):
    """A directory for thousands of queues: in memory, where there is such a place."""
    place = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=place if place.is_dir() else tmp_path) as directory:
        yield directory


def test_every_prefix_of_the_writes_opens_and_has_lost_nothing_that_was_answered(recorded, memory):
    tried, failed = Counter(), []
    for number, (files, noted) in enumerate(crashes(recorded)):
        if b"begun" not in noted:
            continue
        directory = Path(memory) / "crash"
        lay_out(files, directory)
        try:
            found = lost(directory, noted)
        except Exception as error:
            found = [repr(error)]
        if found:
            failed.append((number, {name: len(data) for name, data in files.items()}, found))
        tried["states"] += 1
        shutil.rmtree(directory, ignore_errors=True)
    sys.stdout.write(f"{len(recorded)} steps, {tried['states']} states tried\n")
    assert failed == []


if __name__ == "__main__":
    record(Path(sys.argv[1]))
