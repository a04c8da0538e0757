"""The operations: whose the object is, what to do about it, and who does it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import (
    DropDatabase,
    DropPartitions,
    DropTable,
    Operation,
    PutDatabase,
    PutPartitions,
    PutTable,
)
from pysync.targets.athena import partitions as parts
from pysync.targets.athena import statements as ddl
from pysync.targets.athena.decision import NOTHING, Decision
from pysync.targets.athena.session import (
    Session,
    database_as_kept,
    missing,
    partition_as_kept,
    stamped,
    table_as_kept,
)
from pysync.targets.athena.tables import decide_database, decide_table, name_of, same_columns, same_keys, unsayable
from pysync.targets.aws.inputs import partition_values
from pysync.targets.base import Incomplete, Outcome, Rejected
from pysync.targets.ownership import Standing, standing, standing_for_drop, standing_of_part
from pysync.targets.transactional import refuse_transactional

_DEFAULT = "default"


def put_database(session: Session, operation: PutDatabase) -> Outcome:
    """Create the database or alter it. One that is not its source's is adopted, or left as it is: never parked."""
    there = session.glue.database(operation.database)
    found = standing(there is not None, there and there.parameters, operation.mark)
    if found is Standing.NEWER:
        return Outcome.STALE
    if found is Standing.FOREIGN and (operation.database == _DEFAULT or session.settings.on_conflict != "adopt"):
        return Outcome.FOREIGN
    decision = _database(session, operation)
    if decision.leftovers:  # the Glue API does it all in one call, and so the mark is not there before the rest is
        return session.by_glue(operation, [leftover.what for leftover in decision.leftovers])
    return session.carry_out(operation, lambda: _database(session, operation), None, decision)


def drop_database(session: Session, operation: DropDatabase) -> Outcome:
    """Drop the database with what its source has in it; it stays if anything else is left, or somebody else made it.

    Table by table, never with CASCADE, which would take what somebody else has just put there.
    """
    there = session.glue.database(operation.database)
    if there is None:
        return Outcome.UNCHANGED
    found = standing_for_drop(True, there.parameters, operation.mark)
    if operation.database == _DEFAULT:
        return Outcome.FOREIGN
    left, reasons = _drop_tables(session, operation)
    if reasons:
        return session.by_glue(operation, reasons)
    if found is Standing.NEWER:
        return Outcome.STALE
    if found is Standing.FOREIGN or left:
        return Outcome.FOREIGN if Standing.FOREIGN in (found, *left) else Outcome.STALE
    return session.carry_out(operation, lambda: _empty_database(session, operation.database), None)


def put_table(session: Session, operation: PutTable) -> Outcome:
    """Create the table or alter it, and see that its partitions have its columns if the operation cascades."""
    outcome = _put_table(session, operation)
    if not operation.cascade or not operation.definition.partitionKeys or outcome is Outcome.FOREIGN:
        return outcome
    if not session.only_ddl:
        rest = session.glue.apply(operation)
        return outcome if outcome is Outcome.APPLIED else rest
    cols = operation.definition.sd.cols
    if outcome is Outcome.STALE:
        return outcome
    if any(not same_columns(cols, partition.sd.cols) for partition in session.glue.partitions(operation.table)):
        raise session.unsaid(operation, ["other columns of its partitions"])
    return outcome


def drop_table(session: Session, operation: DropTable) -> Outcome:
    """Drop the table if it is its source's and not newer than the one that was dropped there."""
    name = operation.table
    there = session.glue.table(name)
    if there is None:
        return Outcome.UNCHANGED
    found = standing_for_drop(True, there.parameters, operation.mark)
    if found is not Standing.OWN:
        return Outcome.STALE if found is Standing.NEWER else Outcome.FOREIGN
    reason = unsayable(there)
    if reason is not None:
        return session.by_glue(operation, [reason])
    return session.carry_out(operation, lambda: _no_table(session, name), name.database)


def put_partitions(session: Session, operation: PutPartitions) -> Outcome:
    """Add the partitions that are absent, alter those that differ. Raises Incomplete where their table is not there."""
    table = session.glue.table(operation.table)
    if table is None:
        raise Incomplete.of(session.settings.name, operation.table, "partitions")
    found = standing_of_part(table.parameters, operation.mark)
    if found is Standing.NEWER:
        return Outcome.STALE
    decision = _put(session, operation, table)
    if decision.is_nothing:
        return Outcome.UNCHANGED  # whosever it is: so the echo of a change comes to rest
    conflict = session.conflict(f"table {operation.table}") if found is Standing.FOREIGN else None
    if conflict is not None:
        return conflict
    reason = unsayable(table)
    if reason is not None:
        return session.by_glue(operation, [reason])
    return session.carry_out(
        operation, lambda: _put(session, operation, table), operation.table.database, decision, partly=True
    )


def drop_partitions(session: Session, operation: DropPartitions) -> Outcome:
    """Drop those of the partitions that are there."""
    table = session.glue.table(operation.table)
    if table is None:
        return Outcome.UNCHANGED
    found = standing_of_part(table.parameters, operation.mark)
    if found is Standing.NEWER:
        return Outcome.STALE
    decision = _drop(session, operation, table)
    if decision.is_nothing:
        return Outcome.UNCHANGED
    if found is Standing.FOREIGN:
        return Outcome.FOREIGN
    reason = unsayable(table)
    if reason is not None:
        return session.by_glue(operation, [reason])
    return session.carry_out(
        operation, lambda: _drop(session, operation, table), operation.table.database, decision, partly=True
    )


def _put_table(session: Session, operation: PutTable) -> Outcome:
    name = operation.table
    there = session.glue.table(name)
    found = standing(there is not None, there and there.parameters, operation.mark)
    if found is Standing.NEWER:
        return Outcome.STALE
    conflict = session.conflict(f"table {name}") if found is Standing.FOREIGN else None
    if conflict is not None:
        return conflict
    if there is None and not operation.creates:
        raise Incomplete.of(session.settings.name, name)
    if there is None:
        _place_for(session, operation, name)
    another = there is not None and not same_keys(operation.definition, there)
    if found is Standing.FOREIGN and another:
        return session.by_glue(operation, ["other partition keys of a table that is not from this source"])
    outcome = session.carry_out(operation, lambda: _table(session, operation), name.database)
    if another and not operation.creates:
        raise Incomplete.of(session.settings.name, name)
    return outcome


def _database(session: Session, operation: PutDatabase) -> Decision:
    there = session.glue.database(operation.database)
    written = Mark.read(there.parameters) if there is not None else None
    wanted = database_as_kept(stamped(operation.definition, operation.mark.following(written)))
    return decide_database(wanted, None if there is None else database_as_kept(there))


def _empty_database(session: Session, name: str) -> Decision:
    return NOTHING if session.glue.database(name) is None else Decision((ddl.drop_database(name),))


def _table(session: Session, operation: PutTable) -> Decision:
    there = session.glue.table(operation.table)
    written = Mark.read(there.parameters) if there is not None else None
    wanted = table_as_kept(stamped(operation.definition, operation.mark.following(written)))
    decision = decide_table(wanted, there)
    if not decision.is_nothing:
        refuse_transactional(session.settings, wanted)
    return decision


def _no_table(session: Session, name: TableName) -> Decision:
    return NOTHING if session.glue.table(name) is None else Decision((ddl.drop_table(name),))


def _put(session: Session, operation: PutPartitions, table: Any) -> Decision:
    _check(operation.table, table, (partition.values for partition in operation.partitions))
    kept = (partition_as_kept(partition, table) for partition in operation.partitions)
    wanted = {tuple(partition.values): partition for partition in kept}
    found = session.glue.partitions_by_values(operation.table, list(wanted))
    there = {tuple(partition.values): partition for partition in found}
    return parts.decide_put(table, list(wanted.values()), there, only_ddl=session.only_ddl)


def _drop(session: Session, operation: DropPartitions, table: Any) -> Decision:
    _check(operation.table, table, operation.values)
    values = {tuple(partition_values(values)) for values in operation.values}
    found = session.glue.partitions_by_values(operation.table, sorted(values))
    return parts.decide_drop(table, sorted(tuple(partition.values) for partition in found))


def _check(name: TableName, table: Any, values: Iterable[Sequence[str]]) -> None:
    keys = len(table.partitionKeys or ())
    for found in values:
        if len(found) != keys:
            raise Rejected(f"a partition of {name} has {len(found)} values where the table has {keys} partition keys")


def _drop_tables(session: Session, operation: DropDatabase) -> tuple[list[Standing], list[str]]:
    """Drop the source's tables; the standings of those that are left, and why some of its own cannot be dropped."""
    left: list[Standing] = []
    reasons: list[str] = []
    for table in list(session.glue.definitions(operation.database)):
        its_standing = standing_for_drop(True, table.parameters, operation.mark)
        reason = unsayable(table)
        if its_standing is not Standing.OWN:
            left.append(its_standing)
        elif reason is not None:
            reasons.append(reason)
        else:
            reasons += _drop_one(session, name_of(table))
    return left, reasons


def _drop_one(session: Session, name: TableName) -> list[str]:
    """Drop a table; why Athena refuses to, if it does."""
    try:
        session.athena.run(ddl.drop_table(name), name.database)
    except Rejected as error:
        return [error.message]
    return []


def _place_for(session: Session, operation: Operation, name: TableName) -> None:
    """See that the table's database is there; one that is made here is older than every event of its own.

    Raises Missing when it is not there, and is not to be made.
    """
    if session.glue.database(name.database) is not None:
        return
    if not session.settings.create_missing_databases:
        raise missing(session, f"database {name.database}")
    mark = replace(operation.mark, position=0, created=0, born=0)
    session.athena.run(ddl.create_database(name.database, None, None, mark.parameters()))
