"""Logs: every event is a stable key that docs/logs.md explains, and libraries' lines look like ours."""

from __future__ import annotations

import ast
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

import pysync
from pysync import logs

ROOT = Path(pysync.__file__).parent
_LEVELS = {"debug", "info", "warning", "error", "critical", "exception"}
TREES = {file: ast.parse(file.read_text()) for file in sorted(ROOT.rglob("*.py"))}
_BY_ITSELF = "library_logged"


def calls() -> Iterator[tuple[Path, ast.Call]]:
    """Every call of a module's logger."""
    for file, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LEVELS:
                named = node.func.value
                if isinstance(named, ast.Name) and named.id == "log":
                    yield file.relative_to(ROOT), node


def events_in_code() -> dict[str, tuple[set[str], set[str]]]:
    """Levels and fields of each event."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    for _, call in calls():
        levels, fields = found.setdefault(ast.literal_eval(call.args[0]), (set(), set()))
        levels.add(call.func.attr)
        fields |= {str(keyword.arg) for keyword in call.keywords}
    return found


def rows_in_docs() -> list[list[str]]:
    lines = (ROOT.parent / "docs" / "logs.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    assert all(len(row) == 5 for row in rows)
    return rows


def words(cell: str) -> set[str]:
    return {word.strip() for word in cell.split(",") if word.strip()}


@pytest.fixture
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    root.handlers.clear()
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


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
        for file, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "log"
        if node.attr in _LEVELS and id(node) not in called
    ]
    assert kept == []


def test_the_list_of_events_is_that_of_the_code_with_levels_and_fields() -> None:
    listed = {row[0].strip("`"): (words(row[1]), words(row[2])) for row in rows_in_docs()}
    assert listed.pop(_BY_ITSELF) == ({"as it was"}, {"logger", "message", "traceback"})
    assert listed == events_in_code()


def test_no_event_is_listed_twice_and_each_says_what_it_means_and_what_to_do() -> None:
    rows = rows_in_docs()
    assert len({row[0] for row in rows}) == len(rows)
    assert [row[0] for row in rows if not (row[3] and row[4])] == []


@pytest.mark.usefixtures("restored")
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
    assert its.keys() == {"event", "level", "timestamp", "logger", "message", "traceback"}


@pytest.mark.usefixtures("restored")
def test_on_a_terminal_a_library_cannot_make_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "console")
    logging.getLogger("botocore").error("one\ntwo \x1b[31m")
    (line,) = capsys.readouterr().err.splitlines()
    assert "library_logged" in line
    assert "one" in line
    assert "two" in line
    assert "\x1b" not in line


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize(("level", "told"), [("debug", 1), ("info", 1), ("warning", 1), ("error", 0)])
def test_debug_and_info_of_libraries_are_never_logged(
    capsys: pytest.CaptureFixture[str], level: str, told: int
) -> None:
    logs.configure(level, "json")
    for say in (logging.getLogger("botocore").debug, logging.getLogger("botocore").info):
        say("a header with a key in it")
    logging.getLogger("botocore").warning("well")
    assert len(capsys.readouterr().err.splitlines()) == told
