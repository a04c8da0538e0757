"""Memory: databases, tables and partitions in dicts, brought to what operations say as a metastore would be.

The rules of ownership are those of every target (pysync.targets.ownership). What a real metastore compares, merges or
checks beyond them is not here, so that an operation takes microseconds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pysync.model import operation as op
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.targets.base import Missing, Outcome, Rejected
from pysync.targets.ownership import Standing, standing, standing_for_drop, standing_of_part

OnConflict = Literal["adopt", "skip", "park"]

_DEFAULT = "default"


@dataclass(slots=True)
class _Table:
    definition: Any
    partitions: dict[tuple[str, ...], Any] = field(default_factory=dict)
    constraints: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Database:
    definition: Any
    tables: dict[str, _Table] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)


class Memory:
    """The objects of one target; may be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._databases: dict[str, _Database] = {}

    @property
    def size(self) -> int:
        """How many tables there are."""
        with self._lock:
            return sum(len(database.tables) for database in self._databases.values())

    def apply(self, operation: op.Operation, on_conflict: OnConflict) -> Outcome:
        """Bring the objects to what the operation says. Raises Rejected or Missing."""
        apply = _APPLY.get(type(operation))
        if apply is None:
            raise Rejected(f"nothing in memory can do {type(operation).__name__}")
        with self._lock:
            return apply(self, operation, on_conflict)

    def databases(self) -> list[str]:
        """The names of its databases, sorted."""
        with self._lock:
            return sorted(self._databases)

    def database(self, name: str) -> Any | None:
        """The database, or None."""
        found = self._databases.get(name)
        return found and found.definition

    def tables(self, database: str) -> list[str]:
        """The names of its tables, sorted; empty if there is no such database."""
        with self._lock:
            found = self._databases.get(database)
            return sorted(found.tables) if found else []

    def table(self, name: TableName) -> Any | None:
        """The table, or None."""
        found = self.find(name)
        return found and found.definition

    def partitions(self, name: TableName) -> list[Any]:
        """Its partitions, sorted by their values; none if there is no such table."""
        with self._lock:
            found = self.find(name)
            return [found.partitions[values] for values in sorted(found.partitions)] if found else []

    def functions(self, database: str) -> list[Any]:
        """Its functions, sorted by their names; none if there is no such database."""
        with self._lock:
            found = self._databases.get(database)
            return [found.functions[name] for name in sorted(found.functions)] if found else []

    # --- what the operations use, with the lock held

    def find(self, name: TableName) -> _Table | None:
        """The table with its partitions, or None."""
        database = self._databases.get(name.database)
        return database.tables.get(name.table) if database else None

    def within(self, name: str) -> _Database:
        """The database. Raises Missing when it is not there."""
        found = self._databases.get(name)
        if found is None:
            raise Missing(f"database {name} is not at the target", "put it there, then retry")
        return found

    def put_database(self, operation: op.PutDatabase, on_conflict: OnConflict) -> Outcome:
        """Create or alter it; one that is not its source's is left as it is unless it may be adopted."""
        there = self._databases.get(operation.database)
        found = _standing(there, operation.mark)
        if found is Standing.NEWER:
            return Outcome.STALE
        if found is Standing.FOREIGN and (operation.database == _DEFAULT or on_conflict != "adopt"):
            return Outcome.FOREIGN
        wanted = _stamped(operation.definition, operation.mark, there)
        if there is None:
            self._databases[operation.database] = _Database(wanted)
        else:
            there.definition = wanted
        return Outcome.APPLIED

    def drop_database(self, operation: op.DropDatabase, _: OnConflict) -> Outcome:
        """Drop it with what its source has in it; it stays if anything else is left."""
        there = self._databases.get(operation.database)
        if there is None:
            return Outcome.UNCHANGED
        found = _standing_for_drop(there, operation.mark)
        if found is not Standing.OWN or operation.database == _DEFAULT:
            return Outcome.STALE if found is Standing.NEWER else Outcome.FOREIGN
        left = {
            name: table
            for name, table in there.tables.items()
            if _standing_for_drop(table, operation.mark) is not Standing.OWN
        }
        there.tables = left
        if left:
            return Outcome.FOREIGN
        del self._databases[operation.database]
        return Outcome.APPLIED

    def put_function(self, operation: op.PutFunction, _: OnConflict) -> Outcome:
        """Create or alter it."""
        database = self.within(operation.database)
        database.functions[operation.definition.functionName.lower()] = operation.definition
        return Outcome.APPLIED

    def drop_function(self, operation: op.DropFunction, _: OnConflict) -> Outcome:
        """Drop it."""
        database = self._databases.get(operation.database)
        gone = database and database.functions.pop(operation.function.lower(), None)
        return Outcome.APPLIED if gone else Outcome.UNCHANGED

    def put_table(self, operation: op.PutTable, on_conflict: OnConflict) -> Outcome:
        """Create or alter it."""
        return self._bring_to(operation.table, operation.definition, operation.mark, on_conflict)

    def _bring_to(self, name: TableName, definition: Any, mark: Mark, on_conflict: OnConflict) -> Outcome:
        there = self.find(name)
        found = _standing(there, mark)
        if found is Standing.NEWER:
            return Outcome.STALE
        if found is Standing.FOREIGN and (refused := _foreign(name, on_conflict)):
            return refused
        wanted = _stamped(definition, mark, there)
        if there is None or there.definition.partitionKeys != wanted.partitionKeys:
            self.within(name.database).tables[name.table] = _Table(wanted)
        else:
            there.definition = wanted
        return Outcome.APPLIED

    def rename_table(self, operation: op.RenameTable, on_conflict: OnConflict) -> Outcome:
        """Rename it if it is there and not newer; else see that the new one is as it should be."""
        old, new, mark = operation.table, operation.new_name, operation.mark
        there, other = self.find(old), self.find(new)
        found = _standing(there, mark)
        if found is Standing.FOREIGN and (refused := _foreign(old, on_conflict)):
            return refused
        is_done = _standing(other, mark) is Standing.NEWER or (other and Mark.read(other.definition.parameters) == mark)
        if there is None or found is Standing.NEWER:
            return self._bring_to(new, operation.definition, mark, on_conflict)
        database = self.within(new.database)
        del self._databases[old.database].tables[old.table]
        if not is_done:
            there.definition = _stamped(operation.definition, mark, there)
            database.tables[new.table] = there
        return Outcome.APPLIED

    def drop_table(self, operation: op.DropTable, _: OnConflict) -> Outcome:
        """Drop it if it is its source's and not newer."""
        there = self.find(operation.table)
        if there is None:
            return Outcome.UNCHANGED
        found = _standing_for_drop(there, operation.mark)
        if found is not Standing.OWN:
            return Outcome.STALE if found is Standing.NEWER else Outcome.FOREIGN
        del self._databases[operation.table.database].tables[operation.table.table]
        return Outcome.APPLIED

    def put_partitions(self, operation: op.PutPartitions, on_conflict: OnConflict) -> Outcome:
        """Add or replace them; a table that is not there is created for them."""
        if self.find(operation.table) is None:
            self._bring_to(operation.table, operation.definition, operation.mark, on_conflict)
        table = self._table(operation)
        if standing_of_part(table.definition.parameters, operation.mark) is Standing.NEWER:
            return Outcome.STALE
        table.partitions.update((tuple(partition.values), partition) for partition in operation.partitions)
        return Outcome.APPLIED

    def drop_partitions(self, operation: op.DropPartitions, _: OnConflict) -> Outcome:
        """Drop those that are there."""
        table = self.find(operation.table)
        if table is None:
            return Outcome.UNCHANGED
        if standing_of_part(table.definition.parameters, operation.mark) is not Standing.OWN:
            return Outcome.STALE
        gone = [values for it in operation.values if table.partitions.pop(values := tuple(it), None) is not None]
        return Outcome.APPLIED if gone else Outcome.UNCHANGED

    def put_constraint(self, operation: op.PutConstraint, _: OnConflict) -> Outcome:
        """Add it, by its name."""
        first = operation.columns[0]
        self._table(operation).constraints.add(getattr(first, "fk_name", None) or first.pk_name)
        return Outcome.APPLIED

    def drop_constraint(self, operation: op.DropConstraint, _: OnConflict) -> Outcome:
        """Drop it."""
        table = self.find(operation.table)
        if table is None or operation.constraint not in table.constraints:
            return Outcome.UNCHANGED
        table.constraints.discard(operation.constraint)
        return Outcome.APPLIED

    def _table(self, operation: op.TableOperation) -> _Table:
        found = self.find(operation.table)
        if found is None:
            raise Missing(f"table {operation.table} is not at the target", "put it there, then retry")
        return found


_APPLY: Mapping[type[op.Operation], Callable[[Memory, Any, OnConflict], Outcome]] = {
    op.PutDatabase: Memory.put_database,
    op.DropDatabase: Memory.drop_database,
    op.PutFunction: Memory.put_function,
    op.DropFunction: Memory.drop_function,
    op.PutTable: Memory.put_table,
    op.RenameTable: Memory.rename_table,
    op.DropTable: Memory.drop_table,
    op.PutPartitions: Memory.put_partitions,
    op.DropPartitions: Memory.drop_partitions,
    op.PutConstraint: Memory.put_constraint,
    op.DropConstraint: Memory.drop_constraint,
}


def _standing(there: _Table | _Database | None, mark: Mark) -> Standing:
    return standing(there is not None, there.definition.parameters if there else None, mark)


def _standing_for_drop(there: _Table | _Database, mark: Mark) -> Standing:
    return standing_for_drop(True, there.definition.parameters, mark)


def _foreign(name: TableName, on_conflict: OnConflict) -> Outcome | None:
    """What to answer about a table that is not its source's; None: adopt it. Raises Rejected to park it."""
    if on_conflict == "park":
        raise Rejected(f"table {name} is at the target already and not from this source", "drop it there")
    return Outcome.FOREIGN if on_conflict == "skip" else None


def _stamped(definition: Any, mark: Mark, there: _Table | _Database | None) -> Any:
    """A copy that carries the mark; its inner parts are shared with the operation, which nobody alters."""
    found = definition.__class__.__new__(definition.__class__)  # copy.copy would go through pickle's protocol
    found.__dict__.update(definition.__dict__)
    before = Mark.read(there.definition.parameters) if there else None
    found.parameters = {**(found.parameters or {}), **mark.following(before).parameters()}
    return found
