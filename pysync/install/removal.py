"""The plan of `pysync uninstall`: what of the record of `pysync init` is taken back, and what is left, and why.

A file goes only if it is still what init wrote, a directory only if init made it. What a sidecar or a person may need
again (queue, spool, token, pysync.toml, backups) goes only with `purge`.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pysync.errors import UsageError
from pysync.hive_site import files as hive_site
from pysync.hive_site.document import Document
from pysync.hive_site.merge import Edited, unmerge
from pysync.install import unit
from pysync.install.listener import LISTENER
from pysync.install.record import NAME, Record
from pysync.install.steps import digest

_WANTS = "multi-user.target.wants"


@dataclass(frozen=True, slots=True)
class Removal:
    """A file, a link or a whole directory that goes; with `rewrite` a hive-site.xml that is edited."""

    what: str
    path: Path
    rewrite: hive_site.Rewrite | None = None

    def problems(self) -> Iterator[str]:
        """What keeps it from being done."""
        if self.rewrite is None:
            if not os.access(self.path.parent, os.W_OK | os.X_OK):
                yield f"cannot remove {self.path}: {self.path.parent} is not writable; run the command as root"
            return
        try:
            hive_site.assert_replaceable(self.path)
        except UsageError as error:
            yield str(error)

    def apply(self) -> None:
        """Do it; what has gone meanwhile is gone. Raises PysyncError or OSError."""
        if self.rewrite is not None:
            hive_site.apply(self.rewrite)
        elif self.path.is_dir() and not self.path.is_symlink():
            shutil.rmtree(self.path)
        else:
            self.path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Left:
    """What stays, why, and the command that removes it."""

    path: Path
    why: str

    @property
    def command(self) -> str:
        """To be pasted."""
        options = "-r " if self.path.is_dir() else ""
        return f"rm {options}{shlex.quote(str(self.path))}"


@dataclass(frozen=True, slots=True)
class Uninstall:
    """In the order in which it is done; the record goes last, so that one that is killed can be run again."""

    removals: tuple[Removal, ...]
    left: tuple[Left, ...]


def take_back(document: Document, name: str) -> Edited:
    """The edit that takes pysync out of a hive-site.xml."""
    return unmerge(document, LISTENER, name)


def uninstall(record: Record, *, purge: bool) -> Uninstall:
    """What to do about all that is on record. Raises UsageError for a hive-site.xml that cannot be edited."""
    removals, left = list[Removal](), list[Left]()
    for site in filter(Path.exists, record.hive_sites):
        rewrite = hive_site.plan(site, take_back)
        removals += [Removal("properties in hive-site.xml", site, rewrite)] if rewrite.changes else []
    for path, its_sum in record.files.items():
        _of_file(path, its_sum, removals, left)
    data = [it for it in _data(record) if it[0].exists()]
    if not purge:
        return Uninstall(tuple(removals), (*left, *(Left(path, why) for path, why, _ in data)))
    for path, why, is_ours in data:
        if is_ours:
            removals.append(Removal(why, path))
        else:
            left.append(Left(path, f"{why}; the directory was there before pysync init"))
    return Uninstall(tuple(removals), tuple(left))


def finish(record: Record) -> None:
    """After a purge: the last backups, and the configuration directory if init made it and nothing else is in it."""
    for backup in (it for site in record.hive_sites for it in hive_site.backups(site)):
        backup.unlink()
    if record.config.parent in record.directories:
        with suppress(OSError):
            record.config.parent.rmdir()


def _of_file(path: Path, its_sum: str, removals: list[Removal], left: list[Left]) -> None:
    """The unit with the link by which systemd starts it, or the jar."""
    if path.is_file():
        if digest(path.read_bytes()) == its_sum:
            removals.append(Removal("systemd unit" if path.name == unit.NAME else "listener jar", path))
        else:
            left.append(Left(path, "it was changed since pysync init wrote it"))
            return
    link = path.parent / _WANTS / path.name
    if path.name == unit.NAME and link.is_symlink():
        removals.append(Removal("link to the unit", link))


def _data(record: Record) -> Iterator[tuple[Path, str, bool]]:
    """What a purge takes: where, what it is, and whether it is all ours. The record is the last."""
    for site in record.hive_sites:
        yield from ((it, "backup of hive-site.xml", True) for it in hive_site.backups(site))
    if record.queue not in record.spool.parents:
        yield record.spool, "spool: events that HMS has not sent yet", record.spool in record.directories
    yield record.queue, "queue (and spool): events that a target may still need", record.queue in record.directories
    yield record.token, "token: the secret of listener and sidecar", True
    yield record.config, "configuration", True
    yield record.config.parent / NAME, "record: what pysync uninstall --purge needs to know", True
