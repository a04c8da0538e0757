"""Views of Hive on a few tables, and what becomes of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes

from pysync.hiveql.refusal import CannotTranslate
from pysync.model.names import TableName
from pysync.views.translation import Translation, translate, translated_text
from pysync.views.types import Columns, parse_type

_COLUMN = re.compile(r'"t"\."(\w+)"')

TABLES: Mapping[str, Mapping[str, str]] = {
    "db.t": {
        "id": "int",
        "b": "bigint",
        "f": "double",
        "r": "float",
        "d": "decimal(7,2)",
        "s": "string",
        "c": "char(5)",
        "v": "varchar(9)",
        "dt": "date",
        "ts": "timestamp",
        "ok": "boolean",
        "raw": "binary",
        "arr": "array<int>",
        "m": "map<string,int>",
        "st": "struct<x:int,y:string>",
        "nest": "struct<z:struct<q:int>>",
        "items": "array<struct<a:int,b:string>>",
    },
    "db.u": {"id": "bigint", "name": "string", "t": "string"},
    "other.w": {"id": "int"},
}


def columns_of(name: TableName) -> Columns:
    """The columns of a table above."""
    if str(name) not in TABLES:
        raise CannotTranslate(f"the table {name}, which is not at the target")
    return [(column, parse_type(kind)) for column, kind in TABLES[str(name)].items()]


def sql_of(text: str, hive: str | None = None) -> str:
    """The query in Trino's SQL, with plain names for the columns of t, and without FROM if that is all there is."""
    found = translated_text(text, columns_of, "db", hive)[0]
    return _COLUMN.sub(r"\1", found).removesuffix(' FROM "db"."t" AS "t"')


def expression(text: str, hive: str | None = None) -> str:
    """One expression over the table t."""
    return sql_of(f"select {text} x from t", hive).removeprefix("SELECT ").removesuffix(' AS "x"')


def type_of(text: str, hive: str | None = None) -> str:
    """The type of an expression over the table t."""
    ((_, kind),) = translated_text(f"select {text} x from t", columns_of, "db", hive)[1]
    return str(kind)


def refusal(text: str, hive: str | None = None) -> str:
    """Why a query is refused."""
    with pytest.raises(CannotTranslate) as caught:
        translated_text(text, columns_of, "db", hive)
    return str(caught.value)


def view(text: str, columns: Mapping[str, str], *, parameters: Mapping[str, str] | None = None, **fields: Any) -> Any:
    """A view of Hive `db.v`."""
    storage = ttypes.StorageDescriptor(
        cols=[ttypes.FieldSchema(name, kind) for name, kind in columns.items()],
        serdeInfo=ttypes.SerDeInfo(parameters={}),
    )
    texts = {"viewOriginalText": text, "viewExpandedText": text, "tableType": "VIRTUAL_VIEW", **fields}
    return ttypes.Table(dbName="db", tableName="v", sd=storage, parameters=dict(parameters or {}), **texts)


def translated(text: str, columns: Mapping[str, str], hive: str | None = None, **fields: Any) -> Translation:
    """The translation of such a view."""
    return translate(view(text, columns, **fields), columns_of, hive)
