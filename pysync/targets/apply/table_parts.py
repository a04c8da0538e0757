"""Partitions, constraints and column statistics: put and drop. They carry no mark; the mark of their table counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.text import count
from pysync.metastore.errors import MetastoreUnsupported
from pysync.metastore.statistics import Statistics
from pysync.model.constraints import by_name, comparable
from pysync.model.constraints import name_of as constraint_name
from pysync.model.names import DEFAULT_PARTITION, TableName, normalized, partition_name
from pysync.model.operation import DropConstraint, DropPartitions, PutConstraint, PutPartitions, PutStatistics
from pysync.targets.apply.door import Door, partition_key
from pysync.targets.apply.judge import OUTCOMES, Judge, Ownership, Verdict, ownership_of_part
from pysync.targets.apply.writing import drop_batches, log_lost
from pysync.targets.base import Held, Incomplete, Outcome, Rejected, total
from pysync.targets.diff import same
from pysync.targets.hive import name_of, slices
from pysync.targets.store import Exists, Refused, Written, refused_as_one

# Partitions: put and drop, in batches. They carry no mark; the mark of their table counts.


Values = tuple[str, ...]

_ENOUGH = 10  # refused partitions after which no other batch is tried: then it may be the table that is wrong


def put_partitions(store: Door, operation: PutPartitions, judge: Judge) -> Outcome:
    """Add the partitions that are absent, alter those that differ. May raise Incomplete if the table is not there.

    Partitions that the store refuses do not stop the others: Rejected is raised at the end.
    """
    table = store.reads.table(operation.table)
    if table is None:
        return judge.without_table(operation, "partitions")
    verdict = judge.parts(operation, table)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, table)
    wanted, refused = as_stored(store, operation.table, table, operation.partitions)
    if wanted and judge.takes_files(store.settings, operation, table):
        store.bring_files()
    batch = _PartitionPut(store, operation, table, judge, refused)
    adds_first = operation.fresh and judge.adds_without_reading(operation, table)
    put = batch.without_reading if adds_first else batch.compared
    outcomes = []
    for keys in slices(list(wanted), store.reads.batch):
        outcomes.append(put({key: wanted[key] for key in keys}))
        if len(refused) >= _ENOUGH:
            break
    if Outcome.APPLIED in outcomes:
        lost = [it for expected in wanted.values() for it in store.reads.lost(expected)]
        log_lost(store, operation, list(dict.fromkeys(lost)))
    outcome = judge.outcome_of_parts(operation, table, total(outcomes))
    if refused:
        raise refused_as_one(operation.table, refused)
    return outcome


def drop_partitions(store: Door, operation: DropPartitions, judge: Judge) -> Outcome:
    """Drop the partitions that exist. Raises Rejected if the table has another number of partition keys, and at the end
    for those that the store refuses or the guard holds.
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
        fitting(operation.table, keys, values)
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


def fitting(name: TableName, keys: Sequence[Any], values: Sequence[str]) -> None:
    """Raise Rejected where a partition's values do not fit its table's partition keys."""
    if len(keys) != len(values):
        raise Rejected(
            f"a partition of {name} has {count(len(values), 'value')}, but the table has "
            f"{count(len(keys), 'partition key')}"
        )


def as_stored(
    store: Door, name: TableName, table: Any, partitions: Sequence[Any]
) -> tuple[dict[Values, Any], list[Refused]]:
    """The partitions in the form in which the store will return them, by values; and those that it cannot hold."""
    by_key: dict[Values, Any] = {}
    refused: list[Refused] = []
    for partition in partitions:
        try:
            fitting(name, table.partitionKeys or (), partition.values)
            expected = store.reads.as_stored(partition, table)
            by_key[key_of(expected.values)] = expected
        except Rejected as error:
            refused.append(Refused(tuple(partition.values), error))
    return by_key, refused


def by_values(store: Door, table: Any, values: Sequence[Sequence[str]]) -> dict[Values, Any]:
    """The existing ones of the partitions with these values."""
    return {key_of(item.values): item for item in store.reads.partitions_of(table, values)}


def key_of(values: Sequence[str]) -> Values:
    """What identifies a partition. An empty value is the default partition, as it is in names."""
    return tuple(value or DEFAULT_PARTITION for value in values)


@dataclass(frozen=True, slots=True)
class _PartitionPut:
    """Puts partitions of one operation, a batch at a time; `refused` gets those that the store refuses."""

    store: Door
    operation: PutPartitions
    table: Any
    judge: Judge
    refused: list[Refused]

    def without_reading(self, wanted: Mapping[Values, Any]) -> Outcome:
        """Add the partitions without a look. If one of them exists, none is added, and they are compared."""
        try:
            self.store.add_partitions(self.table, list(wanted.values()))
        except Exists:
            return self.compared(wanted)
        return Outcome.APPLIED

    def compared(self, wanted: Mapping[Values, Any]) -> Outcome:
        """Add the partitions that are absent, alter those that differ."""
        existing = by_values(self.store, self.table, list(wanted))
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


# Constraints: put and drop. They carry no mark; the mark of their table counts.
#
# Hive 2.3 has primary and foreign keys only. A kind that the target does not have is left out (Outcome.UNSUPPORTED).


def put_constraint(store: Door, operation: PutConstraint, judge: Judge) -> Outcome:
    """Add each constraint. It replaces the one of its name; a primary key replaces the table's primary key."""
    # HMS 2.3 answers a constraint of a missing table with an internal error, so we look first.
    table = store.reads.table(operation.table)
    if table is None:
        return judge.without_table(operation, "constraint")
    verdict = judge.parts(operation, table)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, table)
    try:
        outcome = total(
            [_put_constraint(store, operation, table, judge, columns) for columns in by_name(operation.columns)]
        )
    except MetastoreUnsupported:
        return Outcome.UNSUPPORTED
    return judge.outcome_of_parts(operation, table, outcome)


def drop_constraint(store: Door, operation: DropConstraint, judge: Judge) -> Outcome:
    """Drop the constraint of that name; UNCHANGED if it is not there."""
    table = store.reads.table(operation.table)
    names = set[str]() if table is None else _names_like(store, table, operation.constraint)
    if not names:
        return Outcome.UNCHANGED
    verdict = judge.parts(operation, table)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, table)
    for name in names:
        store.drop_constraint(operation.table, name)
    return Outcome.APPLIED


def _names_like(store: Door, table: Any, constraint: str) -> set[str]:
    """The names of the table's constraints that match in any case, spelled as they are there."""
    wanted = normalized(constraint)
    columns = chain.from_iterable(store.reads.constraints(table).values())
    return {name for name in map(constraint_name, columns) if normalized(name) == wanted}


def _put_constraint(store: Door, operation: PutConstraint, table: Any, judge: Judge, wanted: list[Any]) -> Outcome:
    existing = _replaced(store, operation.table, wanted[0])
    described = [comparable(column) for column in wanted]
    if same(described, existing):
        return Outcome.UNCHANGED
    verdict = judge.part(operation, table, described, existing or None)
    if verdict is not Verdict.DO:
        return OUTCOMES[verdict]
    # HMS has no call that alters a constraint.
    if existing:
        store.drop_constraint(operation.table, constraint_name(existing[0]))
    store.add_constraint(wanted)
    return Outcome.APPLIED


def _replaced(store: Door, name: TableName, column: Any) -> list[Any]:
    """The columns, in order, of the existing constraint that the new one would replace."""
    existing = store.reads.constraints_of(type(column), name)
    # A table has at most one primary key, and its name may be generated: the name does not identify it.
    if isinstance(column, hive.SQLPrimaryKey):
        return existing
    if isinstance(column, hive.SQLForeignKey):
        parent = TableName.of(column.pktable_db, column.pktable_name)
        if store.reads.table(parent) is None:
            raise Incomplete.of(store.settings.name, parent, "constraint")
    wanted = normalized(constraint_name(column))
    return [other for other in existing if wanted and normalized(constraint_name(other)) == wanted]


# Column statistics: written where they differ, deleted where the source has none. They carry no mark.


_SKETCHES = frozenset({"bitVectors", "histogram"})
"""A metastore hands these out only if it is set to (metastore.stats.fetch.bitvector), so they are not compared."""

_OUTCOMES_WITHOUT_WRITE = {
    Ownership.NEWER: Outcome.STALE,
    Ownership.FOREIGN: Outcome.FOREIGN,
    Ownership.RIVAL: Outcome.FOREIGN,
}


def put_statistics(store: Door, operation: PutStatistics, judge: Judge) -> Outcome:  # noqa: ARG001
    """Bring the column statistics to the source's.

    Writes none for a table that is missing or foreign, and none for a column of another name or type. Whoever the judge
    is, they go only from the source that wrote the table.
    """
    name = operation.table
    table = store.reads.table(name)
    ownership = ownership_of_part(table.parameters, operation.mark) if table is not None else Ownership.OWN
    if table is None or ownership is not Ownership.OWN:
        return _OUTCOMES_WITHOUT_WRITE.get(ownership, Outcome.UNCHANGED)
    existing = store.reads.column_statistics(table, list(operation.statistics))
    known = partial(_is_known, _knows_timestamps(store, operation))
    wanted = {
        part: _fitting(_as_stored(store, filter(known, items)), table) for part, items in operation.statistics.items()
    }
    different = {part: items for part, items in wanted.items() if not _same(items, existing[part])}
    changed = _present(store, table, different)
    # A write leaves the statistics of all other columns: those that the source has no more are deleted.
    for part, items in changed.items():
        store.drop_column_statistics(name, part, _columns(existing[part]).keys() - _columns(items).keys())
    some = {part: items for part, items in changed.items() if items}
    if some:
        store.put_column_statistics(name, some)
    return Outcome.APPLIED if changed else Outcome.UNCHANGED


def copy_statistics(store: Door, old: Any, new: Any) -> None:
    """Give the table `new` the column statistics of `old` and of its partitions, which it has, too."""
    names = store.reads.partition_names(old) if old.partitionKeys else ()
    batches = (names[at : at + store.reads.batch] for at in range(0, len(names), store.reads.batch))
    for parts in ([""], *batches):
        statistics = {part: items for part, items in store.reads.column_statistics(old, parts).items() if items}
        if statistics:
            store.put_column_statistics(name_of(new), statistics)


def _knows_timestamps(store: Door, operation: PutStatistics) -> bool:
    # Only read if needed: it costs a call.
    if not any(it.statsData.timestampStats for items in operation.statistics.values() for it in items):
        return True
    return store.reads.knows_timestamps(operation.table.database)


def _is_known(knows_timestamps: bool, item: Any) -> bool:
    """Whether the target can read the statistics. Those of a type that pysync does not know arrive empty."""
    return bool(_plain(item.statsData)) and (knows_timestamps or item.statsData.timestampStats is None)


def _as_stored(store: Door, statistics: Iterable[Any]) -> list[Any]:
    """The statistics as the store will return them, without those that it cannot hold."""
    return [expected for it in statistics if (expected := store.reads.stored_statistics(it)) is not None]


def _fitting(statistics: Iterable[Any], table: Any) -> Sequence[Any]:
    """The statistics of columns that the table has, with the same type."""
    types = {column.name.lower(): column.type.lower() for column in table.sd.cols}
    return [it for it in statistics if types.get(it.colName.lower()) == it.colType.lower()]


def _same(wanted: Sequence[Any], existing: Sequence[Any]) -> bool:
    return _columns(wanted) == _columns(existing)


def _columns(statistics: Sequence[Any]) -> dict[str, Any]:
    """The statistics of each column, as plain values."""
    return {it.colName.lower(): _plain(it.statsData) for it in statistics}


def _plain(value: Any) -> Any:
    if hasattr(value, "thrift_spec"):
        fields = {name: _plain(it) for name, it in vars(value).items() if name not in _SKETCHES}
        return {name: it for name, it in fields.items() if it is not None}
    return value


def _present(store: Door, table: Any, changed: Statistics) -> Statistics:
    """The statistics without those of missing partitions."""
    partitions = [part for part in changed if part]
    if not partitions:
        return changed
    keys = [key.name for key in table.partitionKeys or ()]
    partitions_there = store.reads.partitions_by_name(name_of(table), partitions)
    existing = {"", *(partition_name(keys, it.values) for it in partitions_there)}
    return {part: items for part, items in changed.items() if part in existing}
