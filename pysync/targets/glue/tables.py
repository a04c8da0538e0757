"""Tables and views: put and drop.

An update replaces everything and leads from any table to any other, so that none is ever dropped to be altered: its
grants, its versions and Iceberg's readers stay. It names the version that was looked at: a change of somebody else in
between is refused, and the operation decided anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pysync.model.mark import Mark
from pysync.model.names import TableName, normalized
from pysync.model.operation import DropTable, Operation, PutTable, TableOperation
from pysync.targets.aws.translate import table_input
from pysync.targets.base import Incomplete, Outcome, Rejected
from pysync.targets.glue.batches import delete_partitions
from pysync.targets.glue.catalog import GET_PAGE
from pysync.targets.glue.columns import spread
from pysync.targets.glue.same import filled, same_columns, up_to_date
from pysync.targets.glue.session import Session, chunks, into, stamped
from pysync.targets.iceberg import stays
from pysync.targets.ownership import Standing, standing, standing_for_drop
from pysync.targets.transactional import refuse_transactional

_VIEWS = frozenset({"VIRTUAL_VIEW", "MATERIALIZED_VIEW"})


def put_table(session: Session, operation: PutTable) -> Outcome:
    """Create the table or alter it. An unchanged one is not written, not even to move its mark on."""
    there = session.catalog.table(operation.table)
    return bring_to(session, operation, operation.definition, there)


def bring_to(
    session: Session, operation: TableOperation, definition: Any, there: Any, extra: Mapping[str, str] | None = None
) -> Outcome:
    """Bring the table `there` (None if absent), which has the definition's name, to the definition.

    `extra` are parameters that it gets besides the definition's: whoever gives them fills the table, too. Raises
    Incomplete where the table is not there or was emptied, and the operation does not tell all of it.
    """
    found = standing(there is not None, there and there.get("Parameters"), operation.mark)
    if found is Standing.NEWER:
        return Outcome.STALE
    name = TableName.of(definition.dbName, definition.tableName)
    conflict = session.conflict(f"table {name}") if found is Standing.FOREIGN else None
    if conflict is not None:
        return conflict
    written = Mark.read(there.get("Parameters")) if there is not None else None
    plain, changes = table_input(definition)
    wanted = stamped(plain, operation.mark.following(written))
    wanted["Parameters"] |= extra or {}
    if there is not None and up_to_date(wanted, there, operation.mark):
        return Outcome.UNCHANGED
    refuse_transactional(session.settings, definition)
    if found is Standing.OWN and stays(session.settings, operation, wanted["Parameters"], there.get("Parameters")):
        return Outcome.FOREIGN
    fills = bool(extra) or (isinstance(operation, PutTable) and operation.creates)
    if there is not None:
        fills |= not _alter(session, name, wanted, there, found)
    elif fills:
        create(session, operation, name, wanted)
    if not fills:
        raise Incomplete.of(session.settings.name, name)
    session.report(operation, changes)
    return Outcome.APPLIED


def drop_table(session: Session, operation: DropTable) -> Outcome:
    """Drop the table if it is its source's and not newer than the one that was dropped there."""
    there = session.catalog.table(operation.table)
    if there is None:
        return Outcome.UNCHANGED
    found = standing_for_drop(True, there.get("Parameters"), operation.mark)
    if found is not Standing.OWN:
        return Outcome.STALE if found is Standing.NEWER else Outcome.FOREIGN
    drop(session, operation.table)
    return Outcome.APPLIED


def existing(session: Session, name: TableName, part: str) -> dict[str, Any]:
    """The table of a partition. Raises Incomplete when it is not there."""
    table = session.catalog.table(name)
    if table is None:
        raise Incomplete.of(session.settings.name, name, part)
    return table


def create(session: Session, operation: Operation, name: TableName, wanted: Mapping[str, Any]) -> None:
    """Create the table."""
    arguments = {"DatabaseName": name.database, "TableInput": wanted}
    into(session, operation, name.database, lambda: session.catalog.call("create_table", **arguments))


def update(session: Session, name: TableName, wanted: Mapping[str, Any], there: Mapping[str, Any]) -> None:
    """Make `there`, as it was read, `wanted`. Raises boto's error if it has changed since."""
    version = {"VersionId": there["VersionId"]} if there.get("VersionId") else {}
    session.catalog.call(
        "update_table",
        DatabaseName=name.database,
        TableInput=filled(wanted, there),
        SkipArchive=session.settings.skip_archive,
        **version,
    )


def drop(session: Session, name: TableName) -> None:
    """Drop the table. Nobody sees its partitions any more; Glue removes them in its own time."""
    session.catalog.call("delete_table", DatabaseName=name.database, Name=name.table)


def clear(session: Session, name: TableName) -> None:
    """Drop all partitions of the table."""
    for found in chunks(session.catalog.partitions(name, ExcludeColumnSchema=True), GET_PAGE):
        delete_partitions(session, name, [partition["Values"] for partition in found])


def is_another(wanted: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """Whether it is not the same table any more: its partition keys are called otherwise, or it is a view and was none.

    Keys of other types leave the partitions what they are, as in HMS.
    """
    views = {item.get("TableType") in _VIEWS for item in (wanted, there)}
    return len(views) > 1 or _keys(wanted) != _keys(there)


def _alter(
    session: Session, name: TableName, wanted: Mapping[str, Any], there: Mapping[str, Any], found: Standing
) -> bool:
    """Make `there` the wanted one; whether its partitions had to go."""
    another = is_another(wanted, there)
    if another:
        if found is Standing.FOREIGN:
            raise Rejected(
                f"table {name} has other partition keys, or is a view where a table is wanted, and is not from this "
                "source",
                f"drop it at the target {session.settings.name!r}",
            )
        clear(session, name)
    elif there.get("PartitionKeys"):
        _spread(session, name, wanted, there)
    update(session, name, wanted, there)
    return another


def _spread(session: Session, name: TableName, wanted: Mapping[str, Any], there: Mapping[str, Any]) -> None:
    """New columns go to the partitions before they go to the table: after a crash the next try sees them still new."""
    columns = wanted.get("StorageDescriptor", {}).get("Columns", [])
    mine = there.get("StorageDescriptor", {}).get("Columns", [])
    if session.settings.partition_schema != "none" and not same_columns(columns, mine):
        spread(session, name, columns, session.settings.partition_schema)


def _keys(table: Mapping[str, Any]) -> list[str]:
    return [normalized(key["Name"]) for key in table.get("PartitionKeys") or ()]
