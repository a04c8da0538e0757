"""The model's target: what operations mean, without a server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import islice
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.mark import Mark
from pysync.model.names import TableName, partition_name
from pysync.model.operation import (
    DropConstraint,
    DropDatabase,
    DropFunction,
    DropPartitions,
    DropTable,
    Operation,
    PutConstraint,
    PutDatabase,
    PutFunction,
    PutPartitions,
    PutTable,
    RenameTable,
)
from pysync.targets.apply.owners import Ownership, ownership_for_drop, ownership_of, ownership_of_part
from pysync.targets.base import Missing, Outcome, Rejected
from tests.support.model.world import Database, Table, World, below, part_struct, read_part, read_table, table_struct


class Crash(Exception):
    """The process died here."""


def is_predecessor(there: Mark | None, operation: Operation) -> bool:
    """Whether a table was there before the one that is created now: then nobody has told of its drop."""
    is_birth = isinstance(operation, PutTable) and operation.mark.born > 0
    return is_birth and there is not None and there.created != operation.mark.created


class ModelTarget:
    """A target in memory that means what it says as targets/hms does, without the quirks of a server.

    `refuses`: keys of operations that are refused while they are in there. `dies_after`: that many more operations.
    `halts`: sets the event after that many more operations.
    """

    def __init__(self) -> None:
        self.world = World()
        self.refuses: set[str] = set()
        self.dies_after: int | None = None
        self.halts: tuple[threading.Event, int] | None = None
        self.log: list[tuple[Operation, Outcome]] = []

    def apply(self, operation: Operation) -> Outcome:
        if self.dies_after is not None:
            self.dies_after -= 1
            if self.dies_after < 0:
                raise Crash
        if self.halts is not None:
            event, left = self.halts
            self.halts = (event, left - 1)
            if left == 0:
                event.set()
        if operation.key in self.refuses:
            raise Rejected(f"the target does not like {operation.key}")
        outcome: Outcome = _APPLY[type(operation)](self, operation)
        self.log.append((operation, outcome))
        return outcome

    # databases and functions

    def _put_database(self, operation: PutDatabase) -> Outcome:
        there, version = self.world.databases.get(operation.database), operation.definition.parameters["version"]
        mark = operation.mark.following(there.mark if there else None)
        if there is None:
            self.world.databases[operation.database] = Database(version, operation.mark)
            return Outcome.APPLIED
        found = ownership_of(True, _parameters(there.mark), operation.mark)
        if found is not Ownership.OWN:
            return Outcome.STALE if found is Ownership.NEWER else Outcome.FOREIGN
        if there.version == version:
            return Outcome.UNCHANGED
        there.version, there.mark = version, mark
        return Outcome.APPLIED

    def _drop_database(self, operation: DropDatabase) -> Outcome:
        there = self.world.databases.get(operation.database)
        if there is None:
            return Outcome.UNCHANGED
        found = ownership_for_drop(True, _parameters(there.mark), operation.mark)
        if found is Ownership.FOREIGN:
            return Outcome.FOREIGN
        for name in self.world.within(operation.database):
            if ownership_for_drop(True, _parameters(self.world.tables[name].mark), operation.mark) is Ownership.OWN:
                del self.world.tables[name]
        if found is Ownership.NEWER or self.world.within(operation.database):
            return Outcome.STALE
        del self.world.databases[operation.database]
        return Outcome.APPLIED

    def _within(self, database: str) -> Database:
        found = self.world.databases.get(database)
        if found is None:
            raise Missing(f"database {database} is not there")
        return found

    def _put_function(self, operation: PutFunction) -> Outcome:
        name, made = operation.definition.functionName, operation.definition.className
        there = self._within(operation.database)
        if ownership_of_part(_parameters(there.mark), operation.mark) is Ownership.NEWER:
            return Outcome.STALE
        functions = there.functions
        if functions.get(name) == made:
            return Outcome.UNCHANGED
        functions[name] = made
        return Outcome.APPLIED

    def _drop_function(self, operation: DropFunction) -> Outcome:
        there = self.world.databases.get(operation.database)
        if there and ownership_of_part(_parameters(there.mark), operation.mark) is Ownership.NEWER:
            return Outcome.STALE
        gone = there.functions.pop(operation.function, None) if there else None
        return Outcome.UNCHANGED if gone is None else Outcome.APPLIED

    # tables

    def _ownership(self, name: TableName, mark: Mark) -> Ownership:
        there = self.world.tables.get(name)
        return ownership_of(there is not None, _parameters(there.mark) if there else None, mark)

    def _put_table(self, operation: PutTable) -> Outcome:
        outcome = self._bring_to(operation, operation.table, operation.definition)
        there = self.world.tables[operation.table]
        if operation.cascade and ownership_of_part(_parameters(there.mark), operation.mark) is Ownership.OWN:
            cols = read_table(operation.definition).cols
            there.parts = {values: replace(part, cols=cols) for values, part in there.parts.items()}
        return outcome

    def _bring_to(self, operation: Operation, name: TableName, definition: Any) -> Outcome:
        found, there = self._ownership(name, operation.mark), self.world.tables.get(name)
        wanted = read_table(definition)
        if found is Ownership.NEWER:
            return Outcome.STALE
        if found is Ownership.FOREIGN:
            raise Rejected(f"table {name} is not from this source")
        self._within(name.database)
        if there is None or there.keys != wanted.keys or is_predecessor(there.mark, operation):
            self.world.tables[name] = replace(wanted, mark=operation.mark)
            return Outcome.APPLIED
        known = there.mark is not None and operation.mark.created in {0, there.mark.created}
        alike = there.definition() == wanted.definition()
        if known and alike:
            return Outcome.UNCHANGED
        self._write(there, wanted, operation.mark)
        return Outcome.APPLIED

    def _write(self, there: Table, wanted: Table, mark: Mark) -> None:
        there.cols, there.location, there.managed = wanted.cols, wanted.location, wanted.managed
        there.version, there.mark = wanted.version, mark.following(there.mark)

    def _drop_table(self, operation: DropTable) -> Outcome:
        there = self.world.tables.get(operation.table)
        if there is None:
            return Outcome.UNCHANGED
        found = ownership_for_drop(True, _parameters(there.mark), operation.mark)
        if found is not Ownership.OWN:
            return Outcome.STALE if found is Ownership.NEWER else Outcome.FOREIGN
        del self.world.tables[operation.table]
        return Outcome.APPLIED

    def _rename_table(self, operation: RenameTable) -> Outcome:
        tables, mark, new = self.world.tables, operation.mark, operation.new_name
        if self._ownership(operation.table, mark) in {Ownership.ABSENT, Ownership.NEWER}:
            return self._bring_to(operation, new, operation.definition)
        there, wanted = tables[operation.table], read_table(operation.definition)
        if self._ownership(operation.table, mark) is Ownership.FOREIGN:
            raise Rejected(f"table {operation.table} is not from this source")
        if new in tables and (tables[new].mark == mark or self._ownership(new, mark) is Ownership.NEWER):
            del tables[operation.table]
            self._bring_to(operation, new, operation.definition)
            return Outcome.APPLIED
        self._within(new.database)
        tables.pop(new, None)
        del tables[operation.table]
        if there.keys != wanted.keys:
            return self._bring_to(operation, new, operation.definition)
        there.parts = {values: below(part, there.location, wanted.location) for values, part in there.parts.items()}
        self._write(there, wanted, mark)
        tables[new] = there
        return Outcome.APPLIED

    def _put_constraint(self, operation: PutConstraint) -> Outcome:
        there = self.world.tables.get(operation.table)
        if there is None:
            raise Missing(f"table {operation.table} of the constraint is not there")
        if ownership_of_part(_parameters(there.mark), operation.mark) is Ownership.NEWER:
            return Outcome.STALE
        there.primary_key = tuple(column.column_name for column in operation.columns)
        return Outcome.APPLIED

    def _drop_constraint(self, operation: DropConstraint) -> Outcome:
        there = self.world.tables.get(operation.table)
        if there is None or ownership_of_part(_parameters(there.mark), operation.mark) is not Ownership.OWN:
            return Outcome.UNCHANGED if there is None else Outcome.STALE
        there.primary_key = ()
        return Outcome.APPLIED

    # partitions

    def _put_partitions(self, operation: PutPartitions) -> Outcome:
        if operation.table not in self.world.tables:
            self._bring_to(operation, operation.table, operation.definition)
        there = self.world.tables[operation.table]
        if ownership_of_part(_parameters(there.mark), operation.mark) is Ownership.NEWER:
            return Outcome.STALE
        wanted = {tuple(part.values): read_part(part) for part in operation.partitions}
        if any(len(values) != len(there.keys) for values in wanted):
            raise Rejected(f"the partitions of {operation.table} have other keys")
        changed = any(there.parts.get(values) != part for values, part in wanted.items())
        there.parts |= wanted
        return Outcome.APPLIED if changed else Outcome.UNCHANGED

    def _drop_partitions(self, operation: DropPartitions) -> Outcome:
        there = self.world.tables.get(operation.table)
        if there is None:
            return Outcome.UNCHANGED
        if ownership_of_part(_parameters(there.mark), operation.mark) is Ownership.NEWER:
            return Outcome.STALE
        gone = [there.parts.pop(tuple(values), None) for values in operation.values]
        return Outcome.APPLIED if any(gone) else Outcome.UNCHANGED

    # the rest of the protocol

    def check(self) -> str:
        return "a model"

    def databases(self) -> list[str]:
        return sorted(self.world.databases)

    def database(self, name: str) -> Any | None:
        there = self.world.databases.get(name)
        if there is None:
            return None
        return hive.Database(name=name, parameters={"version": there.version, **_parameters(there.mark)})

    def tables(self, database: str) -> list[str]:
        return [name.table for name in self.world.within(database)]

    def tables_with(self, drop: DropDatabase) -> dict[str, int]:
        return dict.fromkeys(self.tables(drop.database), 0)

    def table(self, name: TableName) -> Any | None:
        there = self.world.tables.get(name)
        if there is None:
            return None
        found = table_struct(name, there)
        found.parameters |= _parameters(there.mark)
        return found

    def partition_names(self, name: TableName, most: int | None = None) -> list[str]:
        there = self.table(name)
        keys = [key.name for key in there.partitionKeys] if there is not None else []
        return [partition_name(keys, it.values) for it in islice(self.partitions(name), most)]

    def partitions(self, name: TableName) -> Iterator[Any]:
        there = self.world.tables.get(name)
        return iter([part_struct(name, values, part) for values, part in there.parts.items()] if there else [])

    def functions(self, database: str) -> list[Any]:
        there = self.world.databases.get(database)
        return [hive.Function(functionName=name, dbName=database) for name in there.functions] if there else []

    def constraints(self, table: Any) -> dict[Any, list[Any]]:  # noqa: ARG002
        return {}

    def close(self) -> None:
        """Nothing to close."""

    def copy(self) -> ModelTarget:
        """Another that has the same."""
        other = ModelTarget()
        other.world = deepcopy(self.world)
        return other


def _parameters(mark: Mark | None) -> dict[str, str]:
    return mark.parameters() if mark else {}


_APPLY: dict[type[Operation], Any] = {
    PutDatabase: ModelTarget._put_database,
    DropDatabase: ModelTarget._drop_database,
    PutFunction: ModelTarget._put_function,
    DropFunction: ModelTarget._drop_function,
    PutTable: ModelTarget._put_table,
    RenameTable: ModelTarget._rename_table,
    DropTable: ModelTarget._drop_table,
    PutPartitions: ModelTarget._put_partitions,
    DropPartitions: ModelTarget._drop_partitions,
    PutConstraint: ModelTarget._put_constraint,
    DropConstraint: ModelTarget._drop_constraint,
}
