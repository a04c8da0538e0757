"""Renaming a table, within its database or into another, without moving a file.

The files are where the new definition says: the source moved them, or a copy did. HMS itself moves the directory of a
managed table whose location the request does not change (HiveAlterHandler.alterTable), so such a table is made
external first. The source's HMS moved the locations of the partitions along, without an event for them: here they are
moved before the rename, so that after a crash between the two the next try still knows where they were.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import RenameTable
from pysync.targets.base import Outcome, Rejected
from pysync.targets.hms.partitions import alter_partitions
from pysync.targets.hms.same import path_of
from pysync.targets.hms.session import Session, batches, environment, stamped, within
from pysync.targets.hms.tables import alter, as_translated, bring_to, drop, is_another, is_view
from pysync.targets.iceberg import stays
from pysync.targets.ownership import Standing, standing, standing_for_drop
from pysync.targets.transactional import refuse_transactional


def rename_table(session: Session, operation: RenameTable) -> Outcome:
    """Rename the table if it is there and not newer; else see that the new one is as it should be."""
    old = session.hms.table(operation.table.database, operation.table.table)
    new = session.hms.table(operation.new_name.database, operation.new_name.table)
    its_standing = standing_for_drop(old is not None, old and old.parameters, operation.mark)  # the name loses it
    if its_standing in {Standing.ABSENT, Standing.NEWER}:
        return bring_to(session, operation, operation.definition, new)
    if its_standing is Standing.FOREIGN:
        return _rename_foreign(session, operation, old, new)
    if _is_done(new, operation):
        drop(session, operation, operation.table)  # what a replay from before the rename has left
        bring_to(session, operation, operation.definition, new)
        return Outcome.APPLIED
    return _rename_own(session, operation, old, new)


def _standing(table: Any, operation: RenameTable) -> Standing:
    return standing(table is not None, table and table.parameters, operation.mark)


def _is_done(new: Any, operation: RenameTable) -> bool:
    """Whether the table of the new name was written by this event or by a later one."""
    written = None if new is None else Mark.read(new.parameters)
    return written == operation.mark or _standing(new, operation) is Standing.NEWER


def _rename_foreign(session: Session, operation: RenameTable, old: Any, new: Any) -> Outcome:
    conflict = None if _is_done(new, operation) else session.conflict(f"table {operation.table}")
    if conflict is not None:
        return conflict
    if new is not None or is_another(operation.definition, old):
        return bring_to(session, operation, operation.definition, new)
    _rename(session, operation, old)
    return Outcome.APPLIED


def _rename_own(session: Session, operation: RenameTable, old: Any, new: Any) -> Outcome:
    if _standing(new, operation) is Standing.FOREIGN:
        if session.settings.on_conflict == "skip":
            return Outcome.FOREIGN
        raise Rejected(
            f"table {operation.table} cannot become {operation.new_name}, which is there and not from this source",
            f"drop or rename {operation.new_name} at the target {session.settings.name!r}",
        )
    if stays(session.settings, operation, operation.definition.parameters, old.parameters):
        return Outcome.FOREIGN
    if new is not None:
        drop(session, operation, operation.new_name)  # an older one, which its source has no more
    if is_another(operation.definition, old):
        drop(session, operation, operation.table)
        return bring_to(session, operation, operation.definition, None)
    _rename(session, operation, old)
    return Outcome.APPLIED


def _rename(session: Session, operation: RenameTable, old: Any) -> None:
    move_to(session, operation, stamped(operation.definition, operation.mark), old)


def move_to(session: Session, operation: RenameTable, wanted: Any, old: Any) -> None:
    """Make the table `old` the wanted one, which may be altered here and has another name."""
    refuse_transactional(session.settings, wanted)
    if not is_view(old):
        wanted.sd.location = wanted.sd.location or old.sd.location
        wanted = as_translated(wanted, old)
        _move_partitions(session, operation, old, wanted.sd.location)
        old = _unmovable(session, operation, old, wanted.sd.location)
    with within(session, wanted.dbName):
        alter(session, operation, wanted, old)


def _unmovable(session: Session, operation: RenameTable, old: Any, location: str) -> Any:
    """The table as it is after it has been made one whose directory HMS does not rename, if need be."""
    translated = "TRANSLATED_TO_EXTERNAL" in (old.parameters or {})
    if _is_plainly_external(old) or (path_of(old.sd.location) != path_of(location) and not translated):
        return old
    external = deepcopy(old)
    external.tableType = "EXTERNAL_TABLE"
    external.parameters = {**(old.parameters or {}), "EXTERNAL": "TRUE"}
    external.parameters.pop("TRANSLATED_TO_EXTERNAL", None)
    alter(session, operation, external, old)
    return external


def _is_plainly_external(table: Any) -> bool:
    """Hive 4 moves the directories of those that it translated to external ones, too."""
    return table.tableType == "EXTERNAL_TABLE" and "TRANSLATED_TO_EXTERNAL" not in (table.parameters or {})


def _move_partitions(session: Session, operation: RenameTable, old: Any, location: str) -> None:
    """Give the partitions below the old location their place below the new one."""
    before, after = old.sd.location.rstrip("/") + "/", location.rstrip("/") + "/"
    if path_of(before) == path_of(after) or not old.partitionKeys:
        return
    name = TableName.of(old.dbName, old.tableName)
    for names in batches(session.hms.partition_names(name.database, name.table)):
        found = session.hms.partitions_by_name(name.database, name.table, names)
        moved = [partition for partition in found if (partition.sd.location or "").startswith(before)]
        for partition in moved:
            partition.sd.location = after + partition.sd.location[len(before) :]
        alter_partitions(session, name, moved, environment(operation))
