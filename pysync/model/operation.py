"""Operations: what a target is asked to do. Each is convergent: applied twice, or late, it ends in the same state.

A put creates or alters; the drop of an absent object succeeds. Objects are hmsclient's structs, already rewritten for
the target. A target must not alter them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pysync.model.home import Condition, Stance
from pysync.model.locations import SourceFiles
from pysync.model.mark import Mark
from pysync.model.names import TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """`mark` says where the change comes from, `visited` the clusters it has been to, so that it never returns.

    `condition` is what the target must have, where homes count (pysync.model.home).
    """

    mark: Mark
    visited: tuple[str, ...] = ()
    condition: Condition | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """The object that it is about. Operations of one key are applied in order."""
        raise NotImplementedError

    @property
    def asks_only(self) -> bool:
        """Whether it was read at a cluster that is not the home: a target that differs is asked what the home has."""
        condition = self.condition
        return (
            condition is not None
            and condition.stance is Stance.REQUEST
            and not condition.before
            and not condition.parts
        )

    @property
    def drops(self) -> int:
        """How many databases, functions, tables and partitions it drops, without the partitions of a dropped table."""
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseOperation(Operation):
    """An operation on a database, or on a function in it."""

    database: str

    @property
    def key(self) -> str:
        """The database's name."""
        return self.database


@dataclass(frozen=True, slots=True, kw_only=True)
class PutDatabase(DatabaseOperation):
    """Create the database, or alter it to this definition.

    `event_id`: everything up to that id of the source's log is in the database, which shall say so; 0: not known.
    """

    definition: Any
    event_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DropDatabase(DatabaseOperation):
    """Drop the database with those of its tables that are from the same source; it stays if others are left in it.

    `dropped_tables` are the tables that it had at the source (both ways only). With `tables_alone` only those go, and
    the database with them if it was born elsewhere and is empty. `deleted_locations` are those of tables that the
    source dropped shortly before it, with their files (see DropTable). Its own directory stays: no event says whether
    the source deleted that.
    """

    deleted_locations: tuple[str, ...] = ()
    dropped_tables: Sequence[Any] = ()
    tables_alone: bool = False

    @property
    def drops(self) -> int:
        """One."""
        return 1

    @property
    def may_come_late(self) -> bool:
        """Whether what is made in the database later need not wait: by its marks the target knows what is newer.

        Both ways an object has no mark at its home.
        """
        return self.condition is None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutFunction(DatabaseOperation):
    """Create the function, or alter it to this definition."""

    definition: Any

    @property
    def key(self) -> str:
        """The function's name, `database.function()`."""
        return f"{self.database}.{self.definition.functionName}()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh(Operation):
    """Bring a table, or a database without its tables, to its present state at the source. No target gets to see it.

    The replay turns it into other operations when its turn comes (pysync.replay.refresh). `database` and `table` are
    names at the target; without either, databases that the source no longer has are dropped. `partitions` are names,
    `key=value/…`; none: all. When the refresh was queued, the source had the tables (or databases) in `present`, and
    the table itself unless `absent`. `created` was the table's createTime (s; 0: not known); a table with another one
    by now is left to its own events.

    `bootstrap`: it is part of a bootstrap, and counted. `statistics`: only the column statistics, of the `partitions`
    or, without any, of the table itself. `former`: scopes that the target had before (JSON, see
    pysync.replay.window.scope); what has left the scope since is dropped; with `replaced` (in the same form) what has
    left the scope of its dumps. `needed`: another operation needs the object at the target, whatever its home; of a
    database only the definition is read. `event_id`: the same, and the database shall say that everything up to
    that id of the source's log is in it. `reread`: a re-read request (pysync.model.reread) asks to read the
    table, the `function`, or the definition of the database again; `home` is the object's home as far as the sender
    knows, and `chain_length` the number of requests so far, each caused by the one before.
    """

    source_database: str = ""
    source_table: TableName | None = None
    database: str = ""
    table: TableName | None = None
    partitions: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    absent: bool = False
    created: int = 0
    bootstrap: bool = False
    statistics: bool = False
    former: str = ""
    replaced: str = ""
    needed: bool = False
    reread: bool = False
    function: str = ""
    home: str = ""
    chain_length: int = 0
    event_id: int = 0

    @property
    def key(self) -> str:
        """The table's name, or the database's."""
        return str(self.table) if self.table else self.database


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestReread(DatabaseOperation):
    """Have all clusters read the table, the function, or the definition of the database again, as it is at its `home`.

    Sent by the home, it brings the home's state; sent by another cluster, it travels to the home first
    (pysync.model.reread). `home` is "" if it is not known.
    """

    table: str = ""
    function: str = ""
    home: str = ""
    chain_length: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DropFunction(DatabaseOperation):
    """Drop the function."""

    function: str

    @property
    def key(self) -> str:
        """The function's name, `database.function()`."""
        return f"{self.database}.{self.function}()"

    @property
    def drops(self) -> int:
        """One."""
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOperation(Operation):
    """An operation on a table or its partitions.

    `sources` are the files at the source, by the locations in the operation, which are the target's. Empty for targets
    without `copy`.
    """

    table: TableName
    sources: Mapping[str, SourceFiles] = field(default_factory=dict, compare=False)

    @property
    def key(self) -> str:
        """The table's name, `database.table`."""
        return str(self.table)


@dataclass(frozen=True, slots=True, kw_only=True)
class PutTable(TableOperation):
    """Create the table, or alter it to this definition.

    With `cascade` its partitions get its columns, whatever columns they or the table have by then. `pointers` are the
    pointers that an Iceberg table had at the source before (pysync.model.table_formats). Only if it `creates` may a
    missing table be created: then everything else in the table follows, or there is nothing yet. `is_current` says that
    the definition was read at the source when its turn came; an event may be older than what another queue has written.
    """

    definition: Any
    cascade: bool = False
    creates: bool = True
    is_current: bool = False
    pointers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTable(TableOperation):
    """Give `table` the name and definition in `definition`; partitions stay, and their locations move along."""

    definition: Any

    @property
    def new_name(self) -> TableName:
        """The name it gets."""
        return TableName.of(self.definition.dbName, self.definition.tableName)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTable(TableOperation):
    """Drop the table, unless the target's is newer than the dropped one, or not from its source.

    `deleted_locations` are the directories that the source deleted with it, by their names at the target; none if it
    kept the files. A target may delete files there, and nowhere else.
    """

    deleted_locations: tuple[str, ...] = ()

    @property
    def drops(self) -> int:
        """One; none if it only asks."""
        return 0 if self.asks_only else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveTable(TableOperation):
    """Leave a table as it is that was renamed out of scope; its mark says the new name at the source, `new_source`.

    So nothing takes it any more for the table that has, or had, its name there.
    """

    new_source: TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class PutPartitions(TableOperation):
    """Add the partitions, and alter those that exist; `definition` is their table.

    The table may be missing at the target: if the target began to follow later, if somebody dropped it there, or if a
    later window dropped it before a crash. With `fresh` the table was missing a moment ago, so it has no partitions: a
    target may add them without a look. If one exists all the same, the target has to look.
    """

    definition: Any
    partitions: Sequence[Any]
    fresh: bool = False


PutWithFiles: TypeAlias = PutTable | RenameTable | PutPartitions
"""What a target may need files for, which are copied before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPartitions(TableOperation):
    """Drop the partitions; `keys` are the table's partition keys, `values` one list for each partition.

    The source deleted the files of all of them, at `deleted_locations` (see DropTable), or those of none.
    """

    keys: Sequence[str]
    values: Sequence[Sequence[str]]
    deleted_locations: tuple[str, ...] = ()

    @property
    def drops(self) -> int:
        """One for each partition; none if it only asks."""
        return 0 if self.asks_only else len(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class PutConstraint(TableOperation):
    """Add constraints of one kind: SQLPrimaryKey, SQLForeignKey, … structs, one for each column of each."""

    columns: Sequence[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DropConstraint(TableOperation):
    """Drop the constraint of that name."""

    constraint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PutStatistics(TableOperation):
    """Bring all column statistics to these: the ColumnStatisticsObj of each column, by partition name.

    "" is the table itself. Partitions that are missing, and columns that are missing or have another type, get none.
    """

    statistics: Mapping[str, Sequence[Any]]


def partitions(operation: Operation) -> int:
    """How many partitions the operation puts or drops by themselves."""
    if isinstance(operation, PutPartitions):
        return len(operation.partitions)
    return len(operation.values) if isinstance(operation, DropPartitions) else 0
