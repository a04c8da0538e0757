"""Trash: with `drops = "trash"` a dropped table is renamed into a database of its own, and can be restored from there.

No file moves: the table keeps its location, and a managed one becomes external, or HMS would move its directory. A
table in the trash has no mark, so no event of the source, no comparison and no bootstrap takes it for its own. A
restored one has none, either: it belongs to who restored it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.errors import PysyncError
from pysync.model.mark import MARK_KEYS, Mark
from pysync.model.names import TableName
from pysync.model.struct_copies import copied
from pysync.targets.base import MissingDatabase
from pysync.targets.hive import is_view, name_of

if TYPE_CHECKING:  # the door moves tables here, and what is here writes by the door
    from pysync.targets.apply.door import Door


_TABLE = "pysync.trash.table"
_AT = "pysync.trash.at"
_SOURCE = "pysync.trash.source"
_TARGET = "pysync.trash.target"
_TYPE = "pysync.trash.type"
_KEYS = (_TABLE, _AT, _SOURCE, _TARGET, _TYPE)
_MANAGED = "MANAGED_TABLE"
_LONGEST = 128
"""Characters of a table's name in every version of HMS."""
_ODD = re.compile(r"[^a-z0-9_]")


@dataclass(frozen=True, slots=True)
class Trashed:
    """A table in the trash: its `name` there, what it was called, whose it was, and when it was dropped (s).

    `target` is the name of the target of that source that dropped it; "" if both ends are sources.
    """

    name: str
    table: TableName
    source: str
    target: str
    at: float


def trashed(store: Door) -> Iterator[Trashed]:
    """What is in the trash, whoever's it was. Tables in its database that pysync did not put there are left out."""
    for table in store.reads.tables(store.settings.trash_database):
        entry = _read(table)
        if entry is not None:
            yield entry


def restore(store: Door, name: str, new: TableName | None) -> TableName:
    """Rename a table out of the trash, to `new` or to what it was called; returns that name.

    It has no mark then. A table that was managed is made so again where the metastore accepts that. Raises PysyncError
    if it is not in the trash, or the name is taken.
    """
    existing = store.reads.table(TableName.of(store.settings.trash_database, name))
    entry = None if existing is None else _read(existing)
    if existing is None or entry is None:
        raise PysyncError(f"the trash has no table {name}", f"see: pysync trash list {store.settings.name}")
    to = new or entry.table
    if store.reads.table(to) is not None:
        raise PysyncError(f"the target has a table {to} already", "restore it under another name: --as DB.TABLE")
    wanted = copied(existing)
    wanted.dbName, wanted.tableName = to.database, to.table
    wanted.parameters = {key: value for key, value in existing.parameters.items() if key not in _KEYS}
    store.rename_table(wanted, existing)
    if existing.parameters.get(_TYPE) == _MANAGED:
        _make_managed(store, to)
    return to


def expunge(store: Door, name: str) -> bool:
    """Drop a table from the trash for good, not its files; False if it is gone."""
    existing = store.reads.table(TableName.of(store.settings.trash_database, name))
    if existing is None or _read(existing) is None:
        return False
    store.remove_tables([existing], delete_data=False)
    return True


def move(store: Door, existing: Any, mark: Mark) -> None:
    """Move a table into the trash; `mark` is that of its drop."""
    at, name = time.time(), name_of(existing)
    wanted = copied(existing)
    wanted.dbName, wanted.tableName = store.settings.trash_database, _name(name, at)
    wanted.parameters = {key: value for key, value in (existing.parameters or {}).items() if key not in MARK_KEYS}
    wanted.parameters |= {_TABLE: str(name), _AT: f"{at:.3f}", _SOURCE: mark.source}
    wanted.parameters |= {_TARGET: mark.target} if mark.target else {}
    if existing.tableType == _MANAGED:
        wanted.parameters |= {_TYPE: _MANAGED, "EXTERNAL": "TRUE"}
        wanted.tableType = "EXTERNAL_TABLE"
    try:
        store.rename_table(wanted, existing)
    except MissingDatabase:
        _make_database(store)
        # Read again: the first try may have made it external.
        store.rename_table(wanted, store.reads.table(name) or existing)


def _make_database(store: Door) -> None:
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
    """The entry of a table in the trash, by its parameters; None if pysync did not put it there."""
    parameters = table.parameters or {}
    try:
        return Trashed(
            table.tableName,
            TableName.parse(parameters[_TABLE]),
            parameters[_SOURCE],
            parameters.get(_TARGET, ""),
            float(parameters[_AT]),
        )
    except (KeyError, ValueError, PysyncError):
        return None


def _make_managed(store: Door, name: TableName) -> None:
    """Hive 4 refuses that outside of its warehouse; then the table stays external."""
    existing = store.reads.table(name)
    if existing is None or is_view(existing):
        return
    wanted = copied(existing)
    wanted.tableType = _MANAGED
    wanted.parameters = {key: value for key, value in (existing.parameters or {}).items() if key != "EXTERNAL"}
    with suppress(hive.InvalidOperationException, hive.MetaException, hive.InvalidObjectException):
        store.alter_table(wanted, existing)
