"""Objects of the metastore as Glue keeps them, and back, within the texts that Glue takes. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.text import count
from pysync.base.text import shown as in_words
from pysync.model.definition import VIEW
from pysync.model.names import DEFAULT_PARTITION, normalized
from pysync.model.table_formats import is_location_key
from pysync.targets.base import Rejected

# The texts that Glue takes: how long they may be, and with which characters. Pure.
#
# Lengths count in UTF-16 units, as Glue's service (in Java) counts. Its documentation says bytes in places, but it
# takes comments that are longer than 255 bytes.


# Characters, as they stand between the brackets of a regular expression.
_LINE = r"\t\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff"
_LINES = r"\r\n" + _LINE
_ANY = r"\s\S"
_S3 = re.compile(r"s3[an]://", re.IGNORECASE)
_SHOWN = 60  # characters of a text that an error quotes


@dataclass(frozen=True, slots=True)
class Limit:
    """How long one kind of text may be, and which characters it may have."""

    longest: int
    characters: str = _LINE
    shortest: int = 0


NAME = Limit(255, shortest=1)
OPTIONAL_NAME = Limit(255)  # left out where it is empty
KEY = Limit(255, shortest=1)
VALUE = Limit(512_000, _ANY)
TYPE = Limit(131_072)
COMMENT = Limit(255)
DESCRIPTION = Limit(2048, _LINES)
LOCATION = Limit(2056, _LINES)
DATABASE_LOCATION = Limit(1024, _LINES, shortest=1)
URI = Limit(1024, _LINES, shortest=1)
FORMAT = Limit(128)
VIEW_TEXT = Limit(409_600, _ANY)
RESOURCES = 1000
"""The most files that a function has."""
PARTITION_VALUE = Limit(1024, _ANY, shortest=1)


def checked(limit: Limit, text: str, name: str) -> str:
    """The text, if Glue takes it. Raises Rejected, which says what it is and what is wrong with it."""
    if not limit.shortest <= length(text) <= limit.longest:
        raise Rejected(
            f"{name} has {count(length(text), 'character')}; Glue accepts {limit.shortest} to {limit.longest:,}"
        )
    if not re.fullmatch(f"[{limit.characters}]*", text):
        raise Rejected(f"{name} has characters that Glue does not accept: {shown(text)}")
    return text


def fitted(limit: Limit, text: str, name: str, changes: list[str]) -> str:
    """The text as Glue takes it, other characters made spaces and the end cut off; what was done goes to `changes`."""
    plain = re.sub(f"[^{limit.characters}]", " ", text)
    if plain != text:
        changes.append(f"{name}: characters that Glue does not accept are replaced by spaces")
    if length(plain) <= limit.longest:
        return plain
    changes.append(f"{name}: cut from {length(plain):,} to {limit.longest:,} characters")
    # The cut may go through a surrogate pair: "ignore" drops the first half.
    return plain.encode("utf-16-le")[: 2 * limit.longest].decode("utf-16-le", "ignore")


def length(text: str) -> int:
    """The length of a text in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def shown(value: object) -> str:
    """The beginning of a text, or of a list of them, as it can be printed in a line."""
    text = in_words(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def s3_location(location: str) -> str:
    """A location with the scheme that Athena and Glue know, where Hadoop's is s3a or s3n."""
    return _S3.sub("s3://", location, count=1) if _S3.match(location) else location


# Lists of values as one text, in the form in which AWS's own Hive client writes them to Glue. Pure.
#
# `["a$b", ""]` is `3$a$b0$`: the length of each in UTF-16 units, a dollar sign, the value.


def joined(values: Iterable[str]) -> str:
    """The values as one text."""
    return "".join(f"{length(value)}${value}" for value in values)


def parted(text: str) -> list[str]:
    """The values in a text of `joined`; a text in another form is one value."""
    # Cut in UTF-16, in whose units the lengths are.
    pieces, rest = [], text.encode("utf-16-le", "surrogatepass")
    while rest:
        digits, mark, tail = rest.decode("utf-16-le", "surrogatepass").partition("$")
        if not mark or not (digits.isascii() and digits.isdigit()):
            return [text]
        rest = tail.encode("utf-16-le", "surrogatepass")
        size = 2 * int(digits)
        if size > len(rest):
            return [text]
        pieces.append(rest[:size].decode("utf-16-le", "surrogatepass"))
        rest = rest[size:]
    return pieces


# From the metastore's structs to the inputs of Glue's calls. Pure.
#
# Every field has a place, or its loss is a line in the changes. The exception is createTime: a catalog stamps its
# own, as a metastore does. What Glue would refuse in any form raises Rejected.


OWNER_KEYS = OWNER_KEY, OWNER_TYPE_KEY = "pysync.owner", "pysync.owner_type"
"""Parameters that hold the owner of a database, for whom Glue has no field."""

_PRESTO_VIEW = "/* Presto "
_FIELD = re.compile(r"[^<>,:]+:")  # the name of one within a struct
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


def _location(location: str | None, limit: Limit) -> str:
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


# From Glue's objects to the metastore's structs, with what a metastore would give where Glue has nothing. Pure.
#
# A missing text is empty, not None: an update replaces everything, so a source without it says that it is to go. What
# stays where the source says nothing, a description or a location, is None.


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


# Objects of the metastore as Glue keeps them, and back. Pure: no client, no clock.
#
# To Glue (`pysync.targets.aws.translate`): each gives the input of a call and the changes: a line for everything that
# Glue cannot hold as it is, so that nothing is lost in silence. Raises Rejected where Glue would take it in no form.
# From Glue (`pysync.targets.aws.translate`): hmsclient's structs, as another metastore would give them.


_INPUTS: Mapping[Any, Callable[[Any], tuple[dict[str, Any], list[str]]]] = {
    hive.Database: database_input,
    hive.Table: table_input,
    hive.Partition: partition_input,
    hive.Function: function_input,
}


def translated(item: Any) -> tuple[dict[str, Any], list[str]]:
    """The input for any of the structs, and what Glue cannot hold as it is. Raises Rejected."""
    return _INPUTS[type(item)](item)


__all__ = [
    "database_input",
    "database_of",
    "function_input",
    "function_of",
    "partition_input",
    "partition_of",
    "table_input",
    "table_of",
    "translated",
]
