"""Reloading: have the running sidecar take its file again, and wait until it runs with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pysync.base.errors import PysyncError
from pysync.control.client import ask

_PATIENCE_SECONDS = 120.0
_GONE_SECONDS = 15.0  # a service that has ended is started again, if anything does that
_POLL_SECONDS = 0.2


def begin(directory: Path, **arguments: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Have the sidecar on that queue read its file; its status before, and its answer: it restarts.

    Raises PysyncError where it refuses: then nothing has changed.
    """
    return ask(directory, "status"), ask(directory, "reload", **arguments)


def wait(directory: Path, before: Mapping[str, Any], on_progress: Callable[[str], None]) -> None:
    """Wait until the sidecar, whose status was `before`, has begun again. Raises PysyncError if it does not."""
    here = _runs(before["pid"])  # not if it is in a container
    until = time.monotonic() + _PATIENCE_SECONDS
    gone_at: float | None = None
    while time.monotonic() < until:
        on_progress("it stops and starts")
        time.sleep(_POLL_SECONDS)
        if _has_begun(directory, after=before["started_at"]):
            return
        is_gone = here and not _runs(before["pid"])
        gone_at = (gone_at or time.monotonic()) if is_gone else None
        if gone_at is not None and time.monotonic() > gone_at + _GONE_SECONDS:
            raise PysyncError("the sidecar has ended, and nothing has started it again", "see the log of the sidecar")
    raise PysyncError("the sidecar has not come back", "see the log of the sidecar")


def _has_begun(directory: Path, after: float) -> bool:
    try:
        return bool(ask(directory, "status")["started_at"] > after)
    except PysyncError:
        return False


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"  # a child that nobody has asked for
