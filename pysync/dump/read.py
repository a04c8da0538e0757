"""Read: a dump as if it were a metastore."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, BinaryIO

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.text import error_text
from pysync.dump.index import At, Dump
from pysync.dump.record import LENGTH_BYTES, DumpDamaged, DumpRecord, Reply, length_of, record_at
from pysync.dump.replies import answer
from pysync.dump.safe_files import reading
from pysync.metastore.errors import MetastoreUnavailable
from pysync.metastore.reads import with_values
from pysync.model import idl
from pysync.model.definition import VIEW
from pysync.model.names import TableName, partition_name
from pysync.model.reread import is_request_name
from pysync.model.snapshot import Snapshot

_CALLS = {
    hive.SQLPrimaryKey: "get_primary_keys",
    hive.SQLForeignKey: "get_foreign_keys",
    **{kind: f"get_{name}s" for kind, (name, _) in idl.CONSTRAINTS.items()},
}
"""The call that reads constraints of a kind, by their struct."""


class DumpReader:
    """Reads a dump as a metastore is read (`pysync.metastore.reads`); a context manager, for one thread.

    A table of which the dump holds only the name is listed, but not found. Raises MetastoreUnavailable when a file
    cannot be read any more, or has changed.
    """

    def __init__(self, dump: Dump) -> None:
        self._dump = dump
        self._open: tuple[int, BinaryIO] | None = None
        self._pages: tuple[TableName, dict[str, At]] | None = None  # of the current table, by their first names

    def __enter__(self) -> DumpReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close its file; the next call opens it again."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    @property
    def uri(self) -> object:
        """Where it is, for people."""
        return self._dump.directory

    def databases(self) -> list[str]:
        """The names of all databases that the source had, dumped or not."""
        return list(self._dump.databases)

    def database(self, name: str) -> Any | None:
        """A `ttypes.Database`, or None if the dump does not have it."""
        answer = self._answers(self._dump.database_at(name), "get_database")
        return answer[0] if answer else None

    def tables(self, database: str) -> list[str]:
        """The names of all tables that the source had in it, dumped or not."""
        at = self._dump.database_at(database)
        return list(self._record(at).names) if at is not None else []

    def views(self, database: str) -> list[str]:
        """The names of all views that the dump has, but for materialized ones. Reads every table of the database."""
        return [it.tableName for it in self.tables_by_name(database, self.tables(database)) if it.tableType == VIEW]

    def table(self, database: str, name: str) -> Any | None:
        """A `ttypes.Table`, or None if the dump does not have it."""
        table = self._dump.table_at(database, name)
        return self._answers(table.at, "get_table_req")[0].table if table is not None else None

    def tables_by_name(self, database: str, names: Sequence[str]) -> list[Any]:
        """The named tables that the dump has, each a `ttypes.Table`."""
        return [table for table in (self.table(database, name) for name in names) if table is not None]

    def snapshots(self, names: Sequence[TableName]) -> dict[TableName, Snapshot]:  # noqa: ARG002 - of Reads
        """None: the files of a dump are copied as they are."""
        return {}

    def first_partitions(self, database: str, table: str, most: int) -> list[Any]:
        """The first `most` `ttypes.Partition`, or all if the dump has fewer; fast for up to a page of them."""
        return self.partitions_by_name(database, table, self.partition_names(database, table)[:most])

    def partition_names(self, database: str, table: str) -> list[str]:
        """All partitions of a table that the dump has."""
        name = TableName(database, table)
        names: list[str] = []
        firsts: dict[str, At] = {}
        for at in self._pages_of(name):
            page = self._record(at).names
            firsts[page[0]] = at
            names += page
        self._pages = name, firsts
        return names

    def partitions_by_name(self, database: str, table: str, names: Sequence[str]) -> list[Any]:
        """The named `ttypes.Partition` that the dump has; fast for pages of names as `partition_names` gives them."""
        name = TableName(database, table)
        if self._pages is None or self._pages[0] != name:
            self.partition_names(database, table)
        at = self._pages[1].get(names[0]) if self._pages is not None and names else None
        if at is not None and (page := self._record(at)).names == tuple(names):
            return self._partitions_in(page)
        return self._some_partitions(name, frozenset(names))

    def functions(self, database: str) -> list[Any]:
        """Every `ttypes.Function` of a database; where the database is not dumped, with its name alone."""
        functions = list(self._answers(self._dump.database_at(database), "get_function"))
        for every in self._answers(self._dump.database_at(database), "get_all_functions"):
            functions += [it for it in every.functions or () if it.dbName == database]
        for names in self._answers(self._dump.database_at(database), "get_functions"):
            functions += [hive.Function(functionName=name, dbName=database) for name in names]
        for function in functions:
            # As `Metastore.functions`: Hive 2.3 and 3.1 keep names in mixed case.
            function.functionName = function.functionName.lower()
        return [it for it in functions if not is_request_name(it.functionName)]

    def constraints(self, table: Any) -> dict[Any, list[Any]]:
        """The constraints of a table that the dump has, by struct."""
        dumped = self._dump.table_at(table.dbName, table.tableName)
        at = dumped.at if dumped is not None else None
        answers = {kind: self._answers(at, call) for kind, call in _CALLS.items()}
        return {kind: sorted(_columns(answer[0]), key=_sequence) for kind, answer in answers.items() if answer}

    # --- the files

    def _some_partitions(self, name: TableName, wanted: frozenset[str]) -> list[Any]:
        table = self.table(name.database, name.table)
        keys = [key.name for key in table.partitionKeys] if table is not None else []
        partitions = []
        for at in self._pages_of(name):
            page = self._record(at)
            if not wanted.isdisjoint(page.names):
                partitions += [it for it in self._partitions_in(page) if partition_name(keys, it.values) in wanted]
        return partitions

    def _partitions_in(self, page: DumpRecord) -> list[Any]:
        """Those of a page: a source whose one answer would have been too large has given several."""
        return [it for reply in page.replies for it in with_values(self._decoded(reply) or ())]

    def _pages_of(self, name: TableName) -> list[At]:
        table = self._dump.table_at(name.database, name.table)
        return table.pages if table is not None else []

    def _answers(self, at: At | None, call: str) -> list[Any]:
        """What the source answered to a call, in the record there."""
        replies = self._record(at).replies if at is not None else ()
        return [self._decoded(reply) for reply in replies if reply.call == call]

    def _decoded(self, reply: Reply) -> Any:
        with self._as_unavailable():
            return answer(reply)

    def _record(self, at: At) -> DumpRecord:
        with self._as_unavailable():
            file = self._file(at.piece)
            file.seek(at.offset)
            head = file.read(LENGTH_BYTES)
            return record_at(head + file.read(length_of(head)), 0)[0]

    def _file(self, number: int) -> BinaryIO:
        if self._open is None or self._open[0] != number:
            self.close()
            path = self._dump.directory / self._dump.manifest.pieces[number].name
            self._open = number, reading(path)
        return self._open[1]

    @contextmanager
    def _as_unavailable(self) -> Iterator[None]:
        try:
            yield
        except (OSError, DumpDamaged) as error:
            self.close()
            raise MetastoreUnavailable(
                f"the dump in {self.uri} has changed: {error_text(error)}", "check that the directory still exists"
            ) from error


def _columns(answered: Any) -> list[Any]:
    """The columns in what the calls for constraints return."""
    names = ("primaryKeys", "foreignKeys", "constraints")
    return next((columns for name in names if (columns := getattr(answered, name, None)) is not None), [])


def _sequence(column: Any) -> int:
    return getattr(column, "key_seq", None) or 0
