"""Partitions: put and drop, in batches. They carry no mark: they follow their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pysync.model.names import TableName, partition_name
from pysync.model.operation import DropPartitions, PutPartitions, PutTable, TableOperation
from pysync.targets.aws.inputs import partition_values
from pysync.targets.aws.translate import partition_input, table_input
from pysync.targets.base import Outcome, Rejected, Unavailable, total
from pysync.targets.glue.batches import Failures, Values, create_partitions, delete_partitions, update_partitions
from pysync.targets.glue.catalog import GET_PAGE
from pysync.targets.glue.columns import columns_for, spread
from pysync.targets.glue.same import filled, same
from pysync.targets.glue.session import Session, chunks
from pysync.targets.glue.tables import existing, put_table
from pysync.targets.ownership import Standing, standing_of_part

_ROUNDS = 3  # of creating what is absent and altering what is there, while somebody else does the same


def put_partitions(session: Session, operation: PutPartitions) -> Outcome:
    """Add the partitions that are absent, alter those that differ. Raises Incomplete where their table is not there.

    Those that Glue refuses do not keep the others from it: Rejected is raised at the end.
    """
    table = existing(session, operation.table, "partitions")
    if standing_of_part(table.get("Parameters"), operation.mark) is Standing.NEWER:
        return Outcome.STALE
    failures, changes = Failures(operation.table), list[str]()
    wanted = _inputs(session, operation, table, failures, changes)
    parts = [{key: wanted[key] for key in keys} for keys in chunks(wanted, GET_PAGE)]
    outcome = total([_put(session, operation, table, part, failures) for part in parts])
    if outcome is Outcome.APPLIED:
        session.report(operation, list(dict.fromkeys(changes)))
    failures.raise_any()
    return outcome


def put_table_and_columns(session: Session, operation: PutTable) -> Outcome:
    """Put the table, and see that its partitions have its columns if the operation cascades."""
    outcome = put_table(session, operation)
    table = session.catalog.table(operation.table) if operation.cascade else None
    if table is None or not table.get("PartitionKeys"):
        return outcome
    if standing_of_part(table.get("Parameters"), operation.mark) is not Standing.OWN:
        return outcome
    wanted, _ = table_input(operation.definition)
    changed = spread(session, operation.table, wanted.get("StorageDescriptor", {}).get("Columns", []), "full")
    return Outcome.APPLIED if changed else outcome


def drop_partitions(session: Session, operation: DropPartitions) -> Outcome:
    """Drop those of the partitions that are there."""
    table = session.catalog.table(operation.table)
    if table is None:
        return Outcome.UNCHANGED
    found = standing_of_part(table.get("Parameters"), operation.mark)
    if found is Standing.NEWER:
        return Outcome.STALE
    values = [_values(operation, operation.keys, item) for item in operation.values]
    return total([_drop(session, operation, part, found) for part in chunks(values, GET_PAGE)])


def _values(operation: TableOperation, keys: Sequence[Any], values: Sequence[str]) -> list[str]:
    if len(keys) != len(values):
        raise Rejected(
            f"a partition of {operation.table} has {len(values)} values where the table has {len(keys)} partition keys"
        )
    return partition_values(values)


def _inputs(
    session: Session, operation: PutPartitions, table: Mapping[str, Any], failures: Failures, changes: list[str]
) -> dict[Values, dict[str, Any]]:
    """The partitions' inputs by their values; those that Glue cannot hold go to `failures`."""
    found: dict[Values, dict[str, Any]] = {}
    for partition in operation.partitions:
        try:
            values = _values(operation, table.get("PartitionKeys") or (), partition.values)
            wanted, lost = partition_input(partition)
        except Rejected as error:
            failures.found[tuple(partition.values)] = ("ValidationException", error.message)
            continue
        changes += lost
        found[tuple(values)] = placed(session, wanted, table)
    return found


def placed(session: Session, wanted: dict[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """With the columns that the settings give it, and a location: in a metastore it has one below its table's."""
    of_table = table.get("StorageDescriptor") or {}
    storage = dict(wanted.get("StorageDescriptor") or {})
    columns = columns_for(
        session.settings.partition_schema, storage.get("Columns") or [], of_table.get("Columns") or []
    )
    if columns:
        storage["Columns"] = list(columns)
    if not storage.get("Location") and of_table.get("Location"):
        keys = [key["Name"] for key in table.get("PartitionKeys") or ()]
        storage["Location"] = f"{of_table['Location'].rstrip('/')}/{partition_name(keys, wanted['Values'])}"
    return {**wanted, "StorageDescriptor": storage} if storage else wanted


def _put(
    session: Session,
    operation: PutPartitions,
    table: Mapping[str, Any],
    wanted: Mapping[Values, dict[str, Any]],
    failures: Failures,
) -> Outcome:
    name = operation.table
    there = {tuple(item["Values"]): item for item in session.catalog.partitions_of(name, list(wanted))}
    absent = [item for values, item in wanted.items() if values not in there]
    changed = [filled(item, there[key]) for key, item in wanted.items() if key in there and not same(item, there[key])]
    if not absent and not changed:
        return Outcome.UNCHANGED  # whosever it is: so the echo of a change comes to rest
    conflict = None
    if standing_of_part(table.get("Parameters"), operation.mark) is Standing.FOREIGN:
        conflict = session.conflict(f"table {name}")
    if conflict is not None:
        return conflict
    _write(session, name, absent, changed, failures)
    return Outcome.APPLIED


def _write(session: Session, name: TableName, absent: list[Any], changed: list[Any], failures: Failures) -> None:
    for _ in range(_ROUNDS):
        changed = [*changed, *create_partitions(session, name, absent, failures)]
        absent, changed = update_partitions(session, name, changed, failures), []
        if not absent:
            return
    raise Unavailable(f"partitions of {name} come and go while they are written")


def _drop(session: Session, operation: DropPartitions, values: Sequence[list[str]], found: Standing) -> Outcome:
    there = session.catalog.partitions_of(operation.table, values)
    if not there:
        return Outcome.UNCHANGED
    if found is Standing.FOREIGN:
        return Outcome.FOREIGN
    delete_partitions(session, operation.table, [item["Values"] for item in there])
    return Outcome.APPLIED
