"""Databases: put and drop. Every metastore has `default` of its own, so it is never dropped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pysync.base.text import count, whole_number
from pysync.model.catalogs import is_default_database
from pysync.model.definition import LAST_ID_KEY
from pysync.model.mark import KEPT_KEY
from pysync.model.operation import DropDatabase, PutDatabase
from pysync.model.struct_copies import copied
from pysync.targets.apply.door import Door
from pysync.targets.apply.file_deletion import drop_batches, log_directory_kept
from pysync.targets.apply.judge import Judge, Verdict
from pysync.targets.apply.refusals import is_link
from pysync.targets.base import Held, Outcome, Rejected
from pysync.targets.hive import is_view, name_of

_MOST_NAMED = 5  # tables in the reason of a refusal


def put_database(store: Door, operation: PutDatabase, judge: Judge) -> Outcome:
    """Create the database or alter it. One of others is adopted or left as it is, and never parked."""
    existing = store.reads.database(operation.database)
    with judge.tracking_home(operation, existing):
        return _put(store, operation, judge, existing)


def _put(store: Door, operation: PutDatabase, judge: Judge, existing: Any | None) -> Outcome:
    verdict = judge.put_database(operation, existing)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, existing)
    marked = judge.marked(operation, operation.definition, existing)
    expected = store.reads.as_stored(_with_last_id(marked, operation, existing))
    if existing is None:
        store.create_database(expected)
    store.furnish(operation.definition)
    if existing is not None and not _alter(store, operation, judge, expected, existing):
        return Outcome.UNCHANGED
    store.log_lost(store.reads.lost(expected))
    return Outcome.APPLIED


def _alter(store: Door, operation: PutDatabase, judge: Judge, expected: Any, existing: Any) -> bool:
    is_kept = KEPT_KEY in (existing.parameters or {})  # until now: the source has it again
    if not is_kept and judge.is_up_to_date(operation, expected, existing) and _last_id(expected) == _last_id(existing):
        return False
    # What the place did not take from this event when it was first applied, it never takes: HMS 2.3 alters neither
    # description nor location. Without this check every repeat would write.
    if judge.is_repeated(operation, existing) and not store.reads.is_half_made(expected, existing):
        return False
    written = store.alter_database(expected, existing)
    if written:
        judge.altered(operation, expected, existing)
    return written


def _with_last_id(definition: Any, operation: PutDatabase, existing: Any | None) -> Any:
    """The definition with the event id that the database has at the target, or a later one of the operation.

    One that is created now has none: what else is in it at the source may not be there. If the source is a target
    itself, it has an id of its own source, which does not belong here.
    """
    before = _last_id(existing) if existing is not None else 0
    last_id = max(before, operation.event_id) if existing is not None else 0
    if last_id == _last_id(definition):
        return definition
    copy = copied(definition)
    copy.parameters = {key: it for key, it in (definition.parameters or {}).items() if key != LAST_ID_KEY}
    copy.parameters |= {LAST_ID_KEY: str(last_id)} if last_id else {}
    return copy


def _last_id(database: Any) -> int:
    return whole_number((database.parameters or {}).get(LAST_ID_KEY, "")) or 0


def drop_database(store: Door, operation: DropDatabase, judge: Judge) -> Outcome:
    """Drop the database with those of its tables that may go. It stays if it is another's, or if tables are left in it.

    A newer database stays as well, but loses the tables from before the drop. Raises Rejected instead of dropping a
    table if the target has `cascade = false`.
    """
    existing = store.reads.database(operation.database)
    outcome = judge.outcome_without_drop(operation, existing)
    if outcome is not None:
        return outcome
    if is_default_database(operation.database) or is_link(store.reads, existing):
        return Outcome.FOREIGN
    # Whether or not the database stays: a replay after a crash may have put tables from before the drop there again.
    tables = _tables_of(store, operation, judge)
    _drop_tables(store, operation, tables.dropped)
    is_kept = store.keeps(existing)
    if is_kept or tables.kept:
        return Outcome.KEPT
    outcome = judge.outcome_if_database_stays(operation, existing, tables.remaining)
    if outcome is not None:
        return outcome
    store.remove_database(existing)
    log_directory_kept(store, existing)
    return Outcome.APPLIED


def _drop_tables(store: Door, operation: DropDatabase, dropped: list[Any]) -> None:
    """Drop the tables that go with the database."""
    if dropped and not store.settings.cascade:
        raise _holds_tables(store, operation, sorted(str(name_of(table)) for table in dropped))
    # Views first: Hive 4 refuses to drop a table that a materialized view uses.
    dropped.sort(key=is_view, reverse=True)
    held = list[Held]()
    for batch, delete_data in drop_batches(store, dropped, operation.deleted_locations):
        try:
            store.remove_tables(batch, delete_data=delete_data)
        except Held as error:  # the tables of the next batch may go
            held.append(error)
    if held:
        raise Held.together(held)


def tables_with(store: Door, operation: DropDatabase, judge: Judge) -> list[Any]:
    """The tables that the drop would take along, and those that a person has kept, which the brake itself knows."""
    if not store.settings.cascade:
        return []
    return [*filter(judge.taken_along(operation), store.reads.tables(operation.database))]


@dataclass(frozen=True, slots=True)
class _Tables:
    """The tables of a database: those that its drop takes along, those that a person has kept, and the others."""

    dropped: list[Any] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)
    remaining: list[Any] = field(default_factory=list)


def _tables_of(store: Door, operation: DropDatabase, judge: Judge) -> _Tables:
    is_dropped, tables = judge.taken_along(operation), _Tables()
    for table in store.reads.tables(operation.database):
        if not is_dropped(table):
            tables.remaining.append(table)
        else:
            (tables.kept if store.keeps(table) else tables.dropped).append(table)
    return tables


def _holds_tables(store: Door, operation: DropDatabase, names: list[str]) -> Rejected:
    """The refusal of a drop that would take these tables along; the first few are named."""
    named = ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")
    return Rejected(
        f"the drop of the database {operation.database} is not applied: cascade = false, and the target "
        f"{store.settings.name!r} still has {count(len(names), 'table')} there: {named}",
        "drop them at the target, or set cascade = true; then retry",
    )
