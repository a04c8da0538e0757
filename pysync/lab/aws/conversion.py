"""Glue's objects as the metastore's, and back."""

from __future__ import annotations

from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes

from pysync.lab.aws.hive import is_default_location


def database_to_hive(database: dict[str, Any]) -> Any:
    """A `ttypes.Database`."""
    return ttypes.Database(
        database["Name"], database.get("Description"), database.get("LocationUri"), database.get("Parameters") or {}
    )


def database_to_glue(database: Any) -> dict[str, Any]:
    """A DatabaseInput."""
    location = None if is_default_location(database.locationUri) else database.locationUri
    members = {"Description": database.description, "LocationUri": location, "Parameters": database.parameters}
    return {"Name": database.name, **given(members)}


def table_to_hive(table: dict[str, Any]) -> Any:
    """A `ttypes.Table`."""
    return ttypes.Table(
        tableName=table["Name"],
        dbName=table["DatabaseName"],
        owner=table.get("Owner"),
        createTime=0,
        lastAccessTime=int(table.get("LastAccessTime") or 0),
        retention=table.get("Retention") or 0,
        sd=_storage_to_hive(table.get("StorageDescriptor") or {}),
        partitionKeys=_columns_to_hive(table.get("PartitionKeys")),
        parameters=table.get("Parameters") or {},
        viewOriginalText=table.get("ViewOriginalText"),
        viewExpandedText=table.get("ViewExpandedText"),
        tableType=table.get("TableType"),
    )


def table_to_glue(table: Any) -> dict[str, Any]:
    """A TableInput as Athena makes it: without the owner, who is only the user of this process."""
    members = {
        "LastAccessTime": table.lastAccessTime or None,
        "StorageDescriptor": _storage_to_glue(table.sd),
        "PartitionKeys": _columns_to_glue(table.partitionKeys),
        "ViewOriginalText": table.viewOriginalText,
        "ViewExpandedText": table.viewExpandedText,
        "TableType": table.tableType,
        "Parameters": table.parameters or {},
    }
    return {"Name": table.tableName, "Retention": table.retention, **given(members)}


def partition_to_hive(partition: dict[str, Any], table: Any) -> Any:
    """A `ttypes.Partition` of a `ttypes.Table`; what it does not say about its storage is the table's."""
    storage = partition.get("StorageDescriptor")
    return ttypes.Partition(
        values=partition["Values"],
        dbName=table.dbName,
        tableName=table.tableName,
        createTime=0,
        lastAccessTime=int(partition.get("LastAccessTime") or 0),
        sd=_storage_to_hive(storage) if storage else table.sd,
        parameters=partition.get("Parameters") or {},
    )


def partition_to_glue(partition: Any) -> dict[str, Any]:
    """A PartitionInput."""
    members = {"LastAccessTime": partition.lastAccessTime or None, "Parameters": partition.parameters or {}}
    return {"Values": partition.values, "StorageDescriptor": _storage_to_glue(partition.sd), **given(members)}


def _storage_to_hive(storage: dict[str, Any]) -> Any:
    serde = storage.get("SerdeInfo") or {}
    sort = [ttypes.Order(item["Column"], item["SortOrder"]) for item in storage.get("SortColumns") or ()]
    return ttypes.StorageDescriptor(
        cols=_columns_to_hive(storage.get("Columns")),
        location=storage.get("Location"),
        inputFormat=storage.get("InputFormat"),
        outputFormat=storage.get("OutputFormat"),
        compressed=storage.get("Compressed", False),
        numBuckets=storage.get("NumberOfBuckets", -1),
        serdeInfo=ttypes.SerDeInfo(serde.get("Name"), serde.get("SerializationLibrary"), serde.get("Parameters") or {}),
        bucketCols=storage.get("BucketColumns") or [],
        sortCols=sort,
        parameters=storage.get("Parameters") or {},
        skewedInfo=ttypes.SkewedInfo([], [], {}),
        storedAsSubDirectories=storage.get("StoredAsSubDirectories", False),
    )


def _storage_to_glue(storage: Any) -> dict[str, Any]:
    """All but the skewed values, which Athena's DDL cannot speak of: like Athena, it writes that there are none."""
    serde = storage.serdeInfo
    library = {"Name": serde.name, "SerializationLibrary": serde.serializationLib, "Parameters": serde.parameters}
    members = {
        "Columns": _columns_to_glue(storage.cols),
        "Location": storage.location,
        "InputFormat": storage.inputFormat,
        "OutputFormat": storage.outputFormat,
        "Compressed": storage.compressed,
        "NumberOfBuckets": storage.numBuckets,
        "SerdeInfo": given(library),
        "BucketColumns": storage.bucketCols,
        "SortColumns": [{"Column": order.col, "SortOrder": order.order} for order in storage.sortCols or ()],
        "Parameters": storage.parameters,
        "SkewedInfo": {"SkewedColumnNames": [], "SkewedColumnValues": [], "SkewedColumnValueLocationMaps": {}},
        "StoredAsSubDirectories": storage.storedAsSubDirectories,
    }
    return given(members)


def _columns_to_hive(columns: list[dict[str, Any]] | None) -> list[Any]:
    return [ttypes.FieldSchema(item["Name"], item.get("Type", ""), item.get("Comment")) for item in columns or ()]


def _columns_to_glue(columns: list[Any] | None) -> list[dict[str, Any]]:
    return [given({"Name": item.name, "Type": item.type, "Comment": item.comment}) for item in columns or ()]


def given(members: dict[str, Any]) -> dict[str, Any]:
    """The members that have a value."""
    return {name: value for name, value in members.items() if value is not None}
