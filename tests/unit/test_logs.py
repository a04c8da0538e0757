"""Logs: every event is a stable key that docs/logs.md explains, and libraries' lines look like ours."""

from __future__ import annotations

import ast
import json
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
import structlog
from pyspark.errors import PySparkException

import pysync
from pysync.base import logs
from pysync.targets.spark.session import silence_loggers

ROOT = Path(pysync.__file__).parent
_LEVELS = {"debug", "info", "warning", "error", "critical", "exception"}
_BY_ITSELF = "library_logged"
DOCS = (ROOT.parent / "docs" / "logs.md").read_text()


@cache  # not as a constant: every worker collects this file, and one runs it
def trees() -> dict[Path, ast.Module]:
    """Of the files that may log."""
    texts = {file: file.read_text() for file in sorted(ROOT.rglob("*.py"))}
    return {file: ast.parse(text) for file, text in texts.items() if re.search(r"\blog\b", text)}


@cache
def calls() -> list[tuple[Path, ast.Call]]:
    """Every call of a module's logger."""
    return [
        (file.relative_to(ROOT), node)
        for file, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and is_log_call(node)
    ]


def is_log_call(call: ast.Call) -> bool:
    method = call.func
    is_level = isinstance(method, ast.Attribute) and method.attr in _LEVELS
    return is_level and isinstance(method.value, ast.Name) and method.value.id == "log"


def events_in_code() -> dict[str, tuple[set[str], set[str]]]:
    """Levels and fields of each event."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    for _, call in calls():
        levels, fields = found.setdefault(ast.literal_eval(call.args[0]), (set(), set()))
        levels.add(call.func.attr)
        fields |= {str(keyword.arg) for keyword in call.keywords}
    return found


def rows_in_docs() -> list[list[str]]:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in DOCS.splitlines() if line.startswith("| `")
    ]
    assert all(len(row) == 4 for row in rows)
    return rows


def words(cell: str) -> set[str]:
    return {word.strip() for word in cell.split(",") if word.strip()}


def test_every_event_is_a_key_that_can_be_searched_for() -> None:
    wrong = [
        f"{file}:{call.lineno}"
        for file, call in calls()
        if not (
            len(call.args) == 1
            and isinstance(call.args[0], ast.Constant)
            and re.fullmatch(r"[a-z]+(_[a-z]+)+", str(call.args[0].value))
            and all(keyword.arg for keyword in call.keywords)
        )
    ]
    assert wrong == []


def test_no_level_of_a_logger_is_kept_for_later_so_that_its_event_is_in_no_list() -> None:
    called = {id(call.func) for _, call in calls()}
    kept = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "log"
        if node.attr in _LEVELS and id(node) not in called
    ]
    assert kept == []


def test_the_list_of_events_is_that_of_the_code_with_levels_and_fields() -> None:
    listed = {row[0].strip("`"): (words(row[1]), words(row[2])) for row in rows_in_docs()}
    assert listed.pop(_BY_ITSELF) == ({"as it was"}, {"logger", "message", "traceback"})
    assert listed == events_in_code()


def test_no_event_is_listed_twice_and_each_says_what_it_means() -> None:
    rows = rows_in_docs()
    assert len({row[0] for row in rows}) == len(rows)
    assert [row[0] for row in rows if not row[3]] == []


@pytest.mark.usefixtures("logging_restored")
def test_what_a_library_logs_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "json")
    structlog.get_logger("pysync").info("sidecar_started", pid=1)
    down = (OSError, OSError("down"), None)
    logging.getLogger("botocore.retries").warning("tried %d times", 3, exc_info=down)
    ours, its = map(json.loads, capsys.readouterr().err.splitlines())
    assert (ours["event"], ours["level"], ours["pid"]) == ("sidecar_started", "info", 1)
    assert (its["event"], its["level"], its["logger"]) == ("library_logged", "warning", "botocore.retries")
    assert its["message"] == "tried 3 times"
    assert its["traceback"].endswith("OSError: down")
    assert list(its) == ["timestamp", "level", "event", "logger", "message", "traceback"]


@pytest.mark.usefixtures("logging_restored")
def test_on_a_terminal_a_library_cannot_make_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "console")
    logging.getLogger("botocore").error("one\ntwo \x1b[31m")
    (line,) = capsys.readouterr().err.splitlines()
    assert "library_logged" in line
    assert "one" in line
    assert "two" in line
    assert "\x1b" not in line


@pytest.mark.usefixtures("logging_restored")
@pytest.mark.parametrize(("level", "reported"), [("debug", 1), ("info", 1), ("warning", 1), ("error", 0)])
def test_debug_and_info_of_libraries_are_never_logged(
    capsys: pytest.CaptureFixture[str], level: str, reported: int
) -> None:
    logs.configure(level, "json")
    for say in (logging.getLogger("botocore").debug, logging.getLogger("botocore").info):
        say("a header with a key in it")
    logging.getLogger("botocore").warning("well")
    assert len(capsys.readouterr().err.splitlines()) == reported


def dying() -> None:
    raise KeyError("a bug")


class Bad:
    def __del__(self) -> None:
        dying()


def dies_in_a_thread() -> None:
    thread = threading.Thread(target=dying, name="a library's")
    thread.start()
    thread.join()


def dies_in_a_finalizer() -> None:
    Bad()


def warns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.warn("old ways", FutureWarning, stacklevel=1)


@pytest.mark.usefixtures("logging_restored")
@pytest.mark.parametrize(
    ("does", "event", "level", "reported"),
    [
        (warns, "library_logged", "warning", {"logger": "py.warnings", "message": "FutureWarning: old ways"}),
        (dies_in_a_thread, "exception_uncaught", "error", {"thread": "a library's", "traceback": "KeyError: 'a bug'"}),
        (dies_in_a_finalizer, "exception_ignored", "warning", {"where": "Bad.__del__", "traceback": "a bug"}),
    ],
)
def test_what_python_would_print_by_itself_is_one_json_line(
    capfd: pytest.CaptureFixture[str], does: Callable[[], None], event: str, level: str, reported: dict[str, str]
) -> None:
    logs.configure("info", "json")
    does()
    (line,) = map(json.loads, capfd.readouterr().err.splitlines())
    assert (line["event"], line["level"]) == (event, level)
    assert {key: text in line[key] for key, text in reported.items()} == dict.fromkeys(reported, True)


@pytest.mark.usefixtures("logging_restored")
def test_a_thread_that_ends_itself_is_no_event(capfd: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "json")
    thread = threading.Thread(target=sys.exit)
    thread.start()
    thread.join()
    assert capfd.readouterr().err == ""


def test_a_process_that_dies_of_a_bug_ends_with_a_json_line() -> None:
    code = "from pysync.base import logs; logs.configure('info', 'json'); {}['a bug']"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    (line,) = map(json.loads, done.stderr.splitlines())
    assert (done.returncode, line["event"], line["thread"]) == (1, "exception_uncaught", "MainThread")
    assert line["traceback"].strip().endswith("KeyError: 'a bug'")


@pytest.mark.usefixtures("logging_restored")
@pytest.mark.parametrize("name", ["py4j.java_gateway", "py4j.clientserver", "pyathena.common"])
def test_libraries_that_log_payloads_say_nothing_bridge_or_not(capfd: pytest.CaptureFixture[str], name: str) -> None:
    logs.configure("debug", "json")
    logging.getLogger(name).critical("a payload")
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("logging_restored")
@pytest.mark.parametrize("kind", ["SQL", "DataFrame"])
def test_pyspark_does_not_log_the_exceptions_that_it_raises(capfd: pytest.CaptureFixture[str], kind: str) -> None:
    place = SimpleNamespace(contextType=lambda: SimpleNamespace(name=kind), callSite=lambda: "a.py:1", fragment=str)
    logs.configure("info", "json")
    silence_loggers()
    PySparkException("no such type", "AN_ERROR", {}, [place])._log_exception()
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("logging_restored")
def test_whom_a_line_is_about_comes_before_what_is_long(capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("console", "json"):
        logs.configure("info", form)
        log = structlog.get_logger("pysync")
        log.warning("target_unavailable", reason="a long story", attempt=2, zone="z", target="lake")
        log.warning("worker_waiting", traceback="t", attempt=1, worker="drain-lake", source="onprem")
    text, json_ = capsys.readouterr().err.split("{", 1)
    assert [re.findall(r"(\w+)=", line) for line in text.splitlines()] == [
        ["target", "attempt", "zone", "reason"],
        ["worker", "source", "attempt", "traceback"],
    ]
    assert list(json.loads("{" + json_.splitlines()[0]))[:4] == ["timestamp", "level", "event", "target"]


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_the_filter_in_the_docs_survives_lines_that_are_no_json() -> None:
    (line,) = [it.strip() for it in DOCS.splitlines() if " | jq " in it]
    shown = "".join(
        f"{it}\n"
        for it in ('{"event": "event_parked", "target": "lake"}', "WARNING: Using incubator modules", "5", '"text"')
    )
    other = '{"event": "sidecar_stopped"}\n{"event": "event_parked", "target": "dr"}\n{"event": "cut of'
    done = subprocess.run(
        shlex.split(line.split(" | ", 1)[1]),
        input=shown + other,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(it)["target"] for it in done.stdout.splitlines()] == ["lake", "dr"]


def logged_by_a_process(tmp_path: Path, code: str, stream: str | None) -> list[str]:
    """The lines of a process whose standard error is a file; `stream` is what systemd says that the journal's is."""
    output = tmp_path / "stderr"
    with output.open("w") as file:
        found = os.fstat(file.fileno())
        env = {key: value for key, value in os.environ.items() if key != "JOURNAL_STREAM"}
        if stream is not None:
            env["JOURNAL_STREAM"] = stream.format(device=found.st_dev, inode=found.st_ino)
        subprocess.run([sys.executable, "-c", code], stderr=file, check=False, env=env)
    return output.read_text().splitlines()


LOGS = """
import logging, structlog
from pysync.base import logs
logs.configure("debug", "{form}")
log = structlog.get_logger()
log.debug("a"); log.info("b"); log.warning("c", reason="one\\ntwo"); log.error("d")
logging.getLogger("botocore").critical("e")
raise ValueError("f")
"""


@pytest.mark.parametrize("form", ["json", "console"])
def test_the_journal_gets_the_priority_of_every_line(tmp_path: Path, form: str) -> None:
    """Also of a line that is one of several, of a library's, and of what nobody catches."""
    lines = logged_by_a_process(tmp_path, LOGS.replace("{form}", form), "{device}:{inode}")
    assert [line for line in lines if not re.match(r"<[2-7]>", line)] == []
    priorities = [line[1] for line in lines]
    assert list(dict.fromkeys(priorities)) == ["7", "6", "4", "3", "2"]
    if form == "json":
        events = [json.loads(line[3:])["event"] for line in lines]
        assert events == ["a", "b", "c", "d", "library_logged", "exception_uncaught"]


@pytest.mark.parametrize("stream", [None, "", "1:2", "nonsense"])
def test_what_is_not_the_journal_gets_no_priority(tmp_path: Path, stream: str | None) -> None:
    """JOURNAL_STREAM is inherited: it may be about another stream than this process's."""
    lines = logged_by_a_process(tmp_path, LOGS.replace("{form}", "json"), stream)
    assert [json.loads(line)["event"] for line in lines][:2] == ["a", "b"]
