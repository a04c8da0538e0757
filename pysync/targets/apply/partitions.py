"""Partitions: put and drop, in batches. They carry no mark; the mark of their table counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pysync.base.text import count
from pysync.model.names import DEFAULT_PARTITION, TableName
from pysync.model.operation import DropPartitions, PutPartitions
from pysync.targets.apply.door import Door, partition_key
from pysync.targets.apply.file_deletion import drop_batches
from pysync.targets.apply.judge import OUTCOMES, Judge, Verdict
from pysync.targets.apply.versions import placed
from pysync.targets.base import Held, Incomplete, Outcome, Rejected, total
from pysync.targets.diff import same
from pysync.targets.hive import slices
from pysync.targets.store import Exists, RefusedPartition, Written, refused_as_one

Values = tuple[str, ...]

_ENOUGH = 10  # refused partitions after which no other batch is tried: then it may be the table that is wrong


def put_partitions(store: Door, operation: PutPartitions, judge: Judge) -> Outcome:
    """Add the partitions that are absent, alter those that differ. May raise Incomplete if the table is not there, and
    does if it has another number of partition keys.

    Partitions that the store refuses do not stop the others: Rejected is raised at the end.
    """
    table = store.reads.table(operation.table)
    if table is None:
        return judge.without_table(operation, "partitions")
    verdict = judge.parts(operation, table)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, table)
    _assert_table_is_meant(operation.table, operation.definition.partitionKeys or (), table)
    wanted, refused = as_stored(store, operation.table, table, operation.partitions)
    takes_files = bool(wanted) and judge.takes_files(store.settings, operation, table)
    brought = _bring_files(store, operation, table) if takes_files else {}
    originals = {key_of(it.values): it for it in operation.partitions}
    batch = _PartitionPut(store, operation, table, judge, originals, brought, refused)
    adds_first = operation.fresh and judge.adds_without_reading(operation, table)
    put = batch.without_reading if adds_first else batch.compared
    outcomes = []
    for keys in slices(list(wanted), store.reads.batch):
        outcomes.append(put({key: wanted[key] for key in keys}))
        if len(refused) >= _ENOUGH:
            break
    if Outcome.APPLIED in outcomes:
        lost = [it for expected in wanted.values() for it in store.reads.lost(expected)]
        store.log_lost(list(dict.fromkeys(lost)))
    outcome = judge.outcome_of_parts(operation, table, total(outcomes))
    if refused:
        raise refused_as_one(operation.table, refused)
    return outcome


def _bring_files(store: Door, operation: PutPartitions, table: Any) -> Mapping[str, str]:
    """Have the files of the partitions there; returns the versions in which they are."""
    there = cache(lambda: by_values(store, table, [it.values for it in operation.partitions]))
    return store.bring_files(lambda item: there().get(key_of(item.values)))


def drop_partitions(store: Door, operation: DropPartitions, judge: Judge) -> Outcome:
    """Drop the partitions that exist. Raises Incomplete if the table has another number of partition keys, and Rejected
    at the end for those that the store refuses or the guard holds.
    """
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
    _assert_table_is_meant(operation.table, operation.keys, table)
    outcomes, refusals, held = list[Outcome](), list[Rejected](), list[Held]()
    for batch in slices(operation.values, store.reads.batch):
        try:
            ours = verdict is Verdict.DO
            outcomes.append(
                _drop(store, operation, table, batch, judge) if ours else _outcome_of_others(store, table, batch)
            )
        except Held as error:
            held.append(error)
        except Rejected as error:
            refusals.append(error)
        if len(refusals) >= _ENOUGH:
            break
    outcome = judge.outcome_of_parts(operation, table, total(outcomes))
    if refusals or held:
        raise refusals[0] if refusals else Held.together(held)
    return outcome


def _assert_table_is_meant(name: TableName, keys: Sequence[Any], table: Any) -> None:
    """Raise Incomplete where the target's table has another number of partition keys than the operation's.

    One of the two is a former table of that name; the source knows what it is now.
    """
    if len(keys) != len(table.partitionKeys or ()):
        raise Incomplete(_misfit(name, len(keys), table.partitionKeys or ()))


def fitting(name: TableName, keys: Sequence[Any], values: Sequence[str]) -> None:
    """Raise Rejected where a partition's values do not fit its table's partition keys."""
    if len(keys) != len(values):
        raise Rejected(_misfit(name, len(values), keys))


def _misfit(name: TableName, values: int, keys: Sequence[Any]) -> str:
    return f"a partition of {name} has {count(values, 'value')}, but the table has {count(len(keys), 'partition key')}"


def as_stored(
    store: Door, name: TableName, table: Any, partitions: Sequence[Any]
) -> tuple[dict[Values, Any], list[RefusedPartition]]:
    """The partitions in the form in which the store will return them, by values; and those that it cannot hold."""
    by_key: dict[Values, Any] = {}
    refused: list[RefusedPartition] = []
    for partition in partitions:
        try:
            fitting(name, table.partitionKeys or (), partition.values)
            expected = store.reads.as_stored(partition, table)
            by_key[key_of(expected.values)] = expected
        except Rejected as error:
            refused.append(RefusedPartition(tuple(partition.values), error))
    return by_key, refused


def by_values(store: Door, table: Any, values: Sequence[Sequence[str]]) -> dict[Values, Any]:
    """The existing ones of the partitions with these values."""
    return {key_of(item.values): item for item in store.reads.partitions_of(table, values)}


def key_of(values: Sequence[str]) -> Values:
    """What identifies a partition. An empty value is the default partition, as it is in names."""
    return tuple(value or DEFAULT_PARTITION for value in values)


@dataclass(frozen=True, slots=True)
class _PartitionPut:
    """Puts partitions of one operation, a batch at a time; `refused` gets those that the store refuses.

    `originals` are those of the operation, `brought` the versions in which their files are, by location.
    """

    store: Door
    operation: PutPartitions
    table: Any
    judge: Judge
    originals: Mapping[Values, Any]
    brought: Mapping[str, str]
    refused: list[RefusedPartition]

    def without_reading(self, wanted: Mapping[Values, Any]) -> Outcome:
        """Add the partitions without a look. If one of them exists, none is added, and they are compared."""
        try:
            self.store.add_partitions(self.table, [self._at_its_version(it, None) for it in wanted.values()])
        except Exists:
            return self.compared(wanted)
        return Outcome.APPLIED

    def compared(self, wanted: Mapping[Values, Any]) -> Outcome:
        """Add the partitions that are absent, alter those that differ."""
        existing = by_values(self.store, self.table, list(wanted))
        wanted = {key: self._at_its_version(it, existing.get(key)) for key, it in wanted.items()}
        verdicts = {
            key: self.judge.part(self.operation, self.table, item, existing.get(key)) for key, item in wanted.items()
        }
        todo = {key: wanted[key] for key, verdict in verdicts.items() if verdict is Verdict.DO}
        absent = [item for key, item in todo.items() if key not in existing]
        pairs = ((item, existing[key]) for key, item in todo.items() if key in existing)
        changed = [(item, previous) for item, previous in pairs if not same(item, previous)]
        written = Written(any=False)
        if absent or changed:
            written = self.store.put_partitions(self.table, absent, changed)
        self.refused.extend(written.refused)
        if self.judge.is_conflict_as_batch(self.operation, verdicts, wanted, existing):
            return Outcome.CONFLICT
        return _outcome(verdicts.values(), changed=written.any)

    def _at_its_version(self, expected: Any, existing: Any | None) -> Any:
        item = self.originals[key_of(expected.values)]
        at_version = placed(item, existing, self.brought)
        return expected if at_version is item else self.store.reads.as_stored(at_version, self.table)


def _drop(store: Door, operation: DropPartitions, table: Any, values: Sequence[Sequence[str]], judge: Judge) -> Outcome:
    existing = by_values(store, table, values)
    verdicts = {key: judge.part(operation, table, None, item) for key, item in existing.items()}
    droppable = [existing[key] for key, verdict in verdicts.items() if verdict is Verdict.DO]
    todo = [it for it in droppable if not store.keeps_part(partition_key(table, it))]
    if todo:
        for batch, delete_data in drop_batches(store, todo, operation.deleted_locations, table):
            store.remove_partitions(table, batch, delete_data=delete_data)
    if judge.is_conflict_as_batch(operation, verdicts, dict.fromkeys(map(key_of, values)), existing):
        return Outcome.CONFLICT
    outcome = _outcome(verdicts.values(), changed=bool(todo))
    return total([outcome, Outcome.KEPT]) if len(todo) < len(droppable) else outcome


def _outcome_of_others(store: Door, table: Any, values: Sequence[Sequence[str]]) -> Outcome:
    """The outcome for partitions of another's table, which are not dropped."""
    return Outcome.FOREIGN if store.reads.partitions_of(table, values) else Outcome.UNCHANGED


def _outcome(verdicts: Iterable[Verdict], *, changed: bool) -> Outcome:
    """The outcome of a batch, by the verdicts on its partitions, and by whether any was written."""
    outcomes = {OUTCOMES[verdict] for verdict in verdicts if verdict in OUTCOMES}
    return Outcome.APPLIED if changed and Outcome.CONFLICT not in outcomes else total(outcomes)
