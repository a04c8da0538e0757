"""Operations: what a target is asked to do. Each is convergent: applied twice, or late, it ends the same.

Puts create or alter, drops of absent things succeed. The objects are hmsclient's structs, already rewritten
for the target; a target must not alter them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pysync.model.files import SourceFiles
from pysync.model.home import Condition, Stance
from pysync.model.mark import Mark
from pysync.model.names import TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """`mark` tells where the change comes from, `visited` the clusters it has been to (so that it never returns).

    `condition` is what has to be found at a target with `both_ways`; None for the others.
    """

    mark: Mark
    visited: tuple[str, ...] = ()
    condition: Condition | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """What the operation is about: operations of one key are applied in order."""
        raise NotImplementedError

    @property
    def asks_only(self) -> bool:
        """Whether it was read at a cluster that is not the home: where the target differs, it is asked for."""
        its = self.condition
        return its is not None and its.stance is Stance.REQUEST and not its.before and not its.parts

    @property
    def drops(self) -> int:
        """How many databases, tables and partitions it drops; the partitions of a dropped table are not known."""
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseOperation(Operation):
    """Of a database itself."""

    database: str

    @property
    def key(self) -> str:
        """The database's name."""
        return self.database


@dataclass(frozen=True, slots=True, kw_only=True)
class PutDatabase(DatabaseOperation):
    """Create the database, or alter it to be so."""

    definition: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class DropDatabase(DatabaseOperation):
    """Drop the database with the tables in it that are its source's; it stays if others are left in it.

    `told` are the tables that it had at the source, where it is dropped both ways; with `tables_alone` the database
    itself stays unless it was born elsewhere and is empty.
    """

    delete_data: bool = False
    told: Sequence[Any] = ()
    tables_alone: bool = False

    @property
    def drops(self) -> int:
        """One."""
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PutFunction(DatabaseOperation):
    """Create the function, or alter it to be so."""

    definition: Any

    @property
    def key(self) -> str:
        """The function's name, `database.function()`."""
        return f"{self.database}.{self.definition.functionName}()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh(Operation):
    """Bring a table, or a database without its tables, to what it is at the source now; no target sees it.

    It becomes other operations when its turn comes (pysync.replay.refresh). `database` and `table` are the names at the
    target; neither given: drop the databases which the source has no more. `partitions` are names, `key=value/…`; none
    given: all. When it was asked for the source had the tables (or databases) that are `present`, and had the table
    itself unless `absent`; `created` was its createTime (s; 0: not known): another one by now is left to its events.
    `bootstrap` is whether it is one of a bootstrap, which is counted. With `statistics` it is of the column statistics
    alone, those of the `partitions`, or of the table itself if none is given. With `former`, scopes that the target had
    before (JSON, see pysync.replay.scope), it drops what is out of its scope since. With `anew` it is of what another
    operation needs at the target, be that the home of it or not; of a database the definition alone.
    With `again` a cluster has said that the table, the `function`, or the definition of the database is to be read
    anew, whose home is `home` as far as that knows, after so many `words` (pysync.model.again).
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
    anew: bool = False
    again: bool = False
    function: str = ""
    home: str = ""
    words: int = 0

    @property
    def key(self) -> str:
        """The table's name, or the database's."""
        return str(self.table) if self.table else self.database


@dataclass(frozen=True, slots=True, kw_only=True)
class SayAgain(DatabaseOperation):
    """Have all read the table, the function, or the definition of the database anew, as it is at its `home`.

    Said by the home it is its word; elsewhere a question that goes on to it (pysync.model.again). "": not known.
    """

    table: str = ""
    function: str = ""
    home: str = ""
    words: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DropFunction(DatabaseOperation):
    """Drop the function."""

    function: str

    @property
    def key(self) -> str:
        """The function's name, `database.function()`."""
        return f"{self.database}.{self.function}()"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOperation(Operation):
    """Of a table or its partitions.

    `sources` are the files at the source for the locations in it, which are the target's; it is empty for targets
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
    """Create the table, or alter it to be so.

    With `cascade` its partitions get its columns, too, though the table has them already, or has others by now.
    `pointers` are those that an Iceberg table had at the source before (pysync.model.iceberg).
    It `creates` the table if that is not there: then what else the table has follows, or it has no more yet.
    """

    definition: Any
    cascade: bool = False
    creates: bool = True
    pointers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTable(TableOperation):
    """Give `table` the name and definition of `definition`, its partitions kept (and their locations moved along)."""

    definition: Any

    @property
    def new_name(self) -> TableName:
        """The name it gets."""
        return TableName.of(self.definition.dbName, self.definition.tableName)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTable(TableOperation):
    """Drop the table, unless the one that is there is newer than the one that was dropped, or not its source's."""

    delete_data: bool = False

    @property
    def drops(self) -> int:
        """One; none if it only asks."""
        return 0 if self.asks_only else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PutPartitions(TableOperation):
    """Add the partitions, and alter those that exist to be so; `definition` is their table.

    It is missing where the target began to follow later, where somebody has dropped it there, or where the window after
    this one has dropped it already, before a crash.
    With `fresh` the table was not there a moment ago, so that it has no partitions yet: a target may add them without
    looking first. Should it be otherwise, it has to look after all.
    """

    definition: Any
    partitions: Sequence[Any]
    fresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPartitions(TableOperation):
    """Drop the partitions; `keys` are the table's partition keys, `values` one list for each partition."""

    keys: Sequence[str]
    values: Sequence[Sequence[str]]
    delete_data: bool = False

    @property
    def drops(self) -> int:
        """One for each partition; none if it only asks."""
        return 0 if self.asks_only else len(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class PutConstraint(TableOperation):
    """Add the constraints, all of one kind: SQLPrimaryKey, SQLForeignKey, … structs, one for each of their columns."""

    columns: Sequence[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DropConstraint(TableOperation):
    """Drop the constraint of that name."""

    constraint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PutStatistics(TableOperation):
    """Bring column statistics to be so, whole: by the name of a partition, "" for the table itself, the
    ColumnStatisticsObj of its columns. What is not there (a partition, a column of that type) gets none.
    """

    statistics: Mapping[str, Sequence[Any]]
