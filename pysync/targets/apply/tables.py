"""Tables and views: put and drop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pysync.model.mark import EVENT_KEY, Mark
from pysync.model.names import TableName
from pysync.model.operation import DropTable, PutTable, TableOperation
from pysync.targets.apply.iceberg import stays
from pysync.targets.apply.ownership import Ownership, ownership_for_drop, ownership_of, ownership_of_part
from pysync.targets.apply.transactional import refuse_transactional
from pysync.targets.apply.trash import discard
from pysync.targets.apply.writing import conflict, drop_batches, into, stamped, taken, tell_lost, up_to_date
from pysync.targets.base import Incomplete, Outcome, Rejected, WrittenByAnother
from pysync.targets.hive import is_another, name_of
from pysync.targets.store import Capability, Store


def put_table(store: Store, operation: PutTable) -> Outcome:
    """Create the table or alter it. If the operation cascades, see that the partitions have the table's columns.

    An unchanged table is not written, not even to update its mark. HMS gives columns to partitions only when it changes
    those of the table. After a crash the table may have them already, and the partitions not.
    """
    there = store.table(operation.table)
    outcome = bring_to(store, operation, operation.definition, there, cascade=operation.cascade)
    if outcome in {Outcome.APPLIED, Outcome.UNCHANGED}:
        store.furnish(operation.definition)
    spreads = operation.cascade and Capability.OWN_PARTITION_COLUMNS not in store.lacks
    # Read again: `there` is from before the write.
    table = store.table(operation.table) if spreads else None
    if table is None or not table.partitionKeys:
        return outcome
    if ownership_of_part(table.parameters, operation.mark) is not Ownership.OWN:
        return outcome
    changed = store.spread_columns(table, store.as_kept(operation.definition).sd.cols)
    return Outcome.APPLIED if changed else outcome


def bring_to(
    store: Store,
    operation: TableOperation,
    definition: Any,
    there: Any,
    *,
    cascade: bool = False,
    filling: Mapping[str, str] | None = None,
) -> Outcome:
    """Bring the table `there` (None if absent), which has the definition's name, to the definition.

    `filling` are further parameters, from a caller who fills the table afterwards. Raises Incomplete if the table is
    missing, or had to be replaced by an empty one, and the operation does not describe all of it; WrittenByAnother if
    an event tells the definition, and the table may be newer.
    """
    name = name_of(definition)
    found = ownership_of(there is not None, there and there.parameters, operation.mark)
    if found is Ownership.NEWER:
        return Outcome.STALE
    if found is Ownership.RIVAL:
        raise taken(store.settings, f"table {name}", there, operation.mark)
    settled = conflict(store, f"table {name}", there) if found is Ownership.FOREIGN else None
    if settled is not None:
        return settled
    written = Mark.read(there.parameters) if there is not None else None
    wanted = stamped(definition, operation.mark.following(written))
    wanted.parameters |= filling or {}
    kept = store.as_kept(wanted)
    # Before the refusals below: a table that needs no write must not park an event.
    if there is not None and up_to_date(kept, there, operation.mark):
        return Outcome.UNCHANGED
    refuse_transactional(store.settings, wanted)
    if found is Ownership.OWN and written is not None and _may_be_newer(operation, written):
        raise WrittenByAnother(store.settings.name, name, there.parameters[EVENT_KEY])
    if found is Ownership.OWN and stays(store.settings, operation, kept.parameters, there.parameters):
        return Outcome.FOREIGN
    if there is not None and not is_another(kept, there) and not _is_predecessor(written, operation):
        if not store.alter_table(kept, there, cascade=cascade):
            return Outcome.UNCHANGED
    else:
        _make(store, operation, kept, there, whole=filling is not None)
    tell_lost(store, operation, store.lost(kept))
    return Outcome.APPLIED


def drop_table(store: Store, operation: DropTable) -> Outcome:
    """Drop or trash the table if it is from this source and not newer than the one that was dropped there."""
    there = store.table(operation.table)
    if there is None:
        return Outcome.UNCHANGED
    found = ownership_for_drop(True, there.parameters, operation.mark)
    if found is not Ownership.OWN:
        return Outcome.STALE if found is Ownership.NEWER else Outcome.FOREIGN
    for batch, delete_data in drop_batches(store, [there], operation.delete_data):
        discard(store, batch, operation.mark, delete_data=delete_data)
    return Outcome.APPLIED


def existing(store: Store, name: TableName, part: str) -> Any:
    """The table of a partition or constraint. Raises Incomplete if it is not there."""
    table = store.table(name)
    if table is None:
        raise Incomplete.of(store.settings.name, name, part)
    return table


def _may_be_newer(operation: TableOperation, there: Mark) -> bool:
    """Whether the table there may have been written from a later change than the event of this operation."""
    is_of_event = isinstance(operation, PutTable) and not operation.is_current
    return is_of_event and not operation.mark.is_ordered_with(there)


def _is_predecessor(there: Mark | None, operation: TableOperation) -> bool:
    """Whether the table there had the name before the one that the operation creates: the event of its drop was lost.

    Such a table is replaced, not altered: its partitions and constraints are not those of the new one. Both ways, the
    condition of the operation decides instead.
    """
    mark = operation.mark
    is_birth = isinstance(operation, PutTable) and operation.creates and mark.born > 0 and operation.condition is None
    if not is_birth or there is None or there.source != mark.source:
        return False
    return 0 < there.created != mark.created > 0


def _make(store: Store, operation: TableOperation, kept: Any, there: Any | None, *, whole: bool) -> None:
    """Create the table, or replace a table that no alter turns into it."""
    name = name_of(kept)
    whole = whole or (isinstance(operation, PutTable) and operation.creates)
    if there is not None:
        if ownership_of(True, there.parameters, operation.mark) is Ownership.FOREIGN:
            raise Rejected(
                f"the target has a table {name} that is not from this source, with other partition keys or of another "
                "type",
                f"drop it at the target {store.settings.name!r}",
            )
        store.replace_table(kept, there)
    elif whole:
        into(store, operation, name.database, lambda: store.create_table(kept))
    # Also after a replacement, which has no partitions: only the source knows all of them.
    if not whole:
        raise Incomplete.of(store.settings.name, name)
