"""`pysync status` says whether all is well: in its first line, by its exit code, and to a program."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from pysync.model.event import Event
from pysync.model.wire import encode_event
from tests.support import wait_until
from tests.support.callers import TOKEN, Caller
from tests.support.docpages import ROOT
from tests.support.drains import create, create_database
from tests.support.events import create_table
from tests.support.sidecars import FaultyPlace, Place, Sidecar, command, pysync, send, sidecar
from tests.support.terminal import interruptible, terminal

AN_HOUR_MS = 3_600_000


def graced(place: Place, grace: str, *, more: str = "", min_free_mb: int = 0) -> Place:
    """The place with `status_grace`."""
    place.write(more=more)
    text = place.file.read_text().replace("min_free_mb = 0", f"min_free_mb = {min_free_mb}")
    place.file.write_text(f'status_grace = "{grace}"\n{text}')
    return place


def problems(running: Sidecar) -> str:
    return "\n".join(it["text"] for it in running.status()["problems"] if it["code"] != "gap_open")


def shown(place: Place, *arguments: str) -> tuple[int, str]:
    done = pysync("status", *arguments, "-c", place.file)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_a_target_that_waits_for_longer_than_the_grace(tmp_path: Path) -> None:
    place = graced(Place(tmp_path), "2s")
    with sidecar(place) as running:
        send(running, create("db.t"))
        wait_until(lambda: "target dr has been waiting for " in problems(running), seconds=60, what="the verdict")
        since = running.status()["targets"][0]["waiting_since"]
        assert 2 < time.time() - since < 600
        code, text = shown(place)
        assert (code, "problem" in text.splitlines()[0], "target dr has been waiting" in text) == (1, True, True)


def test_a_target_that_waits_within_the_grace_is_no_problem(tmp_path: Path) -> None:
    place = graced(Place(tmp_path), "1h")
    with sidecar(place) as running:
        send(running, create("db.t"))
        wait_until(lambda: running.status()["targets"][0]["state"] == "waiting", seconds=60, what="waiting")
        assert problems(running) == ""


def test_an_error_that_is_over_says_so_and_when_it_was(tmp_path: Path) -> None:
    place = graced(FaultyPlace(tmp_path), "1h", more='faults = [{ kind = "unavailable", times = 1 }]\n')
    with sidecar(place) as running:
        send(running, create_database(), create("db.t"))

        def error() -> dict[str, Any]:
            return running.status()["targets"][0]["last_error"] or {}

        wait_until(lambda: error().get("over") is True, seconds=60, what="the end of the trouble")
        assert 0 <= time.time() - error()["at"] < 600
        assert " (recovered): " in shown(place, "try")[1]


def test_parked_events_and_a_pause_are_problems_until_they_are_over(tmp_path: Path) -> None:
    faults = 'faults = [{ kind = "refuse", tables = ["db.bad"] }]\n'
    place = graced(FaultyPlace(tmp_path), "1h", more=faults)
    with sidecar(place) as running:
        send(running, create_database(), create("db.bad"))
        wait_until(lambda: "has 1 parked event" in problems(running), seconds=60, what="parking")
        assert running.status()["targets"][0]["last_error"]["over"] is False
        assert pysync("parked", "skip", "try", "2", "--yes", "-c", place.file).returncode == 0
        assert pysync("pause", "try", "-c", place.file, "--reason", "to look").returncode == 0
        assert problems(running) == "target try is paused: to look"
        assert shown(place)[0] == 1


def test_what_waits_in_a_spool_counts_from_its_commit(tmp_path: Path) -> None:
    """The disk is full, so the listener keeps its events: every target lacks them, and they are an hour old."""
    place = graced(FaultyPlace(tmp_path), "1m", min_free_mb=10**9)
    with sidecar(place) as running:
        old = create_table("db.t", sequence=1)
        text = base64.b64encode(encode_event(_at(old, time.time() * 1000 - AN_HOUR_MS))).decode()
        with closing(Caller(running.status()["bridge"]["port"], TOKEN)) as caller:
            reported = {"instance": old.instance, "source": "onprem", "sequence": 3, "lost": 1, "waiting": 4096}
            assert caller.call("report", "s" + json.dumps(reported)) == "!ysok"
            assert caller.append(text) == "full"
        status = running.status()
        (listener,) = status["listeners"]
        assert {key: listener[key] for key in ("waiting_bytes", "waiting_events", "lost")} == {
            "waiting_bytes": 4096,
            "waiting_events": 2,
            "lost": 1,
        }
        assert status["targets"][0]["lag_seconds"] >= AN_HOUR_MS / 1000
        assert f"listener {old.instance} of onprem cannot deliver: 4.0 KiB waiting for 1h" in problems(running)


def test_what_waits_in_the_queue_counts_from_its_commit(tmp_path: Path) -> None:
    place = graced(Place(tmp_path), "1h")
    with sidecar(place) as running:
        send(running, lambda number: _at(create_table("db.t", sequence=number), time.time() * 1000 - AN_HOUR_MS))
        assert running.status()["targets"][0]["lag_seconds"] >= AN_HOUR_MS / 1000


@pytest.mark.crash
def test_a_silent_listener_is_lost_also_to_the_next_sidecar_until_it_is_removed(tmp_path: Path) -> None:
    """Until a person says that it is gone: `pysync listener remove`."""
    place = graced(FaultyPlace(tmp_path), "1h")
    place.file.write_text(place.file.read_text().replace("[bridge]", "silence_seconds = 5\n[bridge]", 1))
    with sidecar(place) as running:
        send(running, create_database(), create("db.t"))
        (name,) = [it["instance"] for it in running.status()["listeners"]]
        wait_until(lambda: f"listener {name} of onprem is lost" in problems(running), seconds=60, what="the silence")
        running.stop()
    with sidecar(place) as running:
        assert [it["state"] for it in running.status()["listeners"]] == ["expected"]
        wait_until(lambda: f"listener {name} of onprem is lost" in problems(running), seconds=60, what="the silence")
        done = pysync("listener", "remove", name, "-c", place.file, "--json")
        assert json.loads(done.stdout) == {"instance": name, "removed": True}
        assert (running.status()["listeners"], problems(running)) == ([], "")


SECOND = """\
[[targets]]
name = "other"
kind = "faulty"
faults = [{ kind = "refuse", tables = ["db.bad"] }]
parked_retry_seconds = 0
"""


def test_one_target_is_shown_alone_and_only_its_problems_count(tmp_path: Path) -> None:
    place = graced(FaultyPlace(tmp_path), "1h", more=SECOND)
    with sidecar(place) as running:
        send(running, create_database(), create("db.bad"))
        wait_until(lambda: running.status()["targets"][1]["parked"] == 1, seconds=60, what="parking")
        wait_until(lambda: running.status()["targets"][0]["counts"].get("applied") == 2, seconds=60, what="the other")
        code, text = shown(place, "other")
        assert (code, text.splitlines()[0]) == (1, "2 problems:"), "it is new, so it has a gap of its own"
        assert "parked      1 event of 1 table\n            1 event of 1 table: " in text
        code, text = shown(place, "try")
        assert (code, text.splitlines()[0]) == (1, "1 problem:")
        assert text.splitlines()[1].startswith("  a gap is open: target try is new")
        assert text.splitlines()[2] == "2 other problems: see pysync status"
        done = pysync("status", "other", "--json", "-c", place.file)
        found = json.loads(done.stdout)
        assert (done.returncode, found["name"], found["parked"]) == (1, "other", 1)
        assert found.keys() == running.status()["targets"][1].keys()
        done = pysync("status", "othre", "-c", place.file)
        assert (done.returncode, "did you mean other?" in done.stderr) == (2, True)
        place.file.write_text(place.file.read_text() + SECOND.replace("other", "later"))
        done = pysync("status", "later", "-c", place.file)
        assert (done.returncode, "the running sidecar has no target 'later'; restart it" in done.stderr) == (1, True)


def test_a_watch_redraws_a_terminal_until_ctrl_c(tmp_path: Path) -> None:
    place = graced(FaultyPlace(tmp_path), "1h")
    with terminal(command(["status", "--watch", "-c", place.file]), {"NO_COLOR": "1", "TERM": "xterm"}) as watch:
        watch.expect("no sidecar runs on the queue in ")
        with sidecar(place):
            watch.expect("source onprem: pysync ")
            watch.expect("source onprem: pysync ")
        watch.expect("no sidecar runs on the queue in ")
        watch.process.send_signal(signal.SIGINT)
        assert watch.end() == 0, watch.shown
    assert (watch.shown.startswith("\x1b[?1049h"), "\x1b[?1049l" in watch.shown) == (True, True)


def test_a_watch_in_a_pipe_prints_one_status_after_the_other(tmp_path: Path) -> None:
    place = graced(FaultyPlace(tmp_path), "1h")
    with sidecar(place):
        with interruptible():
            watch = subprocess.Popen(command(["status", "try", "--watch", "-c", place.file]), stdout=PIPE, text=True)
        try:
            assert watch.stdout is not None
            titles = (line for line in watch.stdout if "pysync status --watch, Ctrl-C ends" in line)
            assert "\x1b" not in next(titles) + next(titles)
        finally:
            watch.send_signal(signal.SIGINT)
            try:
                watch.communicate(timeout=60)
            finally:
                watch.kill()
    assert watch.returncode == 0


def test_a_watch_is_for_people() -> None:
    done = pysync("status", "--watch", "--json", "-c", ROOT / "conf" / "pysync.toml")
    assert (done.returncode, "exclude each other" in json.loads(done.stdout)["error"]["message"]) == (2, True)


def _at(event: Event, time_ms: float) -> Event:
    return replace(event, time_ms=int(time_ms))
