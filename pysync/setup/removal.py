"""The plan of `pysync uninstall`: what it removes of the record of `pysync init`, what it leaves, and why.

A file is removed only if it is unchanged since init wrote it, a directory only if init created it. What may be needed
again (queue, spool, token, pysync.toml, backups) is removed only with `purge`. What was put there after the plan was
made is not removed.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pysync.base.errors import UsageError
from pysync.base.files import Owner, content
from pysync.base.installation import UNIT_NAME
from pysync.base.rights import remove
from pysync.hive_site import files as hive_site
from pysync.hive_site.document import Document
from pysync.hive_site.merge import Edited, unmerge
from pysync.setup.listener import LISTENER
from pysync.setup.record import RECORD_NAME, InstallRecord
from pysync.setup.steps import digest

_WANTS = "multi-user.target.wants"


@dataclass(frozen=True, slots=True)
class FileRemoval:
    """The removal of a file, a link or a whole directory; with `rewrite` an edit of hive-site.xml instead."""

    what: str
    path: Path
    owner: Owner | None = None  # whose directories it may be in
    existing: os.stat_result | None = None  # what is there; None with a `rewrite`
    rewrite: hive_site.Rewrite | None = None

    def problems(self) -> Iterator[str]:
        """Yield why it cannot be done."""
        if self.rewrite is None:
            if not os.access(self.path.parent, os.W_OK | os.X_OK):
                yield f"cannot remove {self.path}: {self.path.parent} is not writable; run the command as root"
            if self.owner and self.existing and self.existing.st_uid not in {0, os.geteuid(), self.owner[0]}:
                yield f"{self.path} belongs to another user; look at it, and remove it by hand"
            return
        try:
            hive_site.assert_replaceable(self.path)
        except UsageError as error:
            yield str(error)

    def apply(self) -> None:
        """Do it. A file that is already gone is no error. Raises PysyncError or OSError."""
        if self.rewrite is not None:
            hive_site.apply(self.rewrite)
        elif self.existing is not None:
            remove(self.path, self.existing, self.owner)


@dataclass(frozen=True, slots=True)
class UninstallLeftover:
    """A file or directory that stays, the reason, and the command that removes it."""

    path: Path
    why: str

    @property
    def command(self) -> str:
        """The shell command that removes it."""
        options = "-r " if self.path.is_dir() else ""
        return f"rm {options}{shlex.quote(str(self.path))}"


@dataclass(frozen=True, slots=True)
class Uninstall:
    """The removals in order. The record is removed last, so that the command can be repeated after a kill."""

    removals: tuple[FileRemoval, ...]
    left: tuple[UninstallLeftover, ...]


def take_back(document: Document, name: str) -> Edited:
    """Edit a hive-site.xml: remove everything of pysync."""
    return unmerge(document, LISTENER, name)


def uninstall(record: InstallRecord, *, purge: bool) -> Uninstall:
    """Plan the removal of everything in the record. Raises UsageError for a hive-site.xml that cannot be edited."""
    removals, left = list[FileRemoval](), list[UninstallLeftover]()
    for site in filter(Path.exists, record.hive_sites):
        rewrite = hive_site.plan(site, take_back)
        removals += [FileRemoval("properties in hive-site.xml", site, rewrite=rewrite)] if rewrite.changes else []
    for path, sum_written in record.files.items():
        _plan_file(path, sum_written, record, removals, left)
    data = [it for it in _data(record) if it[0].exists()]
    if not purge:
        return Uninstall(tuple(removals), (*left, *(UninstallLeftover(path, why) for path, why, _ in data)))
    for path, why, is_ours in data:
        if is_ours:
            removals.append(_removal(why, path, record))
        else:
            left.append(UninstallLeftover(path, f"{why}; the directory existed before pysync init"))
    return Uninstall(tuple(removals), tuple(left))


def _removal(what: str, path: Path, record: InstallRecord) -> FileRemoval:
    return FileRemoval(what, path, record.owner(), path.lstat())


def finish(record: InstallRecord) -> None:
    """Finish a purge: remove the last backups, and the configuration directory if init created it and it is empty."""
    for backup in (it for site in record.hive_sites for it in hive_site.backups(site)):
        remove(backup, backup.lstat(), record.owner())
    if record.config.parent in record.directories:
        with suppress(OSError):
            record.config.parent.rmdir()


def _plan_file(
    path: Path, sum_written: str, record: InstallRecord, removals: list[FileRemoval], left: list[UninstallLeftover]
) -> None:
    """Plan the removal of the jar, or of the unit and its link. A file that was changed is left."""
    if path.is_file():
        if digest(content(path)) == sum_written:
            what = "systemd unit" if path.name == UNIT_NAME else "listener jar"
            removals.append(_removal(what, path, record))
        else:
            left.append(UninstallLeftover(path, "it was changed after pysync init wrote it"))
            return
    link = path.parent / _WANTS / path.name
    if path.name == UNIT_NAME and link.is_symlink():
        removals.append(_removal("link to the unit", link, record))


def _data(record: InstallRecord) -> Iterator[tuple[Path, str, bool]]:
    """Yield what only a purge removes: path, meaning, and whether pysync created it. The record comes last."""
    for site in record.hive_sites:
        yield from ((it, "backup of hive-site.xml", True) for it in hive_site.backups(site))
    if record.queue not in record.spool.parents:
        yield record.spool, "spool: events that HMS has not sent yet", record.spool in record.directories
    yield record.queue, "queue (and spool): events that a target may still need", record.queue in record.directories
    yield record.token, "token: the secret of listener and sidecar", True
    yield record.config, "configuration", True
    yield record.config.parent / RECORD_NAME, "record: what pysync uninstall --purge needs to know", True
