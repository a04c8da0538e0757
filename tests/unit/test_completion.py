"""The shell completes commands and options, whose modules are imported only when they are asked for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pysync.cli import main

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
