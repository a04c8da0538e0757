"""`pysync target …`: pysync.toml is edited, and the running sidecar takes it; nothing else changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pysync.control.client import ask
from tests.support import wait_until
from tests.support.drains import create_database
from tests.support.sidecars import FaultyPlace, Sidecar, assert_one_line, command, pysync, pysync_here, send, sidecar

pytestmark = pytest.mark.smoke


@pytest.fixture
def place(tmp_path: Path) -> FaultyPlace:
    return FaultyPlace(tmp_path)


@pytest.fixture
def running(place: FaultyPlace) -> Iterator[Sidecar]:
    with sidecar(place) as it:
        yield it


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    """A sidecar of all tests whose commands must change nothing."""
    with sidecar(FaultyPlace(tmp_path_factory.mktemp("unchanged"))) as it:
        yield it


def target(place: FaultyPlace, *arguments: object, code: int = 0) -> dict[str, Any]:
    return place.ask("target", *arguments, code=code)


def states(place: FaultyPlace) -> dict[str, str]:
    return {it["name"]: it["state"] for it in ask(place.queue, "status")["targets"]}


@pytest.mark.crash
def test_targets_come_change_and_go_in_the_running_sidecar(place: FaultyPlace, running: Sidecar) -> None:
    """One sidecar for all of it: each act takes a reload."""
    pid, text = running.process.pid, place.file.read_text()
    added = target(place, "add", "lake", "--kind", "faulty", "--set", 'include=["shop"]')
    assert (added["written"], added["changes"]) == (True, ["targets.lake"])
    again = target(place, "add", "lake", "--kind", "faulty", "--set", 'include=["shop"]')
    assert (again["written"], again["changes"]) == (False, [])
    assert target(place, "set", "lake", "lanes=2", "--unset", "include")["changes"] == [
        "targets.lake.include",
        "targets.lake.lanes",
    ]
    assert target(place, "rename", "lake", "pond")["target"] == "pond"
    assert target(place, "disable", "pond")["changes"] == ["targets.pond.enabled"]
    assert states(place) == {"try": "running", "pond": "disabled"}
    listed = target(place, "list")
    assert [(it["name"], it["file"], it["enabled"]) for it in listed["targets"]] == [
        ("try", "running", True),
        ("pond", "running", False),
    ]
    assert target(place, "show", "pond")["settings"] == {"name": "pond", "kind": "faulty", "lanes": 2, "enabled": False}
    assert target(place, "remove", "pond", "--yes")["removed"] is True
    assert states(place) == {"try": "running"}
    assert (place.file.read_text(), running.status()["pid"]) == (text, pid)
    acts = [(it["act"], it["target"]) for it in running.status()["acts"]]
    assert acts == [("removed", "pond"), ("renamed", "lake")]

    def reloads() -> list[str]:
        return [it["reason"] for it in place.ask("actions")["records"] if it["operation"] == "Reload"]

    wait_until(lambda: "target pond disabled" in reloads(), what="the reload in the journal")


@pytest.mark.crash
def test_a_disabled_target_keeps_its_events_and_is_no_problem(place: FaultyPlace, running: Sidecar) -> None:
    target(place, "disable", "try")
    send(running, create_database("shop"), create_database("crm"))
    status = running.status()
    (it,) = status["targets"]
    assert (it["state"], it["queued"]) == ("disabled", 2)
    assert [found["code"] for found in status["problems"] if found["target"]] == []
    refused = pysync("parked", "retry", "try", "-c", place.file)
    assert_one_line(refused, 1, "disabled", "pysync target enable try")
    assert "disabled" in pysync("status", "-c", place.file).stdout
    target(place, "enable", "try")
    wait_until(lambda: ask(place.queue, "status")["targets"][0]["queued"] == 0, seconds=60, what="what had waited")
    assert ask(place.queue, "status")["targets"][0]["counts"]["applied"] >= 2


def test_a_broken_result_changes_nothing(unchanged: Sidecar) -> None:
    place = unchanged.place
    text, before = place.file.read_text(), unchanged.status()["started_at"]
    line = len(text.splitlines()) + 1
    broken = pysync_here("target", "set", "try", "lanes=0", "-c", place.file)
    assert_one_line(broken, 2, f"{place.file}:{line}:1: targets[0].lanes: 0 is too small", "nothing was changed")
    assert_one_line(pysync_here("target", "remove", "try", "--yes", "-c", place.file), 2, "at least one target")
    assert_one_line(pysync_here("target", "set", "nobody", "lanes=1", "-c", place.file), 2, "no target 'nobody'")
    secret = pysync_here("target", "set", "try", "spark.secret.key=hunter2", "-c", place.file)
    assert_one_line(secret, 2, "looks like a secret")
    assert "hunter2" not in secret.stderr
    assert (place.file.read_text(), unchanged.status()["started_at"]) == (text, before)


@pytest.mark.crash
def test_what_the_sidecar_refuses_is_taken_back_from_the_file(place: FaultyPlace, running: Sidecar) -> None:
    """A person has changed the port in the file, to one that cannot be had."""
    text = place.file.read_text().replace("port = 0", f"port = {running.status()['bridge']['port']}")
    place.file.write_text(text)
    refused = pysync("target", "set", "try", "lanes=2", "-c", place.file)
    assert_one_line(refused, 1, "bridge.port")
    assert place.file.read_text() == text
    assert states(place) == {"try": "running"}


@pytest.mark.crash
def test_two_at_once_lose_no_edit(place: FaultyPlace, running: Sidecar) -> None:
    names = [f"t{number}" for number in range(4)]
    with ThreadPoolExecutor(len(names)) as pool:
        done = list(pool.map(lambda name: pysync("target", "add", name, "--kind", "faulty", "-c", place.file), names))
    assert [it.stderr for it in done if it.returncode] == []
    assert states(place).keys() == {"try", *names}


def test_a_person_who_edits_while_a_question_is_open_is_not_overwritten(place: FaultyPlace, running: Sidecar) -> None:
    target(place, "add", "lake", "--kind", "faulty")
    asked = subprocess.Popen(
        command(["target", "remove", "lake", "-c", place.file]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert asked.stderr is not None
    os.read(asked.stderr.fileno(), 1)  # the question is there
    place.file.write_text(place.file.read_text() + "# mine\n")
    _, output = asked.communicate("y\n", timeout=60)
    assert (asked.returncode, "changed by somebody else" in output) == (1, True), output
    assert place.file.read_text().endswith("# mine\n")
    assert states(place).keys() == {"try", "lake"}


def test_a_link_stays_a_link_and_the_mode_stays(place: FaultyPlace) -> None:
    real = place.directory / "real.toml"
    place.file.rename(real)
    real.chmod(0o640)
    place.file.symlink_to(real)
    target(place, "set", "try", "lanes=3")
    assert place.file.is_symlink()
    assert (real.stat().st_mode & 0o777, "lanes = 3" in real.read_text()) == (0o640, True)
    assert [it.name for it in place.directory.iterdir() if it.name.startswith(".")] == []


@pytest.mark.crash
def test_without_a_sidecar_the_queue_is_renamed_and_forgotten_with_the_file(place: FaultyPlace) -> None:
    with sidecar(place) as running:
        assert pysync("pause", "try", "-c", place.file, "--reason", "kept").returncode == 0
        running.stop()
    assert target(place, "list")["running"] is False
    renamed = target(place, "rename", "try", "other")
    assert (renamed["paused"], 'name = "other"' in place.file.read_text()) == ("kept", True)
    assert target(place, "rename", "try", "other")["paused"] == "kept", "it may be said twice"
    target(place, "add", "more", "--kind", "faulty")
    assert target(place, "remove", "other", "--yes")["removed"] is True
    assert target(place, "remove", "other", "--yes")["removed"] is False
    with sidecar(place) as running:
        assert states(place) == {"more": "running"}
        assert [it["act"] for it in running.status()["acts"]] == ["removed", "renamed"]


def test_another_file_than_the_sidecars_is_refused(unchanged: Sidecar) -> None:
    place = unchanged.place
    other = place.directory / "other.toml"
    other.write_text(place.file.read_text())
    assert_one_line(pysync_here("target", "set", "try", "lanes=2", "-c", other), 1, "another file", str(place.file))
    assert "lanes" not in other.read_text()


def test_a_dry_run_shows_the_difference_and_changes_nothing(place: FaultyPlace) -> None:
    text = place.file.read_text()
    diff = target(place, "rename", "try", "b", "--dry-run")["diff"]
    assert [it for it in diff if it[0] in "+-" and it[1] not in "+-"] == ['-name = "try"', '+name = "b"']
    assert (
        pysync_here("target", "enable", "try", "--dry-run", "-c", place.file)
        .stdout.strip()
        .endswith("would not change")
    )
    assert place.file.read_text() == text


KILLED_AFTER_WRITING = """
import os, signal, sys
from pysync.config_file.file import FileDraft
from pysync.cli import main
put = FileDraft.put
def killed(draft):
    put(draft)
    os.kill(os.getpid(), signal.SIGKILL)
FileDraft.put = killed
main()
"""


@pytest.mark.crash
def test_a_command_killed_between_file_and_reload_leaves_what_goes_on(place: FaultyPlace) -> None:
    """The sidecar goes on as before, says what waits, and starts with it; the command may also be repeated."""
    with sidecar(place) as running:
        assert pysync("pause", "try", "-c", place.file, "--reason", "kept").returncode == 0
        killed = [sys.executable, "-c", KILLED_AFTER_WRITING, "target", "rename", "try", "other", "-c", place.file]
        assert subprocess.run(killed, capture_output=True, timeout=60, check=False).returncode == -signal.SIGKILL
        found = running.status()
        assert states(place) == {"try": "paused"}
        assert found["config"]["targets"] == [
            {"name": "other", "state": "new"},
            {"name": "try", "state": "removed"},
        ]
        running.stop(signal.SIGKILL)
    with sidecar(place) as running:
        (it,) = running.status()["targets"]
        assert (it["name"], it["paused"]["reason"]) == ("other", "kept")
        assert subprocess.run([*killed[:-4], "other", "more", *killed[-2:]], check=False).returncode != 0
        assert target(place, "rename", "other", "more")["paused"] == "kept"
        assert states(place) == {"more": "paused"}


@pytest.mark.crash
def test_a_sidecar_that_does_not_come_back_is_told(place: FaultyPlace, running: Sidecar) -> None:
    waits = subprocess.Popen(command(["target", "set", "try", "lanes=2", "-c", place.file]), stderr=subprocess.PIPE)
    wait_until(lambda: "reload_accepted" in running.log(), seconds=60, what="the reload")
    running.stop(signal.SIGKILL)
    _, output = waits.communicate(timeout=100)
    assert (waits.returncode, b"has ended, and nothing has started it again" in output) == (1, True), output
    with sidecar(place):
        assert target(place, "show", "try")["settings"]["lanes"] == 2
        assert target(place, "list")["targets"][0]["file"] == "running"
