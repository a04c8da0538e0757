"""The things that a source has, as small as they come, and the operations that its changes lead to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    PutConstraint,
    PutDatabase,
    PutFunction,
    PutPartitions,
    PutTable,
    RenameTable,
)

COLUMNS = ("a:int", "b:string")


def columns(texts: Iterable[str]) -> list[Any]:
    return [hive.FieldSchema(*text.split(":"), "") for text in texts]


def storage(location: str | None, cols: Iterable[str] = COLUMNS) -> Any:
    return hive.StorageDescriptor(
        cols=columns(cols),
        location=location,
        inputFormat="org.apache.hadoop.mapred.TextInputFormat",
        outputFormat="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
        serdeInfo=hive.SerDeInfo(
            serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", parameters={"field.delim": ","}
        ),
    )


def table(
    name: TableName,
    location: str | None,
    *,
    cols: Iterable[str] = COLUMNS,
    keys: Iterable[str] = (),
    external: bool = True,
    parameters: dict[str, str] | None = None,
) -> Any:
    return hive.Table(
        dbName=name.database,
        tableName=name.table,
        owner="ann",
        sd=storage(location, cols),
        partitionKeys=columns(f"{key}:string" for key in keys),
        parameters={**({"EXTERNAL": "TRUE"} if external else {}), **(parameters or {})},
        tableType="EXTERNAL_TABLE" if external else "MANAGED_TABLE",
    )


def view(name: TableName, query: str) -> Any:
    found = table(name, None, external=False)
    found.tableType, found.viewOriginalText, found.viewExpandedText = "VIRTUAL_VIEW", query, query
    return found


def partition(of: Any, values: Sequence[str], *, location: str | None = None, cols: Iterable[str] = COLUMNS) -> Any:
    keys = [key.name for key in of.partitionKeys]
    return hive.Partition(
        values=list(values),
        dbName=of.dbName,
        tableName=of.tableName,
        sd=storage(location or f"{of.sd.location}/{partition_name(keys, values)}", cols),
        parameters={"numFiles": "3", "totalSize": "7"},
    )


def function(database: str, name: str, class_name: str = "com.example.F") -> Any:
    return hive.Function(name, database, class_name, "ann", hive.PrincipalType.USER, 0, hive.FunctionType.JAVA, [])


def primary_key(of: TableName, name: str | None, *names: str) -> list[Any]:
    pairs = enumerate(names, 1)
    return [hive.SQLPrimaryKey(of.database, of.table, col, at, name, False, False, True) for at, col in pairs]


def foreign_key(of: TableName, to: TableName, name: str, column: str = "a") -> list[Any]:
    child, parent = (of.database, of.table, column), (to.database, to.table, "a")
    return [hive.SQLForeignKey(*parent, *child, 1, 0, 0, name, "pk", False, False, True)]


class Source:
    """A source whose changes come one after the other: each operation is one event later than the one before."""

    def __init__(self, name: str = "onprem", visited: tuple[str, ...] = ("far", "onprem")) -> None:
        self.name, self.visited, self.position = name, visited, 0

    def at(self, position: int | None = None, created: int = 10, *, born: bool = False) -> dict[str, Any]:
        self.position = position if position is not None else self.position + 1
        mark = Mark(self.name, 1, self.position, created, self.position if born else 0)
        return {"mark": mark, "visited": self.visited}

    def put_database(self, name: str, location: str | None = None, **fields: Any) -> PutDatabase:
        definition = hive.Database(name=name, locationUri=location, **fields)
        return PutDatabase(database=name, definition=definition, **self.at(created=0))

    def drop_database(self, name: str, *deleted: str, at: int | None = None) -> DropDatabase:
        return DropDatabase(database=name, deleted_locations=deleted, **self.at(at, 0))

    def put_table(
        self, definition: Any, *, cascade: bool = False, at: int | None = None, created: int = 10, born: bool = False
    ) -> PutTable:
        name = TableName.of(definition.dbName, definition.tableName)
        return PutTable(table=name, definition=definition, cascade=cascade, **self.at(at, created, born=born))

    def rename_table(self, old: TableName, definition: Any) -> RenameTable:
        return RenameTable(table=old, definition=definition, **self.at(born=True))

    def drop_table(self, name: TableName, *deleted: str, at: int | None = None, created: int = 10) -> DropTable:
        return DropTable(table=name, deleted_locations=deleted, **self.at(at, created))

    def put_partitions(self, of: Any, *partitions: Any, at: int | None = None, created: int = 10) -> PutPartitions:
        name = TableName.of(of.dbName, of.tableName)
        return PutPartitions(table=name, definition=of, partitions=partitions, **self.at(at, created))

    def drop_partitions(
        self, of: Any, *values: Sequence[str], deleted: Sequence[str] = (), created: int = 10
    ) -> DropPartitions:
        parts: dict[str, Any] = {"keys": [key.name for key in of.partitionKeys], "values": values}
        name = TableName.of(of.dbName, of.tableName)
        return DropPartitions(table=name, **parts, deleted_locations=tuple(deleted), **self.at(created=created))

    def put_function(self, definition: Any) -> PutFunction:
        return PutFunction(database=definition.dbName, definition=definition, **self.at())

    def drop_function(self, database: str, name: str) -> DropFunction:
        return DropFunction(database=database, function=name, **self.at())

    def put_constraint(self, name: TableName, cols: list[Any], *, created: int = 10) -> PutConstraint:
        return PutConstraint(table=name, columns=cols, **self.at(created=created))

    def drop_constraint(self, name: TableName, constraint: str) -> DropConstraint:
        return DropConstraint(table=name, constraint=constraint, **self.at())
