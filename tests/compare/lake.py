"""What a contender has made of the stream: the embedded Glue, read by boto3; and the throttling that it is given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pysync.lab.aws import EmbeddedAws
from tests.compare.counting import Catalog, Seen, place
from tests.compare.source import properties
from tests.compare.stream import DATABASES
from tests.support.glue import every

_MANY = 1_000_000
WRITES = (
    "Athena.StartQueryExecution",
    "Glue.CreateTable",
    "Glue.UpdateTable",
    "Glue.DeleteTable",
    "Glue.BatchCreatePartition",
    "Glue.BatchUpdatePartition",
    "Glue.BatchDeletePartition",
)
"""What contenders change the catalog with."""


@contextmanager
def throttled(aws: EmbeddedAws) -> Iterator[None]:
    """Inside, every write is refused as AWS refuses when there are too many."""
    for call in WRITES:
        aws.fault(call, code="ThrottlingException", reason="Rate exceeded", count=_MANY)
    try:
        yield
    finally:
        aws.clear_faults()


def catalog(aws: EmbeddedAws) -> Catalog:
    """What the lake has in the databases of the stream."""
    glue = aws.client("glue")
    there = {it["Name"] for it in every(glue, "get_databases", "DatabaseList")}
    return {
        (database, table["Name"]): _seen(glue, table)
        for database in DATABASES
        if database in there
        for table in every(glue, "get_tables", "TableList", DatabaseName=database)
    }


def _seen(glue: Any, table: dict[str, Any]) -> Seen:
    storage = table["StorageDescriptor"]
    return Seen(
        columns=_columns(storage.get("Columns", ())),
        keys=_columns(table.get("PartitionKeys", ())),
        format=storage["SerdeInfo"]["SerializationLibrary"],
        location=place(storage["Location"]),
        properties=properties(table.get("Parameters", {})),
        partitions=_partitions(glue, table) if table.get("PartitionKeys") else {},
    )


def _columns(columns: Any) -> tuple[tuple[str, str], ...]:
    return tuple((it["Name"], it["Type"]) for it in columns)


def _partitions(glue: Any, table: dict[str, Any]) -> dict[tuple[str, ...], str]:
    names = {"DatabaseName": table["DatabaseName"], "TableName": table["Name"]}
    found = every(glue, "get_partitions", "Partitions", **names)
    return {tuple(it["Values"]): place(it["StorageDescriptor"]["Location"]) for it in found}
