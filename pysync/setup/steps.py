"""The steps of `pysync init`. Each step knows its state and its problems before it is applied.

A step never changes what somebody else created: an existing directory keeps its owner and mode, and a file with other
content is kept, unless only pysync writes that file.
"""

from __future__ import annotations

import hashlib
import os
import pwd
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from pysync.base.errors import PysyncError
from pysync.base.files import Owner, has_content, put
from pysync.base.rights import as_user, is_users, make_directory, rights_at
from pysync.base.token import assert_unreachable, write_token
from pysync.hive_site import files as hive_site

State = Literal["create", "change", "unchanged", "kept"]


class Step(Protocol):
    """One step. It can be applied if it has no `problems`; each problem says what to do."""

    @property
    def path(self) -> Path:
        """The file or directory."""

    @property
    def what(self) -> str:
        """What the file or directory is for, in one or two words."""

    def state(self) -> State:
        """What `apply` would do."""

    def problems(self) -> Iterator[str]:
        """Yield why it cannot be applied."""

    def apply(self) -> None:
        """Apply the step. A second time changes nothing. Raises PysyncError or OSError."""


@dataclass(frozen=True, slots=True)
class DirectoryStep:
    """A directory, and its missing parents (mode 0755). `owner` None: the user who runs the command.

    With `named_by`, a file that the owner may write names the directory: root makes it with the owner's rights only.
    """

    path: Path
    what: str
    mode: int
    owner: Owner | None = None
    named_by: Path | None = None

    def state(self) -> State:
        """An existing directory is not changed."""
        return "unchanged" if self.path.is_dir() else "create"

    def problems(self) -> Iterator[str]:
        """Yield why it cannot be used or created: not a directory, wrong owner, no permission."""
        if not self.path.is_dir():
            if os.path.lexists(self.path):
                yield f"{self.path} is not a directory; remove it, or name another directory"
            yield from _unwritable(self.path, named_by=self.named_by, owner=self.owner)
            return
        status = self.path.stat()
        if self.owner is not None and status.st_uid != self.owner[0]:
            name, wanted = _name(status.st_uid), _name(self.owner[0])
            problem = f"{self.path} belongs to {name}, not to {wanted}"
            yield f"{problem}; chown {wanted} {self.path}, or name another directory"

    def apply(self) -> None:
        """Create it, unless it exists."""
        if not self.path.is_dir():
            with as_user(self.owner) if self.owner and self.named_by else nullcontext():
                make_directory(self.path, self.mode, self.owner)


@dataclass(frozen=True, slots=True)
class FileStep:
    """A file with this content. With `replaces`, a file with other content is replaced.

    `owner` is the user who may have the directory: root writes the file with that user's rights then.
    """

    path: Path
    what: str
    content: bytes
    mode: int = 0o644
    replaces: bool = False
    otherwise: str = "name another place"  # what to do if its directory is not writable, besides becoming root
    owner: Owner | None = None

    def state(self) -> State:
        """Only the content counts."""
        if not self.path.exists():
            return "create"
        with suppress(OSError):
            if has_content(self.path, self.content):
                return "unchanged"
        return "change" if self.replaces else "kept"

    def problems(self) -> Iterator[str]:
        """Yield why it cannot be written: a directory has this name, or its own directory is not writable."""
        if self.path.is_dir():
            yield f"{self.path} is a directory; remove it, or name another place"
        elif self.state() in {"create", "change"}:
            yield from _unwritable(self.path, self.otherwise, owner=self.owner)

    def apply(self) -> None:
        """Write the whole file at once."""
        if self.state() in {"create", "change"}:
            with rights_at(self.path, self.owner):
                put(self.path, self.content, mode=self.mode, replaces=self.replaces)

    @property
    def sum(self) -> str:
        """The SHA-256 of its content, by which `pysync uninstall` recognizes it."""
        return digest(self.content)


@dataclass(frozen=True, slots=True)
class Token:
    """The token. An existing one is kept. `named_by` is as of a directory."""

    path: Path
    owner: Owner
    what: str = "token"
    named_by: Path | None = None

    def state(self) -> State:
        """An existing token is not changed."""
        return "unchanged" if self.path.exists() else "create"

    def problems(self) -> Iterator[str]:
        """Yield why it is not safe or not usable: wrong owner, readable by others, or others could replace it."""
        if not self.path.exists():
            yield from _unwritable(self.path, named_by=self.named_by, owner=self.owner)
            with _collected() as problems, self._rights():
                assert_unreachable(self.path)
            yield from problems
            return
        status, name = self.path.stat(), _name(self.owner[0])
        if status.st_uid != self.owner[0]:
            yield f"the token file {self.path} belongs to {_name(status.st_uid)}; chown {name} {self.path}"
        if status.st_mode & 0o077:
            yield f"the token file {self.path} can be read by other users; chmod 600 {self.path}"

    def apply(self) -> None:
        """Write a new token."""
        if self.state() == "create":
            with self._rights():
                write_token(self.path, self.owner)

    def _rights(self) -> AbstractContextManager[None]:
        return as_user(self.owner) if self.named_by else nullcontext()


@dataclass(frozen=True, slots=True)
class HiveSite:
    """The edit of a hive-site.xml that adds the listener."""

    rewrite: hive_site.Rewrite
    what: str = "hive-site.xml"

    @property
    def path(self) -> Path:
        """The file, with links resolved."""
        return self.rewrite.path

    def state(self) -> State:
        """Whether a property would change."""
        return "change" if self.rewrite.changes else "unchanged"

    def problems(self) -> Iterator[str]:
        """Yield why the file cannot be replaced."""
        with _collected() as problems:
            if self.rewrite.changes:
                hive_site.assert_replaceable(self.path)
        yield from problems

    def apply(self) -> None:
        """Replace the file, and keep a backup beside it."""
        hive_site.apply(self.rewrite)


class _collected:  # noqa: N801 - a context manager, like suppress
    """Collects the text of a PysyncError that its block raises, in a list."""

    def __enter__(self) -> list[str]:
        self._problems = list[str]()
        return self._problems

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if isinstance(error, PysyncError):
            self._problems.append(str(error))
            return True
        return False


def digest(content: bytes) -> str:
    """Return the SHA-256 of a file's content, in hex."""
    return hashlib.sha256(content).hexdigest()


def _unwritable(
    path: Path, otherwise: str = "name another place", *, owner: Owner | None = None, named_by: Path | None = None
) -> Iterator[str]:
    """Yield why the path cannot be created. If `named_by` names it, `owner` has to be able to create it."""
    there = next(it for it in path.parents if it.exists())
    who = "" if named_by is None or owner is None else f" for {_name(owner[0])}, who can write {named_by}"
    with as_user(owner) if owner and named_by else nullcontext():
        is_writable = os.access(there, os.W_OK | os.X_OK, effective_ids=True)
    if not there.is_dir():
        yield f"cannot create {path}: {there} is not a directory; {otherwise}"
    elif not is_writable:
        remedy = otherwise if who else f"run the command as root, or {otherwise}"
        yield f"cannot create {path}: {there} is not writable{who}; {remedy}"
    else:
        with _collected() as problems:
            is_users(path, owner)
        yield from problems


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
