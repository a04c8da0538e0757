"""The shell completes commands and options, whose modules are imported only when they are asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def completed(words: str) -> list[str]:
    """What bash offers for the last of the words; a space after them begins another one."""
    environment = {**os.environ, "_PYSYNC_COMPLETE": "complete_bash", "COMP_WORDS": words}
    environment["COMP_CWORD"] = str(len(words.split(" ")) - 1)
    command = Path(sys.executable).parent / "pysync"
    done = subprocess.run([command], env=environment, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [("pysync st", ["status"]), ("pysync parked re", ["retry"]), ("pysync status --j", ["--json"])],
)
def test_commands_and_options_are_completed(words: str, offered: list[str]) -> None:
    assert completed(words) == offered
