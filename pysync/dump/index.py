"""Index: checks a dump as a whole, byte for byte, and keeps in memory where each object in it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pysync.base.errors import PysyncError
from pysync.dump.data import FileLine, PageLine, check, lines_of, places_of, refuse_unlisted
from pysync.dump.manifest import Manifest, Piece, read_manifest
from pysync.dump.pieces import LOCK, MANIFEST, UNFINISHED, read_piece
from pysync.dump.record import DumpDamaged, DumpRecord, What, records
from pysync.dump.safe_files import reading
from pysync.model.names import TableName

KIND = "metadata"
SUFFIX = "records"
FILES = "files"
"""The kind of the files that list data files."""

OnProgress = Callable[[int, int], None]
"""Called with how many bytes are checked, and of how many."""


@dataclass(frozen=True, slots=True)
class At:
    """Where a record is: the number of its file in the manifest, and where in that it begins."""

    piece: int
    offset: int


@dataclass(slots=True)
class TableAt:
    """Where a table is, and the pages of its partitions; whether all of it is there."""

    at: At
    pages: list[At] = field(default_factory=list)
    complete: bool = False


class Dump:
    """A dump that was found whole (read it with pysync.dump.read), or as much as there is of an unfinished one."""

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        self.directory = directory
        self.manifest = manifest
        self.databases: tuple[str, ...] = ()
        self._databases: dict[str, At] = {}
        self._tables: dict[str, dict[str, TableAt]] = {}

    def tables(self) -> Iterator[TableName]:
        """The tables that it holds, not just their names, in order."""
        for database, tables in sorted(self._tables.items()):
            yield from (TableName(database, name) for name in sorted(tables) if tables[name].complete)

    def database_at(self, name: str) -> At | None:
        """Where a database is."""
        return self._databases.get(name)

    def table_at(self, database: str, name: str) -> TableAt | None:
        """Where a table and its partitions are; None also if it holds no more than the name."""
        table = self._tables.get(database, {}).get(name)
        return table if table is not None and table.complete else None

    @property
    def last(self) -> TableName | None:
        """The last table or database that it holds all of, in the order in which they are written."""
        ended = list(self.tables())[-1:]
        begun = [TableName(name, "") for name in sorted(self._databases)[-1:]]
        return max(ended + begun, default=None)

    def add(self, number: int, record: DumpRecord, offset: int) -> None:
        """Note a record. One that is repeated replaces the one before."""
        at = At(number, offset)
        if record.what is What.DATABASES:
            self.databases = record.names
        elif record.what is What.DATABASE:
            self._databases[record.database] = at
        elif record.what is What.TABLE:
            self._tables.setdefault(record.database, {})[record.table] = TableAt(at)
        else:
            self._add_to_table(record, at)

    def _add_to_table(self, record: DumpRecord, at: At) -> None:
        table = self._tables.get(record.database, {}).get(record.table)
        if table is None or table.complete:
            raise DumpDamaged(f"it has {record.what} of {record.database}.{record.table}, but not the table")
        if record.what is What.PARTITIONS:
            table.pages.append(at)
        else:
            table.complete = True


def open_dump(directory: Path, on_progress: OnProgress = lambda *_: None) -> Dump:
    """The finished dump in a directory, every byte of it checked, data files too.

    Raises PysyncError, one line that names the file, for one that is damaged, not finished, or of a newer version, and
    for a file that the dump does not list.
    """
    path = directory / MANIFEST
    try:
        with reading(path) as file:
            manifest = read_manifest(file)
    except FileNotFoundError:
        begun = (directory / UNFINISHED).exists()
        raise PysyncError(
            f"{directory} holds no finished dump: {path} does not exist",
            "run pysync dump again to continue" if begun else "create one: pysync dump",
        ) from None
    except OSError as error:
        raise PysyncError(f"cannot read {path}: {error.strerror}") from error
    except DumpDamaged as error:
        raise DumpDamaged(f"the dump file {path} is damaged: {error}", error.hint or "copy the dump again") from error
    in_files = manifest.counts.data_bytes
    dump = indexed(directory, manifest, lambda done, total: on_progress(done, total + in_files))
    _check_data(dump, on_progress)
    return dump


def indexed(directory: Path, manifest: Manifest, on_progress: OnProgress = lambda *_: None) -> Dump:
    """The dump that a manifest describes, finished or not. Raises DumpDamaged, which names the file."""
    dump = Dump(directory, manifest)
    total, done = sum(it.bytes for it in manifest.pieces), 0
    for number, piece in enumerate(manifest.pieces):
        data = read_piece(directory, piece)
        if _is_ours(piece):
            _add_all(dump, number, data, directory / piece.name)
        done += piece.bytes
        on_progress(done, total)
    return dump


def not_taken(directory: Path, manifest: Manifest) -> Iterator[tuple[TableName, str]]:
    """The tables and locations whose data files are not in a dump, as they are not below its prefixes."""
    for piece in manifest.pieces:
        if piece.counts.not_taken:
            pages = (it for it in lines_of(read_piece(directory, piece)) if isinstance(it, PageLine))
            yield from ((TableName(it.database, it.table), location) for it in pages for location in it.not_taken)


def _check_data(dump: Dump, on_progress: OnProgress) -> None:
    done = sum(it.bytes for it in dump.manifest.pieces)
    total = done + dump.manifest.counts.data_bytes

    def read(size: int) -> None:
        nonlocal done
        done += size
        on_progress(done, total)

    # A run that was killed at its end has left the last two.
    names = {*(it.name for it in dump.manifest.pieces), MANIFEST, UNFINISHED, LOCK}
    places: dict[str, int] = {}
    for files in _listed(dump):
        places |= places_of(files)  # all files of a place are in one part of the list
    refuse_unlisted(dump.directory, names, places)
    for files in _listed(dump):
        check(dump.directory, files, read)


def _listed(dump: Dump) -> Iterator[list[FileLine]]:
    """The data files that are in the dump, those of one file of the list at a time."""
    for piece in dump.manifest.pieces if dump.manifest.files == "copy" else ():
        if piece.name.startswith(f"{FILES}-"):
            lines = lines_of(read_piece(dump.directory, piece))
            yield [it for it in lines if isinstance(it, FileLine)]


def _add_all(dump: Dump, number: int, data: bytes, path: Path) -> None:
    try:
        for offset, record in records(data):
            dump.add(number, record, offset)
    except DumpDamaged as error:
        raise DumpDamaged(f"the dump file {path} is damaged: {error}") from error


def _is_ours(piece: Piece) -> bool:
    return piece.name.startswith(f"{KIND}-")
