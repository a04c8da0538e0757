"""Checks before the removal of a sidecar: does it run, and would changes be lost with its queue?"""

from __future__ import annotations

from pathlib import Path

from pysync.base.errors import PysyncError
from pysync.base.files import Owner
from pysync.base.rights import rights_at
from pysync.base.text import count
from pysync.control.client import ask_if_running
from pysync.queue.queue_file import FILE
from pysync.sidecar.registry import backlog_of, resting


def assert_stopped(directory: Path) -> None:
    """Raise PysyncError if a sidecar runs on the queue in `directory`."""
    if status := ask_if_running(directory, "status"):
        running = f"a sidecar runs on the queue in {directory}, pid {status['pid']}"
        raise PysyncError(running, "stop it: systemctl disable --now pysync")


def unapplied(directory: Path, owner: Owner | None) -> list[str]:
    """Return a line for each target that lacks events of the queue in `directory`, which belongs to `owner`.

    Opens the queue, so no sidecar may run on it.
    """
    if not (directory / FILE).exists():
        return []
    with rights_at(directory / FILE, owner), resting(directory) as queue:
        waiting = [it for name in sorted(queue.positions()) if (it := backlog_of(queue, name))]
    return [
        f"target {it.target}: {count(it.queued, 'event')} waiting, {it.parked:,} parked"
        for it in waiting
        if it.queued or it.parked
    ]
