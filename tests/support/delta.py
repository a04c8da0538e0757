"""Logs of Delta tables, file by file as the protocol says; and such tables as Spark registers them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import IO, Any

import pyarrow
from hmsclient.genthrift.hive_metastore import ttypes as hive
from pyarrow import parquet

from pysync.model.names import TableName


def schema(*columns: tuple[str, Any]) -> str:
    """A schema in Delta's JSON, of columns with a name and a type of Delta."""
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns]
    return json.dumps({"type": "struct", "fields": fields})


def registered(name: TableName, location: str, **parameters: str) -> Any:
    """An external Delta table as Spark puts it into a metastore, with a placeholder for its location.

    With another `spark.sql.sources.provider` it is a table of that data source.
    """
    return hive.Table(
        tableName=name.table,
        dbName=name.database,
        owner="etl",
        createTime=1,
        lastAccessTime=0,
        retention=0,
        sd=hive.StorageDescriptor(
            cols=[hive.FieldSchema("col", "array<string>", "from deserializer")],
            location=f"{location}-__PLACEHOLDER__",
            inputFormat="org.apache.hadoop.mapred.SequenceFileInputFormat",
            outputFormat="org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat",
            compressed=False,
            numBuckets=-1,
            serdeInfo=hive.SerDeInfo(
                None,
                "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
                {"path": location, "serialization.format": "1"},
            ),
            bucketCols=[],
            sortCols=[],
            parameters={},
        ),
        partitionKeys=[],
        parameters={"EXTERNAL": "TRUE", "spark.sql.sources.provider": "delta", **parameters},
        tableType="EXTERNAL_TABLE",
    )


class DeltaLog:
    """The files of a log in memory; it notes which are opened."""

    def __init__(self, **files: bytes) -> None:
        self.files = dict(files)
        self.opened: list[str] = []

    def upload(self, s3: Any, bucket: str, directory: str) -> None:
        """Put all files where the log of a table in that directory is; the bucket is there."""
        for name, content in self.files.items():
            s3.put_object(Bucket=bucket, Key=f"{directory}/_delta_log/{name}", Body=content)

    def names(self, after: str) -> Iterable[str]:
        return sorted(name for name in self.files if name > after)

    def open(self, name: str) -> IO[bytes] | None:
        self.opened.append(name)
        return io.BytesIO(self.files[name]) if name in self.files else None

    def commit(self, version: int, schema: str | None = None) -> None:
        actions: list[dict[str, Any]] = [{"commitInfo": {}}, {"add": {"path": "a metaData file"}}]
        if schema is not None:
            actions.insert(1, {"metaData": {"id": "1", "schemaString": schema}})
        self.files[f"{version:020}.json"] = b"".join(json.dumps(it).encode() + b"\n" for it in actions)

    def checksum(self, version: int, schema: str) -> None:
        self.files[f"{version:020}.crc"] = json.dumps({"numFiles": 1, "metadata": {"schemaString": schema}}).encode()

    def checkpoint(self, version: int, schema: str, name: str = "checkpoint.parquet", pointer: bool = True) -> None:
        rows = [
            {"metaData": None, "add": {"path": "x"}},
            {"metaData": {"id": "1", "schemaString": schema}, "add": None},
        ]
        content = io.BytesIO()
        parquet.write_table(pyarrow.Table.from_pylist(rows), content)
        self.files[f"{version:020}.{name}"] = content.getvalue()
        if pointer:
            self.files["_last_checkpoint"] = json.dumps({"version": version, "size": 2}).encode()
