"""Contents: reads the partitions and constraints of a table again at the source, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.client import PARTITIONS_PER_CALL
from pysync.metastore.reads import Reads
from pysync.model.constraints import Constraints, name_of, pairs
from pysync.model.locations import SourceFiles
from pysync.model.names import TableName, partition_name, partition_values
from pysync.model.operation import DropConstraint, DropPartitions, Operation, PutConstraint, PutPartitions, Refresh
from pysync.model.reencoding import Frame
from pysync.model.snapshot import Snapshot
from pysync.replay.window.policy import typed_keys
from pysync.replay.window.translate import Translator
from pysync.targets.base import Target


@dataclass(frozen=True, slots=True)
class TableAtSource:
    """A table of the source: its names at both ends, its rewritten `definition`, and its `frame` from before the
    rewriting.

    `origin` holds the mark for what is written of it, and the clusters that it has been to. `snapshot` says which rows
    of a transactional table count.
    """

    old: TableName
    new: TableName
    definition: Any
    frame: Frame
    origin: dict[str, Any]
    snapshot: Snapshot | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a table, at the source and at the target. Only reads both, and raises what they raise."""

    source: Reads
    target: Target
    translator: Translator
    refresh: Refresh

    def partitions(self, table: TableAtSource, *, fresh: bool) -> Iterator[Operation]:
        """Put the source's partitions that are taken, then drop the target's others.

        A table that is `fresh` has no others. Others that are not in scope stay, unless what leaves the scope goes.
        """
        keys = tuple(key.name for key in table.definition.partitionKeys)
        present: set[str] = set()
        for parts in self._parts(table):
            sources: dict[str, SourceFiles] = {}
            for part in parts:
                files = self.translator.mapping.apply_to_partition(part, table.frame)
                sources |= {location: it.at(table.snapshot) for location, it in files.items()}
            if not fresh:
                present |= {partition_name(keys, part.values) for part in parts}
            if parts:
                fields = {"partitions": tuple(parts), "sources": sources, **table.origin}
                yield PutPartitions(table=table.new, definition=table.definition, fresh=fresh, **fields)
        there = () if fresh else (tuple(part.values) for part in self.target.partitions(table.new))
        # A table of others may have stayed there, with other keys.
        fitting = (it for it in there if len(it) == len(keys))
        # All are found before any is dropped: `_is_unchanged` has to look after both ends were read.
        extra = [it for it in fitting if self._is_extra(table, it, partition_name(keys, it), present)]
        if extra and self._is_unchanged(table):  # as one, because the brake judges all of them together
            yield DropPartitions(table=table.new, keys=keys, values=tuple(extra), **table.origin)

    def _takes(self, table: TableAtSource, values: Sequence[str]) -> bool:
        return self.translator.policy.takes_partition(table.old, typed_keys(table.definition), values)

    def _parts(self, table: TableAtSource) -> Iterator[list[Any]]:
        """The source's partitions that are taken, a batch at a time; asked for by name only if there are more than one
        batch.
        """
        old = table.old
        names = list(self.refresh.partitions)
        few = None if names else self._all_if_few(old)
        if few is not None:
            yield [it for it in few if self._takes(table, it.values)]
            return
        names = names or self.source.partition_names(old.database, old.table)
        names = [it for it in names if self._takes(table, partition_values(it))]
        for start in range(0, len(names), PARTITIONS_PER_CALL):
            yield self.source.partitions_by_name(old.database, old.table, names[start : start + PARTITIONS_PER_CALL])

    def _all_if_few(self, old: TableName) -> list[Any] | None:
        """All partitions of the source; None if there are more than one batch, or if names have to be used.

        To list the names of one table's partitions, a metastore may look through those of all tables (Derby does).
        """
        try:
            # One more than a batch, to see whether there are more.
            partitions = self.source.first_partitions(old.database, old.table, PARTITIONS_PER_CALL + 1)
        except hive.MetaException:  # hive.metastore.limit.partition.request may forbid the call
            return None
        return partitions if len(partitions) <= PARTITIONS_PER_CALL else None

    def _is_extra(self, table: TableAtSource, values: Sequence[str], name: str, present: set[str]) -> bool:
        if name in present or (self.refresh.partitions and name not in self.refresh.partitions):
            return False
        return self.translator.policy.drops_leavers or self._takes(table, values)

    def constraints(self, table: Any) -> Constraints:
        """The constraints of the source's table, rewritten for the target."""
        by_name: dict[Any, list[Any]] = {}
        for kind, columns in self.source.constraints(table).items():
            by_name[kind] = [column for column in columns if self.translator.policy.takes_constraint(column)]
            for column in by_name[kind]:
                self.translator.mapping.apply_to(column)
        return by_name

    def bring_constraints(self, table: TableAtSource, wanted: Constraints, there: Any) -> Iterator[Operation]:
        """Put the source's constraints, and drop the others of the target's table `there` (None: it is new)."""
        # Without any kind wanted (only some partitions are refreshed, say) nothing is dropped, so the call is saved.
        existing = {} if there is None or not wanted else self.target.constraints(there)
        extra = []
        for kind, columns in wanted.items():
            if columns:
                yield PutConstraint(table=table.new, columns=tuple(columns), **table.origin)
            extra += [name_of(other[0]) for mine, other in pairs(columns, existing.get(kind, [])) if not mine]
        if extra and self._is_unchanged(table):
            for constraint in extra:
                yield DropConstraint(table=table.new, constraint=constraint, **table.origin)

    def _is_unchanged(self, table: TableAtSource) -> bool:
        """Whether what was read is complete: the table is still the same at the source.

        A table that was renamed or dropped meanwhile looks empty. Its partitions must not be dropped at the target: its
        events will come, and a rename takes everything along.
        """
        current = self.source.table(table.old.database, table.old.table)
        return current is not None and current.createTime == table.definition.createTime
