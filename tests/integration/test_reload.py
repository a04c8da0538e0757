"""A changed pysync.toml is taken by the running sidecar; a broken one changes nothing."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pysync.base.errors import UsageError
from pysync.control.client import ask
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, table, wait_until
from tests.support.drains import create_database
from tests.support.sidecars import FaultyPlace, Sidecar, assert_one_line, pysync, pysync_here, send, sidecar
from tests.support.stages import assert_converges, wait_until_compared

SECOND = '\n[[targets]]\nname = "second"\nkind = "faulty"\n'


@pytest.fixture
def place(tmp_path: Path) -> FaultyPlace:
    return FaultyPlace(tmp_path)


@pytest.fixture
def running(place: FaultyPlace) -> Iterator[Sidecar]:
    with sidecar(place) as it:
        yield it


def reload(place: FaultyPlace, code: int = 0) -> dict[str, Any]:
    return place.ask("reload", code=code)


def names(running: Sidecar) -> list[str]:
    return [it["name"] for it in running.status()["targets"]]


def test_a_changed_setting_runs_after_a_reload_with_the_same_process_id(place: FaultyPlace, running: Sidecar) -> None:
    before = running.status()
    targets = [{"name": "try", "state": "running"}]
    assert before["config"] == {"file": str(place.file), "changes": [], "problem": None, "targets": targets}
    place.write(more='include = ["shop"]\n[log]\nformat = "json"')
    assert running.status()["config"]["changes"] == ["log.format", "targets.try.include"]
    assert reload(place)["changes"] == ["log.format", "targets.try.include"]
    after = running.status()
    assert (after["pid"], after["config"]["changes"]) == (before["pid"], [])
    assert after["started_at"] > before["started_at"]
    assert '"event": "sidecar_started"' in running.log()


def test_what_waits_and_what_is_parked_outlives_a_reload(place: FaultyPlace, running: Sidecar) -> None:
    assert pysync("pause", "try", "-c", place.file, "--reason", "moves").returncode == 0
    send(running, create_database("shop"))
    place.write(more='include = ["shop"]')
    reload(place)
    (target,) = running.status()["targets"]
    assert (target["queued"], target["paused"]["reason"]) == (1, "moves")


@pytest.mark.parametrize(
    ("more", "word"),
    [("no_such_key = 1", "no_such_key"), ("[[targets]]", "targets[1].name"), ("include = [", "pysync.toml")],
)
def test_a_broken_file_changes_nothing(place: FaultyPlace, running: Sidecar, more: str, word: str) -> None:
    before = running.status()["started_at"]
    place.write(more=more)
    done = pysync("reload", "-c", place.file)
    assert (done.returncode, word in done.stderr) == (2, True), done.stderr
    assert ask(place.queue, "status")["started_at"] == before
    assert "Traceback" not in running.log()


@pytest.mark.parametrize(
    ("more", "word"),
    [("no_such_key = 1", "no_such_key"), ("[[targets]]", "targets[1].kind"), ("[log]\nformat = ", "is not TOML")],
)
def test_a_broken_file_is_a_problem_and_the_sidecar_can_be_asked(
    place: FaultyPlace, running: Sidecar, more: str, word: str
) -> None:
    text = place.file.read_text()
    place.write(more=more)
    shown = pysync("status", "-c", place.file)
    assert (shown.returncode, shown.stderr) == (1, "")
    wrong = "the configuration file is wrong, so no reload and no start would succeed: "
    (problem,) = [line for line in shown.stdout.splitlines() if wrong in line]
    assert word in problem
    assert place.ask("status", code=1)["config"]["changes"] == []
    for command in ("pause", "resume"):
        assert pysync_here(command, "try", "-c", place.file).returncode == 0
    assert pysync_here("pause", "tyr", "-c", place.file).returncode == 2
    place.file.write_text(text)
    assert wrong not in pysync_here("status", "-c", place.file).stdout


def test_a_broken_file_is_refused_where_no_sidecar_runs(place: FaultyPlace) -> None:
    place.write(more="[log]\nformat = ")
    assert_one_line(pysync_here("status", "-c", place.file), 2, "is not TOML")


def test_sighup_reloads_and_a_refusal_is_in_the_log(place: FaultyPlace, running: Sidecar) -> None:
    before = running.status()["started_at"]
    place.write(more='include = ["shop"]')
    running.process.send_signal(signal.SIGHUP)
    wait_until(lambda: running.log().count("sidecar_started") == 2, seconds=60, what="the second start")
    assert running.status()["started_at"] > before
    place.file.write_text(place.file.read_text().replace(str(place.queue), f"{place.queue}-2"))
    running.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "reload_refused" in running.log(), seconds=60, what="the refusal")
    assert "queue.directory cannot change while the sidecar runs" in running.log()
    assert ask(place.queue, "status")["pid"] == running.process.pid


def test_a_port_that_another_process_has_is_refused(place: FaultyPlace, running: Sidecar) -> None:
    port = running.status()["bridge"]["port"]
    place.write(port=port)
    refused = pysync("reload", "-c", place.file)
    assert_one_line(refused, 1, f"127.0.0.1:{port}", "bridge.port")


def test_targets_come_and_go_and_are_renamed_while_the_sidecar_runs(place: FaultyPlace, running: Sidecar) -> None:
    place.write(more=SECOND)
    assert reload(place)["changes"] == ["targets.second"]
    assert names(running) == ["try", "second"]
    assert pysync("pause", "second", "-c", place.file, "--reason", "kept").returncode == 0
    place.write(more=SECOND.replace("second", "third"))
    assert_one_line(pysync("reload", "-c", place.file), 2, "'second'", "pysync target rename second third")
    assert names(running) == ["try", "second"]
    renamed = place.ask("target", "rename", "second", "third")
    assert (renamed["target"], renamed["was"], renamed["paused"]) == ("third", "second", "kept")
    assert names(running) == ["try", "third"]
    place.write()
    assert place.ask("target", "remove", "third", "--yes")["removed"] is True
    assert names(running) == ["try"]
    assert place.ask("target", "remove", "third", "--yes")["removed"] is False


def test_an_act_that_the_file_does_not_say_is_refused_by_the_sidecar(place: FaultyPlace, running: Sidecar) -> None:
    """As an older command line would ask for it."""
    before = running.status()["started_at"]
    with pytest.raises(UsageError, match="still has a target 'try'"):
        ask(place.queue, "reload", act={"target": "try", "to": "other"})
    assert running.status()["started_at"] == before


def test_a_reload_without_a_sidecar_says_so(place: FaultyPlace) -> None:
    assert_one_line(pysync("reload", "-c", place.file), 1, "no sidecar runs")


@pytest.mark.crash
@pytest.mark.timeout(900)
def test_nothing_is_lost_when_clients_work_through_fifty_reloads(tmp_path: Path) -> None:
    """Eight clients; a second target comes, goes and is renamed, and the scope of the first one stays whole."""
    with Stage(tmp_path) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        wait_until_compared(stage)
        ends = threading.Event()
        with closing(Metastore(stage.source.uri)) as source:
            names = [new_database(source, f"reload{number}") for number in range(8)]
        clients = [threading.Thread(target=work, args=(stage, name, ends)) for name in names]
        for client in clients:
            client.start()
        try:
            for number in range(50):
                change(stage, number)
        finally:
            ends.set()
            for client in clients:
                client.join()
        assert_converges(stage)


def change(stage: Stage, number: int) -> None:
    """One reload: every fifth of the same kind, so that a target comes, is renamed and goes ten times."""
    file = stage.config_file
    plain = re.sub(r"\n\[\[targets\]\]\nname = \"(extra|other)\".*", "", file.read_text(), flags=re.DOTALL)
    extra = '\n[[targets]]\nname = "{}"\nkind = "faulty"\ninclude = ["reload1"]\n'
    step = number % 5
    file.write_text(
        plain + {1: extra.format("extra"), 2: extra.format("other"), 3: extra.format("other")}.get(step, "")
    )
    commands = {2: ("target", "rename", "extra", "other"), 4: ("target", "remove", "other", "--yes")}
    done = pysync(*commands.get(step, ("reload",)), "-c", file, seconds=150)
    assert done.returncode == 0, done.stderr


def work(stage: Stage, name: str, ends: threading.Event) -> None:
    number = 0
    with closing(Metastore(stage.source.uri)) as source:
        while not ends.wait(0.3):
            number += 1
            it = table(name, f"t{number}")
            source.call(lambda client, it=it: client.create_table(it))
            if number % 3 == 0:
                source.call(lambda client, at=number: client.drop_table(name, f"t{at - 1}", False))
