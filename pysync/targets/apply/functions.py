"""Functions: put and drop. They carry no mark; the mark of their database counts."""

from __future__ import annotations

from pysync.model.names import normalized
from pysync.model.operation import DropFunction, PutFunction
from pysync.targets.apply.ownership import Ownership, ownership_of_part
from pysync.targets.apply.writing import into, linked, tell_lost
from pysync.targets.base import Outcome
from pysync.targets.diff import same
from pysync.targets.store import Store


def put_function(store: Store, operation: PutFunction) -> Outcome:
    """Create the function or alter it. In a foreign database it is altered only if such objects may be adopted."""
    found = _database_ownership(store, operation)
    if found is Ownership.NEWER:
        return Outcome.STALE
    kept = store.as_kept(operation.definition)
    there = store.function(operation.database, kept.functionName)
    if there is not None and same(kept, there):
        return Outcome.UNCHANGED
    if there is None:
        into(store, operation, operation.database, lambda: store.create_function(kept))
    elif found is Ownership.FOREIGN and store.settings.on_conflict != "adopt":
        return Outcome.FOREIGN
    elif store.is_linked(operation.database):
        raise linked(store, f"database {operation.database}")
    else:
        store.alter_function(kept, there)
    tell_lost(store, operation, store.lost(kept))
    return Outcome.APPLIED


def drop_function(store: Store, operation: DropFunction) -> Outcome:
    """Drop the function if its database is from this source."""
    name = normalized(operation.function)
    if store.function(operation.database, name) is None:
        return Outcome.UNCHANGED
    found = _database_ownership(store, operation)
    if found is not Ownership.OWN:
        return Outcome.STALE if found is Ownership.NEWER else Outcome.FOREIGN
    store.drop_function(operation.database, name)
    return Outcome.APPLIED


def _database_ownership(store: Store, operation: PutFunction | DropFunction) -> Ownership:
    there = store.database(operation.database)
    # A missing database is no refusal yet: some settings have it created (see `into`).
    if there is None:
        return Ownership.ABSENT
    # A function is no part of the one database that has the name: all that are one at the target, and all targets that
    # write there, may have functions.
    found = ownership_of_part(there.parameters, operation.mark)
    return Ownership.OWN if found is Ownership.RIVAL else found
