"""What the queue refuses, each with one line that says what, where and what to do.

QueueFull      less free disk than the floor, or none: try again later, nothing was written
QueueFailed    the queue cannot do it: a disk or database error, or another owner
├── QueueClosed    the queue was closed before or meanwhile
└── QueueDamaged   the file on disk is not a whole queue
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pysync.errors import PysyncError


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
        raise damaged(file, "there is text in it that is none") from error


def refusal(error: sqlite3.Error | OSError, file: Path) -> QueueFull | QueueFailed:
    """What `error` of the database `file` means to whoever uses the queue."""
    text = str(error)
    if "disk is full" in text or "No space left" in text:  # SQLite's codes need Python 3.11
        return QueueFull(f"no space left on the disk of {file}", hint="free some; the queue goes on by itself")
    if "malformed" in text or "not a database" in text:
        return damaged(file, text)
    if "locked" in text:
        return owned(file)
    if "readonly" in text or "unable to open" in text or isinstance(error, PermissionError):
        return QueueFailed(f"cannot write {file} ({text})", hint="give it to the user that pysync runs as")
    return QueueFailed(f"{file}: {text}", hint="look for disk errors in the kernel's log")


def owned(file: Path) -> QueueFailed:
    """The refusal of a queue that someone else has open."""
    return QueueFailed(
        f"{file} is in use by another process",
        hint="another pysync runs on this directory: stop it, or give this one its own queue.directory",
    )


def damaged(file: Path, what: str) -> QueueDamaged:
    """The refusal of a queue file that cannot be trusted; `what` says why."""
    return QueueDamaged(
        f"{file} is damaged: {what}",
        hint="restore it, or start once with `pysync run --quarantine`, which sets it aside and begins a new queue",
    )
