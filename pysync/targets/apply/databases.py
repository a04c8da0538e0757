"""Databases: put and drop. Every metastore has `default` of its own, so it is never dropped."""

from __future__ import annotations

from typing import Any

from pysync.model.mark import Mark
from pysync.model.operation import DropDatabase, PutDatabase
from pysync.targets.apply.ownership import Ownership, ownership_for_drop, ownership_of
from pysync.targets.apply.trash import discard
from pysync.targets.apply.writing import deletes_directory, drop_batches, linked, stamped, tell_lost, up_to_date
from pysync.targets.base import Outcome, Rejected
from pysync.targets.hive import is_view, name_of
from pysync.targets.store import Store
from pysync.text import count

_DEFAULT = "default"
_MOST_NAMED = 5  # tables in the reason of a refusal


def put_database(store: Store, operation: PutDatabase) -> Outcome:
    """Create the database or alter it. A foreign one is adopted or left as it is.

    Raises Rejected only for a resource link that would have to be adopted.
    """
    there = store.database(operation.database)
    written = Mark.read(there.parameters) if there is not None else None
    mark = operation.mark.following(written)
    kept = store.as_kept(stamped(operation.definition, mark))
    if there is None:
        store.create_database(kept)
        store.furnish(operation.definition)
        tell_lost(store, operation, store.lost(kept))
        return Outcome.APPLIED
    found = ownership_of(True, there.parameters, operation.mark)
    if found is Ownership.NEWER:
        return Outcome.STALE
    if found is Ownership.RIVAL:  # two databases are one at the target, which has the definition of the first
        return Outcome.FOREIGN
    if found is Ownership.FOREIGN and (operation.database == _DEFAULT or store.settings.on_conflict != "adopt"):
        return Outcome.FOREIGN
    if store.is_link(there):
        raise linked(store, f"database {operation.database}")
    # What the place did not take from this event when it was first applied, it never takes: HMS 2.3 alters neither
    # description nor location. Without this check every repeat would write.
    store.furnish(operation.definition)
    tried = written == mark and not store.is_half_made(kept, there)
    if tried or up_to_date(kept, there, mark) or not store.alter_database(kept, there):
        return Outcome.UNCHANGED
    tell_lost(store, operation, store.lost(kept))
    return Outcome.APPLIED


def drop_database(store: Store, operation: DropDatabase) -> Outcome:
    """Drop the database with the tables of its source. It stays if it is foreign, or if other tables are left in it.

    A newer database stays as well, but loses the tables from before the drop. Raises Rejected instead of dropping a
    table if the target has `cascade = false`.
    """
    there = store.database(operation.database)
    if there is None:
        return Outcome.UNCHANGED
    found = ownership_for_drop(True, there.parameters, operation.mark)
    if operation.database == _DEFAULT or store.is_link(there):
        return Outcome.FOREIGN
    # Also in a newer database: a replay after a crash may have put tables from before the drop there again.
    left = _drop_tables(store, operation)
    if found is Ownership.NEWER:
        return Outcome.STALE
    if found is not Ownership.OWN or left:
        others = {Ownership.FOREIGN, Ownership.RIVAL}
        return Outcome.STALE if others.isdisjoint((found, *left)) else Outcome.FOREIGN
    store.drop_database(operation.database, delete_data=deletes_directory(store, there, operation.delete_data))
    return Outcome.APPLIED


def _drop_tables(store: Store, operation: DropDatabase) -> list[Ownership]:
    """Drop the source's tables; returns what the tables that are left are to the source."""
    own, left = _sorted_out(store, operation)
    if own and not store.settings.cascade:
        raise _holds_tables(store, operation, sorted(str(name_of(table)) for table in own))
    if own:
        # Views first: Hive 4 refuses to drop a table that a materialized view uses.
        own.sort(key=is_view, reverse=True)
        for batch, delete_data in drop_batches(store, own, operation.delete_data):
            discard(store, batch, operation.mark, delete_data=delete_data)
    return left


def tables_with(store: Store, operation: DropDatabase) -> list[Any]:
    """The tables that the drop would take along."""
    return _sorted_out(store, operation)[0] if store.settings.cascade else []


def _sorted_out(store: Store, operation: DropDatabase) -> tuple[list[Any], list[Ownership]]:
    """The tables of the source, and what the other tables of the database are to it."""
    own, left = list[Any](), list[Ownership]()
    for table in store.tables(operation.database):
        its_ownership = ownership_for_drop(True, table.parameters, operation.mark)
        if its_ownership is Ownership.OWN:
            own.append(table)
        else:
            left.append(its_ownership)
    return own, left


def _holds_tables(store: Store, operation: DropDatabase, names: list[str]) -> Rejected:
    """The refusal of a drop that would take these tables along; the first few are named."""
    named = ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")
    return Rejected(
        f"the drop of the database {operation.database} is not applied: cascade = false, and the target "
        f"{store.settings.name!r} still has {count(len(names), 'table')} there: {named}",
        "drop them at the target, or set cascade = true; then retry",
    )
