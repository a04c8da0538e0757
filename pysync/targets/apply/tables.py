"""Tables and views: put and drop; dropped tables that go to the trash."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from hashlib import sha256
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.errors import PysyncError
from pysync.model.idl import copied
from pysync.model.mark import MARK_KEYS, Mark
from pysync.model.names import TableName
from pysync.model.operation import DropTable, KeepTable, PutTable, TableOperation
from pysync.targets.apply.judge import Judge, Verdict, keeps_foreign_commit, refuse_transactional
from pysync.targets.apply.writing import drop_batches, into, log_lost
from pysync.targets.base import Incomplete, MissingDatabase, Outcome
from pysync.targets.hive import is_another, is_view, name_of
from pysync.targets.store import Capability
from pysync.targets.watched import WatchedStore

# Trash: with `drops = "trash"` a dropped table is renamed into a database of its own, and can be restored from there.
#
# No file moves: the table keeps its location, and a managed one becomes external, or HMS would move its directory. A
# table in the trash has no mark, so no event of the source, no comparison and no bootstrap takes it for its own. A
# restored one has none, either: it belongs to who restored it.


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
    for existing in tables:
        _move(store, existing, mark.source)


def trashed(store: WatchedStore) -> Iterator[Trashed]:
    """What is in the trash, whoever's it was. Tables in its database that pysync did not put there are left out."""
    for table in store.reads.tables(store.settings.trash_database):
        entry = _read(table)
        if entry is not None:
            yield entry


def restore(store: WatchedStore, name: str, new: TableName | None) -> TableName:
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


def expunge(store: WatchedStore, name: str) -> bool:
    """Drop a table from the trash for good, not its files; False if it is gone."""
    existing = store.reads.table(TableName.of(store.settings.trash_database, name))
    if existing is None or _read(existing) is None:
        return False
    store.drop_tables([existing], delete_data=False)
    return True


def _move(store: WatchedStore, existing: Any, source: str) -> None:
    at, name = time.time(), name_of(existing)
    wanted = copied(existing)
    wanted.dbName, wanted.tableName = store.settings.trash_database, _name(name, at)
    wanted.parameters = {key: value for key, value in (existing.parameters or {}).items() if key not in MARK_KEYS}
    wanted.parameters |= {_TABLE: str(name), _AT: f"{at:.3f}", _SOURCE: source}
    if existing.tableType == _MANAGED:
        wanted.parameters |= {_TYPE: _MANAGED, "EXTERNAL": "TRUE"}
        wanted.tableType = "EXTERNAL_TABLE"
    try:
        store.rename_table(wanted, existing)
    except MissingDatabase:
        _make_database(store)
        # Read again: the first try may have made it external.
        store.rename_table(wanted, store.reads.table(name) or existing)


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
    """The entry of a table in the trash, by its parameters; None if pysync did not put it there."""
    parameters = table.parameters or {}
    try:
        return Trashed(
            table.tableName, TableName.parse(parameters[_TABLE]), parameters[_SOURCE], float(parameters[_AT])
        )
    except (KeyError, ValueError, PysyncError):
        return None


def _make_managed(store: WatchedStore, name: TableName) -> None:
    """Hive 4 refuses that outside of its warehouse; then the table stays external."""
    existing = store.reads.table(name)
    if existing is None or is_view(existing):
        return
    wanted = copied(existing)
    wanted.tableType = _MANAGED
    wanted.parameters = {key: value for key, value in (existing.parameters or {}).items() if key != "EXTERNAL"}
    with suppress(hive.InvalidOperationException, hive.MetaException, hive.InvalidObjectException):
        store.alter_table(wanted, existing)


# Tables and views: put and drop.


def put_table(store: WatchedStore, operation: PutTable, judge: Judge) -> Outcome:
    """Create the table or alter it. If the operation cascades, see that the partitions have the table's columns.

    An unchanged table is not written, not even to update its mark. HMS gives columns to partitions only when it changes
    those of the table. After a crash the table may have them already, and the partitions not.
    """
    existing = store.reads.table(operation.table)
    outcome = bring_to(store, operation, operation.definition, existing, judge, cascade=operation.cascade)
    if outcome in {Outcome.APPLIED, Outcome.UNCHANGED}:
        store.furnish(operation.definition)
    spreads = operation.cascade and Capability.OWN_PARTITION_COLUMNS not in store.reads.lacks
    # Read again: `existing` is from before the write.
    table = store.reads.table(operation.table) if spreads else None
    if table is None or not table.partitionKeys or not judge.cascades_to_partitions(operation, table, outcome):
        return outcome
    changed = store.spread_columns(table, store.reads.as_stored(operation.definition).sd.cols)
    return Outcome.APPLIED if changed else outcome


def bring_to(
    store: WatchedStore,
    operation: TableOperation,
    definition: Any,
    existing: Any,
    judge: Judge,
    *,
    cascade: bool = False,
    filling: Mapping[str, str] | None = None,
) -> Outcome:
    """Bring the table `existing` (None if absent), which has the definition's name, to the definition.

    `filling` are further parameters, from a caller who fills the table afterwards. Raises Incomplete if the table is
    missing, or had to be replaced by an empty one, and the operation does not describe all of it; WrittenByAnother if
    an event carries the definition, and the table may be newer.
    """
    verdict = judge.put(operation, definition, existing)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, existing)
    wanted = judge.marked(operation, definition, existing)
    wanted.parameters |= filling or {}
    expected = store.reads.as_stored(wanted)
    # Before the refusals below: a table that needs no write must not park an event.
    if existing is not None and judge.is_up_to_date(operation, expected, existing):
        return Outcome.UNCHANGED
    refuse_transactional(store.settings, wanted)
    if existing is not None:
        judge.assert_order(operation, existing)
        if has_commit_of_others(store, operation, expected.parameters, existing, judge):
            return Outcome.FOREIGN
    outcome = _write(store, operation, expected, existing, judge, cascade=cascade, is_complete=filling is not None)
    if outcome is Outcome.APPLIED:
        log_lost(store, operation, store.reads.lost(expected))
    return outcome


def has_commit_of_others(
    store: WatchedStore, operation: TableOperation, wanted: Mapping[str, str] | None, existing: Any, judge: Judge
) -> bool:
    """Whether the Iceberg table has a commit of somebody else, and stays (see `keeps_foreign_commit`)."""
    return judge.overwrites(operation, existing) and keeps_foreign_commit(
        store.settings, operation, wanted, existing.parameters
    )


def drop_table(store: WatchedStore, operation: DropTable, judge: Judge) -> Outcome:
    """Drop or trash the table if the judge lets it go."""
    existing = store.reads.table(operation.table)
    verdict = judge.drop(operation, existing)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, existing)
    for batch, delete_data in drop_batches(store, [existing], operation.delete_data):
        discard(store, batch, operation.mark, delete_data=delete_data)
    return Outcome.APPLIED


def keep_table(store: WatchedStore, operation: KeepTable, judge: Judge) -> Outcome:
    """Write the new name at the source into the mark of a table that left the scope, if a drop would take that table.

    One way alone: both ways a mark has no name.
    """
    existing = store.reads.table(operation.table)
    mark = Mark.read(existing.parameters) if existing is not None else None
    if existing is None or (mark is not None and mark.object == str(operation.new_source)):
        return Outcome.UNCHANGED
    verdict = judge.drop(operation, existing)
    if mark is None or verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, existing)
    wanted = copied(existing)
    new_mark = replace(operation.mark, object=str(operation.new_source), created=mark.created, born=mark.born)
    wanted.parameters = new_mark.on(existing.parameters)
    return Outcome.APPLIED if store.alter_table(store.reads.as_stored(wanted), existing) else Outcome.UNCHANGED


def _write(
    store: WatchedStore,
    operation: TableOperation,
    expected: Any,
    existing: Any | None,
    judge: Judge,
    *,
    cascade: bool,
    is_complete: bool,
) -> Outcome:
    """Alter or create the table, or replace a table that no alter turns into it."""
    is_complete = is_complete or (isinstance(operation, PutTable) and operation.creates)
    if existing is not None and not is_another(expected, existing) and not judge.is_predecessor(operation, existing):
        if not store.alter_table(expected, existing, cascade=cascade):
            return Outcome.UNCHANGED
        judge.altered(operation, expected, existing)
        return Outcome.APPLIED
    name = name_of(expected)
    if existing is not None:
        outcome = judge.outcome_without_replacement(operation, existing)
        if outcome is not None:
            return outcome
        store.replace_table(expected, existing)
    elif is_complete:
        into(store, operation, name.database, lambda: store.create_table(expected))
    # Also after a replacement, which has no partitions: only the source knows all of them.
    if not is_complete:
        raise Incomplete.of(store.settings.name, name)
    return Outcome.APPLIED
