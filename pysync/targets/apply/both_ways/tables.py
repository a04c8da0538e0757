"""Tables and views both ways: put and drop."""

from __future__ import annotations

from typing import Any

from pysync.model.home import Stance
from pysync.model.names import TableName
from pysync.model.operation import DropTable, PutTable, TableOperation
from pysync.targets.apply.both_ways.verdicts import (
    ask_for_table,
    judge_of,
    marked,
    parked,
    settled,
    up_to_date,
)
from pysync.targets.apply.iceberg import stays
from pysync.targets.apply.judging import Verdict
from pysync.targets.apply.transactional import refuse_transactional
from pysync.targets.apply.writing import drop_batches
from pysync.targets.base import Incomplete, Outcome
from pysync.targets.hive import is_another, name_of
from pysync.targets.store import Store


def put_table(store: Store, operation: PutTable) -> Outcome:
    """Create the table or alter it; in a conflict it stays, and the home is asked to say it again."""
    there = store.table(operation.table)
    outcome = bring_to(store, operation, operation.definition, there, cascade=operation.cascade)
    if not operation.cascade or outcome not in {Outcome.APPLIED, Outcome.UNCHANGED}:
        return outcome
    table = store.table(operation.table)
    # Also if the table is unchanged: a crash may have come between it and its partitions.
    changed = table is not None and table.partitionKeys and store.spread_columns(table, operation.definition.sd.cols)
    return Outcome.APPLIED if changed else outcome


def bring_to(store: Store, operation: TableOperation, definition: Any, there: Any, *, cascade: bool = False) -> Outcome:
    """Bring the table `there` (None if absent), which has the definition's name, to it, if that is allowed."""
    judge = judge_of(store)
    verdict = judge.put(operation, definition, there)
    if verdict is Verdict.PARK:
        raise parked(store, name_of(there), another=is_another(definition, there))
    if verdict is not Verdict.DO:
        return settled(store, operation, verdict, there)
    wanted = marked(judge, operation, definition, there)
    if there is not None and up_to_date(wanted, there):
        return Outcome.UNCHANGED
    refuse_transactional(store.settings, wanted)
    if is_committed(store, operation, wanted, there):
        return Outcome.FOREIGN
    if there is not None and not is_another(wanted, there):
        return _alter(store, operation, wanted, there, cascade=cascade)
    if there is not None:
        if judge.asked(operation).stance is Stance.REQUEST:
            # A request never drops a table: the home says which of the two it is.
            return ask_for_table(store, operation, there)
        _drop_another(store, operation, there)
    if not (isinstance(operation, PutTable) and operation.creates):
        raise Incomplete.of(store.settings.name, TableName.of(wanted.dbName, wanted.tableName))
    store.create_table(wanted)
    return Outcome.APPLIED


def _alter(store: Store, operation: TableOperation, wanted: Any, there: Any, *, cascade: bool) -> Outcome:
    if not store.alter_table(wanted, there, cascade=cascade):
        return Outcome.UNCHANGED
    if _takes_over(store, operation, there):
        ask_for_table(store, operation, wanted)
    return Outcome.APPLIED


def is_committed(store: Store, operation: TableOperation, wanted: Any, there: Any | None) -> bool:
    """Whether a commit to an Iceberg table here stays: see pysync.targets.apply.iceberg.

    A request or an echo has been compared with what is here already. The home's state has not.
    """
    if there is None or judge_of(store).asked(operation).stance is not Stance.STATE:
        return False
    return stays(store.settings, operation, wanted.parameters, there.parameters)


def _takes_over(store: Store, operation: TableOperation, there: Any) -> bool:
    """Whether a table that was born elsewhere gets the partitions of the one that was here.

    Its home may never hear of those: changes of the table that was here end with it.
    """
    judge = judge_of(store)
    own = judge.asked(operation).stance is Stance.STATE and judge.home(there) != operation.mark.source
    return own and bool(there.partitionKeys)


def drop_table(store: Store, operation: DropTable) -> Outcome:
    """Drop the table; in a conflict it stays, and the home is asked to say it again."""
    there = store.table(operation.table)
    verdict = judge_of(store).drop(operation, there)
    if verdict is Verdict.FOREIGN:
        verdict = _verdict_of_birth(store, operation, there)
    if verdict is not Verdict.DO:
        return settled(store, operation, verdict, there)
    for batch, delete_data in drop_batches(store, [there], operation.delete_data):
        store.drop_tables(batch, delete_data=delete_data)
    return Outcome.APPLIED


def _verdict_of_birth(store: Store, operation: DropTable, there: Any) -> Verdict:
    """The verdict on the create of the dropped table, which was folded with the drop.

    Alone it would have become the table that is there now, or a conflict with it, which all clusters have to hear of.
    """
    judge = judge_of(store)
    befores = judge.asked(operation).before
    # Only if the window contains the create, too; otherwise that was judged before.
    if None not in befores or befores[-1] is None:
        return Verdict.FOREIGN
    born = befores[-1]
    verdict = judge.put(operation, born, there)
    another = is_another(born, there)
    if verdict is Verdict.PARK or (verdict is Verdict.DO and another):
        raise parked(store, operation.key, another=another)
    return verdict if verdict is not Verdict.UNCHANGED else Verdict.FOREIGN


def _drop_another(store: Store, operation: TableOperation, there: Any) -> None:
    """Drop a table that no alter turns into the wanted one. Only the table's home may do so."""
    if judge_of(store).home(there) != operation.mark.source:
        raise parked(store, operation.key, another=True)
    store.drop_tables([there], delete_data=False)
