"""Removal: an object that a target is about to lose, as whoever judges that has to know it; what an operation removes,
and what it brings back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pysync.model.names import normalized, partition_name
from pysync.model.operation import (
    DropDatabase,
    DropFunction,
    DropPartitions,
    DropTable,
    Operation,
    PutDatabase,
    PutFunction,
    PutPartitions,
    PutTable,
    RenameTable,
)


@dataclass(frozen=True, slots=True)
class Lost:
    """A database, a table, a function `db.f()`, a partition `db.t/key=value`, or all partitions of a table `db.t/*`.

    Named as at the target. `kind` is `database`, `table`, `function` or `partition`, `count` how many of these it is.
    `created` is the createTime of a table at the source (s; 0: not known). `replaced`: a table of that name is written
    in its place at once, so that the table itself is no loss.
    """

    object: str
    kind: str
    count: int = 1
    created: int = 0
    replaced: bool = False

    def is_lasting(self, at_ms: int, seconds: float) -> bool:
        """Whether it is a table whose loss at that time counts for the share of its database.

        Not one that lived for less than `seconds`: it belonged to some job. It counts if the source does not say when
        it was created, or if that was later than the drop: then one of the two clocks is wrong.
        """
        if self.kind != "table" or self.replaced:
            return False
        return not self.created or not 0 <= at_ms / 1000 - self.created <= seconds


def lost_by(operation: Operation) -> list[Lost]:
    """What an operation names that it removes; nothing for one that only asks another cluster."""
    if operation.asks_only:
        return []
    if isinstance(operation, DropDatabase):
        return [] if operation.tables_alone else [Lost(operation.database, "database")]
    if isinstance(operation, DropTable):
        return [Lost(operation.key, "table", created=operation.mark.created)]
    if isinstance(operation, DropFunction):
        return [Lost(normalized(operation.key), "function")]
    if isinstance(operation, DropPartitions):
        return [Lost(name, "partition") for name in partitions_by(operation)]
    return []


def put_by(operation: Operation) -> Iterator[str]:
    """The names of the objects that the source has again, as the operation shows. An alter may be of long ago."""
    if isinstance(operation, PutTable):
        yield from [operation.key] if operation.creates or operation.is_current else []
    elif isinstance(operation, RenameTable):
        yield str(operation.new_name)
    elif isinstance(operation, PutDatabase | PutFunction):
        yield normalized(operation.key)
    elif isinstance(operation, PutPartitions):
        yield from partitions_by(operation)


def partitions_by(operation: DropPartitions | PutPartitions) -> Iterator[str]:
    """The names `db.table/key=value` of the partitions of an operation."""
    if isinstance(operation, DropPartitions):
        keys, every = list(operation.keys), list(operation.values)
    else:
        keys = [key.name for key in operation.definition.partitionKeys or ()]
        every = [tuple(it.values) for it in operation.partitions]
    return (f"{operation.key}/{name_of_values(keys, values)}" for values in every)


def name_of_values(keys: Sequence[str], values: Sequence[str]) -> str:
    """The name of a partition; of one that does not fit its table, which no target takes, its values behind a `=`."""
    return partition_name(list(keys), list(values)) if len(keys) == len(values) else f"={','.join(values)}"
