"""What the queue refuses, each with one line that says what, where and what to do.

QueueFull      less free disk than the floor, or none: try again later, nothing was written
QueueFailed    the queue cannot do it: a disk or database error, or another owner
├── QueueClosed    the queue was closed before or meanwhile
└── QueueDamaged   the file on disk is not a whole queue
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pysync.base.errors import PysyncError

_CHUNK = 1024 * 1024
_PAGE_ERROR = re.compile(r"error code=(\d+)")
_PRIMARY, _IOERR = 0xFF, 10
"""SQLite's result codes: the mask of the primary code, and the primary code of I/O errors."""


class QueueFull(PysyncError):
    """Less free disk than the floor: nothing of this was written, and the same call may succeed later."""


class QueueFailed(PysyncError):
    """The queue could not do it: nothing of this was written as far as SQLite can tell."""


class QueueClosed(QueueFailed):
    """The queue is closed, or was closed while the caller waited."""


class QueueDamaged(QueueFailed):
    """The file on disk is not a whole queue."""


@contextmanager
def translated(file: Path) -> Iterator[None]:
    """Turn what SQLite and the disk raise inside the block into `QueueFull` or `QueueFailed`."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise refusal(error, file) from error
    except UnicodeDecodeError as error:  # SQLite quotes what it has found
        raise damaged(file, "it holds text that is not valid UTF-8") from error


def refusal(error: sqlite3.Error | OSError, file: Path) -> QueueFull | QueueFailed:
    """What `error` of the database `file` means to whoever uses the queue."""
    text = str(error)
    if isinstance(error, OSError):
        return _of_disk(error, file)
    if "disk is full" in text:  # SQLite's codes need Python 3.11
        return _full(file)
    if "locked" in text:
        return owned(file)
    if "malformed" in text or "not a database" in text:
        return damaged(file, text)
    # SQLite does not say why: the system does, when it is asked again.
    cause = _cause(file)
    return _of_disk(cause, file) if cause else _failed(file, text)


def owned(file: Path) -> QueueFailed:
    """The refusal of a queue that someone else has open."""
    return QueueFailed(
        f"{file} is in use by another process",
        hint="another pysync process uses this directory: stop that process, or set another queue.directory",
    )


def damaged(file: Path, what: str) -> QueueFailed | QueueFull:
    """The refusal of a queue file that cannot be trusted; `what` says why.

    SQLite may take for damage what it could not read. So the file is read here as well: where the disk refuses that,
    the refusal blames the disk, and the file may be whole.
    """
    code = _PAGE_ERROR.search(what)
    if code and int(code[1]) & _PRIMARY == _IOERR:
        return _failed(file, what)
    cause = _cause(file)
    # A file that is missing beside its log is damage, not a fault of the disk.
    if cause is not None and cause.errno != errno.ENOENT:
        return _of_disk(cause, file)
    return QueueDamaged(
        f"{file} is damaged: {what}",
        hint="restore the file, or start once with `pysync run --quarantine`: it sets the file aside and begins a new "
        "queue",
    )


def _cause(file: Path) -> OSError | None:
    """What the system says when the file is opened to be written and read to its end; and its log, if there is one."""
    try:
        for path in (file, file.with_name(f"{file.name}-wal")):
            if path is file or path.exists():
                _read(path)
        # SQLite makes its log beside the file, which may itself be in order.
        if not os.access(file.parent, os.W_OK | os.X_OK):
            return PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file.parent))
    except OSError as error:
        return error
    return None


def _read(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        while os.read(descriptor, _CHUNK):
            pass
    finally:
        os.close(descriptor)


def _of_disk(error: OSError, file: Path) -> QueueFull | QueueFailed:
    text = error.strerror or str(error)
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return _full(file)
    if error.errno == errno.EROFS:
        return QueueFailed(
            f"cannot write {file}: its disk is mounted read-only",
            hint="see the kernel log: a disk with errors is remounted read-only; mount the disk read-write again",
        )
    if error.errno in {errno.EACCES, errno.EPERM}:
        place = error.filename or file
        return QueueFailed(f"cannot write {place}: {text}", hint="make the user that pysync runs as its owner")
    if error.errno in {errno.EMFILE, errno.ENFILE}:
        return QueueFailed(f"cannot open {file}: {text}", hint="raise the limit of open files (LimitNOFILE)")
    return _failed(file, text)


def _full(file: Path) -> QueueFull:
    return QueueFull(
        f"no space left on the disk of {file}", hint="free some disk space; the queue then continues by itself"
    )


def _failed(file: Path, text: str) -> QueueFailed:
    return QueueFailed(
        f"the disk of {file} fails: {text}",
        hint="see the kernel log for disk errors; the file may be intact, so do not move or delete it",
    )
