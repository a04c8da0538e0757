"""Tables and views: put and drop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pysync.model.mark import KEPT_KEY, Mark
from pysync.model.operation import DropTable, LeaveTable, PutTable, RenameTable, TableOperation
from pysync.model.removal import put_by
from pysync.model.struct_copies import copied
from pysync.targets.apply.door import Door
from pysync.targets.apply.file_deletion import drop_batches
from pysync.targets.apply.judge import Judge, Verdict
from pysync.targets.apply.refusals import is_refused_as_transactional, keeps_foreign_commit, refuse_transactional
from pysync.targets.apply.versions import is_at, placed
from pysync.targets.base import Incomplete, Outcome
from pysync.targets.hive import is_another, name_of
from pysync.targets.store import Capability


def put_table(store: Door, operation: PutTable, judge: Judge) -> Outcome:
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
    store: Door,
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
    wanted = _wanted(operation, definition, existing, judge, filling)
    expected = store.reads.as_stored(wanted)
    outcome = _outcome_without_write(operation, wanted, expected, existing, judge)
    brought: Mapping[str, str] = {}
    if filling is None and outcome is not Outcome.FOREIGN:  # who fills the table afterwards has its files brought then
        brought = _bring_files(store, operation, wanted, existing, judge)
    at_its_version = placed(wanted, existing, brought)
    if outcome is Outcome.UNCHANGED and brought and not is_at(at_its_version, existing):
        outcome = None
    if outcome is not None:
        return outcome
    if at_its_version is not wanted:
        expected = store.reads.as_stored(at_its_version)
    is_complete = filling is not None or (isinstance(operation, PutTable) and operation.creates)
    incomplete = Incomplete.of(store.settings.name, name_of(expected))
    if existing is None:
        if not is_complete:
            raise incomplete
        store.create_table(expected)
    elif is_another(expected, existing) or judge.is_predecessor(operation, existing):
        outcome = judge.outcome_without_replacement(operation, existing)
        if outcome is not None:
            return outcome
        store.replace_table(expected, existing)
        if not is_complete:  # the new table has no partitions, and only the source knows all of them
            raise incomplete
    elif store.alter_table(expected, existing, cascade=cascade):
        judge.altered(operation, expected, existing)
    else:
        return Outcome.UNCHANGED
    store.log_lost(store.reads.lost(expected))
    return Outcome.APPLIED


def _wanted(
    operation: TableOperation, definition: Any, existing: Any | None, judge: Judge, filling: Mapping[str, str] | None
) -> Any:
    """The definition with the parameters that pysync adds."""
    wanted = judge.marked(operation, definition, existing)
    wanted.parameters |= filling or {}
    kept_at = _kept_at(existing)
    if kept_at is not None and not list(put_by(operation)):  # an older event, maybe: the decision of a person lasts
        wanted.parameters[KEPT_KEY] = kept_at
    return wanted


def _outcome_without_write(
    operation: TableOperation, wanted: Any, expected: Any, existing: Any | None, judge: Judge
) -> Outcome | None:
    """The outcome if the table needs no write, or must not get one; None if it is written.

    Raises Rejected for a transactional table, WrittenByAnother (see `bring_to`).
    """
    # Before the refusals: a table that needs no write must not park an event.
    is_kept_until_now = _kept_at(existing) != _kept_at(wanted)
    if existing is not None and not is_kept_until_now and judge.is_up_to_date(operation, expected, existing):
        return Outcome.UNCHANGED
    refuse_transactional(judge.store.settings, wanted)
    if existing is None:
        return None
    judge.assert_order(operation, existing)
    return Outcome.FOREIGN if has_commit_of_others(operation, expected.parameters, existing, judge) else None


def _kept_at(table: Any | None) -> str | None:
    """When a person has decided to keep the table (ms), as it says itself; None if nobody has."""
    return None if table is None else (table.parameters or {}).get(KEPT_KEY)


def _bring_files(
    store: Door, operation: TableOperation, wanted: Any, existing: Any | None, judge: Judge
) -> Mapping[str, str]:
    """Have the files of the table there, unless nobody could read them; returns the versions in which they are."""
    if is_refused_as_transactional(store.settings, wanted) or not isinstance(operation, PutTable | RenameTable):
        return {}
    return store.bring_files(lambda _: existing) if judge.takes_files(store.settings, operation, existing) else {}


def has_commit_of_others(
    operation: TableOperation, wanted: Mapping[str, str] | None, existing: Any, judge: Judge
) -> bool:
    """Whether the Iceberg table has a commit of somebody else, and stays (see `keeps_foreign_commit`)."""
    return judge.overwrites(operation, existing) and keeps_foreign_commit(
        judge.store.settings, operation, wanted, existing.parameters
    )


def drop_table(store: Door, operation: DropTable, judge: Judge) -> Outcome:
    """Drop or trash the table if the judge lets it go."""
    existing = store.reads.table(operation.table)
    verdict = judge.drop(operation, existing)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, existing)
    if store.keeps(existing):
        return Outcome.KEPT
    for batch, delete_data in drop_batches(store, [existing], operation.deleted_locations):
        store.remove_tables(batch, delete_data=delete_data)
    return Outcome.APPLIED


def leave_table(store: Door, operation: LeaveTable, judge: Judge) -> Outcome:
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
