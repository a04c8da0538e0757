"""Sidecars that die at a crash point (pysync/base/crashpoints.py), and what makes them come by it."""

from __future__ import annotations

import os
import signal

import pytest

from pysync.base.crashpoints import VARIABLE
from pysync.base.errors import PysyncError
from pysync.lab.demo.stage import Stage
from tests.support import wait_until

PATIENCE_SECONDS = 120.0
"""Nothing takes more than some ten seconds (trimming comes by so late); the rest is for a machine that others load."""


def start(stage: Stage) -> None:
    """Start the sidecar, and wait as long as it takes on a busy machine."""
    try:
        stage.start_sidecar()
    except PysyncError:
        assert exit_code(stage) is None, f"the sidecar ended: {stage.sidecar_log.read_text()[-2000:]}"
        wait_until(stage._answers, seconds=PATIENCE_SECONDS, what="the sidecar's answer")


def start_armed(stage: Stage, point: str, count: int = 1) -> None:
    """Start the sidecar so that it dies the `count`th time that it comes by the point; it may be dead already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, VARIABLE, f"{point}:{count}")
        try:
            stage.start_sidecar()
        except PysyncError:  # it died before it answered, or is slow
            assert exit_code(stage) in {None, -signal.SIGKILL}, stage.sidecar_log.read_text()[-2000:]


def wait_for_crash(stage: Stage, point: str) -> None:
    """Wait until the armed sidecar has come by its point."""
    wait_until(lambda: exit_code(stage) is not None, seconds=PATIENCE_SECONDS, what=f"the crash at {point}")
    assert exit_code(stage) == -signal.SIGKILL, f"it did not die at {point}, but of itself: {exit_code(stage)}"
    stage.kill_sidecar()  # it is dead; the stage forgets it


def exit_code(stage: Stage) -> int | None:
    """How the sidecar ended; None while it runs."""
    assert stage._sidecar is not None
    return stage._sidecar.poll()
