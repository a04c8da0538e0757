"""Wanted: what is to be read at the source again: everything, some objects, or those that were chosen or named.

Each is an iterator of refreshes, which reads the source as it goes. What is chosen by definitions, and everything, come
in the order of `place`, so that a resync goes on behind the last object that it has queued.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pysync.capture.notifications import touched
from pysync.metastore.client import Metastore
from pysync.metastore.reads import Reads
from pysync.model.definition import is_index
from pysync.model.names import TableName

_TABLES_PER_CALL = 50

Names = Mapping[str, str]
"""What to refresh: the attributes of one event."""

Last = Callable[[], int]
"""The position of the newest event in the queue, now."""


@dataclass(frozen=True, slots=True)
class RefreshScope:
    """Which databases and tables of the source are meant, by their names there.

    `definition` is whether a table is meant by its name and its `ttypes.Table`.
    """

    database: Callable[[str], bool]
    table: Callable[[TableName], bool]
    definition: Callable[[TableName, Any], bool] = lambda *_: True


EVERYTHING = RefreshScope(lambda _: True, lambda _: True)


def some(source: Reads, last: Last, databases: Iterable[str], tables: Iterable[TableName]) -> Iterator[Names]:
    """Refreshes of these databases (without their tables) and tables. Any of them may be gone at the source."""
    # First the list of all databases: it drops those that are gone.
    yield _listed(last, source.databases)
    yield from (database(source, last, name) for name in databases)
    yield from (table(source, name) for name in tables)


def everything(
    source: Reads,
    last: Last,
    first: Sequence[TableName] = (),
    *,
    scope: RefreshScope = EVERYTHING,
    after: TableName | None = None,
    whole: bool = True,
) -> Iterator[Names]:
    """Refreshes of everything in scope, read lazily: first the tables of `first`, then all in the order of `place`.

    Those of `first` come twice, because the refresh of their database makes good what is parked in it. Each refresh
    says what was there when it was queued: a later drop or rename is then not taken for a missed one. Objects up to
    `after` are left out. A source that is not `whole` lists tables that it cannot show: these get no refresh, and what
    is parked of them stays parked.
    """
    marks = {"whole": "true"} if whole else {}
    listed = _listed(last, source.databases)
    # Otherwise it goes on after a stop, and the list of databases was queued before that.
    if after is None:
        yield {**listed, **marks}
    for name in first:
        yield table(source, name)
    for database in filter(scope.database, _names_in(listed["present"])):
        if after is None or database >= after.database:
            tables = {"database": database, **_listed(last, partial(source.tables, database)), **marks}
            yield from _whole_database(source, tables, scope, after or TableName("", ""))


def chosen(
    source: Reads,
    scope: RefreshScope,
    wanted: Callable[[Any], bool],
    listed: Callable[[str], list[str]] | None = None,
    *,
    after: TableName | None = None,
) -> Iterator[Names]:
    """Refreshes of the tables in scope that are wanted, by their definitions, read lazily in the order of `place`.

    `listed` gives the names of a database that may be wanted; without it all of its tables and views are read. Those up
    to `after` are left out.
    """
    begin = after or TableName("", "")
    for database in sorted(it for it in source.databases() if it >= begin.database and scope.database(it)):
        names = (TableName(database, it) for it in sorted((listed or source.tables)(database)))
        behind = [it.table for it in names if it > begin and scope.table(it)]
        for table in filter(wanted, _tables(source, database, behind)):
            yield _names(TableName(database, table.tableName), table)


def named(source: Metastore, last: Last, since: int) -> Iterator[Names]:
    """Refreshes of what the notification log names after the id `since`. Raises what reading the log does."""
    names = list(touched(source, since))
    tables = {TableName(it.database, it.table) for it in names if it.table is not None}
    return some(source, last, sorted({it.database for it in names}), sorted(tables))


def place(names: Names) -> TableName:
    """Where a refresh stands in the order of `everything`."""
    return TableName(names.get("database", ""), names.get("table", ""))


def _whole_database(source: Reads, listed: Names, scope: RefreshScope, after: TableName) -> Iterator[Names]:
    database = listed["database"]
    if TableName(database, "") > after:
        yield listed
    names = (TableName(database, table) for table in _names_in(listed["present"]))
    for it in _tables(source, database, [name.table for name in names if name > after and scope.table(name)]):
        yield _names(TableName(database, it.tableName), it)


def _tables(source: Reads, database: str, wanted: Sequence[str]) -> Iterator[Any]:
    """Those of a database's tables that are there, in the order of their names."""
    for start in range(0, len(wanted), _TABLES_PER_CALL):
        tables = source.tables_by_name(database, wanted[start : start + _TABLES_PER_CALL])
        yield from sorted((one for one in tables if not is_index(one)), key=lambda one: str(one.tableName))


def _names_in(present: str) -> list[str]:
    return present.split("\n") if present else []


def _listed(last: Last, names: Callable[[], Iterable[str]]) -> Names:
    """The names that are there now, and the position of the last event before they were read.

    The list may miss what later events bring.
    """
    # Before the names are read: an event in between would else count as known to the list.
    upto = last()
    return {"present": "\n".join(sorted(names())), "upto": str(upto)}


def database(source: Reads, last: Last, name: str) -> Names:
    """The refresh of one database, without its tables, except for those that the source no longer has."""
    return {"database": name, **_listed(last, partial(source.tables, name))}


def table(source: Reads, name: TableName) -> Names:
    """The refresh of one table, which may be gone at the source."""
    return _names(name, source.table(name.database, name.table))


def _names(name: TableName, item: Any) -> Names:
    which = {"database": name.database, "table": name.table}
    return {**which, "absent": "true"} if item is None else {**which, "created": str(item.createTime or 0)}
