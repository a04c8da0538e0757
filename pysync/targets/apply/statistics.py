"""Column statistics: written where they differ, deleted where the source has none. They carry no mark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from pysync.metastore.statistics import Statistics
from pysync.model.names import partition_name
from pysync.model.operation import PutStatistics
from pysync.targets.apply.door import Door
from pysync.targets.apply.judge import Judge
from pysync.targets.apply.owners import Ownership, ownership_of_part
from pysync.targets.base import Outcome
from pysync.targets.hive import name_of

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
    existing = store.statistics.column_statistics(table, list(operation.statistics))
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
        statistics = {part: items for part, items in store.statistics.column_statistics(old, parts).items() if items}
        if statistics:
            store.put_column_statistics(name_of(new), statistics)


def _knows_timestamps(store: Door, operation: PutStatistics) -> bool:
    # Only read if needed: it costs a call.
    if not any(it.statsData.timestampStats for items in operation.statistics.values() for it in items):
        return True
    return store.statistics.knows_timestamps(operation.table.database)


def _is_known(knows_timestamps: bool, item: Any) -> bool:
    """Whether the target can read the statistics. Those of a type that pysync does not know arrive empty."""
    return bool(_plain(item.statsData)) and (knows_timestamps or item.statsData.timestampStats is None)


def _as_stored(store: Door, statistics: Iterable[Any]) -> list[Any]:
    """The statistics as the store will return them, without those that it cannot hold."""
    return [expected for it in statistics if (expected := store.statistics.stored_statistics(it)) is not None]


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
