"""Tables and views both ways: put and drop."""

from __future__ import annotations

from typing import Any

from pysync.model.home import Stance
from pysync.model.names import TableName
from pysync.model.operation import DropTable, Operation, PutTable
from pysync.targets.base import Incomplete, Outcome
from pysync.targets.hms import tables
from pysync.targets.hms.both_ways.verdicts import (
    ask_for_table,
    judge_of,
    marked,
    parked,
    settled,
    up_to_date,
)
from pysync.targets.hms.partitions import bring_columns
from pysync.targets.hms.session import Session
from pysync.targets.judging import Verdict


def put_table(session: Session, operation: PutTable) -> Outcome:
    """Create the table, alter it, or leave it and have the home say it again."""
    there = session.hms.table(operation.table.database, operation.table.table)
    outcome = bring_to(session, operation, operation.definition, there, cascade=operation.cascade)
    if not operation.cascade or outcome not in {Outcome.APPLIED, Outcome.UNCHANGED}:
        return outcome
    table = session.hms.table(operation.table.database, operation.table.table)
    changed = table is not None and bring_columns(session, operation, table)
    return Outcome.APPLIED if changed else outcome


def bring_to(session: Session, operation: Operation, definition: Any, there: Any, *, cascade: bool = False) -> Outcome:
    """Bring the table `there` (None if absent), which has the definition's name, to the definition, if it may be."""
    judge = judge_of(session)
    verdict = judge.put(operation, definition, there)
    if verdict is not Verdict.DO:
        return settled(session, operation, verdict, there)
    wanted = marked(judge, operation, definition, there)
    if there is not None and up_to_date(wanted, there):
        return Outcome.UNCHANGED
    if there is not None and not tables.is_another(wanted, there):
        tables.alter(session, operation, wanted, there, cascade=cascade)
        if _takes_over(session, operation, there):
            ask_for_table(session, operation, wanted)
        return Outcome.APPLIED
    if there is not None:
        if judge.asked(operation).stance is Stance.REQUEST:
            return ask_for_table(session, operation, there)
        _drop_another(session, operation, there)
    if not (isinstance(operation, PutTable) and operation.creates):
        raise Incomplete.of(session.settings.name, TableName.of(wanted.dbName, wanted.tableName))
    tables.create(session, operation, wanted)
    return Outcome.APPLIED


def _takes_over(session: Session, operation: Operation, there: Any) -> bool:
    """Whether a table born elsewhere gets the partitions of the one that was here: its home may never hear of them, as
    what came of that one ends with it.
    """
    judge = judge_of(session)
    own = judge.asked(operation).stance is Stance.STATE and judge.home(there) != operation.mark.source
    return own and bool(there.partitionKeys)


def drop_table(session: Session, operation: DropTable) -> Outcome:
    """Drop the table, or leave it and have the home say it again."""
    there = session.hms.table(operation.table.database, operation.table.table)
    verdict = judge_of(session).drop(operation, there)
    if verdict is Verdict.FOREIGN:
        verdict = _verdict_of_birth(session, operation, there)
    if verdict is not Verdict.DO:
        return settled(session, operation, verdict, there)
    tables.drop(session, operation, operation.table, delete_data=operation.delete_data)
    return Outcome.APPLIED


def _verdict_of_birth(session: Session, operation: DropTable, there: Any) -> Verdict:
    """What would have come of the dropped table's create, had it not been folded with the drop.

    It had become the table that is there now, or had been a conflict with it, of which all have to hear.
    """
    judge = judge_of(session)
    befores = judge.asked(operation).before
    if None not in befores or befores[-1] is None:
        return Verdict.FOREIGN
    born = befores[-1]
    verdict = judge.put(operation, born, there)
    if verdict is Verdict.PARK or (verdict is Verdict.DO and tables.is_another(born, there)):
        raise parked(session, f"table {operation.key}")
    return verdict if verdict is not Verdict.UNCHANGED else Verdict.FOREIGN


def _drop_another(session: Session, operation: Operation, there: Any) -> None:
    """Drop a table that no alter makes the one that is wanted: only the home's word does so."""
    if judge_of(session).home(there) != operation.mark.source:
        raise parked(session, f"table {operation.key}, of other partition keys or a view,")
    tables.drop(session, operation, TableName.of(there.dbName, there.tableName))
