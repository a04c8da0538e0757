"""A queue at rest: what a process reads or changes in the queue of a directory while no sidecar runs on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pysync.queue.event_queue import EventQueue
from pysync.queue.queue_file import FILE

_LOCK_SECONDS = 1.0


@contextmanager
def queue_at_rest(directory: Path) -> Iterator[EventQueue | None]:
    """Open the queue in `directory`; None where there is none, which opening would make.

    Raises PysyncError for a queue that cannot be opened, also because another process has it.
    """
    if not (directory / FILE).exists():
        yield None
        return
    with EventQueue(directory, min_free_bytes=0, lock_timeout=_LOCK_SECONDS) as queue:
        yield queue
