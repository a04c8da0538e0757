"""A hive-site.xml on disk. An edit replaces the whole file or nothing, and keeps the old file as a backup.

The new file has the owner, group, mode and extended attributes (ACLs, SELinux) of the old one. Symbolic links are
followed. Root reads and replaces a file with the rights of its owner if the owner could replace it, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pysync.base.errors import PysyncError, UsageError
from pysync.base.files import content, draft, has_content, sync
from pysync.base.rights import rights_at
from pysync.hive_site.document import Document, parse
from pysync.hive_site.merge import LISTENERS, PREFIX, Edited, PropertyChange

BACKUP = ".pysync-backup"
_ROOT = 0


@dataclass(frozen=True, slots=True)
class Rewrite:
    """An edit that is not applied yet: the file with links resolved, its content, and the content after the edit."""

    path: Path
    before: bytes
    edited: Edited

    @property
    def changes(self) -> tuple[PropertyChange, ...]:
        """The properties that the edit changes."""
        return self.edited.changes


def plan(path: Path, edit: Callable[[Document, str], Edited]) -> Rewrite:
    """Plan an edit of the file at `path`. Changes nothing. Raises UsageError if the file cannot be edited."""
    with owners_rights(path) as real:
        before = _read(real)
        document = parse(before, str(real))
        for href in document.includes:
            _assert_unconcerned(real, href)
    return Rewrite(real, before, edit(document, str(real)))


@contextmanager
def owners_rights(path: Path) -> Iterator[Path]:
    """Yield the file with links resolved. Until the block ends, root does only what the file's owner could do, too.

    A file that only root could put there is used with root's rights. Raises UsageError if others could replace it, and
    OSError.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    with rights_at(path, (status.st_uid, status.st_gid), follow=True) as place:
        yield place.path


def backups(path: Path) -> list[Path]:
    """Return the backups of the file at `path`, the oldest first."""
    real = path.resolve()
    backups = [it for it in real.parent.glob(f"{real.name}{BACKUP}*") if it.is_file()]
    return sorted(backups, key=lambda it: (len(it.name), it.name))


def assert_replaceable(path: Path) -> None:
    """Raise UsageError if this user cannot replace the file, or cannot keep its owner and its group."""
    with owners_rights(path) as real:
        status, user = real.stat(), os.geteuid()
        if user not in {_ROOT, status.st_uid}:
            raise UsageError(f"{real} belongs to another user", "run the command as root, or as that user")
        if user != _ROOT and status.st_gid not in {os.getegid(), *os.getgroups()}:
            raise UsageError(f"{real} belongs to a group without you", "run the command as root, or as a member of it")
        if not os.access(real.parent, os.W_OK | os.X_OK, effective_ids=True):
            hint = "run the command as root, or make the directory writable"
            raise UsageError(f"cannot write to {real.parent}", hint)


def apply(rewrite: Rewrite) -> Path | None:
    """Apply the edit and return the backup, or None if there is nothing to do.

    Raises PysyncError; then nothing is changed.
    """
    if not rewrite.changes:
        return None
    assert_replaceable(rewrite.path)
    try:
        with owners_rights(rewrite.path) as real:
            if real != rewrite.path or _read(real) != rewrite.before:
                raise PysyncError(f"{rewrite.path} was changed by somebody else", "run the command again")
            return _replace(real, rewrite.before, rewrite.edited.content)
    except OSError as error:
        raise PysyncError(f"cannot replace {rewrite.path}: {error.strerror}", "nothing was changed") from error


def _read(path: Path) -> bytes:
    try:
        return content(path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def _assert_unconcerned(path: Path, href: str) -> None:
    """Raise UsageError for an included file that sets listeners: a list in the outer file would replace it."""
    included = path.parent / href.removeprefix("file://")
    try:
        document = parse(content(included), str(included))
    except (OSError, ValueError, UsageError) as error:
        raise UsageError(
            f"{path} includes {href!r}, which cannot be read", "paste what pysync hive-site prints by hand"
        ) from error
    ours = [it.name for it in document.properties if it.name in LISTENERS or it.name.startswith(PREFIX)]
    if ours or document.includes:
        why = f"sets {ours[0]}" if ours else "includes other files"
        raise UsageError(f"{path} includes {href}, which {why}", "paste what pysync hive-site prints by hand")


def _replace(path: Path, before: bytes, content: bytes) -> Path:
    status = path.stat()
    made = draft(path, content, mode=status.st_mode & 0o7777, owner=(status.st_uid, status.st_gid), like=path)
    backup = existing = _existing_backup(path, before)
    try:
        backup = backup or _new_backup(path)
        made.replace(path)
    except BaseException:
        made.unlink()
        if backup and not existing:
            backup.unlink()  # a link to the file itself, which may be edited in place
        raise
    sync(path.parent)
    return backup


def _existing_backup(path: Path, before: bytes) -> Path | None:
    """Return an existing backup with this content."""
    return next((it for it in backups(path) if not it.is_symlink() and has_content(it, before)), None)


def _new_backup(path: Path) -> Path:
    """Link the file under the name of a new backup. So the backup has its owner and mode, too."""
    for number in count():
        backup = path.with_name(f"{path.name}{BACKUP}{f'.{number}' if number else ''}")
        with suppress(FileExistsError):
            os.link(path, backup, follow_symlinks=False)
            return backup
    raise AssertionError
