"""Door: the only way to a store's writing methods. Whatever removes an object, the guard is asked here.

What is written is noted field by field, for the journal. That asks no server, as what is written was read just before.
Only after the alter of a database it may look again, because places ignore parts of that. The door says which tables
come, go or get other columns, too (`Redefining`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import islice
from typing import Any, cast

import structlog
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.text import count
from pysync.metastore.statistics import Statistics
from pysync.model.difference import Difference
from pysync.model.mark import EVENT_KEY, KEPT_KEY, Mark
from pysync.model.names import TableName, normalized, partition_name
from pysync.model.operation import Operation, PutWithFiles
from pysync.model.removal import Lost, name_of_values, put_by
from pysync.model.struct_copies import copied
from pysync.targets.apply import trash
from pysync.targets.apply.changes import MOST, Changes
from pysync.targets.apply.owners import created_of, stamped
from pysync.targets.apply.refusals import refuse_link
from pysync.targets.base import Held, MissingDatabase
from pysync.targets.diff import fields
from pysync.targets.files import BringsFiles
from pysync.targets.guard import NoGuard, RemovalGuard
from pysync.targets.settings import TargetSettings
from pysync.targets.store import (
    Capability,
    CopiesTables,
    Furnishes,
    HasColumnStatistics,
    HasConstraints,
    HasFunctions,
    RenamesElsewhere,
    RenamesTables,
    Store,
    Written,
)

TRASHED = "moved to the trash as "
"""How the difference of a table that was moved to the trash begins; its name there follows."""
_MOST_PARTITIONS = 3
"""Changed partitions of a batch whose fields are noted."""
_MOST_LISTED = 10
"""Changes that one line of the log lists."""
_TAKEN_OF_DATABASES = ("parameters", "owner")
"""How the names of fields of a database begin that every place alters. HMS 2.3 ignores others, and says nothing."""
_FORMAT_KEYS = ("spark.sql.sources.provider", "table_type")

log = structlog.get_logger(__name__)


class Door:
    """The writes of one operation to a store, which are noted unless they raise. `reads` is the store itself.

    A removal (`remove_…`) leaves what a person has kept, removes what the guard lets go, and raises Held for the rest.
    `operation` is None for acts of a person, who is not asked again. `files` bring those of what is put.
    """

    def __init__(
        self,
        store: Store,
        changes: Changes,
        guard: RemovalGuard | None = None,
        files: BringsFiles | None = None,
        operation: Operation | None = None,
    ) -> None:
        self.reads = store
        self._changes = changes
        self._guard = guard or NoGuard()
        self._files = files
        self._operation = operation
        self._versions: Mapping[str, str] = {}

    @property
    def settings(self) -> TargetSettings:
        """Those of the store."""
        return self.reads.settings

    # --- the store as what only some are; not to be asked for where it `lacks` that

    @property
    def functions(self) -> HasFunctions:
        """The store of a place that has functions."""
        return cast(HasFunctions, self.reads)

    @property
    def constraints(self) -> HasConstraints:
        """The store of a place that has constraints."""
        return cast(HasConstraints, self.reads)

    @property
    def statistics(self) -> HasColumnStatistics:
        """The store of a place that has column statistics."""
        return cast(HasColumnStatistics, self.reads)

    @property
    def renames(self) -> RenamesTables:
        """The store of a place that renames tables."""
        return cast(RenamesTables, self.reads)

    @property
    def keeps_statistics(self) -> bool:
        """Whether the place has column statistics, and the settings ask for them."""
        return self.settings.keeps_statistics and Capability.COLUMN_STATISTICS not in self.reads.lacks

    # --- other stores for the same place

    def for_operation(self, operation: Operation) -> Door:
        """For applying an operation: its writes carry which clusters it has been to."""
        self.reads.visited = operation.visited
        return Door(self.reads, self._changes, self._guard, self._files, operation)

    def renaming(self) -> Door:
        """For renaming tables (see RenamesElsewhere). Raises Rejected."""
        return self._of(self.reads.renaming()) if isinstance(self.reads, RenamesElsewhere) else self

    def for_copy_of(self, old: Any) -> Door:
        """For creating a copy of a table (see CopiesTables). Raises Rejected."""
        return self._of(self.reads.for_copy_of(old)) if isinstance(self.reads, CopiesTables) else self

    def _of(self, store: Store) -> Door:
        return Door(store, self._changes, self._guard, self._files, self._operation)

    # --- files

    def bring_files(self, existing: Callable[[Any], Any | None]) -> Mapping[str, str]:
        """Have the files of what the operation puts at the target before it is written, once for all its tries.

        `existing` gives the object that is there in the place of one of the operation. Returns the versions in which
        files are (pysync.model.data_versions), by the locations in the operation.
        Raises what the copier raises, and Rejected where nothing may be copied to.
        """
        if self._files is not None and isinstance(self._operation, PutWithFiles):
            self._versions = self._files.bring(self.reads, self._operation, self._changes.note, existing)
            self._files = None
        return self._versions

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

    def _create_missing_database(self, name: str, error: MissingDatabase) -> None:
        """Create what an object is to be written into. Raises `error` where the settings forbid that."""
        if self._operation is None or not self.settings.creates_databases:
            raise error
        # Position 0: every event of the database itself is newer, and may alter it.
        mark = replace(self._operation.mark, position=0, created=0, born=0)
        self.create_database(self.reads.as_stored(stamped(hive.Database(name=name, parameters={}), mark)))
        log.info("database_created", target=self.settings.name, database=name)

    def remove_database(self, existing: Any) -> None:
        """Drop the database, which has no tables any more, with its functions. Its directory stays. Raises Held."""
        name = existing.name
        self._assert_going([Lost(name, "database")])
        self.reads.drop_database(name)
        self._guard.removed([name])
        self._note(f"database {name}", "dropped")

    def create_function(self, wanted: Any) -> None:
        """Create it; its database as for `create_table`."""
        refuse_link(self.reads, wanted.dbName)
        try:
            self.functions.create_function(wanted)
        except MissingDatabase as error:
            self._create_missing_database(wanted.dbName, error)
            self.functions.create_function(wanted)
        self._note(f"function {wanted.functionName}", "created")

    def alter_function(self, wanted: Any, existing: Any) -> None:
        """See HasFunctions. Raises Rejected where its database only leads to another catalog's."""
        refuse_link(self.reads, wanted.dbName)
        differences = _fields(wanted, existing)
        self.functions.alter_function(wanted, existing)
        self._changes.note(*differences)

    def remove_function(self, database: str, name: str) -> None:
        """Drop the function. Raises Held."""
        self._assert_going([Lost(_function_key(database, name), "function")])
        self._drop_function(database, name)
        self._guard.removed([_function_key(database, name)])

    def replace_function(self, wanted: Any) -> None:
        """Drop the function of that name, and create it. Raises Rejected as `alter_function` does."""
        refuse_link(self.reads, wanted.dbName)
        self._drop_function(wanted.dbName, wanted.functionName)
        self.create_function(wanted)

    def _drop_function(self, database: str, name: str) -> None:
        self.functions.drop_function(database, name)
        self._note(f"function {name}", "dropped")

    # --- tables

    def create_table(self, wanted: Any) -> None:
        """Create the table, and its database first if that is missing and the settings say so.

        Raises MissingDatabase if it may not be created, Rejected if it only leads to another catalog's.
        """
        refuse_link(self.reads, wanted.dbName)
        with self._redefining(wanted):
            try:
                self.reads.create_table(wanted)
            except MissingDatabase as error:
                self._create_missing_database(wanted.dbName, error)
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
        """See Store. Raises Held for the partitions that go with it."""
        self._assert_partitions_going(existing)
        differences = _fields(wanted, existing)
        with self._redefining(wanted):
            written = self.reads.replace_table(wanted, existing)
        if written:
            self._note(f"table {_name(wanted)}", "dropped and created")
            self._changes.note(*differences)
        return written

    def remove_tables(self, tables: Sequence[Any], *, delete_data: bool) -> None:
        """Drop tables of one database, or move them into the trash if the settings say so. Raises Held."""
        losses = {str(_name(it)): Lost(str(_name(it)), "table", created=created_of(it)) for it in tables}
        going = self._going(list(losses.values()))
        chosen = [it for it in tables if str(_name(it)) in going]
        if chosen:
            self._discard(chosen, delete_data=delete_data)
            self._guard.removed(sorted(going))
        self._refuse_held([it for it in losses if it not in going])

    def displace_table(self, existing: Any) -> None:
        """Remove a table whose name another one gets at once. Raises Held for its partitions."""
        self._assert_partitions_going(existing)
        self._discard([existing], delete_data=False)

    def drop_former(self, existing: Any) -> None:
        """Drop a table that is there under its new name, too."""
        self._drop_tables([existing], delete_data=False)

    def _discard(self, tables: Sequence[Any], *, delete_data: bool) -> None:
        # A repeat finds nothing left to do.
        if self.settings.drops != "trash" or self._operation is None:
            self._drop_tables(tables, delete_data=delete_data)
            return
        for existing in tables:
            trash.move(self, existing, self._operation.mark)

    def _drop_tables(self, tables: Sequence[Any], *, delete_data: bool) -> None:
        with self._redefining(*tables):
            self.reads.drop_tables(tables, delete_data=delete_data)
        for table in islice(tables, MOST):
            self._note(f"table {_name(table)}", "dropped")

    def rename_table(self, wanted: Any, existing: Any) -> None:
        """See RenamesTables."""
        differences = _fields(wanted, existing)
        with self._redefining(wanted, existing):
            self.renames.rename_table(wanted, existing)
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

    def remove_partitions(self, table: Any, existing: Sequence[Any], *, delete_data: bool) -> None:
        """Drop partitions that are there, at most `batch`. Raises Held."""
        names = [partition_key(table, it) for it in existing]
        going = self._going([Lost(name, "partition") for name in names])
        chosen = [it for it, name in zip(existing, names, strict=True) if name in going]
        if chosen:
            self.empty_table(table, chosen, delete_data=delete_data)
            self._guard.removed(sorted(going))
        self._refuse_held([name for name in names if name not in going])

    def empty_table(self, table: Any, existing: Sequence[Any], *, delete_data: bool = False) -> None:
        """Drop partitions, at most `batch`, whose loss was judged with that of their table."""
        self.reads.drop_partitions(table, existing, delete_data=delete_data)
        self._count(len(existing), "dropped")

    def spread_columns(self, table: Any, columns: Sequence[Any]) -> bool:
        """See Store."""
        written = self.reads.spread_columns(table, columns)
        if written:
            self._note("columns of the partitions", "altered")
        return written

    def add_constraint(self, columns: Sequence[Any]) -> None:
        """See HasConstraints."""
        self.constraints.add_constraint(columns)
        self._note("constraint", "created")

    def drop_constraint(self, name: TableName, constraint: str) -> None:
        """See HasConstraints."""
        self.constraints.drop_constraint(name, constraint)
        self._note(f"constraint {constraint}", "dropped")

    # --- what no definition has: not noted

    def furnish(self, item: Any) -> None:
        """Add what the settings have for an object (see Furnishes)."""
        if isinstance(self.reads, Furnishes):
            self.reads.furnish(item)

    def put_column_statistics(self, name: TableName, statistics: Statistics) -> None:
        """See HasColumnStatistics."""
        self.statistics.put_column_statistics(name, statistics)

    def drop_column_statistics(self, name: TableName, part: str, columns: Iterable[str]) -> None:
        """See HasColumnStatistics."""
        self.statistics.drop_column_statistics(name, part, columns)

    def log_lost(self, lost: Sequence[str]) -> None:
        """Log what the store cannot hold of the object that the operation has written."""
        if lost and self._operation is not None:
            log.warning(
                "definition_adapted",
                target=self.settings.name,
                operation=type(self._operation).__name__,
                key=self._operation.key,
                changes=list(lost[:_MOST_LISTED]),
                more=max(len(lost) - _MOST_LISTED, 0),
            )

    # --- what is removed

    def keeps(self, existing: Any) -> bool:
        """Whether a person has decided that the target keeps a database or table, or a part of it.

        The object then says so itself, and the decision outlasts the queue's file, too.
        """
        kind, name = ("table", str(_name(existing))) if hasattr(existing, "tableName") else ("database", existing.name)
        says_so = KEPT_KEY in (existing.parameters or {})
        if self._guard.keeps(name):
            if not says_so:
                self._mark_kept(existing, kind)
            return True
        if says_so and self._guard.keeps_again(name, kind, self._position):
            return True
        return self._guard.keeps_within(name)

    def note_put(self) -> None:
        """The operation is done, and the source has what it puts: nothing decided of a former object lasts."""
        if self._operation is not None:
            self._guard.put(put_by(self._operation), self._position)

    def keeps_part(self, name: str) -> bool:
        """Whether a person has decided that the target keeps a function or partition of this name."""
        return self._guard.keeps(name)

    def _mark_kept(self, existing: Any, kind: str) -> None:
        wanted = copied(existing)
        wanted.parameters = {**(existing.parameters or {}), KEPT_KEY: str(round(time.time() * 1000))}
        if kind == "table":
            self.alter_table(wanted, existing)
        else:
            self.alter_database(wanted, existing)

    @property
    def _position(self) -> int:
        return self._operation.mark.position if self._operation is not None else 0

    def _going(self, losses: Sequence[Lost]) -> Set[str]:
        if self._operation is None:
            return {it.object for it in losses}
        return self._guard.going(losses, self._position)

    def _assert_going(self, losses: Sequence[Lost]) -> None:
        going = self._going(losses)
        self._refuse_held([it.object for it in losses if it.object not in going])

    def _assert_partitions_going(self, table: Any) -> None:
        """The table is replaced: its partitions go with it, unless the source has them again."""
        if not (table.partitionKeys and self._guard.is_limited):
            return
        number = len(self.reads.partition_names(table))
        if number:
            self._assert_going([Lost(f"{_name(table)}/*", "partition", number)])

    def _refuse_held(self, names: Sequence[str]) -> None:
        if names:
            raise Held(self.settings.name, names, self._guard.reason_of(names[0]) or "a person keeps it")

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


def partition_key(table: Any, partition: Any) -> str:
    """What names a partition among all objects: `db.table/key=value`."""
    keys = [key.name for key in table.partitionKeys or ()]
    return f"{_name(table)}/{name_of_values(keys, partition.values)}"


def _function_key(database: str, name: str) -> str:
    return f"{database}.{normalized(name)}()"


def _name(table: Any) -> TableName:
    return TableName.of(table.dbName, table.tableName)


def _shape(table: Any) -> tuple[object, ...]:
    """What the translation of a view depends on, of a table that the view reads."""
    columns = [(it.name, it.type) for it in [*((table.sd and table.sd.cols) or ()), *(table.partitionKeys or ())]]
    formats = [(table.parameters or {}).get(key) for key in _FORMAT_KEYS]
    return table.tableType, columns, formats, table.viewOriginalText, table.viewExpandedText
