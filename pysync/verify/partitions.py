"""The partitions of a table, compared a batch at a time. In memory are all their names, and a few batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pysync.metastore.client import PARTITIONS_PER_CALL
from pysync.model.mark import KEPT_KEY
from pysync.model.names import TableName, partition_name, partition_values
from pysync.model.reencoding import Frame
from pysync.replay.window.policy import Keys
from pysync.targets.base import Rejected, Unavailable
from pysync.verify.findings import DIFFERENT, EXTRA, FOREIGN, MISSING, MOST_FIELDS, ComparedObject
from pysync.verify.pool import ComparedEnds, WorkerPool
from pysync.verify.rules import Rules

FEW = 4 * PARTITIONS_PER_CALL
"""A table with at most so many partitions is compared by one thread, while others compare other tables."""


@dataclass(frozen=True, slots=True)
class Keyed:
    """A table with partitions: its names at both ends, and its keys at the source."""

    old: TableName
    new: TableName
    keys: Keys = ()


@dataclass(frozen=True, slots=True)
class Owner:
    """A table with what it takes to compare its partitions: the source's `frame`, and the table at the target."""

    keyed: Keyed
    frame: Frame
    there: Any


@dataclass(frozen=True, slots=True)
class PartitionBatch:
    """Names of partitions at the source, and which of them the target has."""

    names: Sequence[str]
    common: Sequence[str]


@dataclass(slots=True)
class PartitionTally:
    """What was found of a table's partitions: how many were looked at, the differences, and what is no drift."""

    parts: int = 0
    differences: int = 0
    fields: list[str] = field(default_factory=list)
    excused: list[str] = field(default_factory=list)

    def add(self, other: PartitionTally) -> None:
        """Count what another found."""
        self.parts += other.parts
        self.differences += other.differences
        # As many as are shown, however many there are.
        self.fields += other.fields[: MOST_FIELDS - len(self.fields)]
        self.excused += [it for it in other.excused if it not in self.excused][:MOST_FIELDS]

    def note(self, fields: Iterable[str], excuse: str = "") -> None:
        """Note differences. With an excuse they are reported, but are no drift."""
        for text in fields:
            self.differences += not excuse
            where, what = (self.excused, f"{text} ({excuse})") if excuse else (self.fields, text)
            if len(where) < MOST_FIELDS:
                where.append(what)


def owner_of(ends: ComparedEnds, keyed: Keyed, rules: Rules) -> Owner:
    """Read from both ends. Raises as they do, and Unavailable where one of them has no such table any more."""
    wanted, there = ends.source.table(keyed.old.database, keyed.old.table), ends.target.table(keyed.new)
    if wanted is None or there is None:
        raise Unavailable(f"table {keyed.new} was dropped during the comparison", "run pysync verify again")
    return Owner(keyed, rules.mapping.frame(wanted), there)


def compare_few(ends: ComparedEnds, owner: Owner, rules: Rules) -> PartitionTally | None:
    """Compare all partitions of a table at once; None if there are more than FEW."""
    keyed = owner.keyed
    # One more than FEW says that there are more, without all the names.
    wanted, there = _source_names(ends, keyed, FEW + 1), ends.target.partition_names(keyed.new, FEW + 1)
    if max(len(wanted), len(there)) > FEW:
        return None
    wanted = _taken(keyed, wanted, rules)
    tally = _extras(keyed, wanted, there, rules)
    for batch in _batches(wanted, frozenset(there)):
        tally.add(compare_batch(ends, owner, rules, batch))
    return tally


def compare_many(pool: WorkerPool, keyed: Keyed, rules: Rules) -> Iterator[tuple[PartitionTally, int]]:
    """Compare all partitions of a table by all threads. Yields the findings so far and the total, again and again."""
    # Asked for first, and awaited last: both ends list their names at once.
    theirs = pool.ask(lambda ends: frozenset(ends.target.partition_names(keyed.new)))
    owner = pool.ask(lambda ends: owner_of(ends, keyed, rules)).result()
    wanted = _taken(keyed, pool.ask(lambda ends: _source_names(ends, keyed)).result(), rules)
    there = theirs.result()
    tally = _extras(keyed, wanted, there, rules)
    yield tally, len(wanted)
    compared = pool.each(lambda ends, batch: compare_batch(ends, owner, rules, batch), _batches(wanted, there))
    for batch in compared:
        tally.add(batch)
        yield tally, len(wanted)


def _source_names(ends: ComparedEnds, keyed: Keyed, most: int = -1) -> list[str]:
    name = keyed.old
    return list(ends.source.call(lambda client: client.get_partition_names(name.database, name.table, most)))


def _taken(keyed: Keyed, names: Iterable[str], rules: Rules) -> list[str]:
    """Those of the partitions that are in the scope of the target."""
    takes = rules.policy.takes_partition
    return [name for name in names if takes(keyed.old, keyed.keys, partition_values(name))]


def _extras(keyed: Keyed, wanted: Sequence[str], there: Iterable[str], rules: Rules) -> PartitionTally:
    """What only the target has. What is not in its scope may stay, unless what leaves the scope is dropped."""
    tally = PartitionTally()
    extra = sorted(frozenset(there).difference(wanted))
    due = frozenset(extra if rules.policy.drops_leavers else _taken(keyed, extra, rules))
    excuse = rules.excuse("partition", EXTRA, str(keyed.old))
    tally.note((f"partition {name}: extra" for name in extra if name in due), excuse)
    tally.note((f"partition {name}: extra" for name in extra if name not in due), "not in the scope of the target")
    return tally


def _batches(wanted: Sequence[str], there: frozenset[str]) -> Iterator[PartitionBatch]:
    for start in range(0, len(wanted), PARTITIONS_PER_CALL):
        names = wanted[start : start + PARTITIONS_PER_CALL]
        yield PartitionBatch(names, [name for name in names if name in there])


def compare_batch(ends: ComparedEnds, owner: Owner, rules: Rules, batch: PartitionBatch) -> PartitionTally:
    """Compare these partitions, with a few calls to either end. Raises as both ends do."""
    name = owner.keyed.old
    wanted = ends.source.partitions_by_name(name.database, name.table, batch.names)
    partitions = ends.target.partitions_by_name(owner.keyed.new, batch.common) if batch.common else []
    there = {tuple(partition.values): partition for partition in partitions}
    keys = [key.name for key in owner.there.partitionKeys]
    tally = PartitionTally(len(batch.names))
    for partition in wanted:
        at_target = there.get(tuple(partition.values))
        excuse = rules.excuse("partition", MISSING if at_target is None else DIFFERENT, str(name))
        try:
            rewritten = rules.rewritten_partition(partition, owner.frame)
            fields = ends.target.differences(rewritten, at_target, owner.there)
        except Rejected as error:
            if at_target is None:  # that is no excuse for what is missing
                fields = [f"missing: {error.message}"]
            else:
                fields, excuse = ["the target cannot hold it"], error.message
        label = partition_name(keys, partition.values)
        tally.note((f"partition {label}: {text}" for text in fields), excuse)
    return tally


def excused(compared: ComparedObject, rules: Rules, there: Any, *, in_scope: bool) -> ComparedObject:
    """What only the target has, with the reason why it may have it, if there is one."""
    extra = rules.extra_object(compared, there)
    if extra.result != FOREIGN and KEPT_KEY in (there.parameters or {}):
        return replace(extra, excuse="the source has dropped it, and a person has kept it")
    out = extra.result != FOREIGN and not in_scope
    return replace(extra, excuse="not in the scope of the target") if out else extra
