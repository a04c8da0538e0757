"""Store: what a place for tables can do, in Hive's structs. It decides nothing: `pysync.targets.apply` does.

A kind of target is a store and settings (docs/contributing.md). `Store` is what every place has. What only some places
have is a protocol beside it, and a store is one of these, too; in `lacks` it says why it is not.

Structs are hmsclient's. A store may set the attribute `handle` on a struct that it has read, or that `as_stored`
returns. It holds what the store needs to write the object back (a version, fields that Hive has no place for). Nobody
else reads it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Any, ClassVar, Protocol, runtime_checkable

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.errors import PysyncError
from pysync.base.text import count, shortened
from pysync.metastore.statistics import Statistics
from pysync.model.constraints import Constraints
from pysync.model.names import TableName, normalized, partition_name
from pysync.model.struct_copies import copied
from pysync.targets.base import Rejected
from pysync.targets.diff import same
from pysync.targets.settings import TargetSettings


class Capability(str, Enum):
    """What a store may lack; people read the value."""

    CONSTRAINTS = "constraints"
    COLUMN_STATISTICS = "column statistics"
    FUNCTIONS = "functions"
    RENAMES = "renames in place"
    OWN_PARTITION_COLUMNS = "columns of a partition that are not its table's"
    FILE_STATISTICS = "numbers of files and rows as the source counts them"

    def __str__(self) -> str:
        return self.value


class Exists(Exception):
    """A partition that was added without a look may exist already, or is refused; nothing was added."""


@dataclass(frozen=True, slots=True)
class RefusedPartition:
    """A partition of a batch that was not written, and the reason; the others were written."""

    values: tuple[str, ...]
    error: PysyncError


@dataclass(frozen=True, slots=True)
class Written:
    """The result of a batch: whether anything was written, and what was refused."""

    any: bool
    refused: Sequence[RefusedPartition] = ()


class Store(ABC):
    """One connection to a place, used by one thread at a time.

    Reads return None, or nothing, for what is not there. A write gets what was read just before. It may be repeated
    after a crash, and must end in the same state. Alters return whether anything was written: the language of a store
    may be unable to express a difference. All methods raise the place's own errors, which `classified` sorts.
    """

    lacks: ClassVar[Mapping[Capability, str]] = {}
    """What it cannot hold or do, and why: one line that people read. Then it is none of what PARTS has for that."""
    # In one call 5,000 new partitions take HMS 2.3 4.5 to 7 s (on Derby): a lane would hang on it for that long.
    batch: ClassVar[int] = 500
    """How many partitions are read or written in one call."""
    decisions: ClassVar[int] = 2
    """How often an operation is decided, at most, if other clients change the objects that it reads."""

    def __init__(self, settings: TargetSettings, place_name: str) -> None:
        """`place_name` is the name of the place in error messages."""
        self.settings = settings
        self.place_name = place_name
        self.visited: Sequence[str] = ()
        """The clusters that what is written has been to, our own last. Calls carry that to listeners."""
        for capability, part in PARTS.items():
            if isinstance(self, part) == (capability in self.lacks):
                kind, name = type(self).__name__, part.__name__
                raise TypeError(f"{kind} must either be a {name}, or say in `lacks` why it has no {capability}")

    # --- the connection

    @abstractmethod
    def classified(self, action: str, *, reading: bool = False) -> AbstractContextManager[None]:
        """Turn the place's errors into those of pysync.targets.base; `action` describes the call and the place.

        A call that only reads (`reading`) has no unknown outcome.
        """

    def is_race(self, error: Exception) -> bool:  # noqa: ARG002
        """Whether another client's change between our read and our write can cause this error."""
        return False

    def observe_calls(self, on_call: Callable[[str], object]) -> None:  # noqa: B027 - a store need not
        """Call `on_call` with the name of each call to the place from now on, for status and metrics. From any thread.

        Asked for once, before the store is used. The names must be few: those of an API's calls, not of objects.
        """

    @abstractmethod
    def check(self) -> str:
        """Reach the place and say in a few words what is there. Changes nothing."""

    def close(self) -> None:  # noqa: B027 - a store may have nothing to give back
        """Give everything back; may be called twice."""

    # --- what is there

    @abstractmethod
    def databases(self) -> list[str]:
        """The names of its databases."""

    @abstractmethod
    def database(self, name: str) -> Any | None:
        """A Database."""

    @abstractmethod
    def table_names(self, database: str) -> list[str]:
        """The names of the database's tables and views."""

    @abstractmethod
    def table(self, name: TableName) -> Any | None:
        """A Table."""

    def tables(self, database: str) -> Iterable[Any]:
        """The database's tables and views, each a Table."""
        tables = (self.table(TableName(database, name)) for name in self.table_names(database))
        # A table may be dropped after it was listed.
        return (table for table in tables if table is not None)

    @abstractmethod
    def partitions(self, name: TableName) -> Iterator[Any]:
        """The table's partitions, each a Partition; no more than some thousand in memory at a time."""

    def partition_names(self, table: Any, most: int | None = None) -> list[str]:
        """The names of a table's partitions, `key=value/…` as HMS writes them; at most `most` if that is given."""
        keys = [key.name for key in table.partitionKeys or ()]
        partitions = self.partitions(TableName.of(table.dbName, table.tableName))
        return [partition_name(keys, it.values) for it in islice(partitions, most)]

    @abstractmethod
    def partitions_by_name(self, name: TableName, names: Sequence[str]) -> list[Any]:
        """Those of the named partitions that are there, in no promised order."""

    def partitions_of(self, table: Any, values: Sequence[Sequence[str]]) -> list[Any]:
        """The existing ones of the table's partitions with these values; the caller passes at most `batch`."""
        keys = [key.name for key in table.partitionKeys or ()]
        names = [partition_name(keys, item) for item in values]
        return self.partitions_by_name(TableName.of(table.dbName, table.tableName), names)

    # --- what happens to an object here

    def as_stored(self, item: Any, table: Any | None = None) -> Any:  # noqa: ARG002
        """The object in the form in which the place will return it. Comparisons use this form, and writes get it.

        Does not alter `item`. A field that is None in the result is not compared: the place decides it. `table` is the
        table at the target that a partition belongs to. Raises Rejected if the place can hold the object in no form.

        By default nothing changes but the name of a function: it becomes lower case, because HMS 2.3 and 3.1 cannot
        drop a database that has functions with Mixed names.
        """
        if not isinstance(item, hive.Function) or item.functionName == normalized(item.functionName):
            return item
        expected = copied(item)
        expected.functionName = normalized(item.functionName)
        return expected

    def lost(self, expected: Any) -> Sequence[str]:  # noqa: ARG002
        """What the place cannot hold of the source's object, one line each; `expected` comes from `as_stored`."""
        return ()

    def written(self, differences: list[str], expected: Any, existing: Any | None, table: Any | None) -> list[str]:  # noqa: ARG002
        """The part of `differences` for which the place would write anything.

        Asks no server. Raises Rejected if the place can hold the object in no form.
        """
        return differences

    # --- databases

    @abstractmethod
    def create_database(self, wanted: Any) -> None:
        """Create it."""

    @abstractmethod
    def alter_database(self, wanted: Any, existing: Any) -> bool:
        """Turn `existing` into `wanted`, as far as the place can."""

    def is_half_made(self, wanted: Any, existing: Any) -> bool:  # noqa: ARG002
        """Whether a crash interrupted `create_database` for this database."""
        return False

    @abstractmethod
    def drop_database(self, name: str) -> None:
        """Drop the database, which has no tables any more, together with its functions. Its directory stays."""

    # --- tables

    @abstractmethod
    def create_table(self, wanted: Any) -> None:
        """Create the table. Raises MissingDatabase where its database is not there."""

    @abstractmethod
    def alter_table(self, wanted: Any, existing: Any, *, cascade: bool = False) -> bool:
        """Turn `existing` into `wanted`, which has the same name, partition key names and kind (table or view).

        Keeps the partitions; with `cascade` the place may give them the new columns at once (see `spread_columns`).
        """

    def replace_table(self, wanted: Any, existing: Any) -> bool:
        """Replace `existing` by another table of that name, which has no partitions."""
        self.drop_tables([existing], delete_data=False)
        self.create_table(wanted)
        return True

    @abstractmethod
    def drop_tables(self, tables: Sequence[Any], *, delete_data: bool) -> None:
        """Drop tables of one database, with their partitions."""

    # --- partitions

    @abstractmethod
    def put_partitions(self, table: Any, absent: Sequence[Any], changed: Sequence[tuple[Any, Any]]) -> Written:
        """Add the `absent` partitions of a table and alter the `changed` ones, at most `batch` in all.

        `changed` has pairs: what is wanted, and what is there. If another client adds an absent one at the same moment,
        it must still end as wanted.
        """

    def add_partitions(self, table: Any, partitions: Sequence[Any]) -> None:  # noqa: ARG002
        """Add partitions, at most `batch`, without a look, to a table that most likely has none.

        Raises Exists, and adds none, if one of them exists or is refused, or if the place cannot add all or none.
        """
        raise Exists

    @abstractmethod
    def drop_partitions(self, table: Any, existing: Sequence[Any], *, delete_data: bool) -> None:
        """Drop partitions that are there, at most `batch`. Raises Rejected at the end for those that are refused."""

    def spread_columns(self, table: Any, columns: Sequence[Any]) -> bool:
        """Give all partitions of the table these columns; returns whether any had others.

        Never called if the store lacks `Capability.OWN_PARTITION_COLUMNS`.
        """
        name = TableName.of(table.dbName, table.tableName)
        partitions, changed, refused = self.partitions(name), False, list[RefusedPartition]()
        while some := list(islice(partitions, self.batch)):
            others = [it for it in some if not same(list(columns), it.sd.cols)]
            pairs = [(self.as_stored(_with_columns(it, columns), table), it) for it in others]
            refused += self.put_partitions(table, [], pairs).refused if pairs else ()
            changed |= bool(others)
        if refused:
            raise refused_as_one(name, refused)
        return changed


@runtime_checkable
class HasFunctions(Protocol):
    """A store of a place that has functions; their names are in lower case there."""

    @abstractmethod
    def functions(self, database: str) -> list[Any]:
        """The database's functions, each a Function."""

    def function(self, database: str, name: str) -> Any | None:
        """A Function."""
        return next((it for it in self.functions(database) if it.functionName == name), None)

    @abstractmethod
    def create_function(self, wanted: Any) -> None:
        """Create it. Raises MissingDatabase where its database is not there."""

    @abstractmethod
    def alter_function(self, wanted: Any, existing: Any) -> None:
        """Turn `existing` into `wanted`."""

    @abstractmethod
    def drop_function(self, database: str, name: str) -> None:
        """Drop the function; does nothing if it is not there."""


@runtime_checkable
class HasConstraints(Protocol):
    """A store of a place that has constraints, at least of some kinds."""

    @abstractmethod
    def constraints(self, table: Any) -> Constraints:
        """The constraints of a table as it was read here."""

    @abstractmethod
    def constraints_of(self, kind: type[Any], name: TableName) -> list[Any]:
        """The columns of a table's constraints of one kind."""

    @abstractmethod
    def add_constraint(self, columns: Sequence[Any]) -> None:
        """Add one constraint, given by its columns. Raises MetastoreUnsupported for a kind it does not know."""

    @abstractmethod
    def drop_constraint(self, name: TableName, constraint: str) -> None:
        """Drop a constraint that is there."""


@runtime_checkable
class HasColumnStatistics(Protocol):
    """A store of a place that has column statistics, by the names of partitions; "" is the table itself."""

    @abstractmethod
    def column_statistics(self, table: Any, parts: Sequence[str]) -> Statistics:
        """The column statistics of these parts."""

    @abstractmethod
    def put_column_statistics(self, name: TableName, statistics: Statistics) -> None:
        """Write column statistics of parts that are there."""

    @abstractmethod
    def drop_column_statistics(self, name: TableName, part: str, columns: Iterable[str]) -> None:
        """Drop the statistics of some columns."""

    def stored_statistics(self, item: Any) -> Any | None:
        """The ColumnStatisticsObj as the place will return it; None if it cannot hold it."""
        return item

    def knows_timestamps(self, database: str) -> bool:  # noqa: ARG002
        """Whether the place can read statistics of timestamp columns."""
        return True


@runtime_checkable
class RenamesTables(Protocol):
    """A store that renames tables in place."""

    @abstractmethod
    def rename_table(self, wanted: Any, existing: Any) -> None:
        """Turn `existing` into `wanted`, which has another name and maybe another database.

        Partitions below the old location get a location below the new one; no file moves.
        """


PARTS: Mapping[Capability, type[object]] = {
    Capability.FUNCTIONS: HasFunctions,
    Capability.CONSTRAINTS: HasConstraints,
    Capability.COLUMN_STATISTICS: HasColumnStatistics,
    Capability.RENAMES: RenamesTables,
}
"""What each store is that does not lack the capability, and no other store. Other capabilities have no methods."""


@runtime_checkable
class Furnishes(Protocol):
    """A store whose settings have things for an object that no definition has: indexes, tags."""

    def furnish(self, item: Any) -> None:
        """Add them to a Database or Table that is there.

        Raises nothing: it must not hold up what the source has.
        """


@runtime_checkable
class HasLinks(Protocol):
    """A store of a place where a database or table may only lead to one of another catalog."""

    def is_link(self, existing: Any) -> bool:
        """Whether a database or table that was read does, or is in one that does."""

    def is_linked(self, database: str) -> bool:
        """Whether a database does, which may be absent."""


@runtime_checkable
class CopiesTables(Protocol):
    """A store that lacks `Capability.RENAMES`, and whose tables have more than pysync writes."""

    lost_by_copy: ClassVar[str]
    """What of a table a copy of it does not have, besides column statistics; people read it."""

    def for_copy_of(self, old: Any) -> Store:
        """The store that creates a table in place of `old`, which has another name, with what hangs on `old`.

        Raises Rejected if the settings forbid it.
        """

    def inherit(self, made: Any, old: Any) -> None:
        """Note at the table `made`, which replaces `old` under another name, what others than pysync set at `old`.

        Writes nothing: the next alter of `made` does.
        """


@runtime_checkable
class RenamesElsewhere(Protocol):
    """A store that has no statement for a rename."""

    def renaming(self) -> Store:
        """The store that renames tables. Raises Rejected if it may not be used."""


@runtime_checkable
class SendsMessages(HasFunctions, Protocol):
    """A store with a listener that reports changes to other clusters; functions are what it sends."""

    def broadcast(self, function: Any) -> None:
        """Create the Function `function` and drop it, so that the listeners of all clusters get the events."""


def refused_as_one(name: TableName, refused: Sequence[RefusedPartition]) -> PysyncError:
    """One error for the refused partitions of a table, with the place's own error as its cause, if there is one."""
    problem = f"{count(len(refused), 'partition')} of {name} failed"
    reasons = "; ".join(str(item.error) for item in refused[:3])
    error: PysyncError = Rejected(shortened(f"{problem}: {reasons}"))
    # An error that may pass counts more than a refusal: with Rejected the event would be parked at once.
    passing = next((it.error for it in refused if not isinstance(it.error, Rejected)), None)
    if passing is not None:
        error = type(passing)(shortened(f"{problem}: {passing.message}"), passing.hint)
    error.__cause__ = next((it.error.__cause__ for it in refused if it.error.__cause__ is not None), None)
    return error


def _with_columns(partition: Any, columns: Sequence[Any]) -> Any:
    copy = copied(partition)
    copy.sd.cols = list(columns)
    return copy
