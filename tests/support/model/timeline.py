"""The model's source with its past: what a reader finds there at any moment, and what its listener told by then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.names import TableName, partition_name
from tests.support.model.source import Source
from tests.support.model.world import World, part_struct, table_struct


@dataclass(frozen=True, slots=True)
class Moment:
    """The world after so many `events` had been told."""

    events: int
    world: World


class Timeline(Source):
    """A source that remembers every moment between two things that its clients did.

    No two tables are created in the same second: a refresh knows them apart by that.
    """

    def __init__(self, steps: bytes = b"") -> None:
        self.moments = [Moment(0, World())]
        super().__init__(steps)

    def create(self, name: TableName, what: int) -> None:
        self.clock += 1
        super().create(name, what)

    def step(self, action: int, where: int, what: int) -> None:
        """As a source's; remembers the moment after it."""
        super().step(action, where, what)
        self.clock += 10
        if len(self.events) > self.moments[-1].events:
            self.moments.append(Moment(len(self.events), _copy(self.world)))


class Reader:
    """A connection to the model's source, as much of a Metastore as a refresh needs.

    It finds the world as it is at the moment `now`.
    """

    uri = "model"

    def __init__(self, moments: Sequence[Moment]) -> None:
        self.moments = moments
        self.now = 0

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    @property
    def world(self) -> World:
        """What is there now."""
        return self.moments[self.now].world

    def reach(self, moment: int) -> None:
        """Move on to a moment, if it is not over already."""
        self.now = max(self.now, min(moment, len(self.moments) - 1))

    def databases(self) -> list[str]:
        return sorted(self.world.databases)

    def database(self, name: str) -> Any | None:
        there = self.world.databases.get(name)
        return None if there is None else hive.Database(name=name, parameters={"version": there.version})

    def tables(self, database: str) -> list[str]:
        return [name.table for name in self.world.within(database)]

    def views(self, database: str) -> list[str]:  # noqa: ARG002
        return []

    def table(self, database: str, name: str) -> Any | None:
        there = self.world.tables.get(TableName(database, name))
        return None if there is None else table_struct(TableName(database, name), there)

    def tables_by_name(self, database: str, names: Sequence[str]) -> list[Any]:
        found = (self.table(database, name) for name in names)
        return [it for it in found if it is not None]

    def first_partitions(self, database: str, table: str, most: int) -> list[Any]:
        return self.partitions_by_name(database, table, self.partition_names(database, table)[:most])

    def partition_names(self, database: str, table: str) -> list[str]:
        there = self.world.tables.get(TableName(database, table))
        if there is None:
            raise hive.NoSuchObjectException(f"{database}.{table}")
        return [partition_name(there.keys, values) for values in sorted(there.parts)]

    def partitions_by_name(self, database: str, table: str, names: Sequence[str]) -> list[Any]:
        name = TableName(database, table)
        there = self.world.tables.get(name)
        if there is None:
            raise hive.NoSuchObjectException(str(name))
        found = {partition_name(there.keys, values): values for values in there.parts}
        return [part_struct(name, found[it], there.parts[found[it]]) for it in names if it in found]

    def functions(self, database: str) -> list[Any]:
        there = self.world.databases.get(database)
        made = there.functions if there else {}
        return [hive.Function(functionName=n, dbName=database, className=c, functionType=1) for n, c in made.items()]

    def constraints(self, table: Any) -> dict[Any, list[Any]]:  # noqa: ARG002
        return {}


def _copy(world: World) -> World:
    databases = {name: replace(it, functions=dict(it.functions)) for name, it in world.databases.items()}
    return World(databases, {name: replace(it, parts=dict(it.parts)) for name, it in world.tables.items()})
