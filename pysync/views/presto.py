"""Views as Trino and Athena keep them in a catalog: the query as JSON in base64, in a comment of the original text."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from pysync.views.types import Columns

_PREFIX, _SUFFIX = "/* Presto View: ", " */"
MARKS = {"presto_view": "true", "comment": "Presto View"}
"""The properties of such a view."""
CATALOG = "awsdatacatalog"
"""The name of the Glue Data Catalog in Athena."""


def encoded(sql: str, columns: Columns, database: str, comment: str | None = None, *, owned: bool = True) -> str:
    """The original text of a view of Athena. The same query and columns give the same text.

    Trino reads a view with the rights of its owner; one that has none must say that it is read with the reader's.
    """
    definition: dict[str, Any] = {
        "originalSql": sql,
        "catalog": CATALOG,
        "schema": database,
        "columns": [{"name": name, "type": kind.trino} for name, kind in columns],
    }
    if not owned:
        definition["runAsInvoker"] = True
    if comment:
        definition["comment"] = comment
    content = json.dumps(definition, ensure_ascii=True).encode()
    return f"{_PREFIX}{base64.b64encode(content).decode()}{_SUFFIX}"


def decoded(text: str) -> dict[str, Any] | None:
    """What is in such a text; None for any other."""
    if not is_presto(text):
        return None
    try:
        found = json.loads(base64.b64decode(text[len(_PREFIX) : -len(_SUFFIX)], validate=True))
    except (binascii.Error, ValueError):
        return None
    return found if isinstance(found, dict) else None


def is_presto(text: str | None) -> bool:
    """Whether the text is that of a view of Presto, Trino or Athena."""
    return (text or "").startswith("/* Presto ")
