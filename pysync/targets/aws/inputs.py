"""From the metastore's structs to the inputs of Glue's calls. Pure.

Every field has a place, or its loss is a line in the changes. The exception is createTime: a catalog stamps its own, as
a metastore does. What Glue would refuse in any form raises Rejected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.definition import VIEW
from pysync.model.names import DEFAULT_PARTITION, normalized
from pysync.model.table_formats import is_location_key
from pysync.targets.aws.texts import (
    COMMENT,
    DATABASE_LOCATION,
    DESCRIPTION,
    FORMAT,
    KEY,
    LOCATION,
    NAME,
    OPTIONAL_NAME,
    PARTITION_VALUE,
    RESOURCES,
    TYPE,
    URI,
    VALUE,
    VIEW_TEXT,
    TextLimit,
    checked,
    fitted,
    s3_location,
    shown,
)
from pysync.targets.aws.value_lists import joined
from pysync.targets.base import Rejected

OWNER_KEYS = OWNER_KEY, OWNER_TYPE_KEY = "pysync.owner", "pysync.owner_type"
"""Parameters that hold the owner of a database, for whom Glue has no field."""
_PRESTO_VIEW = "/* Presto "
_FIELD = re.compile(r"(?<![^<>,:])[^<>,:]+:")  # the name of one within a struct

_UNKNOWN_TYPES = re.compile(
    r"\b(uniontype|void|variant|timestamp_ntz|timestamp_ltz|interval\w*|\w+ with local time zone)\b"
)


def database_input(database: Any) -> tuple[dict[str, Any], list[str]]:
    """The DatabaseInput of a Database, and what Glue cannot hold as it is. Raises Rejected."""
    changes = _privileges(database)
    owner = {OWNER_KEY: database.ownerName or ""}
    if database.ownerName:  # a metastore keeps an owner without a type as a user
        owner[OWNER_TYPE_KEY] = hive.PrincipalType._VALUES_TO_NAMES.get(database.ownerType, "USER")
    parameters = {**(database.parameters or {}), **(owner if database.ownerName else {})}
    fields = {
        "Name": _name(database.name, "database"),
        "Description": fitted(DESCRIPTION, database.description or "", "description", changes),
        "LocationUri": _location(database.locationUri, DATABASE_LOCATION),
        "Parameters": _parameters(parameters),
    }
    return _present(fields), changes


def table_input(table: Any) -> tuple[dict[str, Any], list[str]]:
    """The TableInput of a Table (without its database), and what Glue cannot hold as it is. Raises Rejected."""
    changes = [*_privileges(table), *_of_views(table)]
    if (table.retention or 0) < 0:
        changes.append(f"retention: {table.retention} is left out, Glue does not accept negative values")
    fields = {
        "Name": _name(table.tableName, "table"),
        "Owner": checked(OPTIONAL_NAME, table.owner or "", "owner"),
        "LastAccessTime": _time(table.lastAccessTime),
        "Retention": max(table.retention or 0, 0),
        "StorageDescriptor": _storage_input(table.sd, changes),
        "PartitionKeys": _column_inputs(table.partitionKeys, "partition key", changes),
        "ViewOriginalText": checked(VIEW_TEXT, table.viewOriginalText or "", "viewOriginalText"),
        "ViewExpandedText": checked(VIEW_TEXT, table.viewExpandedText or "", "viewExpandedText"),
        "TableType": _table_type(table),
        "Parameters": _parameters(table.parameters),
    }
    return _present(fields), changes


def partition_input(partition: Any) -> tuple[dict[str, Any], list[str]]:
    """The PartitionInput of a Partition, and what Glue cannot hold as it is. Raises Rejected."""
    changes = _privileges(partition)
    fields = {
        "Values": partition_values(partition.values),
        "LastAccessTime": _time(partition.lastAccessTime),
        "StorageDescriptor": _storage_input(partition.sd, changes),
        "Parameters": _parameters(partition.parameters),
    }
    return _present(fields), changes


def partition_values(values: Sequence[str]) -> list[str]:
    """A partition's values as Glue keeps them; an empty one is the default partition, as in names. Raises Rejected."""
    return [checked(PARTITION_VALUE, value or DEFAULT_PARTITION, "partition value") for value in values]


def function_input(function: Any) -> tuple[dict[str, Any], list[str]]:
    """The UserDefinedFunctionInput of a Function, and what Glue cannot hold as it is. Raises Rejected."""
    if len(function.resourceUris or ()) > RESOURCES:
        raise Rejected(
            f"function {function.dbName}.{function.functionName} has {len(function.resourceUris):,} resources; Glue "
            f"accepts {RESOURCES:,}"
        )
    fields = {
        "FunctionName": _name(function.functionName, "function"),
        "ClassName": checked(NAME, function.className or "", "class name"),
        "OwnerName": checked(OPTIONAL_NAME, function.ownerName or "", "owner"),
        "OwnerType": hive.PrincipalType._VALUES_TO_NAMES.get(function.ownerType, "USER"),
        "ResourceUris": [_resource(resource) for resource in function.resourceUris or ()],
    }
    return _present(fields), []


def _is_presto_view(table: Any) -> bool:
    return table.tableType == VIEW and (table.viewOriginalText or "").startswith(_PRESTO_VIEW)


def _of_views(table: Any) -> list[str]:
    changes = []
    if table.tableType == VIEW and not _is_presto_view(table):
        changes.append("view: its text remains HiveQL, which Athena cannot run")
    if getattr(table, "rewriteEnabled", None):
        changes.append("materialized view: query rewriting is not kept")
    return changes


def _privileges(item: Any) -> list[str]:
    granted = item.privileges
    kinds = ("userPrivileges", "groupPrivileges", "rolePrivileges")
    if granted is None or not any(getattr(granted, kind, None) for kind in kinds):
        return []
    return ["privileges: not kept, Lake Formation manages grants"]


def _table_type(table: Any) -> str:
    """The table's type. EXTERNAL decides, as in a metastore. Without a type Athena's later statements would fail."""
    if table.tableType not in {None, "", "EXTERNAL_TABLE", "MANAGED_TABLE"}:
        return checked(OPTIONAL_NAME, table.tableType, "table type")
    external = (table.parameters or {}).get("EXTERNAL", "").upper() == "TRUE"
    return "EXTERNAL_TABLE" if external else "MANAGED_TABLE"


def _storage_input(storage: Any, changes: list[str]) -> dict[str, Any]:
    storage = storage or hive.StorageDescriptor()
    fields = {
        "Columns": _column_inputs(storage.cols, "column", changes),
        "Location": _location(storage.location, LOCATION),
        "InputFormat": checked(FORMAT, storage.inputFormat or "", "input format"),
        "OutputFormat": checked(FORMAT, storage.outputFormat or "", "output format"),
        "Compressed": bool(storage.compressed),
        "NumberOfBuckets": storage.numBuckets or 0,
        "SerdeInfo": _serde(storage.serdeInfo),
        "BucketColumns": [_column_name(column, "bucket column") for column in storage.bucketCols or ()],
        "SortColumns": [_order(order) for order in storage.sortCols or ()],
        "Parameters": _parameters(storage.parameters),
        "SkewedInfo": _skew_input(storage.skewedInfo),
        "StoredAsSubDirectories": bool(storage.storedAsSubDirectories),
    }
    return _present(fields)


def _column_inputs(columns: Iterable[Any] | None, kind: str, changes: list[str]) -> list[dict[str, Any]]:
    return [_column(column, kind, changes) for column in columns or ()]


def _column(column: Any, kind: str, changes: list[str]) -> dict[str, Any]:
    name = _column_name(column.name, kind)
    if _UNKNOWN_TYPES.search(_FIELD.sub("", (column.type or "").lower())):
        changes.append(f"{kind} {shown(name)}: Athena does not know the type {shown(column.type)}")
    fields = {
        "Name": name,
        "Type": checked(TYPE, column.type or "", f"type of {kind} {shown(name)}"),
        "Comment": fitted(COMMENT, column.comment or "", f"comment of {kind} {shown(name)}", changes),
    }
    return _present(fields)


def _serde(serde: Any) -> dict[str, Any]:
    serde = serde or hive.SerDeInfo()
    fields = {
        "Name": checked(OPTIONAL_NAME, serde.name or "", "serde name"),
        "SerializationLibrary": checked(OPTIONAL_NAME, serde.serializationLib or "", "serde"),
        "Parameters": _parameters(serde.parameters),
    }
    return _present(fields)


def _order(order: Any) -> dict[str, Any]:
    return {"Column": _column_name(order.col, "sort column"), "SortOrder": 1 if order.order else 0}


def _skew_input(skew: Any) -> dict[str, Any]:
    skew = skew or hive.SkewedInfo()
    places = skew.skewedColValueLocationMaps or {}
    return {
        "SkewedColumnNames": [_column_name(column, "skewed column") for column in skew.skewedColNames or ()],
        "SkewedColumnValues": [joined(values) for values in skew.skewedColValues or ()],
        "SkewedColumnValueLocationMaps": {joined(values): s3_location(place) for values, place in places.items()},
    }


def _resource(resource: Any) -> dict[str, str]:
    kind = hive.ResourceType._VALUES_TO_NAMES.get(resource.resourceType, "JAR")
    return {"ResourceType": kind, "Uri": checked(URI, s3_location(resource.uri or ""), "resource")}


def _name(name: str | None, kind: str) -> str:
    # Glue keeps names in lower case.
    return checked(NAME, normalized(name or ""), f"{kind} name")


def _column_name(name: str | None, kind: str) -> str:
    # Unlike names of tables, those of columns keep their spaces in a metastore: " a" and "a" are two.
    text = (name or "").lower()
    return checked(NAME, text if text.strip() else "", f"{kind} name")


def _location(location: str | None, limit: TextLimit) -> str:
    return checked(limit, s3_location(location), "location") if location else ""


def _parameters(parameters: Mapping[str, str] | None) -> dict[str, str]:
    """The parameters. Locations among them get Glue's scheme: it is the same place, and not counted as a change."""
    checked_parameters = {}
    for key, value in (parameters or {}).items():
        name = shown(checked(KEY, key, "parameter key"))
        checked_parameters[key] = checked(
            VALUE, s3_location(value) if is_location_key(key) else value, f"parameter {name}"
        )
    return checked_parameters


def _time(seconds: int | None) -> datetime | None:
    return datetime.fromtimestamp(seconds, timezone.utc) if seconds and seconds > 0 else None


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields without empty texts, which Glue refuses.

    Numbers, lists and structures are written even if they are empty: readers such as AWS's client for Hive and Presto
    read them without asking whether they are there, and fail with a null pointer.
    """
    return {name: value for name, value in fields.items() if value is not None and value != ""}


_INPUTS: Mapping[Any, Callable[[Any], tuple[dict[str, Any], list[str]]]] = {
    hive.Database: database_input,
    hive.Table: table_input,
    hive.Partition: partition_input,
    hive.Function: function_input,
}


def translated(item: Any) -> tuple[dict[str, Any], list[str]]:
    """The input for any of the structs, and what Glue cannot hold as it is. Raises Rejected."""
    return _INPUTS[type(item)](item)
