"""Trash: with `drops = "trash"` a dropped table is renamed into a database of its own, and can be restored from there.

No file moves: the table keeps its location, and a managed one becomes external, or HMS would move its directory.
A table in the trash has no mark, so no event of the source, no comparison and no bootstrap takes it for its own. A
restored one has none, either: it belongs to who restored it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from hashlib import sha256
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.errors import PysyncError
from pysync.model.mark import MARK_KEYS, Mark
from pysync.model.names import TableName
from pysync.model.structs import copied
from pysync.targets.base import MissingDatabase
from pysync.targets.hive import is_view, name_of
from pysync.targets.watched import WatchedStore

_TABLE = "pysync.trash.table"
_AT = "pysync.trash.at"
_SOURCE = "pysync.trash.source"
_TYPE = "pysync.trash.type"
_KEYS = (_TABLE, _AT, _SOURCE, _TYPE)
_MANAGED = "MANAGED_TABLE"
_LONGEST = 128
"""Characters of a table's name in every version of HMS."""
_ODD = re.compile(r"[^a-z0-9_]")


@dataclass(frozen=True, slots=True)
class Trashed:
    """A table in the trash: its `name` there, what it was called, whose it was, and when it was dropped (s)."""

    name: str
    table: TableName
    source: str
    at: float


def discard(store: WatchedStore, tables: Sequence[Any], mark: Mark, *, delete_data: bool) -> None:
    """Drop these tables, or move them into the trash if the settings say so. A repeat finds nothing left to do."""
    if store.settings.drops != "trash":
        store.drop_tables(tables, delete_data=delete_data)
        return
    for there in tables:
        _move(store, there, mark.source)


def trashed(store: WatchedStore) -> Iterator[Trashed]:
    """What is in the trash, whoever's it was. Tables in its database that pysync did not put there are left out."""
    for table in store.reads.tables(store.settings.trash_database):
        found = _read(table)
        if found is not None:
            yield found


def restore(store: WatchedStore, name: str, new: TableName | None) -> TableName:
    """Rename a table out of the trash, to `new` or to what it was called; returns that name.

    It has no mark then. A table that was managed is made so again where the metastore accepts that. Raises PysyncError
    if it is not in the trash, or the name is taken.
    """
    there = store.reads.table(TableName.of(store.settings.trash_database, name))
    found = None if there is None else _read(there)
    if there is None or found is None:
        raise PysyncError(f"the trash has no table {name}", f"see: pysync trash list {store.settings.name}")
    to = new or found.table
    if store.reads.table(to) is not None:
        raise PysyncError(f"the target has a table {to} already", "restore it under another name: --as DB.TABLE")
    wanted = copied(there)
    wanted.dbName, wanted.tableName = to.database, to.table
    wanted.parameters = {key: value for key, value in there.parameters.items() if key not in _KEYS}
    store.rename_table(wanted, there)
    if there.parameters.get(_TYPE) == _MANAGED:
        _make_managed(store, to)
    return to


def expunge(store: WatchedStore, name: str) -> bool:
    """Drop a table from the trash for good, not its files; False if it is gone."""
    there = store.reads.table(TableName.of(store.settings.trash_database, name))
    if there is None or _read(there) is None:
        return False
    store.drop_tables([there], delete_data=False)
    return True


def _move(store: WatchedStore, there: Any, source: str) -> None:
    at, name = time.time(), name_of(there)
    wanted = copied(there)
    wanted.dbName, wanted.tableName = store.settings.trash_database, _name(name, at)
    wanted.parameters = {key: value for key, value in (there.parameters or {}).items() if key not in MARK_KEYS}
    wanted.parameters |= {_TABLE: str(name), _AT: f"{at:.3f}", _SOURCE: source}
    if there.tableType == _MANAGED:
        wanted.parameters |= {_TYPE: _MANAGED, "EXTERNAL": "TRUE"}
        wanted.tableType = "EXTERNAL_TABLE"
    try:
        store.rename_table(wanted, there)
    except MissingDatabase:
        _make_database(store)
        # Read again: the first try may have made it external.
        store.rename_table(wanted, store.reads.table(name) or there)


def _make_database(store: WatchedStore) -> None:
    """Create the database of the trash; another lane may be faster."""
    text = "Dropped tables that pysync keeps for a while: pysync trash list"
    with suppress(hive.AlreadyExistsException):
        store.create_database(hive.Database(name=store.settings.trash_database, description=text, parameters={}))


def _name(name: TableName, at: float) -> str:
    """`t20260131_120000_1a2b3c4d_db_table`: one that no other drop has, of what every metastore accepts."""
    stamp = datetime.fromtimestamp(at, timezone.utc).strftime("%Y%m%d_%H%M%S")
    unique = sha256(f"{name} {time.time_ns()}".encode()).hexdigest()[:8]
    return _ODD.sub("_", f"t{stamp}_{unique}_{name.database}_{name.table}")[:_LONGEST]


def _read(table: Any) -> Trashed | None:
    """What a table in the trash tells of itself; None if pysync did not put it there."""
    told = table.parameters or {}
    try:
        return Trashed(table.tableName, TableName.parse(told[_TABLE]), told[_SOURCE], float(told[_AT]))
    except (KeyError, ValueError, PysyncError):
        return None


def _make_managed(store: WatchedStore, name: TableName) -> None:
    """Hive 4 refuses that outside of its warehouse; then the table stays external."""
    there = store.reads.table(name)
    if there is None or is_view(there):
        return
    wanted = copied(there)
    wanted.tableType = _MANAGED
    wanted.parameters = {key: value for key, value in (there.parameters or {}).items() if key != "EXTERNAL"}
    with suppress(hive.InvalidOperationException, hive.MetaException, hive.InvalidObjectException):
        store.alter_table(wanted, there)
