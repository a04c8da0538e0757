"""What the metastores of the model hold, and the thrift structs in which events tell of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.mark import Mark
from pysync.model.names import TableName

Values = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A partition."""

    cols: tuple[str, ...]
    location: str
    version: str = "0"


@dataclass(slots=True)
class Table:
    """A table with its partitions; `managed`: its files follow its name."""

    cols: tuple[str, ...]
    keys: tuple[str, ...]
    location: str
    managed: bool = False
    version: str = "0"
    created: int = 0
    mark: Mark | None = None
    parts: dict[Values, Part] = field(default_factory=dict)
    primary_key: tuple[str, ...] = ()

    def definition(self) -> tuple[Any, ...]:
        """What a put of the table is about."""
        return self.cols, self.keys, self.location, self.managed, self.version

    def plain(self) -> dict[str, Any]:
        """What a reader of the table sees."""
        return {
            "cols": self.cols,
            "keys": self.keys,
            "location": self.location,
            "managed": self.managed,
            "version": self.version,
            "parts": dict(sorted(self.parts.items())),
            "primary_key": self.primary_key,
        }


@dataclass(slots=True)
class Database:
    """A database with its functions."""

    version: str = "0"
    mark: Mark | None = None
    functions: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class World:
    """What a metastore holds."""

    databases: dict[str, Database] = field(default_factory=dict)
    tables: dict[TableName, Table] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Everything that counts, to be compared: no marks, no times."""
        found: dict[str, Any] = {}
        for name, database in self.databases.items():
            found[name] = {"version": database.version, "functions": dict(sorted(database.functions.items()))}
        return found | {str(name): table.plain() for name, table in self.tables.items()}

    def within(self, database: str) -> list[TableName]:
        """The names of a database's tables, sorted."""
        return sorted(name for name in self.tables if name.database == database)


# --- structs


def schema(names: tuple[str, ...]) -> list[Any]:
    return [hive.FieldSchema(name, "string", None) for name in names]


def storage(cols: tuple[str, ...], location: str) -> Any:
    return hive.StorageDescriptor(cols=schema(cols), location=location)


def table_struct(name: TableName, table: Table) -> Any:
    return hive.Table(
        dbName=name.database,
        tableName=name.table,
        createTime=table.created,
        sd=storage(table.cols, table.location),
        partitionKeys=schema(table.keys),
        parameters={"version": table.version} | ({} if table.managed else {"EXTERNAL": "TRUE"}),
        tableType="MANAGED_TABLE" if table.managed else "EXTERNAL_TABLE",
    )


def part_struct(name: TableName, values: Values, part: Part) -> Any:
    return hive.Partition(
        values=list(values),
        dbName=name.database,
        tableName=name.table,
        sd=storage(part.cols, part.location),
        parameters={"version": part.version},
    )


def read_table(struct: Any) -> Table:
    return Table(
        cols=tuple(column.name for column in struct.sd.cols),
        keys=tuple(key.name for key in struct.partitionKeys or ()),
        location=struct.sd.location,
        managed=struct.tableType == "MANAGED_TABLE",
        version=struct.parameters["version"],
    )


def read_part(struct: Any) -> Part:
    return Part(tuple(column.name for column in struct.sd.cols), struct.sd.location, struct.parameters["version"])


def below(part: Part, old: str, new: str) -> Part:
    """The partition after its table has moved: what lay in the table's directory moves along."""
    inside = part.location.startswith(old + "/")
    return replace(part, location=new + part.location[len(old) :]) if inside else part
