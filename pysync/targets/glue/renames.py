"""Renaming a table, within its database or into another. Glue has no such call: the table is made anew and filled.

    new created, its parameter `pysync.renaming` naming the old ── partitions copied ── counted ── parameter removed
    ── old dropped

Until the parameter is gone, the old table is the one that counts, and the next try goes on with the copy; after that,
an old table that is still there is what a crash or a replay has left, and is dropped. So nothing is lost wherever it
stops. The new table has none of the old one's grants, versions and column statistics.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import RenameTable
from pysync.targets.aws.limits import s3_location
from pysync.targets.aws.translate import table_input
from pysync.targets.base import Outcome, Rejected, Unavailable
from pysync.targets.glue.batches import Failures, create_partitions, input_of, update_partitions
from pysync.targets.glue.catalog import GET_PAGE
from pysync.targets.glue.same import same
from pysync.targets.glue.session import Session, chunks
from pysync.targets.glue.tables import bring_to, clear, drop, is_another
from pysync.targets.iceberg import stays
from pysync.targets.ownership import Standing, standing, standing_for_drop

RENAMING_KEY = "pysync.renaming"


def rename_table(session: Session, operation: RenameTable) -> Outcome:
    """Rename the table if it is there and not newer; else see that the new one is as it should be."""
    old, new = session.catalog.table(operation.table), session.catalog.table(operation.new_name)
    found = standing_for_drop(old is not None, old and old.get("Parameters"), operation.mark)  # the name loses it
    if old is None or found is Standing.NEWER:
        return bring_to(session, operation, operation.definition, new)
    if found is Standing.FOREIGN:
        return _rename_foreign(session, operation, old, new)
    if _is_done(new, operation):
        drop(session, operation.table)  # what a crash, or a replay from before the rename, has left
        bring_to(session, operation, operation.definition, new)
        return Outcome.APPLIED
    return _rename_own(session, operation, old, new)


def _standing(table: Mapping[str, Any] | None, operation: RenameTable) -> Standing:
    return standing(table is not None, table and table.get("Parameters"), operation.mark)


def _is_done(new: Mapping[str, Any] | None, operation: RenameTable) -> bool:
    """Whether the table of the new name was written by this event, and filled, or by a later one."""
    if new is None:
        return False
    parameters = new.get("Parameters") or {}
    written = Mark.read(parameters) == operation.mark and RENAMING_KEY not in parameters
    return written or _standing(new, operation) is Standing.NEWER


def _is_half_done(new: Mapping[str, Any] | None, operation: RenameTable) -> bool:
    parameters = (new or {}).get("Parameters") or {}
    return Mark.read(parameters) == operation.mark and parameters.get(RENAMING_KEY) == str(operation.table)


def _rename_foreign(session: Session, operation: RenameTable, old: Any, new: Any) -> Outcome:
    conflict = None if _is_done(new, operation) else session.conflict(f"table {operation.table}")
    if conflict is not None:
        return conflict
    if _is_half_done(new, operation) or (new is None and not _becomes_another(operation, old)):
        return _move(session, operation, old, new)
    return bring_to(session, operation, operation.definition, new)


def _rename_own(session: Session, operation: RenameTable, old: Any, new: Any) -> Outcome:
    if _is_half_done(new, operation):
        return _move(session, operation, old, new)
    if _standing(new, operation) is Standing.FOREIGN:
        if session.settings.on_conflict == "skip":
            return Outcome.FOREIGN
        raise Rejected(
            f"table {operation.table} cannot become {operation.new_name}, which is there and not from this source",
            f"drop or rename {operation.new_name} at the target {session.settings.name!r}",
        )
    if stays(session.settings, operation, operation.definition.parameters, old.get("Parameters")):
        return Outcome.FOREIGN
    if new is not None:
        clear(session, operation.new_name)  # an older one, which its source has no more
    if not _becomes_another(operation, old):
        return _move(session, operation, old, new)
    drop(session, operation.table)
    bring_to(session, operation, operation.definition, new)
    return Outcome.APPLIED


def _becomes_another(operation: RenameTable, old: Mapping[str, Any]) -> bool:
    wanted, _ = table_input(operation.definition)
    return is_another(wanted, old)


def _move(session: Session, operation: RenameTable, old: Any, new: Any) -> Outcome:
    name = operation.new_name
    bring_to(session, operation, _located(operation.definition, old), new, {RENAMING_KEY: str(operation.table)})
    copied = _copy(session, operation, old)
    there = sum(1 for _ in session.catalog.partitions(name, ExcludeColumnSchema=True)) if copied else 0
    if there < copied:
        raise Unavailable(f"{name} has {there:,} of the {copied:,} partitions of {operation.table}: copied again")
    bring_to(session, operation, operation.definition, session.catalog.table(name))
    drop(session, operation.table)
    return Outcome.APPLIED


def _located(definition: Any, old: Mapping[str, Any]) -> Any:
    """The definition; where it has no location, with that of the old table."""
    location = (old.get("StorageDescriptor") or {}).get("Location")
    if definition.sd is None or definition.sd.location or not location:
        return definition
    found = deepcopy(definition)
    found.sd.location = location
    return found


def _copy(session: Session, operation: RenameTable, old: Any) -> int:
    """Copy the partitions, those below the old location to their place below the new one; how many there are."""
    if not old.get("PartitionKeys"):
        return 0
    before = ((old.get("StorageDescriptor") or {}).get("Location") or "").rstrip("/") + "/"
    after = s3_location(operation.definition.sd.location or before).rstrip("/") + "/"
    copied = 0
    for found in chunks(session.catalog.partitions(operation.table), GET_PAGE):
        _put(session, operation.new_name, [_moved(input_of(item), before, after) for item in found])
        copied += len(found)
    return copied


def _moved(partition: dict[str, Any], before: str, after: str) -> dict[str, Any]:
    storage = partition.get("StorageDescriptor") or {}
    location = storage.get("Location") or ""
    if not location.startswith(before):
        return partition
    return {**partition, "StorageDescriptor": {**storage, "Location": after + location[len(before) :]}}


def _put(session: Session, name: TableName, wanted: list[dict[str, Any]]) -> None:
    there = {
        tuple(item["Values"]): item for item in session.catalog.partitions_of(name, [it["Values"] for it in wanted])
    }
    absent = [item for item in wanted if tuple(item["Values"]) not in there]
    changed = [item for item in wanted if (its := there.get(tuple(item["Values"]))) and not same(item, its)]
    failures = Failures(name)
    changed += create_partitions(session, name, absent, failures)
    update_partitions(session, name, changed, failures)
    failures.raise_any()
