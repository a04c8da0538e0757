"""What readers of Glue look up without asking whether it is there: a path, a value, the reader and where it is seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.names import TableName

ANY = object()
"""Some value that is not None."""

AWS_CLIENT = "AWS's client for Hive and Spark: BaseCatalogToHiveConverter"
SPARK = "Spark: HiveClientImpl"
TRINO = "Trino and Athena: GlueToTrinoConverter"


class Structure(NamedTuple):
    """One thing that has to be there, and why."""

    kind: str
    path: str
    value: Any
    reader: str
    source: str


def _storage_of(kind: str) -> list[Structure]:
    at = "StorageDescriptor"
    null = "awslabs/aws-glue-data-catalog-client-for-apache-hive-metastore"
    rows = [
        (at, ANY, AWS_CLIENT, "convertStorageDescriptor(null) of a table; trino#21591: 'StorageDescriptor is null'"),
        (f"{at}.Columns", [], "AWS's client, 1.10", f"convertFieldSchemaList(null): {null}#36"),
        (f"{at}.Compressed", False, AWS_CLIENT, "setCompressed(getCompressed()): a Boolean is unboxed"),
        (f"{at}.NumberOfBuckets", 0, AWS_CLIENT, "setNumBuckets(getNumberOfBuckets()): an Integer is unboxed"),
        (f"{at}.StoredAsSubDirectories", False, AWS_CLIENT, "setStoredAsSubDirectories: a Boolean is unboxed"),
        (f"{at}.BucketColumns", [], "AWS's client, 1.10", "getBucketColumns() goes to Hive, which asks for its size"),
        (f"{at}.SortColumns", [], "AWS's client, 1.10", "convertOrderList(null)"),
        (f"{at}.Parameters", {}, "AWS's client, 1.10", "Hive copies the map into its properties"),
        (f"{at}.SerdeInfo", ANY, TRINO, "trino#18892, trino#21591: NPE when SerdeInfo is missing"),
        (f"{at}.SerdeInfo.Parameters", {}, SPARK, "getSerdeInfo.getParameters.asScala; Hive copies the map"),
        (f"{at}.SkewedInfo", ANY, AWS_CLIENT, "convertSkewedInfo(null) is null, which Hive reads: metacat#288"),
        (f"{at}.SkewedInfo.SkewedColumnNames", [], AWS_CLIENT, "goes to Hive, which asks whether it is empty"),
        (f"{at}.SkewedInfo.SkewedColumnValues", [], "AWS's client, 1.10", "convertSkewedValue(null)"),
        (f"{at}.SkewedInfo.SkewedColumnValueLocationMaps", {}, "AWS's client, 1.10", "convertSkewedMap(null)"),
    ]
    return [Structure(kind, *row) for row in rows]


STRUCTURES = [
    *_storage_of("table"),
    *_storage_of("partition"),
    *_storage_of("view"),
    Structure("table", "Parameters", {}, "Presto; AWS's client", "prestodb#10573; convertTableMeta: containsKey"),
    Structure("table", "PartitionKeys", [], "AWS's client, 1.10", "convertFieldSchemaList(null): its #36"),
    Structure("table", "Retention", 0, AWS_CLIENT, "setRetention(getRetention()): an Integer is unboxed"),
    Structure("table", "TableType", "MANAGED_TABLE", "Athena", "FAILED: NullPointerException Name is null"),
    Structure("view", "Parameters", {}, "Presto; AWS's client", "prestodb#10573; convertTableMeta: containsKey"),
    Structure("view", "PartitionKeys", [], "AWS's client, 1.10", "convertFieldSchemaList(null): its #36"),
    Structure("view", "Retention", 0, AWS_CLIENT, "setRetention(getRetention()): an Integer is unboxed"),
    Structure("view", "TableType", "VIRTUAL_VIEW", "Trino and Athena", "isView: what a view is"),
    Structure("partition", "Parameters", {}, "Presto; AWS's client", "prestodb#10573; convertPartition"),
    Structure("partition", "Values", ["1"], "Trino and Athena", "GlueToTrinoConverter: the name of the partition"),
    Structure("database", "Parameters", {}, "Presto; AWS's client", "prestodb#10573; convertDatabase"),
    Structure("function", "OwnerType", "USER", AWS_CLIENT, "PrincipalType.fromValue(null): IllegalArgumentException"),
    Structure("function", "ResourceUris", [], "AWS's client", "convertResourceUriList(null) is null, which Hive reads"),
]
"""The values are those of objects that have nothing but names: `bare`."""


def bare(kind: str, name: TableName) -> Any:
    """An object as a metastore gives it that was told the least: no serde, no lists, no parameters."""
    if kind == "function":
        return hive.Function("f", name.database, "com.example.F", None, None, 0, hive.FunctionType.JAVA, None)
    if kind == "partition":
        sd = hive.StorageDescriptor(location=f"s3://b/{name.database}/{name.table}/k=1")
        return hive.Partition(["1"], name.database, name.table, sd=sd)
    if kind == "view":
        return hive.Table(name.table, name.database, tableType="VIRTUAL_VIEW", viewOriginalText="select 1 as a")
    sd = hive.StorageDescriptor(location=f"s3://b/{name.database}/{name.table}")
    return hive.Table(name.table, name.database, sd=sd, tableType="MANAGED_TABLE")


def missing(found: Mapping[str, Any], kind: str, *, exact: bool) -> list[str]:
    """The paths of the corpus that an object of Glue lacks, or, if `exact`, that have another value there."""
    rows = [it for it in STRUCTURES if it.kind == kind]
    return [it.path for it in rows if not _is_there(_at(found, it.path), it.value, exact=exact)]


def _is_there(there: Any, value: Any, *, exact: bool) -> bool:
    return there is not None and (value is ANY or not exact or there == value)


def _at(item: Any, path: str) -> Any:
    for name in path.split("."):
        item = item.get(name) if isinstance(item, dict) else None
    return item
