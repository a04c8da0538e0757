"""A re-encoding job: what is at both ends of a directory, and what is to be done. Pure.

The name of a hidden, empty file at the target, the marker, says what was read and what was written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pysync.copy.copy_round import Step, is_hidden, notes
from pysync.copy.increments import Arrived, files_added
from pysync.copy.requests import REENCODED_MARKER, is_reencoded
from pysync.copy.snapshot_files import SnapshotFiles
from pysync.model.file_differences import FileDifference, FileStatus, Pair, below
from pysync.model.locations import Form

FILE_BYTES = 256_000_000
"""How many bytes of the source become one file."""
_MOST_SMALL_FILES = 24
_BYTES_PER_FILE = 64_000_000
_LONGEST_NAME = 200  # bytes: file systems end at 255, and Hadoop's checksums have longer names


@dataclass(frozen=True, slots=True)
class Increment:
    """The `files` with the rows that the target lacks, beside those that have `arrived` and are in its `data`."""

    files: SnapshotFiles
    arrived: Arrived
    data: tuple[FileStatus, ...]


@dataclass(frozen=True, slots=True)
class ReencodingJob:
    """A directory to be rewritten: what a survey found of its source, and what is at the target.

    `at_target` has the files of the target as those that a source without any does not have. `snapshot` are the files
    with the rows of a transactional table; None: all files of the source have rows.
    """

    form: Form
    source: FileDifference
    at_target: FileDifference
    snapshot: SnapshotFiles | None = None

    @property
    def pair(self) -> Pair:
        """Where from, where to."""
        return self.source.pair

    @property
    def files(self) -> list[FileStatus]:
        """All files at the target."""
        return [*self.at_target.extras, *self.at_target.foreign]

    @property
    def links(self) -> list[str]:
        """The symbolic links at both ends, which are left."""
        return list(dict.fromkeys([*self.source.links, *self.at_target.links]))

    @property
    def fingerprint(self) -> str:
        """A digest of the source's files (names, sizes, times) and of how they are read and written."""
        source = self.source.fingerprint if self.snapshot is None else self.snapshot.fingerprint
        return _digest([source, self._form_digest])

    @property
    def data(self) -> list[FileStatus]:
        """The files with rows that jobs have written."""
        return [it for it in self.files if is_reencoded(it.name) and not it.name.startswith(REENCODED_MARKER)]

    def done(self) -> list[FileStatus] | None:
        """The files with the rows of the source and their marker, if all that this job would write is there already."""
        for data in ([it for it in self.data if f"-{self.fingerprint}." in it.name], self.data):
            name = self._marker_without_writes(data)
            # Writes to other partitions change nothing here, but what is known of the writes.
            if marker := next((it for it in self.files if it.name == name or it.name.startswith(f"{name}-")), None):
                return [*data, marker]
        return None

    def marker(self, data: Iterable[FileStatus]) -> str:
        """The name of the hidden file that names this job and the files with its rows.

        It ends with what a later job must know to add rows to them, unless that is too long for a name.
        """
        name = self._marker_without_writes(data)
        if self.snapshot is None:
            return name
        longer = f"{name}-{self._form_digest}-{Arrived.of(self.snapshot).as_text()}"
        return longer if len(longer) <= _LONGEST_NAME else name

    def _marker_without_writes(self, data: Iterable[FileStatus]) -> str:
        return f"{REENCODED_MARKER}{self.fingerprint}-{_digest_of(data)}"

    def increment(self) -> Increment | None:
        """What to add to the files at the target; None: they are to be replaced.

        Every increment brings a file at least. When there are many, the table is written anew.
        """
        if self.snapshot is None or len(self.data) >= _MOST_SMALL_FILES + self._size // _BYTES_PER_FILE:
            return None
        ends = f"-{_digest_of(self.data)}-{self._form_digest}-"
        texts = [it.name.partition(ends)[2] for it in self.files if it.name.startswith(REENCODED_MARKER)]
        for arrived in filter(None, map(Arrived.parse, texts)):
            files = files_added(self.snapshot, arrived, self.form.transactional)
            if files is not None:
                return Increment(files, arrived, tuple(self.data))
        return None

    @property
    def _form_digest(self) -> str:
        return _digest([repr(replace(self.form, snapshot=None))])

    @property
    def _size(self) -> int:
        return sum(it.size for it in self.data)

    @property
    def is_seen(self) -> bool:
        """Whether a reader of the target sees more than one file that comes or goes."""
        if self.done() is not None:
            return False
        increment = self.increment()
        of_source = self.snapshot.files if self.snapshot is not None else self.source.copies
        files = increment.files.files if increment is not None else of_source
        has_rows = any(not is_hidden(it.name) for it in self.files)
        return sum(it.size for it in files) > FILE_BYTES or (increment is None and has_rows)

    def superseded(self, current: Iterable[str]) -> list[str]:
        """What to remove once `current` are there: files of earlier jobs, and copied files if the pair says so."""
        copied = {file.name for file in self.at_target.extras} if self.pair.removes_extras else set()
        names = {file.name for file in self.files} - set(current)
        return sorted(name for name in names if is_reencoded(name) or name in copied)

    @property
    def foreign(self) -> tuple[str, ...]:
        """The locations of files at the target that neither a job nor a copy has written."""
        return tuple(file.target for file in self.at_target.foreign)

    def removals(self, names: Sequence[str]) -> list[Step]:
        """Steps that remove files at the target."""
        top = self.pair.target
        copied = {file.name for file in self.at_target.extras}.intersection(names)
        deletes: list[Step] = [("delete", below(top, name), top) for name in names]
        return [*deletes, *notes("forget", self.pair, sorted(copied))]


def _digest_of(files: Iterable[FileStatus]) -> str:
    return _digest(sorted(f"{it.name}/{it.size}" for it in files))


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
