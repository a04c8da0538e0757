"""Steps: what `pysync init` makes, each a value that knows what is there and can be told before it is done.

A step never changes what somebody else made: a directory that is there keeps its owner and mode, and a file with other
content stays, unless it is one that only pysync writes.
"""

from __future__ import annotations

import hashlib
import os
import pwd
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from pysync.drafts import Owner, put
from pysync.errors import PysyncError
from pysync.hive_site import files as hive_site
from pysync.token import assert_unreachable, write_token

State = Literal["create", "change", "unchanged", "kept"]


class Step(Protocol):
    """One thing to be made. `problems` are what keeps it from being made, each with what to do about it."""

    @property
    def path(self) -> Path:
        """What it is about."""

    @property
    def what(self) -> str:
        """What that is, in a word or two."""

    def state(self) -> State:
        """What is to be done."""

    def problems(self) -> Iterator[str]:
        """Why it cannot be done."""

    def apply(self) -> None:
        """Do it. Raises PysyncError or OSError."""


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory, and those above it that are missing (0755). `owner` None: that of whoever runs the command."""

    path: Path
    what: str
    mode: int
    owner: Owner | None = None

    def state(self) -> State:
        """One that is there stays as it is."""
        return "unchanged" if self.path.is_dir() else "create"

    def problems(self) -> Iterator[str]:
        """Not a directory, another user's, or not to be made."""
        if not self.path.is_dir():
            if os.path.lexists(self.path):
                yield f"{self.path} is not a directory; remove it, or name another directory"
            yield from _unwritable(self.path)
            return
        found = self.path.stat()
        if self.owner is not None and found.st_uid != self.owner[0]:
            name, wanted = _name(found.st_uid), _name(self.owner[0])
            told = f"{self.path} belongs to {name}, not to {wanted}"
            yield f"{told}; chown {wanted} {self.path}, or name another directory"

    def apply(self) -> None:
        """Make it; its owner is set by a descriptor, as others may write in the directory above it."""
        if self.path.is_dir():
            return
        for it in reversed([it for it in self.path.parents if not it.exists()]):
            it.mkdir(mode=0o755, exist_ok=True)
        self.path.mkdir(mode=0o700)
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if self.owner is not None:
                os.fchown(descriptor, *self.owner)
            os.fchmod(descriptor, self.mode)
        finally:
            os.close(descriptor)


@dataclass(frozen=True, slots=True)
class File:
    """A file with this content; with `replaces` it is written over where it has another."""

    path: Path
    what: str
    content: bytes
    mode: int = 0o644
    replaces: bool = False

    def state(self) -> State:
        """By its content alone."""
        if not self.path.exists():
            return "create"
        with suppress(OSError):
            if self.path.read_bytes() == self.content:
                return "unchanged"
        return "change" if self.replaces else "kept"

    def problems(self) -> Iterator[str]:
        """A directory where nobody may write, or of that name."""
        if self.path.is_dir():
            yield f"{self.path} is a directory; remove it, or name another place"
        elif self.state() in {"create", "change"}:
            yield from _unwritable(self.path)

    def apply(self) -> None:
        """Write it as a whole."""
        if self.state() in {"create", "change"}:
            put(self.path, self.content, mode=self.mode, replaces=self.replaces)

    @property
    def sum(self) -> str:
        """The SHA-256 of its content, by which `pysync uninstall` knows it again."""
        return digest(self.content)


@dataclass(frozen=True, slots=True)
class Token:
    """The secret; one that is there stays."""

    path: Path
    owner: Owner
    what: str = "token"

    def state(self) -> State:
        """Whatever is in it."""
        return "unchanged" if self.path.exists() else "create"

    def problems(self) -> Iterator[str]:
        """A token that its user could not read, or that others could replace."""
        if not self.path.exists():
            yield from _unwritable(self.path)
            with _told() as problems:
                assert_unreachable(self.path)
            yield from problems
            return
        found, name = self.path.stat(), _name(self.owner[0])
        if found.st_uid != self.owner[0]:
            yield f"the token file {self.path} belongs to {_name(found.st_uid)}; chown {name} {self.path}"
        if found.st_mode & 0o077:
            yield f"the token file {self.path} can be read by other users; chmod 600 {self.path}"

    def apply(self) -> None:
        """Write it."""
        if self.state() == "create":
            write_token(self.path, self.owner)


@dataclass(frozen=True, slots=True)
class HiveSite:
    """The properties of the listener in a hive-site.xml."""

    rewrite: hive_site.Rewrite
    what: str = "hive-site.xml"

    @property
    def path(self) -> Path:
        """The real file."""
        return self.rewrite.path

    def state(self) -> State:
        """Whether a property differs."""
        return "change" if self.rewrite.changes else "unchanged"

    def problems(self) -> Iterator[str]:
        """A file that cannot be replaced."""
        with _told() as problems:
            if self.rewrite.changes:
                hive_site.assert_replaceable(self.path)
        yield from problems

    def apply(self) -> None:
        """Replace it; what it was stays beside it."""
        hive_site.apply(self.rewrite)


class _told:  # noqa: N801 - a context manager, as suppress
    """The PysyncError of a block, as a list of its lines."""

    def __enter__(self) -> list[str]:
        self._problems = list[str]()
        return self._problems

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if isinstance(error, PysyncError):
            self._problems.append(str(error))
            return True
        return False


def digest(content: bytes) -> str:
    """The SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()


def _unwritable(path: Path) -> Iterator[str]:
    """Why nothing can be made there."""
    there = next(it for it in path.parents if it.exists())
    if not there.is_dir():
        yield f"cannot make {path}: {there} is not a directory; name another place"
    elif not os.access(there, os.W_OK | os.X_OK):
        yield f"cannot make {path}: {there} is not writable; run the command as root, or name another place"


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
