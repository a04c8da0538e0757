"""The shell completes commands and options, whose modules are imported only when they are asked for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("words", ["pysync st", "pysync parked l", "pysync d", "pysync check --", "pysync dump --"])
def test_the_sentence_beside_a_command_is_whole(words: str) -> None:
    environment = {**os.environ, "_PYSYNC_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    environment["_TYPER_COMPLETE_ARGS"] = words
    command = Path(sys.executable).parent / "pysync"
    done = subprocess.run([command], env=environment, capture_output=True, text=True, timeout=60, check=True)
    for line in done.stdout.splitlines():
        assert re.fullmatch(r"[a-z-]+\t[A-Z-].*[^.]\.", line), line


CONF = '[source]\nname = "onprem"\n[[targets]]\nname = "dr"\nkind = "hms"\n[[targets]]\nname = "lake"\nkind = "glue"\n'


def completed(words: str, **more: str) -> list[str]:
    """What bash offers for the last of the words; a space after them begins another one."""
    environment = {**os.environ, **more, "_PYSYNC_COMPLETE": "complete_bash", "COMP_WORDS": words}
    environment["COMP_CWORD"] = str(len(words.split(" ")) - 1)
    command = Path(sys.executable).parent / "pysync"
    done = subprocess.run([command], env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [("pysync st", ["status"]), ("pysync parked re", ["retry"]), ("pysync status --j", ["--json"])],
)
def test_commands_and_options_are_completed(words: str, offered: list[str]) -> None:
    assert completed(words) == offered


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
def test_targets_and_values_are_completed(tmp_path: Path, words: str, offered: list[str]) -> None:
    (tmp_path / "pysync.toml").write_text(CONF)
    assert completed(words, PYSYNC_CONFIG=str(tmp_path / "pysync.toml")) == offered
    if " pause " in words:
        assert completed(words.replace(" pause ", f" pause -c {tmp_path}/pysync.toml ")) == offered


def test_without_a_configuration_no_target_is_offered(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("[[targets")
    for file in ("absent.toml", "broken.toml", ""):
        assert completed("pysync pause ", PYSYNC_CONFIG=str(tmp_path / file)) == []
