"""Files that are written at once or not at all, and files that are read only as far as a file of their kind reaches.

A draft is written under a temporary name in the same directory, so nobody sees a half-written file. It is created with
mode 0600, and its owner and mode are set by its descriptor. So a user who may write to the directory can neither read
the draft, nor redirect owner and mode to another file.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pysync.base.text import size

Owner = tuple[int, int]
"""A user's and a group's id."""
MOST_IN_SETTINGS = 16 * 1024 * 1024
"""Bytes of a file of settings."""


def content(path: Path) -> bytes:
    """What is in a file of settings. Raises OSError, also for what is no file, and for one that is too large."""
    return content_and_status(path)[0]


def content_and_status(path: Path) -> tuple[bytes, os.stat_result]:
    """As `content`, with the status of the file that was read: its name may stand for another one by now."""
    with _regular(path) as file:
        status = os.fstat(file.fileno())
        data = file.read(MOST_IN_SETTINGS + 1)
    if len(data) > MOST_IN_SETTINGS:
        raise OSError(errno.EFBIG, f"it has more than {size(MOST_IN_SETTINGS)}", str(path))
    return data, status


def has_content(path: Path, expected: bytes) -> bool:
    """Whether a regular file has exactly this content. No more of it is read. Raises OSError."""
    with _regular(path) as file:
        return file.read(len(expected) + 1) == expected


def draft(path: Path, content: bytes, *, mode: int, owner: Owner | None = None, like: Path | None = None) -> Path:
    """Write a draft for `path` and return its path. It has the extended attributes of `like`, and is on disk (fsync).

    Raises OSError.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if owner is not None:
                os.fchown(file.fileno(), *owner)
            for attribute in os.listxattr(like) if like else ():
                with suppress(OSError):  # like `cp -a`: some attributes only the kernel may set
                    os.setxattr(file.fileno(), attribute, os.getxattr(like or path, attribute))
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
    except BaseException:
        Path(name).unlink()
        raise
    return Path(name)


def put(path: Path, content: bytes, *, mode: int, owner: Owner | None = None, replaces: bool = False) -> None:
    """Write a whole file at once. Raises OSError; without `replaces` FileExistsError for an existing file."""
    made = draft(path, content, mode=mode, owner=owner)
    try:
        if replaces:
            made.replace(path)
        else:
            os.link(made, path, follow_symlinks=False)
            made.unlink()
    except BaseException:
        made.unlink()
        raise
    sync(path.parent)


def sync(directory: Path) -> None:
    """Make the names in a directory durable (fsync)."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _regular(path: Path) -> Iterator[BinaryIO]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # which waits for no other end of a FIFO
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a file", str(path))
        yield file
