"""The journal under kill -9, on a full disk, and with two writers: it always opens, and has whole records in order.

Run as a program it is the victim: threads append, and its worker writes and trims. It prints an id that was written.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pysync.base.errors import PysyncError
from pysync.journal import Journal, Query, Reader, Record
from tests.support import wait_until
from tests.support.tmpfs import CannotMount, fill, free, tmpfs

ROUNDS = 12
MIB = 1024 * 1024


def opened(file: Path, max_bytes: int = 2 * MIB) -> Journal:
    return Journal(file, keep=1e12, max_bytes=max_bytes)


def record(number: int) -> Record:
    return Record(at=time.time(), operation="PutTable", outcome="applied", target="dr", object=f"db.t{number % 50}")


def victim(file: Path) -> None:
    journal, reader = opened(file), Reader(file)
    journal.worker._every = 0.001
    journal.worker.start()

    def append() -> None:
        for number in range(10**9):
            journal.append(record(number))
            if number % 50 == 0:
                time.sleep(0.002)

    for _ in range(3):
        threading.Thread(target=append, daemon=True).start()
    while True:
        newest = reader.records(Query(), 1)
        if newest:
            sys.stdout.write(f"{newest[0].id}\n")
            sys.stdout.flush()


def assert_whole(file: Path) -> int:
    """The id of the newest record; all are there back to the oldest that is kept, and each is found by its names."""
    reader = Reader(file)
    found = reader.records(Query(), 100_000)
    assert [it.id for it in found] == list(range(found[0].id, found[-1].id - 1, -1))
    every = reader.records(Query(names=["db"]), 100_000)
    assert [it.id for it in every] == [it.id for it in found]
    return found[0].id


@pytest.mark.crash
def test_a_writer_that_is_killed_again_and_again_leaves_a_whole_journal(tmp_path: Path) -> None:
    file, chance, last = tmp_path / "journal.db", random.Random(17), 0
    for _ in range(ROUNDS):
        process = subprocess.Popen([sys.executable, __file__, str(file)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.4))
        process.kill()
        written = [int(line) for line in process.communicate()[0].splitlines() if line.strip().isdigit()]
        newest = assert_whole(file)
        assert newest >= max([last, *written]), "what a reader has seen is there"
        last = newest
    assert not file.with_name("journal.db.damaged").exists()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    try:
        with tmpfs(tmp_path / "disk", 8) as directory:
            yield directory
    except CannotMount as reason:
        pytest.skip(str(reason))


def test_a_full_disk_costs_records_and_nothing_else(disk: Path) -> None:
    file = disk / "journal.db"
    with closing(opened(file)) as journal:
        journal.append(record(1))
        journal.write()
        fill(disk)
        journal.append(Record(at=1.0, operation="PutTable", outcome="applied", reason="x" * 900_000))
        for _ in range(3):
            with pytest.raises(PysyncError, match="cannot write"):
                journal.write()
        assert [it.id for it in Reader(file).records(Query(), 10)] == [1]
        free(disk)
        journal.write()
        assert [it.id for it in Reader(file).records(Query(), 10)] == [2, 1]
    assert not file.with_name("journal.db.damaged").exists()


def test_two_writers_at_once_spoil_nothing(tmp_path: Path) -> None:
    """The queue's lock keeps a second sidecar away; should there be one nevertheless, the file stays whole."""
    file = tmp_path / "journal.db"
    with closing(opened(file)) as one, closing(opened(file)) as other:
        for number in range(20):
            one.append(record(number))
            other.append(record(number))
            for journal in (one, other):
                try:
                    journal.write()
                except PysyncError:
                    continue
        wait_until(lambda: _written(one, other), seconds=10, what="both being written")
    assert assert_whole(file) == 40
    assert not file.with_name("journal.db.damaged").exists()


def _written(*journals: Journal) -> bool:
    for journal in journals:
        try:
            journal.write()
        except PysyncError:
            return False
    return True


if __name__ == "__main__":
    victim(Path(sys.argv[1]))
