"""`pysync actions` and `pysync why` beside a real sidecar process: what they print, follow and survive."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import wait_for_items, wait_for_value, wait_until
from tests.support.drains import create, create_database
from tests.support.sidecars import FaultyPlace, Sidecar, command, pysync, send, sidecar, wait_for
from tests.support.terminal import interruptible


@pytest.fixture
def place(tmp_path: Path) -> FaultyPlace:
    return FaultyPlace(tmp_path)


@pytest.fixture
def running(place: FaultyPlace) -> Iterator[Sidecar]:
    with sidecar(place) as started:
        send(started, create_database(), create("db.t"))
        wait_for(started, queued=0)
        yield started


def names(place: FaultyPlace) -> list[str]:
    return [it["object"] for it in place.ask("actions")["records"]]


def test_following_shows_new_records_until_it_is_interrupted(place: FaultyPlace, running: Sidecar) -> None:
    file = place.directory / "followed"
    with file.open("w") as output, interruptible():
        line = command(["actions", "--follow", "--json", "-c", place.file])
        process = subprocess.Popen(line, stdout=output, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: "db.t" in file.read_text(), what="what is there")
        send(running, create("db.later"), first=3)
        wait_until(lambda: "db.later" in file.read_text(), what="what comes")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
    records = [json.loads(line) for line in file.read_text().splitlines()]
    ids = [it["id"] for it in records]
    assert ids == sorted(set(ids)), "each once, the newest last"


def test_a_kill_loses_at_most_what_was_not_written(place: FaultyPlace, running: Sidecar) -> None:
    wait_until(lambda: "db.t" in names(place), what="the record")
    running.stop(signal.SIGKILL)
    assert "db.t" in names(place), "without a sidecar, from the log that it left"
    with sidecar(place) as again:
        send(again, create("db.more"), first=3)
        wait_until(lambda: "db.more" in names(place), what="the next record")
        assert "db.t" in names(place)


def test_a_damaged_journal_keeps_no_sidecar_from_starting(place: FaultyPlace, running: Sidecar) -> None:
    running.stop()
    file = place.queue / "journal.db"
    for it in place.queue.glob("journal.db-*"):
        it.unlink()
    file.write_bytes(b"garbage" * 1000)
    refused = pysync("actions", "-c", place.file)
    assert (refused.returncode, refused.stdout, "cannot read the journal" in refused.stderr) == (1, "", True)
    with sidecar(place) as again:
        send(again, create("db.more"), first=3)
        again.wait_for("journal_damaged")
        wait_until(lambda: "db.more" in names(place), what="the next record")


def test_what_people_do_is_there_with_who_did_it(place: FaultyPlace, running: Sidecar) -> None:
    assert pysync("pause", "try", "--reason", "audit", "-c", place.file).returncode == 0
    assert pysync("parked", "skip", "try", 99, "--yes", "-c", place.file).returncode == 1

    def records(outcome):
        return place.ask("actions", "--outcome", outcome)["records"]

    (skip,) = wait_for_items(lambda: records("refused"), 1, what="the record of the skip")
    (pause,) = wait_for_items(lambda: records("done"), 1, what="the record of the pause")
    assert (skip["operation"], skip["first_position"], "not parked" in skip["reason"]) == ("Skip", 99, True)
    assert (pause["operation"], pause["reason"], pause["who"].startswith("uid ")) == ("Pause", "audit", True)


def test_status_tells_of_the_journal(place: FaultyPlace, running: Sidecar) -> None:
    idle = {"file": str(place.queue / "journal.db"), "waiting": 0, "dropped": 0}
    wait_for_value(lambda: running.status()["journal"], idle, what="the writer")
    assert "journal" in {it["name"] for it in running.status()["workers"]}
