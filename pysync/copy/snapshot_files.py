"""Snapshot files: which files of a transactional table, or of one of its partitions, hold the rows of a snapshot. Pure.

The rules are those of Hive's AcidUtils. Rows are in directories: `base_N` has all rows up to the write id N,
`delta_X_Y` those of the writes X to Y, and `delete_delta_X_Y` says which rows these writes have deleted. A name may end
with the number of a statement, and one that a compactor of Hive 4 has written with that of its transaction. Files
beside them are from before the table was transactional.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pysync.copy.copy_round import is_hidden
from pysync.copy.requests import CopyRefused
from pysync.model.file_differences import FileStatus
from pysync.model.locations import Transactional
from pysync.model.snapshot import Snapshot

_BASE = re.compile(r"base_([0-9]{1,18})(?:_v([0-9]{1,18}))?")
_DELTA = re.compile(r"(delete_)?delta_([0-9]{1,18})_([0-9]{1,18})(?:_([0-9]{1,9}))?(?:_v([0-9]{1,18}))?")
_BY_COMPACTOR = "_metadata_acid"  # Hive 3 marks so what its compactor has written
_OF_WRITER = "_flush_length"  # beside a file that a streaming writer has not finished
_NO_STATEMENT = -1


class SnapshotTooOld(Exception):
    """Files of the snapshot may have been removed, as there are newer ones: another one is to be taken."""


@dataclass(frozen=True, slots=True)
class RowFiles:
    """The files of one directory; `first` and `last` are its write ids. A `last` of 0 is of files from before."""

    name: str
    first: int
    last: int
    statement: int
    files: tuple[FileStatus, ...]


@dataclass(frozen=True, slots=True)
class SnapshotFiles:
    """The directories with rows, and those with the keys of rows that are deleted."""

    rows: tuple[RowFiles, ...]
    deletes: tuple[RowFiles, ...]
    snapshot: Snapshot

    @property
    def files(self) -> list[FileStatus]:
        """All files of both."""
        return [file for directory in (*self.rows, *self.deletes) for file in directory.files]

    @property
    def fingerprint(self) -> str:
        """A digest of the files, and of what the snapshot leaves out of them."""
        parts = list[str]()
        for it in (*self.rows, *self.deletes):
            last = min(it.last, self.snapshot.highest)
            parts.append(f"{it.name} {last} {self.snapshot.missing_in(it.first, last)}")
            parts += [f"{file.name} {file.size} {file.time}" for file in it.files]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def snapshot_files(listing: Iterable[FileStatus], snapshot: Snapshot, kind: Transactional) -> SnapshotFiles:
    """Choose from all files below the directory of a table or partition of this kind, hidden ones among them.

    Raises SnapshotTooOld, and CopyRefused for what no reader can choose from.
    """
    by_directory, before = _by_directory(listing)
    if snapshot.highest == 0 and by_directory:
        raise SnapshotTooOld("its metastore knows of no writes, but there are directories of some")
    base = _base(by_directory, snapshot)
    deltas = _chosen(_deltas(by_directory, snapshot), snapshot, base.last if base is not None else 0)
    rows = [it for it in deltas if not it.name.startswith("delete_")]
    if base is not None:
        rows.insert(0, base)
    elif before:
        rows.insert(0, RowFiles("", 0, 0, 0, tuple(before)))
    files = SnapshotFiles(tuple(rows), tuple(it for it in deltas if it.name.startswith("delete_")), snapshot)
    _assert_inputs_remain(by_directory, files)
    if kind == "insert_only":
        _assert_no_later_rows(files)
    return files


def _by_directory(listing: Iterable[FileStatus]) -> tuple[dict[str, list[FileStatus]], list[FileStatus]]:
    """The files in directories of writes, by their names, and the others, which are from before."""
    by_directory, before = defaultdict[str, list[FileStatus]](list), list[FileStatus]()
    for file in sorted(listing, key=lambda it: it.name):
        top, slash, _ = file.name.partition("/")
        if file.name.endswith(_OF_WRITER):
            raise CopyRefused(f"{file.source}: a streaming writer has not finished the file beside it")
        if slash and (_BASE.fullmatch(top) or _DELTA.fullmatch(top)):
            by_directory[top].append(file)
        elif not is_hidden(file.name):
            before.append(file)
    return by_directory, before


def _base(by_directory: dict[str, list[FileStatus]], snapshot: Snapshot) -> RowFiles | None:
    """The base with the highest write id that has nothing but what is in the snapshot.

    Hive removes what came before a base once its writer has committed, which may have been after the snapshot.
    """
    best: RowFiles | None = None
    for name, files in by_directory.items():
        if (match := _BASE.fullmatch(name)) is None:
            continue
        write_id, transaction = int(match[1]), match[2]
        is_compacted = transaction is not None or any(it.name.endswith(f"/{_BY_COMPACTOR}") for it in files)
        is_valid = snapshot.has_all_below(write_id) if is_compacted else snapshot.has(write_id)
        if not _is_visible(name, transaction, snapshot):
            continue
        if not is_valid and write_id not in snapshot.aborted:
            raise SnapshotTooOld(f"{name} is newer")
        if is_valid and (best is None or write_id > best.last):
            best = RowFiles(name, 0, write_id, 0, _visible(files))
    return best


def _is_visible(name: str, transaction: str | None, snapshot: Snapshot) -> bool:
    """Whether what a compactor of Hive 4 wrote in that transaction counts: others may not see it before its commit."""
    if transaction is None:
        return True
    if int(transaction) > snapshot.transactions.highest:
        raise SnapshotTooOld(f"{name} is newer")
    return snapshot.transactions.is_committed(int(transaction))


def _assert_inputs_remain(by_directory: Iterable[str], files: SnapshotFiles) -> None:
    """Raise SnapshotTooOld where a compactor of Hive 4 was at work, and nothing of what it has read is there.

    It may have committed since, and Hive may have removed what it has read.
    """
    for name in by_directory:
        base, delta = _BASE.fullmatch(name), _DELTA.fullmatch(name)
        first, last = (0, int(base[1])) if base else (int(delta[2]), int(delta[3])) if delta else (0, 0)
        transaction = (base and base[2]) or (delta and delta[5])
        if transaction is None or int(transaction) not in files.snapshot.transactions.open:
            continue
        if not any(first <= it.first and it.last <= last for it in (*files.rows, *files.deletes)):
            raise SnapshotTooOld(f"{name} was not committed then, and what it was made of is gone")


def _assert_no_later_rows(files: SnapshotFiles) -> None:
    """Raise SnapshotTooOld where a compactor has brought in rows of later writes: no row says what write it is of."""
    snapshot = files.snapshot
    for it in files.rows:
        if it.last > snapshot.highest or any(it.first <= write_id <= it.last for write_id in snapshot.open):
            raise SnapshotTooOld(f"{it.name} has rows of later writes")


def _deltas(by_directory: dict[str, list[FileStatus]], snapshot: Snapshot) -> list[RowFiles]:
    """Those with anything of the snapshot, in the order in which Hive looks at them."""
    deltas = list[RowFiles]()
    for name, files in by_directory.items():
        if (match := _DELTA.fullmatch(name)) is None:
            continue
        first, last = int(match[2]), int(match[3])
        statement = int(match[4]) if match[4] else _NO_STATEMENT
        if _is_visible(name, match[5], snapshot) and snapshot.has_any(first, last):
            deltas.append(RowFiles(name, first, last, statement, _visible(files)))
    return sorted(deltas, key=lambda it: (it.first, -it.last, it.statement, it.name))


def _chosen(deltas: Sequence[RowFiles], snapshot: Snapshot, covered: int) -> list[RowFiles]:
    """Without what a wider one, or the base up to the write id `covered`, has already."""
    chosen = list[RowFiles]()
    for it in deltas:
        last = chosen[-1] if chosen else None
        if it.last > covered:
            if snapshot.has_any(covered + 1, it.last):
                chosen.append(it)
                covered = it.last
        elif (
            last is not None
            and it.last == covered
            and (last.statement != _NO_STATEMENT or (it.first, it.statement) == (last.first, last.statement))
        ):
            chosen.append(it)  # another statement of the same write, or what it has deleted
    return chosen


def _visible(files: Iterable[FileStatus]) -> tuple[FileStatus, ...]:
    return tuple(it for it in files if not is_hidden(it.name) and it.size)
