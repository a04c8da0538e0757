"""Partitions: put and drop, in batches. They carry no mark: they follow their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.names import TableName, partition_name
from pysync.model.operation import DropPartitions, PutPartitions, PutTable, TableOperation
from pysync.targets.base import Outcome, Rejected, total
from pysync.targets.hms.same import same, same_parameters
from pysync.targets.hms.session import Session, batches, environment
from pysync.targets.hms.tables import existing, put_table
from pysync.targets.ownership import Standing, standing_of_part


def put_partitions(session: Session, operation: PutPartitions) -> Outcome:
    """Add the partitions that are absent, alter those that differ. Raises Incomplete where their table is not there."""
    table = existing(session, operation.table, "partitions")
    if standing_of_part(table.parameters, operation.mark) is Standing.NEWER:
        return Outcome.STALE
    keys = [key.name for key in table.partitionKeys or ()]
    wanted = {named(operation, keys, partition.values): partition for partition in operation.partitions}
    parts = [{name: wanted[name] for name in names} for names in batches(list(wanted))]
    ours = standing_of_part(table.parameters, operation.mark) is Standing.OWN
    put = _put_fresh if operation.fresh and ours else _put_batch
    return total([put(session, operation, table, part) for part in parts])


def put_table_and_columns(session: Session, operation: PutTable) -> Outcome:
    """Put the table, and see that its partitions have its columns if the operation cascades.

    HMS gives them to the partitions only if it has to change those of the table; after a crash it has not.
    """
    outcome = put_table(session, operation)
    name = operation.table
    table = session.hms.table(name.database, name.table) if operation.cascade else None
    if table is None or standing_of_part(table.parameters, operation.mark) is not Standing.OWN:
        return outcome
    return Outcome.APPLIED if bring_columns(session, operation, table) else outcome


def bring_columns(session: Session, operation: PutTable, table: Any) -> int:
    """Give the partitions of the table the operation's columns; how many had others."""
    name, cols, changed = operation.table, operation.definition.sd.cols, 0
    if not table.partitionKeys:
        return 0
    for names in batches(session.hms.partition_names(name.database, name.table)):
        found = session.hms.partitions_by_name(name.database, name.table, names)
        others = [partition for partition in found if not same(cols, partition.sd.cols)]
        for partition in others:
            partition.sd.cols = cols
        alter_partitions(session, name, others, environment(operation))
        changed += len(others)
    return changed


def drop_partitions(session: Session, operation: DropPartitions) -> Outcome:
    """Drop those of the partitions that are there."""
    table = session.hms.table(operation.table.database, operation.table.table)
    if table is None:
        return Outcome.UNCHANGED
    found = standing_of_part(table.parameters, operation.mark)
    if found is Standing.NEWER:
        return Outcome.STALE
    names = [named(operation, operation.keys, values) for values in operation.values]
    return total([_drop_batch(session, operation, batch, found) for batch in batches(names)])


def alter_partitions(session: Session, name: TableName, partitions: Sequence[Any], context: Any) -> None:
    """Alter the partitions, which are there and no more than go into one call. HMS moves no files for it."""
    if partitions:
        wanted = list(partitions)
        session.hms.call(
            lambda client: client.alter_partitions_with_environment_context(name.database, name.table, wanted, context)
        )


def named(operation: TableOperation, keys: Sequence[str], values: Sequence[str]) -> str:
    """The name of a partition. Raises Rejected where its values do not fit the table."""
    if len(keys) != len(values):
        raise Rejected(
            f"a partition of {operation.table} has {len(values)} values where the table has {len(keys)} partition keys"
        )
    return partition_name(keys, values)


def _put_fresh(session: Session, operation: PutPartitions, table: Any, wanted: Mapping[str, Any]) -> Outcome:
    """Add the partitions without looking whether they are there; if one is, none is added, and we look."""
    try:
        changed = add_partitions(session, operation, list(wanted.values()), all_new=True)
    except hive.AlreadyExistsException:
        return _put_batch(session, operation, table, wanted)
    alter_partitions(session, operation.table, changed, environment(operation))
    return Outcome.APPLIED


def _put_batch(session: Session, operation: PutPartitions, table: Any, wanted: Mapping[str, Any]) -> Outcome:
    name = operation.table
    found = session.hms.partitions_by_name(name.database, name.table, list(wanted))
    there = {named(operation, [key.name for key in table.partitionKeys], item.values): item for item in found}
    absent = [item for key, item in wanted.items() if key not in there]
    changed = [item for key, item in wanted.items() if key in there and not same(item, there[key])]
    if not absent and not changed:
        return Outcome.UNCHANGED  # whosever it is: so the echo of a change comes to rest
    conflict = None
    if standing_of_part(table.parameters, operation.mark) is Standing.FOREIGN:
        conflict = session.conflict(f"table {name}")
    if conflict is not None:
        return conflict
    changed += add_partitions(session, operation, absent)
    alter_partitions(session, name, changed, environment(operation))
    return Outcome.APPLIED


def add_partitions(
    session: Session, operation: PutPartitions, partitions: list[Any], *, all_new: bool = False
) -> list[Any]:
    """Add the partitions; returned are those that have not become what they should.

    Another client has just added them (with `all_new` that is AlreadyExistsException, and none is added), or HMS has
    counted the files of a directory that was there already. Until Hive 4 the call has no EnvironmentContext that could
    say otherwise, and Hive 4 counts whatever that says. It is only the statistics that it sets by itself.
    """
    name = operation.table
    if not partitions:
        return []
    request = hive.AddPartitionsRequest(name.database, name.table, partitions, ifNotExists=not all_new)
    request.needResult = not all_new or session.hms.counts_files
    request.environmentContext = environment(operation)
    added = session.hms.call(lambda client: client.add_partitions_req(request)).partitions
    if not request.needResult:
        return []
    there = {tuple(item.values): item.parameters for item in added}
    return [item for item in partitions if not _became(item, there)]


def _became(wanted: Any, there: Mapping[tuple[str, ...], Any]) -> bool:
    """Whether an added partition has its parameters; `there` are those of all that were added."""
    values = tuple(wanted.values)
    return values in there and same_parameters(wanted.parameters, there[values])


def _drop_batch(session: Session, operation: DropPartitions, names: Sequence[str], found: Standing) -> Outcome:
    name = operation.table
    if not session.hms.partitions_by_name(name.database, name.table, names):
        return Outcome.UNCHANGED
    if found is Standing.FOREIGN:
        return Outcome.FOREIGN
    drop_named(session, operation, names)
    return Outcome.APPLIED


def drop_named(session: Session, operation: DropPartitions, names: Sequence[str]) -> None:
    """Drop the partitions of these names, no more than go into one call."""
    name = operation.table
    request = hive.DropPartitionsRequest(
        name.database,
        name.table,
        hive.RequestPartsSpec(names=list(names)),
        deleteData=session.deletes(operation.delete_data),
        ifExists=True,
        environmentContext=environment(operation),
        needResult=False,
    )
    session.hms.call(lambda client: client.drop_partitions_req(request))
