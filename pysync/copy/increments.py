"""Increments: which rows of a transactional table a target lacks, where nothing but new rows has come. Pure.

A write that is committed stays so, and a compactor of full ACID files keeps the write id of each row. So the rows of
the writes that the target has not seen are new. A newer deletion, overwrite or truncation is no increment.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace

from pysync.copy.snapshot_files import RowFiles, SnapshotFiles
from pysync.model.locations import Transactional
from pysync.model.snapshot import Snapshot

_TEXT = re.compile(r"b([0-9a-f]{16})l([0-9]{1,18})h([0-9]{1,18})((?:x[0-9]{1,18})*)")


@dataclass(frozen=True, slots=True)
class Arrived:
    """The writes whose rows a target has: those from `lowest` to `highest` but `without`, and those of the base.

    `base` is a digest of the files with the rows of all writes before them.
    """

    base: str
    lowest: int
    highest: int
    without: tuple[int, ...] = ()

    @classmethod
    def of(cls, files: SnapshotFiles) -> Arrived:
        """What a target has when it has the rows of these files."""
        highest = files.snapshot.highest
        lowest = min((it.first for it in _deltas(files)), default=highest + 1)
        return cls(_base(files), lowest, highest, files.snapshot.missing_in(lowest, highest))

    @classmethod
    def parse(cls, text: str) -> Arrived | None:
        """From `as_text`; None for any other text."""
        if (match := _TEXT.fullmatch(text)) is None:
            return None
        base, lowest, highest, without = match.groups()
        return cls(base, int(lowest), int(highest), tuple(map(int, without.split("x")[1:])))

    def as_text(self) -> str:
        """In letters and digits, for the name of a file; the longer, the more writes are left out."""
        return f"b{self.base}l{self.lowest}h{self.highest}{''.join(f'x{it}' for it in self.without)}"

    def has_any(self, first: int, last: int) -> bool:
        """Whether a write of this range, both ends included, has arrived."""
        first, last = max(first, self.lowest), min(last, self.highest)
        return last - first + 1 > sum(first <= it <= last for it in self.without)

    def lacks_any(self, first: int, last: int, snapshot: Snapshot) -> bool:
        """Whether a write of this range is in the snapshot, and has not arrived."""
        return (
            snapshot.has_any(first, min(last, self.lowest - 1))
            or snapshot.has_any(max(first, self.highest + 1), last)
            or any(first <= it <= last and snapshot.has(it) for it in self.without)
        )


def files_added(files: SnapshotFiles, arrived: Arrived, kind: Transactional) -> SnapshotFiles | None:
    """The files with the rows that a target lacks; None where these rows alone do not bring it to the snapshot.

    Of a full ACID file those rows are new whose write has not arrived; of an insert-only file all.
    """
    snapshot = files.snapshot
    if not _remains(files, arrived) or any(arrived.lacks_any(it.first, it.last, snapshot) for it in files.deletes):
        return None
    new = [it for it in files.rows if not _is_base(it) and arrived.lacks_any(it.first, it.last, snapshot)]
    # A compactor has brought rows together which do not say what write they are of.
    if kind == "insert_only" and any(arrived.has_any(it.first, it.last) for it in new):
        return None
    return replace(files, rows=tuple(new), deletes=())


def _remains(files: SnapshotFiles, arrived: Arrived) -> bool:
    """Whether all that has arrived is in the snapshot, too: TRUNCATE of Hive 3 removes files, and is no write."""
    snapshot, has_deltas = files.snapshot, arrived.lowest <= arrived.highest
    return (
        _base(files) == arrived.base
        and snapshot.highest >= arrived.highest
        and {*snapshot.missing_in(arrived.lowest, arrived.highest)} <= {*arrived.without}
        and (not has_deltas or any(it.first <= arrived.lowest <= it.last for it in _deltas(files)))
    )


def _deltas(files: SnapshotFiles) -> list[RowFiles]:
    return [it for it in (*files.rows, *files.deletes) if not _is_base(it)]


def _is_base(directory: RowFiles) -> bool:
    """Whether it has the rows from before all deltas."""
    return directory.first == 0


def _base(files: SnapshotFiles) -> str:
    """A digest of the files with rows that are in no delta."""
    of_base = filter(_is_base, files.rows)
    parts = [f"{it.name} {[(file.name, file.size, file.time) for file in it.files]}" for it in of_base]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
