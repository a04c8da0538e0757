"""Rights: with whose rights root writes and removes files.

Root follows a path only as long as nobody else could change it. From the first directory on that belongs to the user
of the service, everything is done with that user's rights: whatever the user puts there meanwhile, a link or another
directory, root does nothing that the user could not do. A directory of anybody else is refused.

Each part of a path is opened relative to the directory before it, so nothing can be put in its place after the check.
"""

from __future__ import annotations

import errno
import os
import pwd
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pysync.base.errors import PysyncError, UsageError
from pysync.base.files import Owner, put

_ROOT = 0
_LINKS = 40  # as in Linux
_PART = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Guard = Callable[[os.stat_result, Path], None]
"""Is called for each directory and link on the way, before it is used."""


@dataclass(frozen=True, slots=True)
class Place:
    """A name in an open directory (`directory`, a descriptor), and its path without links."""

    directory: int
    path: Path

    def status(self) -> os.stat_result | None:
        """What has this name; a link is not followed. None if there is nothing."""
        try:
            return os.stat(self.path.name, dir_fd=self.directory, follow_symlinks=False)
        except FileNotFoundError:
            return None


@contextmanager
def as_user(owner: Owner) -> Iterator[None]:
    """Root has only the rights of this user until the block ends. Without an account only the group given counts.

    Does nothing for any other caller. Concerns all threads.
    """
    if os.geteuid() != _ROOT or owner[0] == _ROOT:
        yield
        return
    groups, group = os.getgroups(), os.getegid()
    os.setgroups(_groups(owner))
    os.setegid(owner[1])
    os.seteuid(owner[0])
    try:
        yield
    finally:
        os.seteuid(_ROOT)
        os.setegid(group)
        os.setgroups(groups)


@contextmanager
def rights_at(path: Path, owner: Owner | None, *, make: bool = False, follow: bool = False) -> Iterator[Place]:
    """Until the block ends, root has no more rights than are safe for the file or directory `path`.

    With `make`, directories on the way are made (0755). With `follow`, `path` itself may be a link.
    Raises UsageError for a directory that anybody but root and `owner` could change, and OSError.
    """
    with ExitStack() as stack:

        def guard(status: os.stat_result, at: Path) -> None:
            if owner is not None and _is_users(status, at, owner):
                stack.enter_context(as_user(owner))

        place = _descend(path.absolute(), guard, make=make, follow=follow)
        stack.callback(os.close, place.directory)
        yield place


def is_users(path: Path, owner: Owner | None) -> bool:
    """Whether `owner` could change the file, or put another in its place. It need not exist. False unless root asks.

    Raises UsageError if anybody else but root could.
    """
    seen = list[bool]()

    def guard(status: os.stat_result, at: Path) -> None:
        seen.append(_is_users(status, at, owner))

    with suppress(FileNotFoundError, NotADirectoryError):
        place = _descend(path.absolute(), guard, follow=True)
        try:
            if (there := place.status()) is not None:
                guard(there, place.path)
        finally:
            os.close(place.directory)
    return any(seen)


def make_directory(path: Path, mode: int, owner: Owner | None = None) -> None:
    """Make a directory that belongs to `owner`, or to the caller, and its missing parents (mode 0755).

    Raises FileExistsError for anything that is there already, also for a link.
    """
    with rights_at(path, owner, make=True) as place:
        os.mkdir(path.name, 0o700, dir_fd=place.directory)
        made = os.open(path.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place.directory)
        try:
            if owner is not None:
                os.fchown(made, *owner)
            os.fchmod(made, mode)
        finally:
            os.close(made)


def remove(path: Path, expected: os.stat_result, owner: Owner | None) -> None:
    """Remove a file, a link, or a directory with all that is in it. What is gone already is no error.

    Raises PysyncError if the path is not what it was (`expected`, as by lstat), UsageError as `rights_at`, and OSError.
    """
    with suppress(FileNotFoundError), rights_at(path, owner) as place:
        status = place.status()
        if status is None:
            return
        if not os.path.samestat(status, expected) or status.st_uid != expected.st_uid:
            raise PysyncError(f"{path} was replaced by somebody else", "look at it, then run the command again")
        if stat.S_ISDIR(status.st_mode):
            shutil.rmtree(place.path)
        else:
            os.unlink(path.name, dir_fd=place.directory)


def write_own(path: Path, content: bytes, *, mode: int, replaces: bool = True) -> None:
    """Write a file of the caller's own at once, at a path that a person has named. A link is replaced, not followed.

    Raises UsageError for what belongs to another user and as `rights_at`, FileExistsError without `replaces` where
    there is something, and OSError.
    """
    caller = os.geteuid(), os.getegid()
    with rights_at(path, caller) as place:
        status = place.status()
        if status is not None and status.st_uid != caller[0]:
            raise UsageError(f"{path} belongs to another user", "name another file")
        put(place.path, content, mode=mode, replaces=replaces)


def is_open(status: os.stat_result) -> bool:
    """Whether others may write to a directory, and so replace what is in it. With the sticky bit, as on /tmp, no."""
    return bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)) and not status.st_mode & stat.S_ISVTX


def _groups(owner: Owner) -> list[int]:
    try:
        return os.getgrouplist(pwd.getpwuid(owner[0]).pw_name, owner[1])
    except KeyError:
        return [owner[1]]


def _is_users(status: os.stat_result, at: Path, owner: Owner | None) -> bool:
    """Whether this belongs to `owner`. Raises UsageError if others could change it. Only root has to know."""
    if os.geteuid() != _ROOT:
        return False
    allowed = {_ROOT} if owner is None else {_ROOT, owner[0]}
    is_link = stat.S_ISLNK(status.st_mode)
    if status.st_uid not in allowed or (not is_link and is_open(status)):
        hint = f"chmod go-w {at}, chown it to root, or name another place"
        raise UsageError(f"root does not use {at}: other users can write to it", hint)
    return status.st_uid != _ROOT


def _descend(path: Path, guard: Guard, *, make: bool = False, follow: bool = False) -> Place:
    """Open the directory of `path`, part by part. The caller closes it. Raises OSError."""
    links, parts, at = 0, [*reversed(path.parts[1:])], Path("/")
    directory = os.open("/", _PART)
    try:
        while True:
            guard(os.fstat(directory), at)
            name = parts.pop() if parts else "."
            is_last = not parts
            target = _link(directory, name, at, guard) if follow or not is_last else None
            if target is not None:
                links += 1
                _assert_few(links, path)
                parts += reversed(target.parts[1:] if target.is_absolute() else target.parts)
                if target.is_absolute():
                    directory, at = _instead(directory, os.open("/", _PART)), Path("/")
            elif is_last and name != "..":
                return Place(directory, at / name)
            else:
                directory = _instead(directory, _part(directory, name, make=make))
                at = at.parent if name == ".." else at / name
    except BaseException:
        os.close(directory)
        raise


def _assert_few(links: int, path: Path) -> None:
    if links > _LINKS:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _link(directory: int, name: str, at: Path, guard: Guard) -> Path | None:
    """What the link of this name leads to; None if it is no link."""
    try:
        target = Path(os.readlink(name, dir_fd=directory))
    except OSError as error:
        if error.errno in {errno.EINVAL, errno.ENOENT}:
            return None
        raise
    guard(os.stat(name, dir_fd=directory, follow_symlinks=False), at / name)
    return target


def _part(directory: int, name: str, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=directory)
    return os.open(name, _PART, dir_fd=directory)


def _instead(former: int, directory: int) -> int:
    os.close(former)
    return directory
