"""What the tests of refreshes share: a source and a target in memory, and a refresh from the one to the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from pysync.metastore.errors import MetastoreUnsupported
from pysync.model.event import Kind
from pysync.model.mark import Mark, Writer
from pysync.model.names import TableName
from pysync.model.operation import (
    DropDatabase,
    DropPartitions,
    DropTable,
    Operation,
    Refresh,
)
from pysync.model.snapshot import Snapshot, Transactions
from pysync.model.wire import encode_event
from pysync.replay.refresh import Refresher
from pysync.replay.window.fold import fold
from pysync.replay.window.plan import plan
from pysync.replay.window.translate import Translator
from pysync.targets.base import Outcome
from tests.support import partition, table
from tests.support.events import database, event, settings
from tests.support.targets import FakeTarget


class Hms:
    """Databases and tables in dicts, read as a Metastore is, and as a target is."""

    uri = "thrift://fake"

    def __init__(self, *names: str, created: int = 100) -> None:
        self.bases: dict[str, Any] = {"default": database("default")}
        self.found: dict[TableName, Any] = {}
        self.parts: dict[TableName, list[Any]] = {}
        self.made: list[Any] = []
        self.keys: dict[TableName, dict[Any, list[Any]]] = {}
        self.committed: dict[TableName, Snapshot] = {}
        self.fails: Exception | None = None
        for name in names:
            self.add(name, created=created)

    def add(self, name: str, *days: str, created: int = 100, parameters: dict[str, str] | None = None) -> Any:
        which = TableName(*name.split("."))
        self.bases.setdefault(which.database, database(which.database, parameters=dict(parameters or {})))
        keys = [("day", "string")] if days else []
        made = table(which.database, which.table, partition_keys=keys, parameters=parameters)
        made.createTime = created
        self.found[which] = made
        self.parts[which] = [partition(made, [day]) for day in days]
        return made

    def __enter__(self) -> Hms:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    def databases(self) -> list[str]:
        return sorted(self.bases)

    def database(self, name: str) -> Any | None:
        return self.bases.get(name)

    def tables(self, of: str) -> list[str]:
        return sorted(name.table for name in self.found if name.database == of)

    def views(self, of: str) -> list[str]:
        return [name for name in self.tables(of) if self.found[TableName(of, name)].tableType == "VIRTUAL_VIEW"]

    def tables_by_name(self, of: str, names: list[str]) -> list[Any]:
        return [self.found[TableName(of, name)] for name in names if TableName(of, name) in self.found]

    def table(self, of: str, name: str) -> Any | None:
        if self.fails is not None:
            raise self.fails
        return self.found.get(TableName(of, name))

    def first_partitions(self, of: str, name: str, most: int) -> list[Any]:
        return self.partitions_by_name(of, name, self.partition_names(of, name)[:most])

    def partition_names(self, of: str, name: str) -> list[str]:
        return [f"day={it.values[0]}" for it in self.parts[TableName(of, name)]]

    def partitions_by_name(self, of: str, name: str, names: list[str]) -> list[Any]:
        return [it for it in self.parts[TableName(of, name)] if f"day={it.values[0]}" in names]

    def snapshots(self, names: Sequence[TableName]) -> dict[TableName, Snapshot]:
        if not self.committed:
            raise MetastoreUnsupported("the metastore does not know the call get_valid_write_ids")
        return {it: self.committed.get(it, Snapshot(0, Transactions(0))) for it in names}

    def functions(self, of: str) -> list[Any]:
        return [deepcopy(it) for it in self.made if it.dbName == of]

    def constraints(self, of: Any) -> dict[Any, list[Any]]:
        return deepcopy(self.keys.get(TableName(of.dbName, of.tableName), {}))


class Target(FakeTarget):
    """A target that has what another Hms has, and records what is applied; `source` marks what came from where."""

    def __init__(self, there: Hms | None = None) -> None:
        super().__init__()
        self.there = there or Hms()

    def has(
        self,
        name: str,
        *days: str,
        source: str | None = "onprem",
        created: int = 100,
        position: int = 1,
        copied: str = "",
    ) -> None:
        mark = Mark(source, 5, position, created, object=copied).parameters() if source else {}
        self.there.add(name, *days, created=999, parameters=mark)

    def databases(self) -> list[str]:
        return self.there.databases()

    def database(self, name: str) -> Any | None:
        return self.there.database(name)

    def tables(self, of: str) -> list[str]:
        return self.there.tables(of)

    def table(self, name: TableName) -> Any | None:
        return self.there.table(name.database, name.table)

    def partitions(self, name: TableName) -> Iterator[Any]:
        return iter(self.there.parts.get(name, []))

    def functions(self, database: str) -> list[Any]:
        return self.there.functions(database)

    def constraints(self, table: Any) -> dict[Any, list[Any]]:
        return self.there.constraints(table)

    def dropped(self) -> list[str]:
        """What was dropped, in order."""
        found = []
        for it in self.applied:
            if isinstance(it, DropPartitions):
                found += [f"{it.table}/{values[0]}" for values in it.values]
            elif isinstance(it, (DropTable, DropDatabase)):
                found.append(it.key)
        return found


def refreshing(names: dict[str, str], translator: Translator, position: int = 9) -> Operation:
    change = translator.translate(encode_event(event(Kind.REFRESH, attributes=names)), position)
    assert change is not None, f"{names} is not in scope"
    (work,) = plan(fold([change]), Writer(5))
    (operation,) = work.operations
    return operation


def apply(source: Hms, target: Target, names: dict[str, str], allow: Any = None, **values: Any) -> Outcome:
    translator = Translator.of(settings(**values))
    refresh = refreshing(names, translator)
    assert isinstance(refresh, Refresh)
    return Refresher(lambda: source, translator, allow or (lambda *_: True)).apply(target, refresh)


ALL = {"present": "default\ndb"}
DB = {"database": "db", "present": "t"}
T = {"database": "db", "table": "t"}
