"""Contents: the partitions and constraints of a table that is read anew, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.copy.formats import Frame
from pysync.metastore.client import PARTITIONS_PER_CALL
from pysync.metastore.reads import Reads
from pysync.model.constraints import Constraints, name_of, pairs
from pysync.model.files import SourceFiles
from pysync.model.names import TableName, partition_name
from pysync.model.operation import DropConstraint, DropPartitions, Operation, PutConstraint, PutPartitions, Refresh
from pysync.replay.translate import Translator
from pysync.targets.base import Target


@dataclass(frozen=True, slots=True)
class Found:
    """A table of the source: its names at both ends, its `definition`, rewritten, and the `frame` that it had before.

    `origin` is the mark of what is written for it, and where that has been.
    """

    old: TableName
    new: TableName
    definition: Any
    frame: Frame
    origin: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a table, from the source to the target; both are only read. Raises what they raise."""

    source: Reads
    target: Target
    translator: Translator
    refresh: Refresh

    def partitions(self, table: Found, *, fresh: bool) -> Iterator[Operation]:
        """Those of the source; then what the target has beyond them, which a table that is `fresh` has not."""
        keys = tuple(key.name for key in table.definition.partitionKeys)
        present: set[str] = set()
        for parts in self._parts(table.old):
            sources: dict[str, SourceFiles] = {}
            for part in parts:
                sources |= self.translator.mapping.apply_to_partition(part, table.frame)
            if not fresh:
                present |= {partition_name(keys, part.values) for part in parts}
            if parts:
                found = {"partitions": tuple(parts), "sources": sources, **table.origin}
                yield PutPartitions(table=table.new, definition=table.definition, fresh=fresh, **found)
        there = () if fresh else (tuple(part.values) for part in self.target.partitions(table.new))
        extra = [it for it in there if self._is_extra(partition_name(keys, it), present)]
        if extra and self._is_still(table):
            for values in _batches(extra):
                yield DropPartitions(table=table.new, keys=keys, values=values, **table.origin)

    def _parts(self, old: TableName) -> Iterator[list[Any]]:
        """The partitions of the source, a batch at a time; asked for by name only where they are more than a batch."""
        names = list(self.refresh.partitions)
        few = None if names else self._few(old)
        if few is not None:
            yield few
            return
        names = names or self.source.partition_names(old.database, old.table)
        for start in range(0, len(names), PARTITIONS_PER_CALL):
            yield self.source.partitions_by_name(old.database, old.table, names[start : start + PARTITIONS_PER_CALL])

    def _few(self, old: TableName) -> list[Any] | None:
        """All partitions of the source, or None if they are more than a batch, or only asked for by name.

        To name those of one table, a metastore may look through the partitions of all.
        """
        try:
            found = self.source.first_partitions(old.database, old.table, PARTITIONS_PER_CALL + 1)
        except hive.MetaException:  # it may limit how many one asks for: hive.metastore.limit.partition.request
            return None
        return found if len(found) <= PARTITIONS_PER_CALL else None

    def _is_extra(self, name: str, present: set[str]) -> bool:
        return name not in present and (not self.refresh.partitions or name in self.refresh.partitions)

    def constraints(self, table: Any) -> Constraints:
        """Those of the source's table, as the target shall have them."""
        found: dict[Any, list[Any]] = {}
        for kind, columns in self.source.constraints(table).items():
            found[kind] = [column for column in columns if self.translator.policy.takes_constraint(column)]
            for column in found[kind]:
                self.translator.mapping.apply_to(column)
        return found

    def bring_constraints(self, table: Found, wanted: Constraints, there: Any) -> Iterator[Operation]:
        """Put the source's, and drop what the target's table `there` (None: there was none) has beyond them."""
        its = {} if there is None or not wanted else self.target.constraints(there)
        extra = []
        for kind, columns in wanted.items():
            if columns:
                yield PutConstraint(table=table.new, columns=tuple(columns), **table.origin)
            extra += [name_of(other[0]) for mine, other in pairs(columns, its.get(kind, [])) if not mine]
        if extra and self._is_still(table):
            for constraint in extra:
                yield DropConstraint(table=table.new, constraint=constraint, **table.origin)

    def _is_still(self, table: Found) -> bool:
        """Whether what was read just now is all there is of the table.

        One that was renamed or dropped meanwhile looks empty, and what it had must not go at the target: its events are
        to come, and a rename takes everything along.
        """
        found = self.source.table(table.old.database, table.old.table)
        return found is not None and found.createTime == table.definition.createTime


def _batches(values: list[tuple[str, ...]]) -> Iterable[tuple[tuple[str, ...], ...]]:
    return (tuple(values[at : at + PARTITIONS_PER_CALL]) for at in range(0, len(values), PARTITIONS_PER_CALL))
