"""Tables and views: put and drop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pysync.model.operation import DropTable, PutTable, TableOperation
from pysync.targets.apply.guards import refuse_transactional, stays
from pysync.targets.apply.judge import Judge, Verdict
from pysync.targets.apply.trash import discard
from pysync.targets.apply.writing import drop_batches, into, tell_lost
from pysync.targets.base import Incomplete, Outcome
from pysync.targets.hive import is_another, name_of
from pysync.targets.store import Capability
from pysync.targets.watched import WatchedStore


def put_table(store: WatchedStore, operation: PutTable, judge: Judge) -> Outcome:
    """Create the table or alter it. If the operation cascades, see that the partitions have the table's columns.

    An unchanged table is not written, not even to update its mark. HMS gives columns to partitions only when it changes
    those of the table. After a crash the table may have them already, and the partitions not.
    """
    there = store.reads.table(operation.table)
    outcome = bring_to(store, operation, operation.definition, there, judge, cascade=operation.cascade)
    if outcome in {Outcome.APPLIED, Outcome.UNCHANGED}:
        store.furnish(operation.definition)
    spreads = operation.cascade and Capability.OWN_PARTITION_COLUMNS not in store.reads.lacks
    # Read again: `there` is from before the write.
    table = store.reads.table(operation.table) if spreads else None
    if table is None or not table.partitionKeys or not judge.cascades_to_partitions(operation, table, outcome):
        return outcome
    changed = store.spread_columns(table, store.reads.as_kept(operation.definition).sd.cols)
    return Outcome.APPLIED if changed else outcome


def bring_to(
    store: WatchedStore,
    operation: TableOperation,
    definition: Any,
    there: Any,
    judge: Judge,
    *,
    cascade: bool = False,
    filling: Mapping[str, str] | None = None,
) -> Outcome:
    """Bring the table `there` (None if absent), which has the definition's name, to the definition.

    `filling` are further parameters, from a caller who fills the table afterwards. Raises Incomplete if the table is
    missing, or had to be replaced by an empty one, and the operation does not describe all of it; WrittenByAnother if
    an event tells the definition, and the table may be newer.
    """
    verdict = judge.put(operation, definition, there)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, there)
    wanted = judge.marked(operation, definition, there)
    wanted.parameters |= filling or {}
    kept = store.reads.as_kept(wanted)
    # Before the refusals below: a table that needs no write must not park an event.
    if there is not None and judge.is_up_to_date(operation, kept, there):
        return Outcome.UNCHANGED
    refuse_transactional(store.settings, wanted)
    if there is not None:
        judge.assert_order(operation, there)
        if has_commit_of_others(store, operation, kept.parameters, there, judge):
            return Outcome.FOREIGN
    outcome = _write(store, operation, kept, there, judge, cascade=cascade, whole=filling is not None)
    if outcome is Outcome.APPLIED:
        tell_lost(store, operation, store.reads.lost(kept))
    return outcome


def has_commit_of_others(
    store: WatchedStore, operation: TableOperation, wanted: Mapping[str, str] | None, there: Any, judge: Judge
) -> bool:
    """Whether the Iceberg table has a commit of somebody else, and stays (see `guards.stays`)."""
    return judge.overwrites(operation, there) and stays(store.settings, operation, wanted, there.parameters)


def drop_table(store: WatchedStore, operation: DropTable, judge: Judge) -> Outcome:
    """Drop or trash the table if the judge lets it go."""
    there = store.reads.table(operation.table)
    verdict = judge.drop(operation, there)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, there)
    for batch, delete_data in drop_batches(store, [there], operation.delete_data):
        discard(store, batch, operation.mark, delete_data=delete_data)
    return Outcome.APPLIED


def _write(
    store: WatchedStore,
    operation: TableOperation,
    kept: Any,
    there: Any | None,
    judge: Judge,
    *,
    cascade: bool,
    whole: bool,
) -> Outcome:
    """Alter or create the table, or replace a table that no alter turns into it."""
    whole = whole or (isinstance(operation, PutTable) and operation.creates)
    if there is not None and not is_another(kept, there) and not judge.is_predecessor(operation, there):
        if not store.alter_table(kept, there, cascade=cascade):
            return Outcome.UNCHANGED
        judge.altered(operation, kept, there)
        return Outcome.APPLIED
    name = name_of(kept)
    if there is not None:
        outcome = judge.outcome_without_replacement(operation, there)
        if outcome is not None:
            return outcome
        store.replace_table(kept, there)
    elif whole:
        into(store, operation, name.database, lambda: store.create_table(kept))
    # Also after a replacement, which has no partitions: only the source knows all of them.
    if not whole:
        raise Incomplete.of(store.settings.name, name)
    return Outcome.APPLIED
