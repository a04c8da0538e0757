"""Timelines of Hudi tables, file by file as Hudi writes them; and such tables as it registers them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import IO, Any

import fastavro

from pysync.model.names import TableName
from tests.support import storage, table

OWN = [("_hoodie_commit_time", "string"), ("_hoodie_record_key", "string")]
# As much of Hudi's HoodieCommitMetadata as has to do with the schema.
_METADATA = {
    "type": "record",
    "name": "HoodieCommitMetadata",
    "namespace": "org.apache.hudi.avro.model",
    "fields": [
        {
            "name": "extraMetadata",
            "type": ["null", {"type": "map", "values": ["null", "string"]}],
            "default": None,
        },
        {"name": "version", "type": ["int", "null"], "default": 1},
    ],
}


def schema(*columns: tuple[str, Any]) -> str:
    """A schema in the JSON of Avro, of columns with a name and a type of Avro, each of which may be null."""
    fields = [{"name": name, "type": ["null", kind], "default": None} for name, kind in columns]
    return json.dumps({"type": "record", "name": "t_record", "namespace": "hoodie.t", "fields": fields})


def registered(name: TableName, location: str, *columns: tuple[str, str]) -> Any:
    """A Hudi table as Hudi's synchronization puts it into a metastore, with its own columns first."""
    found = table(name.database, name.table)
    found.sd = storage([*OWN, *columns], location)
    found.sd.inputFormat = "org.apache.hudi.hadoop.HoodieParquetInputFormat"
    found.parameters = {"EXTERNAL": "TRUE", "spark.sql.sources.provider": "hudi"}
    found.tableType = "EXTERNAL_TABLE"
    return found


class Timeline:
    """The files of a directory in memory; it notes which are opened."""

    def __init__(self, **files: bytes) -> None:
        self.files = dict(files)
        self.opened: list[str] = []

    def upload(self, s3: Any, bucket: str, directory: str) -> None:
        """Put all files into a directory of a bucket that is there."""
        for name, content in self.files.items():
            s3.put_object(Bucket=bucket, Key=f"{directory}/{name}", Body=content)

    def names(self, after: str) -> Iterable[str]:
        return sorted(name for name in self.files if name > after)

    def open(self, name: str) -> IO[bytes] | None:
        self.opened.append(name)
        return io.BytesIO(self.files[name]) if name in self.files else None

    def commit(self, number: int, schema: str | None = None, action: str = "commit") -> None:
        """A finished commit as Hudi before 1.0 writes it; it was begun and under way before."""
        instant = f"20260101{number:09}"
        extra = {} if schema is None else {"schema": schema}
        metadata = {"partitionToWriteStats": {}, "extraMetadata": extra, "operationType": "UPSERT"}
        self.files |= {f"{instant}.{action}.requested": b"", f"{instant}.{action}.inflight": b"{"}
        self.files[f"{instant}.{action}"] = json.dumps(metadata).encode()

    def avro_commit(
        self, number: int, schema: str | None = None, action: str = "commit", *, codec: str = "null"
    ) -> None:
        """A finished commit as Hudi 1.0 writes it."""
        extra = None if schema is None else {"schema": schema}
        content = io.BytesIO()
        fastavro.writer(content, _METADATA, [{"extraMetadata": extra, "version": 1}], codec=codec)
        self.files[f"20260101{number:09}_20260101{number + 1:09}.{action}"] = content.getvalue()

    def created_with(self, schema: str) -> None:
        """The properties of a table, as Java writes them."""
        escaped = schema.replace("\\", "\\\\").replace(":", "\\:").replace("=", "\\=")
        lines = ["#Updated at 2026-01-01", "hoodie.table.name=t", f"hoodie.table.create.schema={escaped}"]
        self.files["hoodie.properties"] = "\n".join(lines).encode()
