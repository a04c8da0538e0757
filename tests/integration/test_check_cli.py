"""`pysync check`: what it must find, and that it finds all that `pysync run` refuses."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.support.sidecars import FaultyPlace, Place, command, pysync, sidecar, unused_port
from tests.support.terminal import terminal

SHIM = """
import importlib.util, sys
there = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "{absent}" else there(name, *rest)
from pysync.cli import main
sys.argv = ["pysync", *sys.argv[1:]]
main()
"""


@pytest.fixture
def place(tmp_path: Path) -> FaultyPlace:
    return FaultyPlace(tmp_path)


def problems(place: Place) -> dict[str, str]:
    """What `pysync check` finds wrong, by what it looked at."""
    done = pysync("check", "-c", place.file, "--json")
    assert (done.returncode in (0, 1), done.stderr) == (True, "")
    found = {it["what"]: it["detail"] for it in json.loads(done.stdout) if not it["ok"]}
    assert done.returncode == (1 if found else 0)
    return found


def run(place: Place) -> str:
    """What `pysync run` says when it refuses to."""
    done = subprocess.run(command(["run", "-c", place.file]), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (1, 2), done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.replace("pysync: ", "").strip()


def test_all_is_well(place: FaultyPlace) -> None:
    assert problems(place) == {}


def test_problems_come_first_and_have_another_colour_on_a_terminal(place: FaultyPlace) -> None:
    place.queue = Path("/proc/pysync/queue")
    place.write()
    colours = {"TERM": "xterm-256color", "NO_COLOR": "", "COLUMNS": "160"}
    with terminal(command(["check", "-c", place.file]), colours) as shown:
        assert shown.end() == 1
    assert 0 < shown.shown.index("\x1b[1;31mPROBLEM\x1b[0m") < shown.shown.index("\x1b[32mok")
    assert "\x1b" not in pysync("check", "-c", place.file).stdout


@pytest.mark.parametrize("how", ["in a file", "dangling link", "no such device"])
def test_a_queue_directory_that_cannot_be_made(place: FaultyPlace, how: str) -> None:
    if how == "in a file":
        (place.directory / "file").write_text("")
        place.queue = place.directory / "file" / "queue"
    elif how == "dangling link":
        place.queue.symlink_to(place.directory / "absent")
    else:
        place.queue = Path("/proc/pysync/queue")
    place.write()
    found = problems(place)
    assert list(found) == ["queue directory"]
    assert run(place).splitlines()[-1] in found["queue directory"].replace("\n", " ")


@pytest.mark.parametrize(
    ("lines", "absent", "words"),
    [
        ("[web]\nport = 0\n", "uvicorn", "[web] port needs packages that are not installed"),
        ("copy = true\n", "pyspark", "pyspark is not installed"),
    ],
    ids=["web", "spark"],
)
def test_without_an_extra_that_it_needs_neither_goes(place: FaultyPlace, lines: str, absent: str, words: str) -> None:
    place.write(more=lines)
    text = place.file.read_text().replace("[bridge]", 'metastore = "thrift://127.0.0.1:9"\n[bridge]', 1)
    place.file.write_text(text)

    def run_command(name: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-c", SHIM.replace("{absent}", absent), name, "-c", str(place.file)]
        return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, env=WIDE)

    checked, ran = run_command("check"), run_command("run")
    assert (checked.returncode, "PROBLEM" in checked.stdout) == (1, True)
    assert words in checked.stdout
    assert (ran.returncode, words in ran.stderr) == (2, True)
    assert not place.queue.exists()


WIDE = {**os.environ, "COLUMNS": "300"}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('policy = "sales"\ninclude = ["crm"]\n', "policy and include exclude each other"),
        ('locations = { "hdfs//adh1/warehouse" = "hdfs://adh2/warehouse" }\n', "'hdfs//adh1/warehouse' is not a URI"),
        ('locations = { "hdfs://adh1/warehouse" = "/warehouse" }\n', "'/warehouse' is not a URI"),
    ],
)
def test_what_contradicts_itself_is_refused_by_both(place: FaultyPlace, lines: str, words: str) -> None:
    place.write(more=lines)
    checked = pysync("check", "-c", place.file)
    assert (checked.returncode, words in checked.stderr) == (2, True), checked.stderr
    assert words in run(place)


def spoilt(place: Place, *, taken: int, away: int, other: int) -> None:
    """Of each section: one that is right and whose world is not, or one that is wrong."""
    place.token.unlink()
    place.file.write_text(
        f"""
status_grace = "5 minutes"
[source]
name = "onprem"
metastore = "thrift://127.0.0.1:{away}"
[bridge]
port = {taken}
token_file = "{place.token}"
[queue]
directory = "{place.file}/queue"
[web]
prot = 80
[[targets]]
name = "lake"
kind = "gleu"
[[targets]]
name = "dr"
kind = "hms"
metastore = "thrift://127.0.0.1:{other}"
[[targets]]
name = "old"
kind = "hms"
metastore = "thrift:old"
drops = "aply"
"""
    )


def test_the_problems_of_the_file_and_those_of_the_world_are_told_together(place: FaultyPlace) -> None:
    """Before: one wrong key, and nothing but the file was looked at."""
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        other = unused_port()
        spoilt(place, taken=taken.getsockname()[1], away=place.away.port, other=other)
        done = pysync("check", "-c", place.file, "--json", seconds=120)
        reported = subprocess.run(
            command(["check", "-c", place.file]), capture_output=True, text=True, timeout=120, check=False, env=WIDE
        )
    wrong = [(it["what"], it["detail"]) for it in json.loads(done.stdout) if not it["ok"]]
    of_file = [detail.removeprefix(f"{place.file}:") for what, detail in wrong if what == "configuration"]
    of_world = dict(pair for pair in wrong if pair[0] != "configuration")
    assert (done.returncode, done.stderr) == (2, "")
    assert of_file == [
        '2:1: status_grace: \'5 minutes\' is not a duration; write "30s", "5m", "12h" or "7d"',
        "12:1: web.prot: unknown key; did you mean port?",
        "15:1: targets[0].kind: there is no target kind 'gleu'; did you mean glue?",
        of_file[3],
        "24:1: targets[2].drops: 'aply' is not allowed; did you mean 'apply'?",
    ]
    assert of_file[3].startswith("23:1: targets[2].metastore: 'thrift:old' is not a metastore address; write thrift://")
    assert {what: detail.partition(": ")[0] for what, detail in of_world.items()} == {
        "web": "not tried",
        "target lake": "not tried",
        "target old": "not tried",
        "token file": f"the token file {place.token} does not exist; create it",
        "queue directory": f"cannot keep the queue in {place.file}/queue",
        "bridge port": f"127.0.0.1:{taken_port(of_world)}",
        "source metastore": f"cannot reach the metastore at thrift://127.0.0.1:{place.away.port}",
        "target dr": f"cannot list the databases of target 'dr' at thrift://127.0.0.1:{other}",
    }
    assert not re.search(r"\[Errno|None|Traceback", done.stdout + reported.stdout + reported.stderr)
    assert reported.returncode == 2
    assert reported.stderr.splitlines() == [f"pysync: {place.file}:{line}" for line in of_file]
    assert [what for what in of_world if what not in reported.stdout] == []


def taken_port(found: dict[str, str]) -> str:
    return found["bridge port"].split(":")[1]


def test_a_file_that_is_no_toml_has_no_world(place: FaultyPlace) -> None:
    place.file.write_text("[source]\nname = onprem\n")
    done = pysync("check", "-c", place.file, "--json")
    assert json.loads(done.stdout)["error"]["message"].startswith(f"{place.file}:2:8 is not TOML: ")
    assert done.returncode == 2


@pytest.fixture
def server() -> Iterator[int]:
    """A port where every caller is hung up on."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:

        def hang_up() -> None:
            with suppress(OSError):
                while True:
                    listening.accept()[0].close()

        thread = threading.Thread(target=hang_up, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "127.0.0.2", socket.gethostname()])
def test_a_target_that_is_the_source(tmp_path: Path, server: int, name: str) -> None:
    """Whatever it is called: what is written there would come again as a change of the source."""
    place = Place(tmp_path)
    text = place.file.read_text().replace(str(place.away), f"thrift://{name}:{server}")
    place.file.write_text(text.replace("[bridge]", f'metastore = "thrift://127.0.0.1:{server}"\n[bridge]', 1))
    done = pysync("check", "-c", place.file, "--json", seconds=120)
    (target,) = [it for it in json.loads(done.stdout) if it["what"] == "target dr"]
    assert (target["ok"], "source and target are the same metastore" in target["detail"]) == (False, True), target


def found_beside(place: Place) -> dict[str, str]:
    done = pysync("check", "-c", place.file, "--json")
    return {it["what"]: it["detail"] for it in json.loads(done.stdout)}


def test_a_port_on_which_nothing_listens_is_not_used_by_the_sidecar(place: FaultyPlace) -> None:
    port = unused_port()
    with sidecar(place) as running:
        bridge = running.status()["bridge"]["port"]
        place.write(port=bridge, more=f"[web]\nport = {port}\n")
        found = found_beside(place)
        assert found["web port"] == f"127.0.0.1:{port} is free"
        assert found["bridge port"] == f"used by the running sidecar, pid {running.process.pid}"
        with closing(socket.create_server(("127.0.0.1", port))):
            assert found_beside(place)["web port"].startswith(f"127.0.0.1:{port}: Address already in use")
        place.write(port=port)
        assert found_beside(place)["bridge port"] == f"127.0.0.1:{port} is free"


def test_the_page_of_the_running_sidecar_is_known(place: FaultyPlace) -> None:
    place.write(more=f"[web]\nport = {unused_port()}\n")
    with sidecar(place) as running:
        assert found_beside(place)["web port"] == f"used by the running sidecar, pid {running.process.pid}"
