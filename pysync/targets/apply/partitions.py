"""Partitions: put and drop, in batches. They carry no mark; the mark of their table counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pysync.model.names import DEFAULT_PARTITION, TableName
from pysync.model.operation import DropPartitions, PutPartitions
from pysync.targets.apply.judge import OUTCOMES, Judge, Verdict
from pysync.targets.apply.writing import drop_batches, tell_lost
from pysync.targets.base import Outcome, Rejected, total
from pysync.targets.diff import same
from pysync.targets.hive import slices
from pysync.targets.store import Exists, Refused, Written, refused_as_one
from pysync.targets.watched import WatchedStore
from pysync.text import count

Values = tuple[str, ...]

_ENOUGH = 10  # refused partitions after which no other batch is tried: then it may be the table that is wrong


def put_partitions(store: WatchedStore, operation: PutPartitions, judge: Judge) -> Outcome:
    """Add the partitions that are absent, alter those that differ. May raise Incomplete if the table is not there.

    Partitions that the store refuses do not stop the others: Rejected is raised at the end.
    """
    table = store.reads.table(operation.table)
    if table is None:
        return judge.without_table(operation, "partitions")
    verdict = judge.parts(operation, table)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, table)
    wanted, refused = as_kept(store, operation.table, table, operation.partitions)
    put = _put_without_reading if operation.fresh and judge.adds_without_reading(operation, table) else _put
    outcomes = []
    for keys in slices(list(wanted), store.reads.batch):
        outcomes.append(put(store, operation, table, {key: wanted[key] for key in keys}, judge, refused=refused))
        if len(refused) >= _ENOUGH:
            break
    if Outcome.APPLIED in outcomes:
        lost = [it for kept in wanted.values() for it in store.reads.lost(kept)]
        tell_lost(store, operation, list(dict.fromkeys(lost)))
    outcome = judge.outcome_of_parts(operation, table, total(outcomes))
    if refused:
        raise refused_as_one(operation.table, refused)
    return outcome


def drop_partitions(store: WatchedStore, operation: DropPartitions, judge: Judge) -> Outcome:
    """Drop the partitions that exist. Raises Rejected if the table has another number of partition keys."""
    table = store.reads.table(operation.table)
    if table is None:
        return Outcome.UNCHANGED
    verdict = judge.parts(operation, table)
    # In a table of others it counts whether the partitions are there at all.
    if verdict not in {Verdict.DO, Verdict.FOREIGN}:
        return judge.outcome_without_write(operation, verdict, table)
    keys = table.partitionKeys or ()
    if verdict is Verdict.FOREIGN and len(keys) != len(operation.keys):
        return Outcome.FOREIGN  # no partition of another's table can be meant
    for values in operation.values:
        fitting(operation.table, operation.keys, values)
        fitting(operation.table, keys, values)
    drop = _drop if verdict is Verdict.DO else _leave_all
    outcomes = [drop(store, operation, table, batch, judge) for batch in slices(operation.values, store.reads.batch)]
    return judge.outcome_of_parts(operation, table, total(outcomes))


def fitting(name: TableName, keys: Sequence[Any], values: Sequence[str]) -> None:
    """Raise Rejected where a partition's values do not fit its table's partition keys."""
    if len(keys) != len(values):
        raise Rejected(
            f"a partition of {name} has {count(len(values), 'value')}, but the table has "
            f"{count(len(keys), 'partition key')}"
        )


def as_kept(
    store: WatchedStore, name: TableName, table: Any, partitions: Sequence[Any]
) -> tuple[dict[Values, Any], list[Refused]]:
    """The partitions in the form in which the store will return them, by values; and those that it cannot hold."""
    found: dict[Values, Any] = {}
    refused: list[Refused] = []
    for partition in partitions:
        try:
            fitting(name, table.partitionKeys or (), partition.values)
            kept = store.reads.as_kept(partition, table)
            found[key_of(kept.values)] = kept
        except Rejected as error:
            refused.append(Refused(tuple(partition.values), error))
    return found, refused


def by_values(store: WatchedStore, table: Any, values: Sequence[Sequence[str]]) -> dict[Values, Any]:
    """The existing ones of the partitions with these values."""
    return {key_of(item.values): item for item in store.reads.partitions_of(table, values)}


def key_of(values: Sequence[str]) -> Values:
    """What identifies a partition. An empty value is the default partition, as it is in names."""
    return tuple(value or DEFAULT_PARTITION for value in values)


def _put_without_reading(
    store: WatchedStore,
    operation: PutPartitions,
    table: Any,
    wanted: Mapping[Values, Any],
    judge: Judge,
    *,
    refused: list[Refused],
) -> Outcome:
    """Add the partitions without a look. If one of them exists, none is added, and they are compared."""
    try:
        store.add_partitions(table, list(wanted.values()))
    except Exists:
        return _put(store, operation, table, wanted, judge, refused=refused)
    return Outcome.APPLIED


def _put(
    store: WatchedStore,
    operation: PutPartitions,
    table: Any,
    wanted: Mapping[Values, Any],
    judge: Judge,
    *,
    refused: list[Refused],
) -> Outcome:
    there = by_values(store, table, list(wanted))
    verdicts = {key: judge.part(operation, table, item, there.get(key)) for key, item in wanted.items()}
    todo = {key: wanted[key] for key, verdict in verdicts.items() if verdict is Verdict.DO}
    absent = [item for key, item in todo.items() if key not in there]
    changed = [(item, there[key]) for key, item in todo.items() if key in there and not same(item, there[key])]
    done = store.put_partitions(table, absent, changed) if absent or changed else Written(any=False)
    refused += done.refused
    if judge.is_conflict_as_batch(operation, verdicts, wanted, there):
        return Outcome.CONFLICT
    return _outcome(verdicts.values(), changed=done.any)


def _drop(
    store: WatchedStore, operation: DropPartitions, table: Any, values: Sequence[Sequence[str]], judge: Judge
) -> Outcome:
    there = by_values(store, table, values)
    verdicts = {key: judge.part(operation, table, None, item) for key, item in there.items()}
    todo = [there[key] for key, verdict in verdicts.items() if verdict is Verdict.DO]
    if todo:
        for batch, delete_data in drop_batches(store, todo, operation.delete_data, [table.sd.location or ""]):
            store.drop_partitions(table, batch, delete_data=delete_data)
    if judge.is_conflict_as_batch(operation, verdicts, dict.fromkeys(map(key_of, values)), there):
        return Outcome.CONFLICT
    return _outcome(verdicts.values(), changed=bool(todo))


def _leave_all(
    store: WatchedStore,
    operation: DropPartitions,  # noqa: ARG001
    table: Any,
    values: Sequence[Sequence[str]],
    judge: Judge,  # noqa: ARG001
) -> Outcome:
    """The outcome for partitions that may not be dropped."""
    return Outcome.FOREIGN if store.reads.partitions_of(table, values) else Outcome.UNCHANGED


def _outcome(verdicts: Iterable[Verdict], *, changed: bool) -> Outcome:
    """The outcome of a batch, by the verdicts on its partitions, and by whether any was written."""
    found = {OUTCOMES[verdict] for verdict in verdicts if verdict in OUTCOMES}
    return Outcome.APPLIED if changed and Outcome.CONFLICT not in found else total(found)
