"""Databases and functions: put and drop."""

from __future__ import annotations

from typing import Any

from pysync.base.text import count
from pysync.model.definition import LAST_ID_KEY
from pysync.model.idl import copied
from pysync.model.names import normalized
from pysync.model.operation import DropDatabase, DropFunction, PutDatabase, PutFunction
from pysync.targets.apply.judge import DEFAULT, Judge, Verdict
from pysync.targets.apply.tables import discard
from pysync.targets.apply.writing import deletes_directory, drop_batches, into, linked, tell_lost
from pysync.targets.base import Outcome, Rejected
from pysync.targets.diff import same
from pysync.targets.hive import is_view, name_of
from pysync.targets.watched import WatchedStore

# Databases: put and drop. Every metastore has `default` of its own, so it is never dropped.


_MOST_NAMED = 5  # tables in the reason of a refusal


def put_database(store: WatchedStore, operation: PutDatabase, judge: Judge) -> Outcome:
    """Create the database or alter it. One of others is adopted or left as it is, and never parked."""
    there = store.reads.database(operation.database)
    with judge.tracking_home(operation, there):
        return _put(store, operation, judge, there)


def _put(store: WatchedStore, operation: PutDatabase, judge: Judge, there: Any | None) -> Outcome:
    verdict = judge.put_database(operation, there)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, there)
    kept = store.reads.as_kept(judge.marked(operation, operation.definition, there))
    kept = _with_last_id(kept, operation, there)
    if there is None:
        store.create_database(kept)
    store.furnish(operation.definition)
    if there is not None and not _alter(store, operation, judge, kept, there):
        return Outcome.UNCHANGED
    tell_lost(store, operation, store.reads.lost(kept))
    return Outcome.APPLIED


def _alter(store: WatchedStore, operation: PutDatabase, judge: Judge, kept: Any, there: Any) -> bool:
    if judge.is_up_to_date(operation, kept, there) and _last_id(kept) == _last_id(there):
        return False
    # What the place did not take from this event when it was first applied, it never takes: HMS 2.3 alters neither
    # description nor location. Without this check every repeat would write.
    if judge.is_repeated(operation, there) and not store.reads.is_half_made(kept, there):
        return False
    written = store.alter_database(kept, there)
    if written:
        judge.altered(operation, kept, there)
    return written


def _with_last_id(kept: Any, operation: PutDatabase, there: Any | None) -> Any:
    """With the event id that the database has at the target, or a later one of the operation.

    One that is created now has none: what else is in it at the source may not be there. If the source is a target
    itself, it has an id of its own source, which does not belong here.
    """
    before = _last_id(there) if there is not None else 0
    found = max(before, operation.event_id) if there is not None else 0
    if found == _last_id(kept):
        return kept
    copy = copied(kept)
    copy.parameters = {key: it for key, it in (kept.parameters or {}).items() if key != LAST_ID_KEY}
    copy.parameters |= {LAST_ID_KEY: str(found)} if found else {}
    return copy


def _last_id(database: Any) -> int:
    text = (database.parameters or {}).get(LAST_ID_KEY, "")
    return int(text) if text.isdecimal() else 0


def drop_database(store: WatchedStore, operation: DropDatabase, judge: Judge) -> Outcome:
    """Drop the database with those of its tables that may go. It stays if it is another's, or if tables are left in it.

    A newer database stays as well, but loses the tables from before the drop. Raises Rejected instead of dropping a
    table if the target has `cascade = false`.
    """
    there = store.reads.database(operation.database)
    outcome = judge.outcome_without_drop(operation, there)
    if outcome is not None:
        return outcome
    if operation.database == DEFAULT or store.reads.is_link(there):
        return Outcome.FOREIGN
    # Whether or not the database stays: a replay after a crash may have put tables from before the drop there again.
    left = _drop_tables(store, operation, judge)
    outcome = judge.outcome_if_database_stays(operation, there, left)
    if outcome is not None:
        return outcome
    store.drop_database(operation.database, delete_data=deletes_directory(store, there, operation.delete_data))
    return Outcome.APPLIED


def _drop_tables(store: WatchedStore, operation: DropDatabase, judge: Judge) -> list[Any]:
    """Drop the tables that may go; returns those that are left."""
    going, left = _sorted_out(store, operation, judge)
    if going and not store.settings.cascade:
        raise _holds_tables(store, operation, sorted(str(name_of(table)) for table in going))
    if going:
        # Views first: Hive 4 refuses to drop a table that a materialized view uses.
        going.sort(key=is_view, reverse=True)
        for batch, delete_data in drop_batches(store, going, operation.delete_data):
            discard(store, batch, operation.mark, delete_data=delete_data)
    return left


def tables_with(store: WatchedStore, operation: DropDatabase, judge: Judge) -> list[Any]:
    """The tables that the drop would take along."""
    return _sorted_out(store, operation, judge)[0] if store.settings.cascade else []


def _sorted_out(store: WatchedStore, operation: DropDatabase, judge: Judge) -> tuple[list[Any], list[Any]]:
    """The tables of the database that the drop takes along, and the others."""
    goes, going, left = judge.takes_along(operation), list[Any](), list[Any]()
    for table in store.reads.tables(operation.database):
        (going if goes(table) else left).append(table)
    return going, left


def _holds_tables(store: WatchedStore, operation: DropDatabase, names: list[str]) -> Rejected:
    """The refusal of a drop that would take these tables along; the first few are named."""
    named = ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")
    return Rejected(
        f"the drop of the database {operation.database} is not applied: cascade = false, and the target "
        f"{store.settings.name!r} still has {count(len(names), 'table')} there: {named}",
        "drop them at the target, or set cascade = true; then retry",
    )


# Functions: put and drop. They carry no mark; that of their database counts.


def put_function(store: WatchedStore, operation: PutFunction, judge: Judge) -> Outcome:
    """Create the function, or alter or replace it."""
    database = store.reads.database(operation.database)
    kept = store.reads.as_kept(operation.definition)
    there = store.reads.function(operation.database, kept.functionName)
    verdict = judge.function(operation, database, kept, there)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, database)
    if there is not None and same(kept, there):
        return Outcome.UNCHANGED
    if there is None:
        into(store, operation, operation.database, lambda: store.create_function(kept))
    elif store.reads.is_linked(operation.database):
        raise linked(store, f"database {operation.database}")
    elif judge.alters_functions:
        store.alter_function(kept, there)
    else:
        store.drop_function(operation.database, kept.functionName)
        store.create_function(kept)
    tell_lost(store, operation, store.reads.lost(kept))
    return Outcome.APPLIED


def drop_function(store: WatchedStore, operation: DropFunction, judge: Judge) -> Outcome:
    """Drop the function if it is there."""
    name = normalized(operation.function)
    there = store.reads.function(operation.database, name)
    if there is None:
        return Outcome.UNCHANGED
    database = store.reads.database(operation.database)
    verdict = judge.function(operation, database, None, there)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, database)
    store.drop_function(operation.database, name)
    return Outcome.APPLIED
