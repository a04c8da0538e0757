"""Files of a dump: regular files in a directory of one's own. No link is followed, and nothing else is opened.

Whoever may write to a directory could put a link there that leads to a file of others, or a FIFO on which an open waits
without end.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from pysync.base.errors import UsageError
from pysync.base.rights import make_directory, rights_at
from pysync.dump.record import DumpDamaged

_PRIVATE = 0o700
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
)


def reading(path: Path, within: int | None = None) -> BinaryIO:
    """A file of a dump. Raises OSError, and DumpDamaged for anything but a regular file.

    With `within`, the path is relative to that directory, a descriptor.
    """
    # Even to open a device may do something.
    _assert_regular(os.stat(path, dir_fd=within, follow_symlinks=False).st_mode, path)
    return os.fdopen(_regular(path, _READ, within), "rb")


def creating(path: Path) -> BinaryIO:
    """A new file that only its owner can read, in place of one that a killed run has left. Raises OSError."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, _NEW, 0o600), "wb")


def lock_file(path: Path) -> BinaryIO:
    """The file for a lock, which is made if it is missing. Raises as `reading`."""
    return os.fdopen(_regular(path, _LOCK), "rb+", buffering=0)


def contents(directory: Path) -> Iterator[Path]:
    """All files below a directory. Raises OSError, and DumpDamaged for anything but files and directories."""
    directories = [directory]
    while directories:
        with os.scandir(directories.pop()) as entries:
            for entry in entries:
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    directories.append(Path(entry.path))
                else:
                    _assert_regular(mode, Path(entry.path))
                    yield Path(entry.path)


def own_directory(directory: Path) -> None:
    """Make a directory that only the caller can enter (0700), or accept one of the caller's own.

    Raises UsageError for a link, for a directory of somebody else, and where root does not go (pysync.base.rights).
    """
    owner = os.geteuid(), os.getegid()
    try:
        make_directory(directory, _PRIVATE, owner)
    except FileExistsError:
        with rights_at(directory, owner) as place:
            existing = place.status()
        if existing is None or not stat.S_ISDIR(existing.st_mode):
            hint = "name a directory that does not exist yet"
            raise UsageError(f"{directory} is not a directory, or it is a symbolic link", hint) from None
        if existing.st_uid != owner[0]:
            hint = "name a directory of your own, or one that does not exist yet"
            raise UsageError(f"{directory} belongs to another user", hint) from None


def make_private(directory: Path) -> None:
    """Take the rights of others off a directory of the caller's own. Raises OSError, and UsageError where they stay."""
    descriptor = os.open(directory, _DIRECTORY)
    try:
        os.fchmod(descriptor, _PRIVATE)
        if os.fstat(descriptor).st_mode & 0o077:
            hint = "mount its file system with umask=077, or name a directory elsewhere"
            raise UsageError(f"other users can read {directory}, and its file system has no permissions", hint)
    finally:
        os.close(descriptor)


def _regular(path: Path, flags: int, within: int | None = None) -> int:
    descriptor = os.open(path, flags, 0o600, dir_fd=within)
    try:
        _assert_regular(os.fstat(descriptor).st_mode, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _assert_regular(mode: int, path: Path) -> None:
    if not stat.S_ISREG(mode):
        kind = next((words for is_kind, words in _KINDS if is_kind(mode)), "a device")
        raise DumpDamaged(f"{path} is {kind}, which no dump contains", "remove it, or copy the dump again")
