"""The shell completes commands and options, whose modules are imported only when they are asked for."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from pysync.base.errors import PysyncError
from pysync.cli import main, output
from pysync.control.client import SOCKET
from pysync.control.server import ControlServer
from pysync.model.names import TableName
from pysync.sidecar.arguments import checked
from pysync.sidecar.names import MOST, names_beginning
from pysync.sidecar.why import EndsReader

Answer = Callable[..., str]


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Answer:
    """What the command prints when a shell asks by these variables, without a process for it."""

    def ask(**variables: str) -> str:
        for name, value in {**variables, "COLUMNS": "80"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["pysync"])
        with pytest.raises(SystemExit):
            main()
        output, errors = capsys.readouterr()
        assert errors == ""
        return output

    return ask


@pytest.mark.parametrize("words", ["pysync st", "pysync parked l", "pysync d", "pysync check --", "pysync dump --"])
def test_the_sentence_beside_a_command_is_whole(answer: Answer, words: str) -> None:
    offered = answer(
        _PYSYNC_COMPLETE="complete_fish", _TYPER_COMPLETE_FISH_ACTION="get-args", _TYPER_COMPLETE_ARGS=words
    )
    assert offered
    for line in offered.splitlines():
        assert re.fullmatch(r"[a-z-]+\t[A-Z-].*[^.]\.", line), line


CONF = '[source]\nname = "onprem"\n[[targets]]\nname = "dr"\nkind = "hms"\n[[targets]]\nname = "lake"\nkind = "glue"\n'


def of_bash(words: str) -> dict[str, str]:
    """The variables by which bash asks for the last of the words; a space after them begins another one."""
    return {"_PYSYNC_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}


def test_a_shell_gets_the_answer_of_the_command() -> None:
    command = Path(sys.executable).parent / "pysync"
    environment = {**os.environ, **of_bash("pysync st")}
    done = subprocess.run([command], env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("status\n", "")


@pytest.mark.parametrize(
    ("words", "offered"),
    [("pysync parked re", ["retry"]), ("pysync status --j", ["--json"])],
)
def test_commands_and_options_are_completed(answer: Answer, words: str, offered: list[str]) -> None:
    assert answer(**of_bash(words)).split() == offered


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("pysync pause ", ["dr", "lake"]),
        ("pysync parked retry l", ["lake"]),
        ("pysync plan --target d", ["dr"]),
        ("pysync dump d --files l", ["list"]),
        ("pysync pause x", []),
    ],
)
def test_targets_and_values_are_completed(answer: Answer, tmp_path: Path, words: str, offered: list[str]) -> None:
    (tmp_path / "pysync.toml").write_text(CONF)
    if " pause " in words:
        assert answer(**of_bash(words.replace(" pause ", f" pause -c {tmp_path}/pysync.toml "))).split() == offered
    assert answer(**of_bash(words), PYSYNC_CONFIG=str(tmp_path / "pysync.toml")).split() == offered


def test_without_a_configuration_no_target_is_offered(answer: Answer, tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("[[targets")
    for file in ("absent.toml", "broken.toml", ""):
        assert answer(**of_bash("pysync pause "), PYSYNC_CONFIG=str(tmp_path / file)).split() == []


class Names(ControlServer):
    """A sidecar's socket in `directory` that completes names; `asked` has what it was asked for."""

    def __init__(self, directory: Path, source: Any) -> None:
        self.asked: list[str] = []

        def names(request: Mapping[str, Any]) -> Mapping[str, Any]:
            self.asked.append(request["begin"])
            return names_beginning(EndsReader(source), request)

        super().__init__(directory, {"names": checked(names)})


class Source:
    """Reads of a source with these tables."""

    def __init__(self, *names: str) -> None:
        self._names = [TableName.parse(it) for it in names]

    def databases(self) -> list[str]:
        return sorted({it.database for it in self._names})

    def tables(self, database: str) -> list[str]:
        return [it.table for it in self._names if it.database == database]


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pysync.toml").write_text(f'{CONF}[queue]\ndirectory = "{tmp_path}"\n')
    monkeypatch.setenv("PYSYNC_CONFIG", str(tmp_path / "pysync.toml"))
    return tmp_path


@contextmanager
def sidecar(directory: Path, source: Any) -> Iterator[Names]:
    made = Names(directory, source)
    made.start()
    try:
        yield made
    finally:
        made.stop()


HERE = Source("sales.orders", "sales.items", "salary.months", "hr.people", "hr.p;reboot")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("pysync why sal", ["salary", "sales"]),
        ("pysync why sales", ["sales", "sales.items", "sales.orders"]),
        ("pysync why sales.o", ["sales.orders"]),
        ("pysync why hr.p", ["hr.people"]),
        ("pysync refresh hr.people sales.i", ["sales.items"]),
        ("pysync status --object sales.", ["sales.items", "sales.orders"]),
        ("pysync wait nowhere.", []),
        ("pysync verify x", []),
    ],
)
def test_tables_are_completed_by_the_sidecar(answer: Answer, conf: Path, words: str, offered: list[str]) -> None:
    with sidecar(conf, lambda: nullcontext(HERE)):
        assert answer(**of_bash(words)).split() == offered


def test_of_too_many_names_none_is_offered(answer: Answer, conf: Path) -> None:
    """The shell would complete what the first of them have in common."""
    many = Source(*(f"a.t{it}" for it in range(MOST + 1)))
    with sidecar(conf, lambda: nullcontext(many)):
        assert answer(**of_bash("pysync why a.")).split() == []
        assert len(answer(**of_bash("pysync why a.t1")).split()) == 112


@contextmanager
def away() -> Iterator[Source]:
    raise PysyncError("cannot read the source")
    yield Source()


@pytest.mark.parametrize("source", [None, away], ids=["not set", "away"])
def test_without_a_source_no_table_is_offered(answer: Answer, conf: Path, source: Any) -> None:
    with sidecar(conf, source) as asked:
        assert answer(**of_bash("pysync why a")).split() == []
        assert asked.asked == ["a"]


def test_without_a_sidecar_or_its_answer_no_table_is_offered(
    answer: Answer, conf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answer(**of_bash("pysync why a")).split() == []
    monkeypatch.setattr(output, "_COMPLETION_SECONDS", 0.1)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(conf / SOCKET))
        silent.listen()
        assert answer(**of_bash("pysync why a")).split() == []
