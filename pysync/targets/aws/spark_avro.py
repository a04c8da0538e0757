"""Avro tables of Spark's own source: what Hive's reader of Avro makes of their files. Pure.

Spark registers them for Hive's serde, which derives the schema from the columns. The files have Spark's own one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

_GIVEN = frozenset({"avro.schema.literal", "avro.schema.url"})
_CAPITALS = "reads NULL, as the name in the files has capitals"
_KINDS = {"decimal": "fails at Spark's decimals", "timestamp": "takes Spark's microseconds for milliseconds"}


def misread(table: Any, schema: str) -> list[str]:
    """What is not read as Spark wrote it, in words, by Spark's `schema`; nothing where one of Avro is given."""
    given = {*(table.parameters or {}), *(table.sd.serdeInfo.parameters or {})}
    keys = {key.name for key in table.partitionKeys or ()}
    return [] if given & _GIVEN else list(_misread(schema, keys))


def _misread(schema: str, keys: Collection[str]) -> Iterator[str]:
    try:
        fields = [(str(it["name"]), it) for it in json.loads(schema)["fields"]]
        found = {name: sorted(set(_reasons(it))) for name, it in fields if name.lower() not in keys}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return
    for name, reasons in found.items():
        for why in reasons:
            yield f"column {name.lower()!r}: Hive's Avro serde {why}"


def _reasons(field: Mapping[str, Any]) -> Iterator[str]:
    """Why a field, or a part of it, is not read."""
    if field["name"] != field["name"].lower():
        yield _CAPITALS
    yield from _of_type(field["type"])


def _of_type(kind: Any) -> Iterator[str]:
    if isinstance(kind, str):
        yield from (why for begin, why in _KINDS.items() if kind.startswith(begin))
        return
    for field in kind.get("fields", ()):
        yield from _reasons(field)
    for key in ("elementType", "valueType"):
        if key in kind:
            yield from _of_type(kind[key])
