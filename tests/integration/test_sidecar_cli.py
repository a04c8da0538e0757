"""The real process: `python -m pysync …`, its exit codes, and what a person reads."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import socket
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import typer

from pysync import __version__
from pysync.cli.app import app
from pysync.model.wire import encode_event
from pysync.queue import EventQueue
from tests.support import wait_until
from tests.support.callers import Caller
from tests.support.events import create_table
from tests.support.sidecars import (
    STOP_SECONDS,
    TOKEN,
    Place,
    assert_one_line,
    pysync,
    sidecar,
)

COMMANDS = [
    "run",
    "status",
    "actions",
    "tables",
    "why",
    "web-password",
    "plan",
    "policy",
    "pause",
    "reload",
    "resume",
    "refresh",
    "replay",
    "repl",
    "wait",
    "trash",
    "verify",
    "views",
    "bootstrap",
    "copy",
    "events",
    "dump",
    "load",
    "held",
    "kept",
    "parked",
    "promote",
    "listener",
    "target",
    "check",
    "token",
    "jar",
    "hive-site",
    "demo",
    "embedded",
    "import-rule",
    "init",
    "man",
    "docs",
    "monitoring",
    "uninstall",
]


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


# --- run


def test_it_starts_and_takes_events_while_its_target_is_away(place):
    with sidecar(place) as running:
        port = running.status()["bridge"]["port"]
        with closing(Caller(port, TOKEN)) as caller:
            assert caller.append(base64.b64encode(encode_event(create_table("db.t"))).decode()) == "queued"
        wait_until(lambda: running.status()["targets"][0]["last_error"] is not None, what="a try")
        status = running.status()
        assert status["queue"]["events"] == 1
        assert (status["targets"][0]["queued"], status["targets"][0]["position"], status["targets"][0]["parked"]) == (
            1,
            0,
            0,
        )
        assert running.stop() == 0
        assert "Traceback" not in running.log()
    with EventQueue(place.queue, min_free_bytes=0) as queue:
        assert [event.data for event in queue.target("dr").window(10, 10**9)] == [encode_event(create_table("db.t"))]


EMPTY = ("credentials[].", "targets[].latency.worst[].", "targets[].resyncs[].")
"""Lists that have nothing to show here: see tests/unit/test_credentials.py, test_latency.py and test_resync_job.py."""


def promised(document: Path) -> set[str]:
    """The keys that docs/status.md promises, as `bridge.port` or `targets[].name`, and what these are in."""
    keys = set()
    of_status = document.read_text().partition("\n## `pysync status --json`")[2].partition("\n## ")[0]
    for line in of_status.splitlines():
        found = re.match(r"\| `([^|]*)` \|", line)
        if found:
            first, *others = re.split(r"`, `", found[1])
            keys |= {first} | {first.rpartition(".")[0] + other for other in others}
    return keys | {key[: end.start()] for key in keys for end in re.finditer(r"\[\]|\.", key)}


def shown(value: object, path: str = "") -> set[str]:
    """The same of an answer; what a key holds is looked into down to where the promise ends."""
    keys = {path} if path else set()
    if isinstance(value, dict):
        for key, inner in value.items():
            keys |= shown(inner, f"{path}.{key}" if path else key)
    if isinstance(value, list):
        for inner in value:
            keys |= shown(inner, f"{path}[]")
        keys.add(f"{path}[]")
    return keys


def test_status_shows_what_the_docs_promise_and_nothing_else(place):
    promise = promised(Path(__file__).parents[2] / "docs" / "status.md")
    with sidecar(place) as running:
        with closing(Caller(running.status()["bridge"]["port"], TOKEN)) as caller:
            caller.append(base64.b64encode(encode_event(create_table("db.t", sequence=3))).decode())
        status = running.status()
        running.stop()
    found = shown(status)
    empty = {key for key in promise if key.startswith(EMPTY)}
    assert sorted(promise - found - empty) == [], "promised and not there"
    leaves = ("bridge.answers", "instances[].missing[]", "targets[].counts.", "targets[].last_", "targets[].paused.")
    leaves += ("config.targets", "targets[].pinned[]")
    leaves += ("config.changes[]", "targets[].calls.", "targets[].errors.", "targets[].latency.")
    names = {"acts", "bridge", "credentials", "queue", "gaps", "instances", "journal", "listeners", "problems"}
    names |= {"receivers", "targets", "workers"}
    free = {key for key in found if key.startswith(leaves)} | names
    assert sorted(found - promise - free) == [], "there and not in docs/status.md"
    assert (status["version"], status["source"], status["pid"]) == (__version__, "onprem", running.process.pid)
    assert status["instances"][0]["missing"] == [[1, 2]]
    assert status["gaps"][0]["reason"] == "target dr is new: pysync compares it with the source"


def test_status_for_people_names_the_target(place):
    with sidecar(place):
        done = pysync("status", "-c", place.file)
    assert (done.returncode, done.stderr) == (1, ""), "the target is new, and the source is not known"
    reported = ["1 problem:", "  a gap is open: target dr is new: pysync compares it with the source"]
    assert done.stdout.splitlines()[:2] == reported
    assert [line for line in done.stdout.splitlines() if line.startswith("dr ")] != []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(place, number):
    with sidecar(place) as running:
        with closing(Caller(running.status()["bridge"]["port"], token=None)):  # half-open, while it stops
            assert running.stop(number) == 0
        assert "sidecar_stopped" in running.log()
        assert "Traceback" not in running.log()
    assert not (place.queue / "control.sock").exists()


def test_a_signal_ends_it_whichever_thread_the_kernel_gives_it_to(place):
    with sidecar(place) as running:
        others = {int(task.name) for task in Path(f"/proc/{running.process.pid}/task").iterdir()} - {
            running.process.pid
        }
        os.kill(max(others), signal.SIGTERM)
        assert running.process.wait(STOP_SECONDS) == 0


def test_after_a_kill_it_goes_on(place):
    with sidecar(place) as running:
        running.process.kill()
        running.process.wait()
    with sidecar(place) as running:
        assert running.status()["pid"] == running.process.pid
        assert running.stop() == 0


def test_a_second_sidecar_on_the_same_queue_is_refused(place):
    with sidecar(place) as running:
        assert_one_line(pysync("run", "-c", place.file), 1, "queue.db", "another pysync process uses this directory")
        assert running.status()["pid"] == running.process.pid, "the first one was disturbed"


def test_a_port_in_use_is_refused_by_its_number(place):
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        place.write(port=port)
        assert_one_line(pysync("run", "-c", place.file), 1, str(port), "Address already in use", "ss -ltnp")
    assert not (place.queue / "control.sock").exists()


def test_without_its_token_file_it_does_not_begin(place):
    place.token.unlink()
    assert_one_line(pysync("run", "-c", place.file), 2, str(place.token), "does not exist", "pysync token")
    assert not place.queue.exists()


def test_a_token_that_others_can_read_is_refused(place):
    place.token.chmod(0o644)
    assert_one_line(pysync("run", "-c", place.file), 2, "can be read by other users", "chmod 600")


def test_a_token_that_others_can_replace_is_refused_by_run_and_named_by_check(place):
    place.token = place.token.rename(new_directory(place.directory / "open") / "token")
    place.write()
    place.token.parent.chmod(0o777)
    assert_one_line(pysync("run", "-c", place.file), 2, "other users can replace the token file", "chmod go-w")
    done = pysync("check", "-c", place.file, "--json")
    (found,) = [it for it in json.loads(done.stdout) if it["what"] == "token file"]
    assert (found["ok"], found["detail"].count("\n")) == (False, 0)
    assert "other users can replace the token file" in found["detail"]
    assert_one_line(pysync("token", place.token.parent / "new"), 2, "other users can replace the token file")


def new_directory(path):
    path.mkdir()
    return path


def test_a_damaged_queue_is_refused(place):
    place.queue.mkdir()
    (place.queue / "queue.db").write_bytes(b"not a database, " * 1000)
    assert_one_line(pysync("run", "-c", place.file), 1, "queue.db", "damaged")


def test_a_wrong_pattern_is_refused_by_name(place):
    place.write(more='include = ["a.b.c"]\n')
    assert_one_line(
        pysync("run", "-c", place.file), 2, "targets[0].include: target 'dr': cannot read the pattern 'a.b.c'"
    )
    assert not place.queue.exists(), "the queue was opened before the configuration was looked through"


def test_every_problem_of_the_configuration_is_one_line(place):
    place.write(more='polcy = "a"\n[sauce]\nx = 1\n')
    done = pysync("run", "-c", place.file)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"pysync: {place.file}:15:1: targets[0].polcy: unknown key; did you mean policy?",
        f"pysync: {place.file}:16:1: sauce: unknown key; did you mean source?",
    ]


@pytest.mark.parametrize("name", ["run", "status", "check", "hive-site"])
def test_a_configuration_that_is_not_there_is_refused(tmp_path, name):
    assert_one_line(pysync(name, "-c", tmp_path / "absent.toml"), 2, "absent.toml", "No such file")


def test_status_without_a_sidecar_says_how_to_start_one(place):
    assert_one_line(pysync("status", "-c", place.file), 1, "no sidecar runs", "pysync run -c FILE")


# --- check


def test_check_names_a_spark_into_which_anybody_could_get(place):
    place.write(more='[spark]\nmaster = "yarn"\n')
    done = pysync("check", "-c", place.file)
    assert done.returncode != 0
    assert "spark: whoever reaches Spark's driver could have it run code" in done.stderr
    assert "set spark.authenticate = true" in done.stderr


def test_check_changes_nothing(place):
    before = sorted(place.directory.rglob("*"))
    pysync("check", "-c", place.file)
    assert sorted(place.directory.rglob("*")) == before


# --- token, jar, hive-site


def test_token_makes_a_secret_once(tmp_path):
    file = tmp_path / "token"
    old = os.umask(0)
    try:
        done = pysync("token", file)
    finally:
        os.umask(old)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, str(file), "")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert re.fullmatch(r"[0-9a-f]{64}\n", file.read_text())
    secret = file.read_text()
    assert_one_line(pysync("token", file), 2, str(file), "exists already")
    assert file.read_text() == secret


def test_two_tokens_differ(tmp_path):
    for name in "ab":
        pysync("token", tmp_path / name)
    assert (tmp_path / "a").read_text() != (tmp_path / "b").read_text()


def test_a_token_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    assert_one_line(pysync("token", tmp_path / "file" / "token"), 2, "cannot write", "Not a directory")


def test_jar_prints_a_path_or_says_how_to_build_it():
    done = pysync("jar")
    if done.returncode == 0:
        assert Path(done.stdout.strip()).is_file()
    else:
        assert_one_line(done, 1, "make jar")


def test_hive_site_holds_all_that_the_listener_needs_and_no_secret(place):
    place.write(port=25999)
    done = pysync("hive-site", "-c", place.file, "--spool", place.directory / "spool")
    assert (done.returncode, done.stderr) == (0, "")
    found = dict(re.findall(r"<name>(.*?)</name>\s*<value>(.*?)</value>", done.stdout))
    assert found == {
        "hive.metastore.event.listeners": "org.pysync.listener.SidecarListener",
        "pysync.source.name": "onprem",
        "pysync.bridge.host": "127.0.0.1",
        "pysync.bridge.port": "25999",
        "pysync.bridge.token.file": str(place.token),
        "pysync.spool.dir": str(place.directory / "spool"),
    }
    assert TOKEN not in done.stdout


# --- help


def test_every_command_is_known_to_these_tests():
    group: Any = typer.main.get_command(app)
    assert sorted(group.list_commands(None)) == sorted(COMMANDS)
    assert group.get_command(None, "explode") is None
    assert [name for name in COMMANDS if group.get_command(None, name) is None] == []
    assert sorted(group.commands) == sorted(COMMANDS), "what the modules register is not what is listed"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_says_what_it_is_for(name):
    group: Any = typer.main.get_command(app)
    found = group.get_command(None, name)
    assert found.help
    silent = [item.name for item in found.params if not getattr(item, "help", None)]
    assert silent == []


def test_help_and_version_of_the_whole():
    top = pysync("--help")
    assert (top.returncode, top.stderr) == (0, "")
    assert [name for name in COMMANDS if name not in top.stdout] == []
    version = pysync("--version")
    assert (version.returncode, version.stdout.strip()) == (0, f"pysync {__version__}")


@pytest.mark.parametrize("arguments", [[], ["explode"], ["run"], ["run", "--colour"], ["token"]])
def test_wrong_arguments_end_with_2(arguments):
    done = pysync(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
