"""From Glue's objects to the metastore's structs, with what a metastore would give where Glue has nothing. Pure.

A missing text is empty, not None: an update replaces everything, so a source without it says that it is to go. What
stays where the source says nothing, a description or a location, is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.targets.aws.inputs import OWNER_KEY, OWNER_TYPE_KEY
from pysync.targets.aws.value_lists import parted


def database_of(database: Mapping[str, Any]) -> Any:
    """The Database of Glue's, its owner from the parameters that `database_input` keeps it in."""
    parameters = dict(database.get("Parameters") or {})
    owner, kind = parameters.pop(OWNER_KEY, ""), parameters.pop(OWNER_TYPE_KEY, None)
    return hive.Database(
        name=database["Name"],
        description=database.get("Description"),
        locationUri=database.get("LocationUri"),
        parameters=parameters,
        ownerName=owner,
        ownerType=hive.PrincipalType._NAMES_TO_VALUES.get(kind),
    )


def table_of(table: Mapping[str, Any]) -> Any:
    """The Table of Glue's, as GetTable or GetTables gives it."""
    return hive.Table(
        tableName=table["Name"],
        dbName=table.get("DatabaseName"),
        owner=table.get("Owner", ""),
        createTime=_seconds(table.get("CreateTime")),
        lastAccessTime=_seconds(table.get("LastAccessTime")),
        retention=table.get("Retention", 0),
        sd=_storage(table.get("StorageDescriptor") or {}),
        partitionKeys=_columns(table.get("PartitionKeys")),
        parameters=dict(table.get("Parameters") or {}),
        viewOriginalText=table.get("ViewOriginalText", ""),
        viewExpandedText=table.get("ViewExpandedText", ""),
        tableType=table.get("TableType"),
    )


def partition_of(partition: Mapping[str, Any]) -> Any:
    """The Partition of Glue's, as GetPartitions or BatchGetPartition gives it."""
    return hive.Partition(
        values=list(partition["Values"]),
        dbName=partition.get("DatabaseName"),
        tableName=partition.get("TableName"),
        createTime=_seconds(partition.get("CreationTime")),
        lastAccessTime=_seconds(partition.get("LastAccessTime")),
        sd=_storage(partition.get("StorageDescriptor") or {}),
        parameters=dict(partition.get("Parameters") or {}),
    )


def function_of(function: Mapping[str, Any]) -> Any:
    """The Function of Glue's."""
    types = hive.ResourceType._NAMES_TO_VALUES
    return hive.Function(
        functionName=function["FunctionName"],
        dbName=function.get("DatabaseName"),
        className=function.get("ClassName", ""),
        ownerName=function.get("OwnerName", ""),
        ownerType=hive.PrincipalType._NAMES_TO_VALUES.get(function.get("OwnerType")),
        createTime=_seconds(function.get("CreateTime")),
        functionType=hive.FunctionType.JAVA,
        resourceUris=[
            hive.ResourceUri(types[it["ResourceType"]], it["Uri"]) for it in function.get("ResourceUris", ())
        ],
    )


def _storage(storage: Mapping[str, Any]) -> Any:
    serde = storage.get("SerdeInfo") or {}
    return hive.StorageDescriptor(
        cols=_columns(storage.get("Columns")),
        location=storage.get("Location"),
        inputFormat=storage.get("InputFormat", ""),
        outputFormat=storage.get("OutputFormat", ""),
        compressed=storage.get("Compressed", False),
        numBuckets=storage.get("NumberOfBuckets", 0),
        serdeInfo=hive.SerDeInfo(
            serde.get("Name", ""), serde.get("SerializationLibrary", ""), dict(serde.get("Parameters") or {})
        ),
        bucketCols=list(storage.get("BucketColumns") or ()),
        sortCols=[hive.Order(it["Column"], it["SortOrder"]) for it in storage.get("SortColumns") or ()],
        parameters=dict(storage.get("Parameters") or {}),
        skewedInfo=_skew(storage.get("SkewedInfo") or {}),
        storedAsSubDirectories=storage.get("StoredAsSubDirectories", False),
    )


def _columns(columns: Iterable[Mapping[str, Any]] | None) -> list[Any]:
    return [hive.FieldSchema(it["Name"], it.get("Type", ""), it.get("Comment")) for it in columns or ()]


def _skew(skew: Mapping[str, Any]) -> Any:
    places = (skew.get("SkewedColumnValueLocationMaps") or {}).items()
    return hive.SkewedInfo(
        skewedColNames=list(skew.get("SkewedColumnNames") or ()),
        skewedColValues=[parted(values) for values in skew.get("SkewedColumnValues") or ()],
        skewedColValueLocationMaps={tuple(parted(values)): place for values, place in places},
    )


def _seconds(time: datetime | None) -> int:
    return int(time.timestamp()) if time is not None else 0
