"""The files beside the queue's database: directory and lock, the epoch, the lives of the file, what was answered."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from struct import Struct
from zlib import crc32

from pysync.base.files import sync
from pysync.queue.errors import QueueFailed, QueueFull, owned, translated

# --- The queue's directory: who may read it, who owns it, how much room is left on its disk

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


def begin_epoch(file: Path, epoch: int) -> int:
    """An epoch after the last one noted in `file`, whatever the clock says: what comes must be newer than what came.

    It is noted durably before it is returned.
    """
    with suppress(OSError, ValueError):
        epoch = max(epoch, int(file.read_text(encoding="ascii")) + 1)
    _replace(file, str(epoch).encode("ascii"))
    return epoch


def _replace(file: Path, data: bytes) -> None:
    """Replace the content of `file`, durably: whatever dies, it has the old content or the new."""
    draft = file.with_name(f"{file.name}.new")
    descriptor = os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    draft.replace(file)
    sync(file.parent)


# --- What was answered last, in a small file beside the queue: SQLite rolls a damaged log back without a word.
#
# It is written after every commit of events or gaps, and not flushed: a commit would take twice as long. So it knows
# of all that was answered when a process dies; after a power cut it may know less, but never more than was answered.
# What a power cut takes of a damaged log as well shows in the numbers of the listeners, which died with the power and
# are compared for.

_BODY = Struct("<qqq")
_SUM = Struct("<I")
_SIZE = _BODY.size + _SUM.size


class Answered:
    """The file; for one owner. Positions and gaps count only within the `epoch` in which they were noted."""

    def __init__(self, file: Path) -> None:
        """Open it, or begin one; raises OSError."""
        self._descriptor = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)

    def read(self, epoch: int) -> tuple[int, int]:
        """The last position that was answered in `epoch`, and how many gaps; zeros where nothing is known of it."""
        data = os.pread(self._descriptor, _SIZE, 0)
        body, checksum = data[: _BODY.size], data[_BODY.size :]
        # A file that was just begun, or torn by a power cut, knows nothing: that is safe, if less watchful.
        if checksum != _SUM.pack(crc32(body)):
            return 0, 0
        known, last, gaps = _BODY.unpack(body)
        return (last, gaps) if known == epoch else (0, 0)

    def note(self, epoch: int, last: int, gaps: int) -> None:
        """Note what is answered from now on. It does not fail: the commit is done, and this is only what watches it."""
        body = _BODY.pack(epoch, last, gaps)
        with suppress(OSError):
            os.pwrite(self._descriptor, body + _SUM.pack(crc32(body)), 0)

    def close(self) -> None:
        """Let go of the file; may be called once."""
        os.close(self._descriptor)


# --- Lives: each opening of the queue's file begins one, and marks at targets name it. So a restored copy is
# noticed.
#
# Positions order events only as long as none is given out twice. An older copy of the file that is put back gives out
# those behind its end again. It does not know the lives that followed, so what was written in them is not taken for
# newer than what comes (pysync.model.mark.Writer).

_KEY = "lives"
_KEEP = 100  # what earlier ones have written has lower positions than what comes, so it need not be known
_BITS = 48
_OPEN = 2**63  # the end of a life that has not ended


def begin_life(connection: sqlite3.Connection, last: int) -> tuple[int, dict[int, int]]:
    """Begin a life, and end the one before at the position `last`.

    Returns the new life, and the last position of each former one. A disk without room does not keep a queue from being
    opened: then nothing is written, and the next opening does not know this life.
    """
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    known = json.loads(row[0]) if row else {}
    ended = {int(life): min(end, last) for life, end in known.items()}
    life = secrets.randbits(_BITS)
    newest = dict(list({**ended, life: _OPEN}.items())[-_KEEP:])
    with suppress(sqlite3.OperationalError):
        connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (_KEY, json.dumps(newest)))
    return life, ended
