"""Partitions both ways, each judged by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pysync.model.home import Stance
from pysync.model.operation import DropPartitions, PutPartitions, TableOperation
from pysync.targets.apply.both_ways.verdicts import ask_for_table, judge_of, settled
from pysync.targets.apply.judging import BothWays, Verdict
from pysync.targets.apply.partitions import Values, by_values, fitting, key_of
from pysync.targets.apply.tables import existing
from pysync.targets.apply.writing import drop_batches
from pysync.targets.base import Outcome, total
from pysync.targets.diff import same
from pysync.targets.hive import slices
from pysync.targets.store import Refused, Store, Written, refused_as_one

Found = Mapping[Values, Any]


def put_partitions(store: Store, operation: PutPartitions) -> Outcome:
    """Add the partitions that are absent, alter those that differ. In a conflict the home says the whole table again.

    So it does if a request has other columns than the table: a cascade at the home may have changed the replica's
    partitions before. And if an echo finds other columns than its own: no event tells what a cascade does to
    partitions. Partitions that the store refuses do not stop the others: Rejected is raised at the end.
    """
    judge, name = judge_of(store), operation.table
    table = store.table(name)
    stance = judge.asked(operation).stance
    if table is None and stance is not Stance.STATE:
        # The table is gone here. The source of a request has to hear what the home has; an echo is old news.
        return ask_for_table(store, operation, None) if stance is Stance.REQUEST else Outcome.STALE
    table = table or existing(store, name, "partitions")
    if _misfits(judge, operation, table, [it.values for it in operation.partitions]):
        return ask_for_table(store, operation, table)
    verdict = judge.parts(operation, table)
    if verdict is not Verdict.DO:
        return settled(store, operation, verdict, table)
    wanted = {}
    for item in operation.partitions:
        fitting(name, table.partitionKeys or (), item.values)
        wanted[key_of(item.values)] = item
    batches = ({key: wanted[key] for key in keys} for keys in slices(list(wanted), store.batch))
    refused: list[Refused] = []
    outcomes = [_put(store, operation, table, batch, refused) for batch in batches]
    if stance is Stance.REQUEST and not same(operation.definition.sd.cols, table.sd.cols):
        outcomes.append(Outcome.CONFLICT)
    outcome = _asked_once(store, operation, table, outcomes)
    if refused:
        raise refused_as_one(name, refused)
    return outcome


def drop_partitions(store: Store, operation: DropPartitions) -> Outcome:
    """Drop the partitions that exist. In a conflict the home says the whole table again."""
    judge, name = judge_of(store), operation.table
    table = store.table(name)
    if table is None:
        return Outcome.UNCHANGED
    if _misfits(judge, operation, table, operation.values):
        return ask_for_table(store, operation, table)
    verdict = judge.parts(operation, table)
    if verdict is not Verdict.DO:
        return settled(store, operation, verdict, table)
    for values in operation.values:
        fitting(name, operation.keys, values)
    outcomes = [_drop(store, operation, table, batch) for batch in slices(operation.values, store.batch)]
    return _asked_once(store, operation, table, outcomes)


def _put(store: Store, operation: PutPartitions, table: Any, wanted: Found, refused: list[Refused]) -> Outcome:
    there = by_values(store, table, list(wanted))
    judge = judge_of(store)
    verdicts = {key: judge.part(operation, table, item, there.get(key)) for key, item in wanted.items()}
    todo = {key: wanted[key] for key, verdict in verdicts.items() if verdict is Verdict.DO}
    changed = [(item, there[key]) for key, item in todo.items() if key in there and not same(item, there[key])]
    absent = [item for key, item in todo.items() if key not in there]
    done = store.put_partitions(table, absent, changed) if absent or changed else Written(any=False)
    refused += done.refused
    # An echo that is not applied, but tells other columns: a cascade came in between, of which there is no event.
    crossed = [
        key for key in there if verdicts[key] is Verdict.STALE and not same(wanted[key].sd.cols, there[key].sd.cols)
    ]
    unheard = [Verdict.CONFLICT] if crossed else []
    return _outcome([*verdicts.values(), *unheard], changed=done.any)


def _drop(store: Store, operation: DropPartitions, table: Any, values: Sequence[Sequence[str]]) -> Outcome:
    there = by_values(store, table, values)
    judge = judge_of(store)
    verdicts = {key: judge.part(operation, table, None, item) for key, item in there.items()}
    todo = [there[key] for key, verdict in verdicts.items() if verdict is Verdict.DO]
    if todo:
        for batch, delete_data in drop_batches(store, todo, operation.delete_data, [table.sd.location or ""]):
            store.drop_partitions(table, batch, delete_data=delete_data)
    # Some are gone here already, so no event of this target would tell the home that they were dropped.
    unheard = [Verdict.CONFLICT] if len(there) < len(values) and judge.is_on_its_way(operation) else []
    return _outcome([*verdicts.values(), *unheard], changed=bool(todo))


def _outcome(verdicts: Sequence[Verdict], *, changed: bool) -> Outcome:
    if Verdict.CONFLICT in verdicts:
        return Outcome.CONFLICT
    if changed:
        return Outcome.APPLIED
    return Outcome.STALE if Verdict.STALE in verdicts else Outcome.UNCHANGED


def _asked_once(store: Store, operation: TableOperation, table: Any, outcomes: Sequence[Outcome]) -> Outcome:
    outcome = total(outcomes)
    return ask_for_table(store, operation, table) if outcome is Outcome.CONFLICT else outcome


def _misfits(judge: BothWays, operation: TableOperation, table: Any, values: Sequence[Sequence[str]]) -> bool:
    """Whether a request is about a table with another number of partition keys than the one that is there."""
    if judge.asked(operation).stance is not Stance.REQUEST:
        return False
    return any(len(it) != len(table.partitionKeys or ()) for it in values)
