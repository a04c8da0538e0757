"""The source: a real metastore, its clients' calls for the statements of the stream, and what it has in the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.client import Metastore
from tests.compare.counting import Catalog, Seen, place
from tests.compare.stream import BUCKET, DATABASES, Statement, Table

_IO = "org.apache.hadoop.hive.ql.io"
_FORMATS = {
    "parquet": (
        f"{_IO}.parquet.MapredParquetInputFormat",
        f"{_IO}.parquet.MapredParquetOutputFormat",
        f"{_IO}.parquet.serde.ParquetHiveSerDe",
    ),
    "orc": (f"{_IO}.orc.OrcInputFormat", f"{_IO}.orc.OrcOutputFormat", f"{_IO}.orc.OrcSerde"),
    "text": (
        "org.apache.hadoop.mapred.TextInputFormat",
        f"{_IO}.HiveIgnoreKeyTextOutputFormat",
        "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
    ),
}


def s3_settings(directory: Path) -> dict[str, str]:
    """What lets a metastore make directories on s3: they are in `directory`."""
    bucket = BUCKET.removeprefix("s3://")
    return {
        "fs.s3.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme",
        "fs.viewfs.overload.scheme.target.s3.impl": "org.apache.hadoop.fs.LocalFileSystem",
        f"fs.viewfs.mounttable.{bucket}.linkFallback": directory.as_uri(),
        # Hive 2.3 refuses some of the stream's changes of a type unless it is told not to.
        "hive.metastore.disallow.incompatible.col.type.changes": "false",
    }


def execute(metastore: Metastore, statement: Statement) -> None:
    """Make the call of a statement, as Hive and Spark do."""
    call = _CALLS.get(statement.kind, _alter_table)
    metastore.call(lambda client: call(client, statement))


def catalog(metastore: Metastore) -> Catalog:
    """What the source has."""
    return {
        (database, name): _seen(metastore, metastore.table(database, name))
        for database in DATABASES
        if metastore.database(database)
        for name in metastore.tables(database)
    }


def _seen(metastore: Metastore, table: Any) -> Seen:
    partitions = metastore.partitions(table.dbName, table.tableName) if table.partitionKeys else ()
    return Seen(
        columns=tuple((it.name, it.type) for it in table.sd.cols),
        keys=tuple((it.name, it.type) for it in table.partitionKeys),
        format=table.sd.serdeInfo.serializationLib,
        location=place(table.sd.location),
        properties=properties(table.parameters),
        partitions={tuple(it.values): place(it.sd.location) for it in partitions},
    )


def properties(parameters: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Those that the stream sets; the others are the metastore's own, or an engine's."""
    return tuple(sorted((key, value) for key, value in parameters.items() if key.startswith("note")))


def _create_database(client: Any, statement: Statement) -> None:
    client.create_database(hive.Database(statement.database, "", f"{BUCKET}/{statement.database}", {}))


def _create_table(client: Any, statement: Statement) -> None:
    client.create_table(_struct(_there(statement.after)))


def _drop_table(client: Any, statement: Statement) -> None:
    client.drop_table(statement.database, _there(statement.before).name, False)


def _alter_table(client: Any, statement: Statement) -> None:
    """As engines do: read, change, write."""
    before, after = _there(statement.before), _there(statement.after)
    table = client.get_table(before.database, before.name)
    table.tableName, table.sd.cols = after.name, _fields(after.columns)
    table.parameters.update(dict(after.properties))
    client.alter_table(before.database, before.name, table)


def _add_partitions(client: Any, statement: Statement) -> None:
    table = _there(statement.after)
    client.add_partitions(_partitions(table, statement))


def _drop_partition(client: Any, statement: Statement) -> None:
    ((values, _),) = statement.partitions
    client.drop_partition(statement.database, _there(statement.after).name, list(values), False)


def _move_partition(client: Any, statement: Statement) -> None:
    table = _there(statement.after)
    (moved,) = _partitions(table, statement)
    client.alter_partition(table.database, table.name, moved)


_CALLS: dict[str, Callable[[Any, Statement], None]] = {
    "create_database": _create_database,
    "create_table": _create_table,
    "drop_table": _drop_table,
    "add_partitions": _add_partitions,
    "drop_partition": _drop_partition,
    "move_partition": _move_partition,
}


def _there(table: Table | None) -> Table:
    assert table is not None
    return table


def _partitions(table: Table, statement: Statement) -> list[Any]:
    return [
        hive.Partition(list(values), table.database, table.name, 0, 0, _storage(table, location), {})
        for values, location in statement.partitions
    ]


def _struct(table: Table) -> Any:
    return hive.Table(
        tableName=table.name,
        dbName=table.database,
        owner="etl",
        createTime=0,
        lastAccessTime=0,
        retention=0,
        sd=_storage(table, table.location),
        partitionKeys=_fields(table.keys),
        parameters={"EXTERNAL": "TRUE", **dict(table.properties)},
        tableType="EXTERNAL_TABLE",
    )


def _storage(table: Table, location: str) -> Any:
    reads, writes, serde = _FORMATS[table.format]
    return hive.StorageDescriptor(
        cols=_fields(table.columns),
        location=location,
        inputFormat=reads,
        outputFormat=writes,
        compressed=False,
        numBuckets=-1,
        serdeInfo=hive.SerDeInfo(None, serde, {"serialization.format": "1"}),
        bucketCols=[],
        sortCols=[],
        parameters={},
    )


def _fields(columns: tuple[tuple[str, str], ...]) -> list[Any]:
    return [hive.FieldSchema(name, kind, None) for name, kind in columns]
