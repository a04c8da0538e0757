"""The schema of a Hudi table, in the JSON of Avro, as columns of Hive. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.targets.aws.delta_schema import NoSchema, field_of

_HUDI_PREFIX = "_hoodie_"
"""The beginning of the names of Hudi's own columns, which a table may have or not. The timeline does not have them."""
_TYPES = {
    "boolean": "boolean",
    "bytes": "binary",
    "double": "double",
    "enum": "string",
    "fixed": "binary",
    "float": "float",
    "int": "int",
    "long": "bigint",
    "string": "string",
}

_TIMESTAMP = "timestamp"

_LOGICAL = {
    "date": "date",
    "local-timestamp-micros": _TIMESTAMP,
    "local-timestamp-millis": _TIMESTAMP,
    "timestamp-micros": _TIMESTAMP,
    "timestamp-millis": _TIMESTAMP,
    "uuid": "string",
}


def columns_of(schema: str) -> list[Any]:
    """The FieldSchemas of a schema, in its order, partition columns among them. Raises NoSchema."""
    try:
        record = json.loads(schema)
        return [_column(field) for field in record["fields"] if not str(field["name"]).startswith(_HUDI_PREFIX)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise NoSchema("its schema is not one of Avro") from error


def as_registered(columns: Sequence[Any], registered: Sequence[Any]) -> list[Any]:
    """The columns that a timeline has, as the table's writer registers them: `registered` are those that it has so far.

    Whether Hudi's own columns and timestamps are registered, or numbers in their place, is a setting of the writer,
    which only what it has registered shows.
    """
    types = {column.name.lower(): column.type.lower() for column in registered}
    numbers = any(types.get(it.name) == "bigint" for it in columns if it.type == _TIMESTAMP)
    added_by_hudi = [column for column in registered if column.name.lower().startswith(_HUDI_PREFIX)]
    return [*added_by_hudi, *(_as_number(it) if numbers else it for it in columns)]


def _as_number(column: Any) -> Any:
    if column.type != _TIMESTAMP:
        return column
    return hive.FieldSchema(column.name, "bigint", column.comment)


def _column(field: Mapping[str, Any]) -> Any:
    doc = field.get("doc")
    return hive.FieldSchema(str(field["name"]).lower(), _type(field["type"]), None if doc is None else str(doc))


def _type(kind: Any) -> str:
    if isinstance(kind, list):
        return _of_union(kind)
    if isinstance(kind, str):
        return _plain(kind)
    return _logical(kind) or _nested(kind)


def _logical(kind: Mapping[str, Any]) -> str | None:
    if kind.get("logicalType") == "decimal":
        return f"decimal({int(kind['precision'])},{int(kind.get('scale', 0))})"
    return _LOGICAL.get(kind.get("logicalType", ""))


def _nested(kind: Mapping[str, Any]) -> str:
    if kind["type"] == "array":
        return f"array<{_type(kind['items'])}>"
    if kind["type"] == "map":
        return f"map<string,{_type(kind['values'])}>"
    if kind["type"] == "record":
        return f"struct<{','.join(field_of(it['name'], _type(it['type'])) for it in kind['fields'])}>"
    return _type(kind["type"])


def _of_union(kinds: Sequence[Any]) -> str:
    """The type beside null: what Avro calls a union is how it says that a value may be missing."""
    some = [it for it in kinds if it != "null"]
    if len(some) != 1:
        raise NoSchema(f"Hive has no type for a union of {len(some)} types")
    return _type(some[0])


def _plain(kind: str) -> str:
    if kind not in _TYPES:
        raise NoSchema(f"Hive has no type {kind}")
    return _TYPES[kind]
