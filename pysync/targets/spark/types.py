"""The schema of a table as Spark wants it, from Hive's columns. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

PLAIN = frozenset(
    {"tinyint", "smallint", "int", "bigint", "boolean", "float", "double", "string", "binary", "timestamp", "date"}
)
"""Types that Spark need not be asked about."""

_RAW = "__CHAR_VARCHAR_TYPE_STRING"


def schema(columns: Iterable[Any]) -> str:
    """The columns (FieldSchemas) as the JSON of a StructType.

    Spark gives a column to the metastore as the type that it notes of chars and varchars, where there is such a note:
    so every type goes there word for word, which Spark's own writing of it would not (struct<A:int> and the like).
    """
    return json.dumps({"type": "struct", "fields": [_field(column) for column in columns]})


def _field(column: Any) -> dict[str, Any]:
    metadata = {_RAW: column.type} | ({"comment": column.comment} if column.comment is not None else {})
    return {"name": column.name, "type": "string", "nullable": True, "metadata": metadata}
