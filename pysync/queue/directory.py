"""The queue's directory: who may read it, who owns it, how much room is left on its disk."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from pysync.base.files import sync
from pysync.queue.errors import QueueFailed, QueueFull, owned, translated

_POLL = 0.05
_MIB = 1024 * 1024


def free_bytes(directory: Path) -> int:
    """What an ordinary user may still write on the disk of `directory`."""
    disk = os.statvfs(directory)
    return disk.f_bavail * disk.f_frsize


@dataclass(slots=True)
class Room:
    """The room for the database `file` on its disk. `measure` returns the free bytes of a directory."""

    file: Path
    min_free_bytes: int
    measure: Callable[[Path], int] = free_bytes

    def free_bytes(self) -> int:
        """What is left on the disk. Raises QueueFailed where the disk does not say."""
        with translated(self.file):
            return self.measure(self.file.parent)

    def is_tight(self) -> bool:
        """Whether the disk is so near its floor that events which are on their way may soon be refused."""
        return self.free_bytes() < self.min_free_bytes + self.min_free_bytes // 4

    def need(self, size: int) -> None:
        """Raises QueueFull where `size` bytes more would leave less than `min_free_bytes`."""
        free = self.free_bytes()
        if free - size < self.min_free_bytes:
            left, floor = free // _MIB, self.min_free_bytes // _MIB
            raise QueueFull(
                f"only {left} MiB are free on the disk of {self.file.parent}, queue.min_free_mb is {floor}",
                hint="free some disk space; the queue then continues by itself",
            )


def prepare(directory: Path) -> None:
    """Make `directory` with mode 0700 if it is not there; raises QueueFailed if pysync cannot write in it.

    A directory that is there keeps its mode (it may not be ours to change); the files in it are 0600.
    """
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for made in missing:
            sync(made.parent)  # or a power cut takes the new directory and every event in it
    except OSError as error:
        raise _unusable(directory, error.strerror or str(error)) from error
    if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        is_read_only = os.statvfs(directory).f_flag & os.ST_RDONLY
        raise _unusable(directory, "its disk is mounted read-only" if is_read_only else "it is not writable")


def try_out(directory: Path) -> None:
    """As `prepare`, but what was made is removed again."""
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    prepare(directory)
    with suppress(OSError):  # somebody has use for it already
        for made in missing:
            made.rmdir()


def lock_directory(directory: Path, file: Path, timeout: float) -> int:
    """Lock `directory` for this process, as long as the returned descriptor is open.

    Waits up to `timeout` seconds for a process that is just stopping; raises QueueFailed if it stays.
    SQLite's own lock covers the file alone; this one covers making it and setting it aside as well. It outlives
    the process in children that were forked without exec.
    """
    deadline = time.monotonic() + timeout
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    while not _locked(descriptor):
        if time.monotonic() >= deadline:
            os.close(descriptor)
            raise owned(file)
        time.sleep(_POLL)
    return descriptor


def companion(file: Path) -> Path:
    """The write-ahead log of the database `file`."""
    return file.with_name(f"{file.name}-wal")


def set_aside(file: Path) -> Path:
    """Rename a damaged `file` and its log to `FILE.damaged-TIME` (UTC) and return the new name."""
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S.%fZ")
    aside = file.with_name(f"{file.name}.damaged-{stamp}")
    for old, new in ((companion(file), companion(aside)), (file, aside)):
        if old.exists():
            old.rename(new)
    sync(file.parent)
    return aside


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unusable(directory: Path, why: str) -> QueueFailed:
    return QueueFailed(
        f"cannot keep the queue in {directory}: {why}",
        hint="make it a directory of the user that pysync runs as, or set another queue.directory",
    )
