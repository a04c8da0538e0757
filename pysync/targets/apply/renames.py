"""Renames of tables, within a database or into another. Where a store cannot rename, the table is created anew and
filled:

    new one created, with a parameter `pysync.renaming` that names the old one ── partitions copied ── counted
    ── parameter removed ── old one dropped

As long as the parameter is there, the old table counts, and the next try continues the copy. After that, an old table
that still exists was left by a crash or put there by a replay, and is dropped. So nothing is lost wherever it stops.
The new table has none of the old one's grants and versions, as `Store.lost_by_copy` says. It has its column statistics
if the target keeps any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import islice
from typing import Any

import structlog

from pysync.model.mark import Mark
from pysync.model.operation import RenameTable
from pysync.targets.apply.iceberg import stays
from pysync.targets.apply.ownership import Ownership, ownership_for_drop, ownership_of
from pysync.targets.apply.partitions import by_values, key_of
from pysync.targets.apply.statistics import copy_statistics
from pysync.targets.apply.tables import bring_to
from pysync.targets.apply.transactional import refuse_transactional
from pysync.targets.apply.trash import discard
from pysync.targets.apply.writing import conflict, stamped, taken
from pysync.targets.base import Outcome, Rejected, Unavailable
from pysync.targets.diff import same
from pysync.targets.hive import is_another, name_of
from pysync.targets.store import Capability, Store, refused_as_one
from pysync.text import count

RENAMING_KEY = "pysync.renaming"

log = structlog.get_logger(__name__)


def rename_table(store: Store, operation: RenameTable) -> Outcome:
    """Rename the table if it is there and not newer; else bring the table of the new name to its definition."""
    store = store.renaming()
    old, new = store.table(operation.table), store.table(operation.new_name)
    found = ownership_for_drop(old is not None, old and old.parameters, operation.mark)  # as for a drop
    if old is None or found in {Ownership.NEWER, Ownership.RIVAL}:
        return bring_to(store, operation, operation.definition, new)
    if found is Ownership.FOREIGN:
        return _rename_foreign(store, operation, old, new)
    if _is_done(new, operation):
        _drop(store, old)  # what a crash, or a replay from before the rename, has left
        bring_to(store, operation, operation.definition, new)
        return Outcome.APPLIED
    return _rename_own(store, operation, old, new)


def _ownership(table: Any | None, operation: RenameTable) -> Ownership:
    return ownership_of(table is not None, table and table.parameters, operation.mark)


def _is_done(new: Any | None, operation: RenameTable) -> bool:
    """Whether this event, or a later one, has written and filled the table of the new name."""
    if new is None:
        return False
    written = _is_of(new.parameters, operation) and RENAMING_KEY not in new.parameters
    return written or _ownership(new, operation) is Ownership.NEWER


def _is_half_done(new: Any | None, operation: RenameTable) -> bool:
    parameters = (new is not None and new.parameters) or {}
    return _is_of(parameters, operation) and parameters.get(RENAMING_KEY) == str(operation.table)


def _is_of(parameters: Mapping[str, str], operation: RenameTable) -> bool:
    """Whether the event of the operation wrote the mark; an older release wrote it without the object's name."""
    its = Mark.read(parameters)
    return its is not None and replace(its, object=operation.mark.object) == operation.mark


def _rename_foreign(store: Store, operation: RenameTable, old: Any, new: Any) -> Outcome:
    settled = None if _is_done(new, operation) else conflict(store, f"table {operation.table}", old)
    if settled is not None:
        return settled
    if _is_half_done(new, operation) or (new is None and not is_another(operation.definition, old)):
        return _rename(store, operation, old, new)
    return bring_to(store, operation, operation.definition, new)


def _rename_own(store: Store, operation: RenameTable, old: Any, new: Any) -> Outcome:
    # An earlier try has begun to fill the new table: it is continued, and nothing is decided again.
    if _is_half_done(new, operation):
        return _rename(store, operation, old, new)
    if _ownership(new, operation) is Ownership.RIVAL:
        raise taken(store.settings, f"table {operation.new_name}", new, operation.mark)
    if _ownership(new, operation) is Ownership.FOREIGN:
        if store.settings.on_conflict == "skip":
            return Outcome.FOREIGN
        raise Rejected(
            f"cannot rename table {operation.table}: the target has a table {operation.new_name} that is not from "
            "this source",
            f"drop or rename {operation.new_name} at the target {store.settings.name!r}",
        )
    if stays(store.settings, operation, operation.definition.parameters, old.parameters):
        return Outcome.FOREIGN
    if not is_another(operation.definition, old):
        return _rename(store, operation, old, new)
    if new is not None:
        discard(store, [new], operation.mark, delete_data=False)  # an older one of that name, gone at the source
    _drop(store, old)
    return bring_to(store, operation, operation.definition, None)


def _rename(store: Store, operation: RenameTable, old: Any, new: Any | None) -> Outcome:
    """Turn the old table into the new one. A table of the new name is an older one, which is gone at the source."""
    if Capability.RENAMES in store.lacks:
        return _make_anew(store, operation, old, new)
    if new is not None:
        discard(store, [new], operation.mark, delete_data=False)
    wanted = store.as_kept(stamped(operation.definition, operation.mark))
    move(store, wanted, old)
    return Outcome.APPLIED


def move(store: Store, wanted: Any, old: Any) -> None:
    """Turn the table `old` into `wanted`, which has another name and may be altered here."""
    refuse_transactional(store.settings, wanted)
    store.rename_table(wanted, old)


def _drop(store: Store, table: Any) -> None:
    store.drop_tables([table], delete_data=False)


def _make_anew(store: Store, operation: RenameTable, old: Any, new: Any | None) -> Outcome:
    # A copy that was begun is finished, whatever the settings say by now.
    copying = store if _is_half_done(new, operation) else store.for_copy_of(old)
    definition = _located(operation.definition, old)
    if new is not None and not _is_half_done(new, operation):
        _empty(store, new)  # an older table of that name; its partitions are none of the renamed one's
    bring_to(copying, operation, definition, new, filling={RENAMING_KEY: str(operation.table)})
    copied = _copy(store, old, store.as_kept(definition)) if old.partitionKeys else 0
    # Counted before the old table goes: it is the only other place where its partitions are known.
    made = store.table(operation.new_name)
    there = len(store.partition_names(made)) if copied and made is not None else 0
    if there < copied:
        raise Unavailable(
            f"{operation.new_name} has only {there:,} of the {count(copied, 'partition')} of {operation.table}; they "
            "are copied again"
        )
    if made is not None:
        if store.keeps_statistics:
            copy_statistics(store, old, made)
        store.inherit(made, old)
    bring_to(store, operation, operation.definition, made)
    _drop(store, old)
    store.furnish(operation.definition)
    name, lost = store.settings.name, store.lost_by_copy
    lost = lost if store.keeps_statistics else f"its column statistics, {lost}"
    log.warning("table_copied", target=name, table=str(operation.table), to=str(operation.new_name), lost=lost)
    return Outcome.APPLIED


def _located(definition: Any, old: Any) -> Any:
    """The definition; if it has no location, with the old table's."""
    if definition.sd is None or definition.sd.location or not old.sd.location:
        return definition
    found = deepcopy(definition)
    found.sd.location = old.sd.location
    return found


def _copy(store: Store, old: Any, new: Any) -> int:
    """Copy the partitions; returns how many there are.

    Those below the old location get the same place below the new one.
    """
    before, after = (old.sd.location or "").rstrip("/") + "/", (new.sd.location or "").rstrip("/") + "/"
    return sum(_put(store, new, [_moved(it, before, after) for it in some]) for some in _batches(store, old))


def _empty(store: Store, table: Any) -> None:
    for some in _batches(store, table):
        store.drop_partitions(table, some, delete_data=False)


def _batches(store: Store, table: Any) -> Iterator[list[Any]]:
    found = store.partitions(name_of(table))
    return iter(lambda: list(islice(found, store.batch)), [])


def _moved(partition: Any, before: str, after: str) -> Any:
    location = partition.sd.location or ""
    if location.startswith(before):
        partition.sd.location = after + location[len(before) :]
    return partition


def _put(store: Store, table: Any, wanted: Sequence[Any]) -> int:
    there = by_values(store, table, [item.values for item in wanted])
    absent = [item for item in wanted if key_of(item.values) not in there]
    changed = [(item, its) for item in wanted if (its := there.get(key_of(item.values))) and not same(item, its)]
    if absent or changed:
        refused = store.put_partitions(table, absent, changed).refused
        if refused:
            raise refused_as_one(name_of(table), refused)
    return len(wanted)
