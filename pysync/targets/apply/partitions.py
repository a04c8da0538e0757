"""Partitions: put and drop, in batches. They carry no mark; the mark of their table counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pysync.model.names import DEFAULT_PARTITION, TableName
from pysync.model.operation import DropPartitions, PutPartitions
from pysync.targets.apply.ownership import Ownership, ownership_of_part
from pysync.targets.apply.tables import existing
from pysync.targets.apply.writing import conflict, drop_batches, taken, tell_lost
from pysync.targets.base import Outcome, Rejected, total
from pysync.targets.diff import differences, same
from pysync.targets.hive import slices
from pysync.targets.store import Exists, Refused, Store, refused_as_one
from pysync.text import count

Values = tuple[str, ...]

_ENOUGH = 10  # refused partitions after which no other batch is tried: then it may be the table that is wrong


def put_partitions(store: Store, operation: PutPartitions) -> Outcome:
    """Add the partitions that are absent, alter those that differ. Raises Incomplete if the table is not there.

    Partitions that the store refuses do not stop the others: Rejected is raised at the end.
    """
    table = existing(store, operation.table, "partitions")
    found = ownership_of_part(table.parameters, operation.mark)
    if found is Ownership.NEWER:
        return Outcome.STALE
    if found is Ownership.RIVAL:
        raise taken(store.settings, f"table {operation.table}", table, operation.mark)
    if found is Ownership.FOREIGN and store.is_link(table):
        return conflict(store, f"table {operation.table}", table) or Outcome.FOREIGN
    wanted, refused = as_kept(store, operation.table, table, operation.partitions)
    outcomes = []
    for keys in slices(list(wanted), store.batch):
        batch = {key: wanted[key] for key in keys}
        # In a foreign table it has to be decided first whether anything may be written, and that takes a look.
        put = _put_fresh if operation.fresh and found is Ownership.OWN else _put
        outcomes.append(put(store, operation, table, batch, refused))
        if len(refused) >= _ENOUGH:
            break
    if Outcome.APPLIED in outcomes:
        lost = [it for kept in wanted.values() for it in store.lost(kept)]
        tell_lost(store, operation, list(dict.fromkeys(lost)))
    if refused:
        raise refused_as_one(operation.table, refused)
    return total(outcomes)


def drop_partitions(store: Store, operation: DropPartitions) -> Outcome:
    """Drop the partitions that exist. Raises Rejected if the table has another number of partition keys."""
    table = store.table(operation.table)
    if table is None:
        return Outcome.UNCHANGED
    found = ownership_of_part(table.parameters, operation.mark)
    if found is Ownership.NEWER:
        return Outcome.STALE
    keys = table.partitionKeys or ()
    if found in {Ownership.FOREIGN, Ownership.RIVAL} and len(keys) != len(operation.keys):
        return Outcome.FOREIGN  # no partition of another's table can be meant
    for values in operation.values:
        fitting(operation.table, operation.keys, values)
        fitting(operation.table, keys, values)
    outcomes = [_drop(store, operation, table, batch, found) for batch in slices(operation.values, store.batch)]
    return total(outcomes)


def fitting(name: TableName, keys: Sequence[Any], values: Sequence[str]) -> None:
    """Raise Rejected where a partition's values do not fit its table's partition keys."""
    if len(keys) != len(values):
        raise Rejected(
            f"a partition of {name} has {count(len(values), 'value')}, but the table has "
            f"{count(len(keys), 'partition key')}"
        )


def as_kept(
    store: Store, name: TableName, table: Any, partitions: Sequence[Any]
) -> tuple[dict[Values, Any], list[Refused]]:
    """The partitions in the form in which the store will return them, by values; and those that it cannot hold."""
    found: dict[Values, Any] = {}
    refused: list[Refused] = []
    for partition in partitions:
        try:
            fitting(name, table.partitionKeys or (), partition.values)
            kept = store.as_kept(partition, table)
            found[key_of(kept.values)] = kept
        except Rejected as error:
            refused.append(Refused(tuple(partition.values), error))
    return found, refused


def by_values(store: Store, table: Any, values: Sequence[Sequence[str]]) -> dict[Values, Any]:
    """The existing ones of the partitions with these values."""
    return {key_of(item.values): item for item in store.partitions_of(table, values)}


def key_of(values: Sequence[str]) -> Values:
    """What identifies a partition. An empty value is the default partition, as it is in names."""
    return tuple(value or DEFAULT_PARTITION for value in values)


def _put_fresh(
    store: Store, operation: PutPartitions, table: Any, wanted: Mapping[Values, Any], refused: list[Refused]
) -> Outcome:
    """Add the partitions without a look. If one of them exists, none is added, and they are compared."""
    try:
        store.add_partitions(table, list(wanted.values()))
    except Exists:
        return _put(store, operation, table, wanted, refused)
    return Outcome.APPLIED


def _put(
    store: Store, operation: PutPartitions, table: Any, wanted: Mapping[Values, Any], refused: list[Refused]
) -> Outcome:
    there = by_values(store, table, list(wanted))
    absent = [item for key, item in wanted.items() if key not in there]
    changed = [(item, there[key]) for key, item in wanted.items() if key in there and not same(item, there[key])]
    if not absent and not changed:
        return Outcome.UNCHANGED  # also in a foreign table: so the echo of a change ends here
    if ownership_of_part(table.parameters, operation.mark) is Ownership.FOREIGN:
        # A difference that the store would not write is none: it must not park the event.
        if not absent and not any(_writes(store, table, item, its) for item, its in changed):
            return Outcome.UNCHANGED
        settled = conflict(store, f"table {operation.table}", table)
        if settled is not None:
            return settled
    done = store.put_partitions(table, absent, changed)
    refused += done.refused
    return Outcome.APPLIED if done.any else Outcome.UNCHANGED


def _writes(store: Store, table: Any, wanted: Any, there: Any) -> bool:
    """Whether the store would write the differences, or refuse them."""
    try:
        return bool(store.written(differences(wanted, there), wanted, there, table))
    except Rejected:
        return True


def _drop(
    store: Store, operation: DropPartitions, table: Any, values: Sequence[Sequence[str]], found: Ownership
) -> Outcome:
    there = store.partitions_of(table, values)
    if not there:
        return Outcome.UNCHANGED
    if found in {Ownership.FOREIGN, Ownership.RIVAL}:
        return Outcome.FOREIGN
    for batch, delete_data in drop_batches(store, there, operation.delete_data, [table.sd.location or ""]):
        store.drop_partitions(table, batch, delete_data=delete_data)
    return Outcome.APPLIED
