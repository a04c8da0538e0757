"""The schema in a Delta table's log, as columns of Hive. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

_TYPES = {
    "binary": "binary",
    "boolean": "boolean",
    "byte": "tinyint",
    "date": "date",
    "double": "double",
    "float": "float",
    "integer": "int",
    "long": "bigint",
    "short": "smallint",
    "string": "string",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp",
}

_DECIMAL = re.compile(r"decimal\(\d+,-?\d+\)")


# Delta stores char and varchar as strings, and keeps the type that was declared beside the column.
_DECLARED_KEY = "__CHAR_VARCHAR_TYPE_STRING"
_DECLARED = re.compile(r"(var)?char\(\d+\)")
_IN_TYPE = re.compile(r"[^:,<>\s`]+")
"""The names of fields that a type of Hive can have."""


class NoSchema(Exception):
    """Why a log gives no columns, for people; `it` is the log."""


def columns_of(schema: str) -> list[Any]:
    """The FieldSchemas of a schema in Delta's JSON, in its order, partition columns among them. Raises NoSchema."""
    try:
        fields = json.loads(schema)["fields"]
        return [_column(field) for field in fields]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise NoSchema("its schema is not one of Delta") from error


def _column(field: Mapping[str, Any]) -> Any:
    metadata = field.get("metadata") or {}
    declared, comment = str(metadata.get(_DECLARED_KEY, "")), metadata.get("comment")
    kind = declared if _DECLARED.fullmatch(declared) else _type(field["type"])
    return hive.FieldSchema(str(field["name"]).lower(), kind, None if comment is None else str(comment))


def _type(kind: Any) -> str:
    if isinstance(kind, str):
        return _plain_type(kind.replace(" ", ""))
    if kind["type"] == "array":
        return f"array<{_type(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{_type(kind['keyType'])},{_type(kind['valueType'])}>"
    if kind["type"] == "struct":
        return f"struct<{','.join(field_of(it['name'], _type(it['type'])) for it in kind['fields'])}>"
    raise NoSchema(f"Hive has no type {kind['type']}")


def _plain_type(kind: str) -> str:
    if kind in _TYPES or _DECIMAL.fullmatch(kind):
        return _TYPES.get(kind, kind)
    raise NoSchema(f"Hive has no type {kind}")


def field_of(name: Any, kind: str) -> str:
    """A field of a struct in Hive's words, `name:type`. Raises NoSchema if Hive has no such name."""
    plain = str(name).lower()
    if not _IN_TYPE.fullmatch(plain):
        raise NoSchema(f"Hive has no struct with a field {plain!r}")
    return f"{plain}:{kind}"
