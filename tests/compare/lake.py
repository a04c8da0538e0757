"""What a contender has made of the stream: the embedded Glue, read by boto3; and the throttling that it is given."""

from __future__ import annotations

from typing import Any

from pysync.embedded.aws import EmbeddedAws
from tests.compare.counting import Catalog, Seen, place
from tests.compare.source import properties
from tests.compare.stream import DATABASES
from tests.support.glue import every

THROTTLES = 10
"""The number of calls in a row that are refused, of each kind of write."""
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


def throttle(aws: EmbeddedAws) -> None:
    """Refuse the next calls of each kind of write: more than are made at once, fewer than last for long."""
    for call in WRITES:
        aws.fault(call, code="ThrottlingException", reason="Rate exceeded", count=THROTTLES)


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
