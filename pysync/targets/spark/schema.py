"""The schema of a table as Spark wants it, from Hive's columns. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass


PLAIN = frozenset(
    {"tinyint", "smallint", "int", "bigint", "boolean", "float", "double", "string", "binary", "timestamp", "date"}
)
"""Types that Spark need not be asked about."""
_RAW = "__CHAR_VARCHAR_TYPE_STRING"


def schema(columns: Iterable[Any]) -> str:
    """The columns (FieldSchemas) as the JSON of a StructType.

    For chars and varchars Spark notes the type by which it creates the column in the metastore. Every type is given as
    such a note: so it arrives word for word, where Spark's own spelling would change it (struct<A:int> and the like).
    """
    return json.dumps({"type": "struct", "fields": [_field(column) for column in columns]})


def _field(column: Any) -> dict[str, Any]:
    metadata = {_RAW: column.type} | ({"comment": column.comment} if column.comment is not None else {})
    return {"name": column.name, "type": "string", "nullable": True, "metadata": metadata}
