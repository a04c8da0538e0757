"""Watched: the writes of a store, which are noted field by field, for the journal.

The room that decides (apply) writes by it, and the store does not know of it. It asks no server, as what is written was
read just before. Only after the alter of a database it may look again, because places ignore parts of that. It says
which tables come, go or get other columns, too (`Redefining`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any

from pysync.base.text import count
from pysync.metastore.client import Statistics
from pysync.model.difference import Difference, left_out
from pysync.model.mark import EVENT_KEY, Mark
from pysync.model.names import TableName, partition_name
from pysync.targets.diff import fields
from pysync.targets.settings import TargetSettings
from pysync.targets.store import CopiesTables, Furnishes, RenamesElsewhere, Store, Written

TRASHED = "moved to the trash as "
"""How the difference of a table that was moved to the trash begins; its name there follows."""
MOST = 20
"""Fields that are noted between two calls of `take`."""
_MOST_PARTITIONS = 3
"""Changed partitions of a batch whose fields are noted."""
_TAKEN_OF_DATABASES = ("parameters", "owner")
"""How the names of fields of a database begin that every place alters. HMS 2.3 ignores others, and says nothing."""
_FORMAT_KEYS = ("spark.sql.sources.provider", "table_type")

Redefining = Callable[[Collection[TableName]], AbstractContextManager[None]]
"""Called with tables, or views, by their names at the target; its context is the write that redefines them."""


class Changes:
    """What was written since it was last taken. Used by one thread at a time."""

    def __init__(self) -> None:
        self._differences: list[Difference] = []
        self._left_out = 0
        self.redefining: Redefining = lambda _: nullcontext()

    def note(self, *differences: Difference) -> None:
        """Note some, as long as there is room; count the others."""
        room = MOST - len(self._differences)
        self._differences += differences[:room]
        self._left_out += len(differences[room:])

    def take(self) -> list[Difference]:
        """All of them, which are forgotten then. Of more than MOST the last one says how many are left out."""
        differences, self._differences = self._differences, []
        number, self._left_out = self._left_out, 0
        return [*differences[:-1], left_out(number + 1)] if number else differences


class WatchedStore:
    """The writes of a store, which are noted unless they raise. `reads` is the store itself, for everything else."""

    def __init__(self, store: Store, changes: Changes) -> None:
        self.reads = store
        self._changes = changes

    @property
    def settings(self) -> TargetSettings:
        """Those of the store."""
        return self.reads.settings

    # --- other stores for the same place

    def on_behalf_of(self, visited: Sequence[str]) -> WatchedStore:
        """For writing a change that has been to these clusters."""
        return WatchedStore(self.reads.on_behalf_of(visited), self._changes)

    def renaming(self) -> WatchedStore:
        """For renaming tables (see RenamesElsewhere). Raises Rejected."""
        return WatchedStore(self.reads.renaming(), self._changes) if isinstance(self.reads, RenamesElsewhere) else self

    def for_copy_of(self, old: Any) -> WatchedStore:
        """For creating a copy of a table (see CopiesTables). Raises Rejected."""
        if not isinstance(self.reads, CopiesTables):
            return self
        return WatchedStore(self.reads.for_copy_of(old), self._changes)

    # --- databases and functions

    def create_database(self, wanted: Any) -> None:
        """See Store."""
        self.reads.create_database(wanted)
        self._note(f"database {wanted.name}", "created")

    def alter_database(self, wanted: Any, existing: Any) -> bool:
        """See Store."""
        differences = _fields(wanted, existing)
        if not self.reads.alter_database(wanted, existing):
            return False
        may_be_ignored = any(not it.field.startswith(_TAKEN_OF_DATABASES) for it in differences)
        if may_be_ignored and (altered := self.reads.database(existing.name)) is not None:
            differences = _fields(altered, existing)
            if not differences and _marks_of(altered) == _marks_of(existing):
                return False
        self._changes.note(*differences)
        return True

    def drop_database(self, name: str, *, delete_data: bool) -> None:
        """See Store."""
        self.reads.drop_database(name, delete_data=delete_data)
        self._note(f"database {name}", "dropped")

    def create_function(self, wanted: Any) -> None:
        """See Store."""
        self.reads.create_function(wanted)
        self._note(f"function {wanted.functionName}", "created")

    def alter_function(self, wanted: Any, existing: Any) -> None:
        """See Store."""
        differences = _fields(wanted, existing)
        self.reads.alter_function(wanted, existing)
        self._changes.note(*differences)

    def drop_function(self, database: str, name: str) -> None:
        """See Store."""
        self.reads.drop_function(database, name)
        self._note(f"function {name}", "dropped")

    # --- tables

    def create_table(self, wanted: Any) -> None:
        """See Store."""
        with self._redefining(wanted):
            self.reads.create_table(wanted)
        self._note(f"table {_name(wanted)}", "created")

    def alter_table(self, wanted: Any, existing: Any, *, cascade: bool = False) -> bool:
        """See Store."""
        differences = _fields(wanted, existing)
        with nullcontext() if _shape(wanted) == _shape(existing) else self._redefining(wanted):
            written = self.reads.alter_table(wanted, existing, cascade=cascade)
        self._changes.note(*differences if written else ())
        return written

    def replace_table(self, wanted: Any, existing: Any) -> bool:
        """See Store."""
        differences = _fields(wanted, existing)
        with self._redefining(wanted):
            written = self.reads.replace_table(wanted, existing)
        if written:
            self._note(f"table {_name(wanted)}", "dropped and created")
            self._changes.note(*differences)
        return written

    def drop_tables(self, tables: Sequence[Any], *, delete_data: bool) -> None:
        """See Store."""
        with self._redefining(*tables):
            self.reads.drop_tables(tables, delete_data=delete_data)
        for table in islice(tables, MOST):
            self._note(f"table {_name(table)}", "dropped")

    def rename_table(self, wanted: Any, existing: Any) -> None:
        """See Store."""
        differences = _fields(wanted, existing)
        with self._redefining(wanted, existing):
            self.reads.rename_table(wanted, existing)
        if self.settings.drops == "trash" and wanted.dbName == self.settings.trash_database:
            differences = [Difference(f"table {_name(existing)}", None, TRASHED + wanted.tableName)]
        self._changes.note(*differences)

    # --- partitions and constraints

    def put_partitions(self, table: Any, absent: Sequence[Any], changed: Sequence[tuple[Any, Any]]) -> Written:
        """See Store."""
        keys = [key.name for key in table.partitionKeys or ()]
        some = list(islice(changed, _MOST_PARTITIONS))
        noted = [(partition_name(keys, wanted.values), _fields(wanted, existing)) for wanted, existing in some]
        done = self.reads.put_partitions(table, absent, changed)
        refused = {it.values for it in done.refused}
        self._count(sum(tuple(it.values) not in refused for it in absent), "created")
        for name, differences in noted if done.any else ():
            self._changes.note(*(Difference(f"partition {name}: {it.field}", it.old, it.new) for it in differences))
        return done

    def add_partitions(self, table: Any, partitions: Sequence[Any]) -> None:
        """See Store."""
        self.reads.add_partitions(table, partitions)
        self._count(len(partitions), "created")

    def drop_partitions(self, table: Any, existing: Sequence[Any], *, delete_data: bool) -> None:
        """See Store."""
        self.reads.drop_partitions(table, existing, delete_data=delete_data)
        self._count(len(existing), "dropped")

    def spread_columns(self, table: Any, columns: Sequence[Any]) -> bool:
        """See Store."""
        written = self.reads.spread_columns(table, columns)
        if written:
            self._note("columns of the partitions", "altered")
        return written

    def add_constraint(self, columns: Sequence[Any]) -> None:
        """See Store."""
        self.reads.add_constraint(columns)
        self._note("constraint", "created")

    def drop_constraint(self, name: TableName, constraint: str) -> None:
        """See Store."""
        self.reads.drop_constraint(name, constraint)
        self._note(f"constraint {constraint}", "dropped")

    # --- what no definition has: not noted

    def furnish(self, item: Any) -> None:
        """Add what the settings have for an object (see Furnishes)."""
        if isinstance(self.reads, Furnishes):
            self.reads.furnish(item)

    def put_column_statistics(self, name: TableName, statistics: Statistics) -> None:
        """See Store."""
        self.reads.put_column_statistics(name, statistics)

    def drop_column_statistics(self, name: TableName, part: str, columns: Iterable[str]) -> None:
        """See Store."""
        self.reads.drop_column_statistics(name, part, columns)

    # --- within

    def _redefining(self, *tables: Any) -> AbstractContextManager[None]:
        return self._changes.redefining([_name(it) for it in tables])

    def _count(self, number: int, change: str) -> None:
        if number:
            self._note(count(number, "partition"), change)

    def _note(self, field: str, change: str) -> None:
        self._changes.note(Difference(field, None, change))


def _fields(wanted: Any, existing: Any) -> list[Difference]:
    try:
        return fields(wanted, existing)
    except Exception as error:  # noqa: BLE001 - the write matters more than its record
        return [Difference("fields", None, f"cannot be compared: {type(error).__name__}")]


def _marks_of(database: Any) -> tuple[object, ...]:
    """What a mark and other parameters of pysync say of a database, but for the event that wrote it last."""
    parameters, mark = database.parameters or {}, Mark.read(database.parameters)
    return {key: it for key, it in parameters.items() if key != EVENT_KEY}, mark and (mark.created, mark.born)


def _name(table: Any) -> TableName:
    return TableName.of(table.dbName, table.tableName)


def _shape(table: Any) -> tuple[object, ...]:
    """What the translation of a view depends on, of a table that the view reads."""
    columns = [(it.name, it.type) for it in [*((table.sd and table.sd.cols) or ()), *(table.partitionKeys or ())]]
    formats = [(table.parameters or {}).get(key) for key in _FORMAT_KEYS]
    return table.tableType, columns, formats, table.viewOriginalText, table.viewExpandedText
