"""Tables and views: put and drop."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.definition import is_index
from pysync.model.mark import Mark
from pysync.model.names import TableName, normalized
from pysync.model.operation import DropTable, Operation, PutTable, TableOperation
from pysync.targets.base import Incomplete, Outcome, Rejected
from pysync.targets.hms.same import TRANSLATION, is_translated, same_counts, same_creation, sources_of, up_to_date
from pysync.targets.hms.session import Session, environment, stamped, within
from pysync.targets.iceberg import stays
from pysync.targets.ownership import Standing, standing, standing_for_drop
from pysync.targets.transactional import refuse_transactional

_VIEWS = frozenset({"VIRTUAL_VIEW", "MATERIALIZED_VIEW"})


def put_table(session: Session, operation: PutTable) -> Outcome:
    """Create the table or alter it. An unchanged one is not written, not even to move its mark on."""
    there = session.hms.table(operation.table.database, operation.table.table)
    return bring_to(session, operation, operation.definition, there, cascade=operation.cascade)


def bring_to(
    session: Session, operation: TableOperation, definition: Any, there: Any, *, cascade: bool = False
) -> Outcome:
    """Bring the table `there` (None if absent), which has the definition's name, to the definition."""
    found = standing(there is not None, there and there.parameters, operation.mark)
    if found is Standing.NEWER:
        return Outcome.STALE
    conflict = session.conflict(f"table {operation.key}") if found is Standing.FOREIGN else None
    if conflict is not None:
        return conflict
    written = Mark.read(there.parameters) if there is not None else None
    wanted = stamped(definition, operation.mark.following(written))
    if there is not None and up_to_date(wanted, there, operation.mark):
        return Outcome.UNCHANGED
    refuse_transactional(session.settings, wanted)
    if found is Standing.OWN and stays(session.settings, operation, wanted.parameters, there.parameters):
        return Outcome.FOREIGN
    if there is not None and not is_another(wanted, there):
        alter(session, operation, wanted, there, cascade=cascade)
        return Outcome.APPLIED
    if there is not None:
        _drop_another(session, operation, there, found)
    if not (isinstance(operation, PutTable) and operation.creates):
        raise Incomplete.of(session.settings.name, TableName.of(wanted.dbName, wanted.tableName))
    create(session, operation, wanted)
    return Outcome.APPLIED


def drop_table(session: Session, operation: DropTable) -> Outcome:
    """Drop the table if it is its source's and not newer than the one that was dropped there."""
    there = session.hms.table(operation.table.database, operation.table.table)
    if there is None:
        return Outcome.UNCHANGED
    found = standing_for_drop(True, there.parameters, operation.mark)
    if found is not Standing.OWN:
        return Outcome.STALE if found is Standing.NEWER else Outcome.FOREIGN
    drop_found(session, operation, there, delete_data=operation.delete_data)
    return Outcome.APPLIED


def existing(session: Session, name: TableName, part: str) -> Any:
    """The table of a partition or constraint. Raises Incomplete when it is not there."""
    table = session.hms.table(name.database, name.table)
    if table is None:
        raise Incomplete.of(session.settings.name, name, part)
    return table


def is_view(table: Any) -> bool:
    """Whether it is a view, materialized or not."""
    return table.tableType in _VIEWS


def is_another(wanted: Any, there: Any) -> bool:
    """Whether no alter leads from one to the other: from a view to a table, or to partition keys of other names.

    HMS lets keys get other types, and keeps the partitions.
    """
    return is_view(wanted) != is_view(there) or _keys(wanted) != _keys(there)


def create(session: Session, operation: Operation, wanted: Any) -> None:
    """Create the table. HMS makes its directory; files in one that is there stay.

    It counts those of a table without partition keys (`MetaStoreUtils.updateTableStatsFast`): that is put right.
    """
    wanted, context = _with_known_sources(wanted), environment(operation)
    with within(session, wanted.dbName):
        session.hms.call(lambda client: client.create_table_with_environment_context(wanted, context))
    counts = not (is_view(wanted) or wanted.partitionKeys)
    there = session.hms.table(wanted.dbName, wanted.tableName) if counts else None
    if there is not None and not same_counts(wanted.parameters, there.parameters):
        _alter(session, operation, wanted, there)


def drop(session: Session, operation: Operation, name: TableName, *, delete_data: bool = False) -> None:
    """Drop the table and its partitions; files go only if `delete_data` and the settings say so."""
    context, deletes = environment(operation), session.deletes(delete_data)
    session.hms.call(
        lambda client: client.drop_table_with_environment_context(name.database, name.table, deletes, context)
    )


def drop_found(session: Session, operation: Operation, there: Any, *, delete_data: bool = False) -> None:
    """Drop the table `there`. HMS drops that of an index with its index alone, which pysync never makes."""
    if is_index(there):
        plain = deepcopy(there)
        plain.tableType = "MANAGED_TABLE"
        alter(session, operation, plain, there)
    drop(session, operation, TableName.of(there.dbName, there.tableName), delete_data=delete_data)


def alter(session: Session, operation: Operation, wanted: Any, there: Any, *, cascade: bool = False) -> None:
    """Alter `there` to be `wanted`, under another name if it has one; its partitions are kept.

    HMS refuses a column type that the old one cannot be read as (hive.metastore.disallow.incompatible.col.type.changes;
    2.3 does not let setMetaConf switch it off). It compares by position, as far as both lists reach: so the columns
    from the first that differs are taken off first.
    """
    try:
        _alter(session, operation, wanted, there, cascade=cascade)
    except hive.InvalidOperationException:
        kept = _common_columns(wanted, there)
        if len(kept) in {len(wanted.sd.cols), len(there.sd.cols)}:
            raise
        shorter = deepcopy(there)
        shorter.sd.cols = kept
        _alter(session, operation, shorter, there)
        _alter(session, operation, wanted, there, cascade=cascade)


def as_translated(wanted: Any, there: Any) -> Any:
    """The wanted managed table as an external one where Hive 4 has made `there` so; else as it is.

    Hive 4 would take it for managed again, but only in its own warehouse.
    """
    if not is_translated(wanted, there):
        return wanted
    copy = deepcopy(wanted)
    kept = {key: value for key, value in there.parameters.items() if key in TRANSLATION}
    copy.tableType, copy.parameters = there.tableType, {**(wanted.parameters or {}), **kept}
    return copy


def _alter(session: Session, operation: Operation, wanted: Any, there: Any, *, cascade: bool = False) -> None:
    wanted = as_translated(wanted, there)
    context = environment(operation, {"CASCADE": "true"} if cascade else None)
    session.hms.call(
        lambda client: client.alter_table_with_environment_context(there.dbName, there.tableName, wanted, context)
    )
    _alter_sources(session, wanted, there)


def _alter_sources(session: Session, wanted: Any, there: Any) -> None:
    """Bring what a materialized view is made of to what is wanted; an alter_table says nothing of it."""
    if not there.creationMetadata or same_creation(wanted.creationMetadata, there.creationMetadata):
        return
    made = _with_known_sources(wanted).creationMetadata
    session.hms.call(lambda client: client.update_creation_metadata(wanted.dbName, wanted.tableName, made))


def _with_known_sources(wanted: Any) -> Any:
    """A materialized view without counts that are of other tables than its own; else as it is."""
    made = wanted.creationMetadata
    if made is None or not made.sourceTables or sources_of(made):
        return wanted
    copy = deepcopy(wanted)
    copy.creationMetadata.sourceTables = None
    return copy


def _drop_another(session: Session, operation: Operation, there: Any, found: Standing) -> None:
    """Drop a table of the source's that no alter makes the one that is wanted."""
    name = TableName.of(there.dbName, there.tableName)
    if found is Standing.FOREIGN:
        raise Rejected(
            f"table {name} has other partition keys, or is a view where a table is wanted, and is not from this source",
            f"drop it at the target {session.settings.name!r}",
        )
    drop(session, operation, name)


def _keys(table: Any) -> list[str]:
    return [normalized(key.name) for key in table.partitionKeys or ()]


def _common_columns(wanted: Any, there: Any) -> list[Any]:
    """The leading columns of `there` that have the types of `wanted`'s."""
    kept = []
    for old, new in zip(there.sd.cols, wanted.sd.cols):  # noqa: B905, as far as both reach
        if old.type != new.type:
            break
        kept.append(old)
    return kept
