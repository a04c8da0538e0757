"""The translation of a view: its query in Trino's SQL, as Trino and Athena keep it in a catalog."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlglot import exp

from pysync.model.definition import database_in_view
from pysync.model.names import TableName, normalized
from pysync.views.scopes import ColumnsOf, Scope, fixed_columns
from pysync.views.sources import query, renamed
from pysync.views.spark import rules_of
from pysync.views.text import parsed, understood
from pysync.views.types import DATE, STRING, CannotTranslate, Columns, HiveType, parse_type
from pysync.views.versions import VERSIONS

# --- Views as Trino and Athena keep them in a catalog: the query as JSON in base64, in a comment of the original text


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


def is_presto(text: str | None) -> bool:
    """Whether the text is that of a view of Presto, Trino or Athena."""
    return (text or "").startswith("/* Presto ")


# --- A view of Hive in Trino's SQL, or the reason why not. Pure: what it must know of tables it asks a function


@dataclass(frozen=True, slots=True)
class Translation:
    """A query of Trino that gives the rows of a view, and the columns of the view."""

    sql: str
    columns: Columns


def translate(view: Any, columns_of: ColumnsOf, hive: str | None = None) -> Translation:
    """The view in Trino's SQL, with the columns that its metastore says. Raises CannotTranslate.

    The same view and the same tables give the same text. `hive` is the version of Hive whose view it is, if that is
    known: a key of VERSIONS.
    """
    declared = (view.sd.cols if view.sd is not None else None) or ()
    wanted = [(normalized(it.name or ""), parse_type(it.type or "")) for it in declared]
    text = view.viewExpandedText or view.viewOriginalText or ""
    database = database_in_view(view.parameters, view.dbName)
    rules = rules_of(view)
    if rules is None:
        sql, columns = translated_text(text, columns_of, normalized(database), hive)
    else:
        sql, columns = translated_query(text, Scope(columns_of, normalized(database), rules))
    _assert_same(wanted, columns)
    if list(columns) != wanted:
        sql = renamed(sql, columns, wanted)
    return Translation(sql, wanted)


_Translated = tuple[str, Columns]


def translated_text(text: str, columns_of: ColumnsOf, database: str, hive: str | None) -> _Translated:
    """A query of Hive in Trino's SQL, and its columns. Raises CannotTranslate.

    If the version of Hive is not known, all versions must mean the same.
    """
    translations: dict[str, _Translated] = {}
    refused: dict[str, str] = {}
    for version in VERSIONS if hive is None else [hive]:
        try:
            translations[version] = translated_query(text, Scope(columns_of, database, VERSIONS[version]))
        except CannotTranslate as error:
            refused[version] = str(error)
    for version, reason in refused.items():
        raise CannotTranslate(f"{reason} (in Hive {version}; {_UNKNOWN})" if translations else reason)
    first, *others = translations.values()
    if any(it != first for it in others):
        raise CannotTranslate(f"versions of Hive give it different rows; {_UNKNOWN}")
    return first


_UNKNOWN = "hive_version is not set"


def translated_query(text: str, scope: Scope) -> _Translated:
    """The same by the rules of an empty scope. Raises CannotTranslate."""
    try:
        tree = understood(text, puts_nulls_last=scope.rules.puts_nulls_last)
        scope.fixed = frozenset() if scope.rules.of_spark else fixed_columns(tree)
        return query(tree, scope)
    except RecursionError:
        raise CannotTranslate("the query is nested too deeply") from None


def _assert_same(wanted: Columns, columns: Columns) -> None:
    """That each column is of a type that its declared one can hold: else something has been misunderstood."""
    if len(wanted) != len(columns):
        raise CannotTranslate(f"{len(columns)} columns in the query, {len(wanted)} in the view")
    for (name, want), (_, have) in zip(wanted, columns, strict=True):
        if not _holds(want, have):
            raise CannotTranslate(f"the column {name}: {have} in the query, {want} in the view")


def _holds(want: HiveType, have: HiveType) -> bool:
    if want == have or have.name == "void":
        return True
    if want.within or have.within:
        are_named_alike = [it.lower() for it in want.names] == [it.lower() for it in have.names]
        return want.name == have.name and are_named_alike and all(map(_holds, want.within, have.within))
    if want.name == "decimal" and have.name == "decimal":
        return want.scale == have.scale
    if want.is_integer and have.is_integer:
        return True
    # Some versions of Hive give dates as strings.
    return want.name in {"string", "varchar"} and (have.is_text or (have == DATE and want == STRING))


# --- The text of a view with other names of tables: only the names change, every other character stays. Pure

Rename = Callable[[TableName], TableName]


class _Edit(NamedTuple):
    """Characters of a text, both ends included, and what takes their place."""

    start: int
    end: int
    new: str


def with_new_names(text: str, database: str, becomes: str, rename: Rename) -> str:
    """The text with the tables that it reads under their new names.

    `database` is where names without one are; at the other place they are in `becomes`. Raises CannotTranslate if the
    text cannot be read, or has a table's whole name where it cannot be changed.
    """
    tree = parsed(text)
    edits = [it for table in tree.find_all(exp.Table) for it in _edits(table, (database, becomes), rename, text)]
    for column in tree.find_all(exp.Column):
        _assert_short(column, rename)
    for it in sorted(edits, reverse=True):
        text = text[: it.start] + it.new + text[it.end + 1 :]
    return text


def _edits(table: exp.Table, default: tuple[str, str], rename: Rename, text: str) -> Iterator[_Edit]:
    if not isinstance(table.this, exp.Identifier) or table.catalog:
        raise CannotTranslate(f"{table.sql('hive')[:60]!r} in FROM")
    if not table.db and _is_named_query(table):
        return
    old = TableName.of(table.db or default[0], table.name)
    new = rename(old)
    if new == (old if table.db else TableName.of(default[1], old.table)):
        return
    first = table.args["db"] if table.db else table.this
    start, end = _place(first, text)[0], _place(table.this, text)[1]
    name = f"`{_escaped(new.database)}`.`{_escaped(new.table)}`"
    # Columns may be called by the old name.
    alias = "" if table.alias or new.table == old.table else f" AS `{_escaped(old.table)}`"
    if alias and table.args.get("sample"):
        raise CannotTranslate("a sample of a table that is renamed")
    yield _Edit(start, end, name + alias)


def _place(node: exp.Expression, text: str) -> tuple[int, int]:
    """The first and last character of a name, its quotes included."""
    start, end = node.meta.get("start"), node.meta.get("end")
    if not isinstance(start, int) or not isinstance(end, int) or _unquoted(text[start : end + 1]) != node.name:
        raise CannotTranslate(f"the place of {node.name} in the text")
    return start, end


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _is_named_query(table: exp.Table) -> bool:
    """Whether the name is one of WITH, of the query itself or of one round it."""
    node: exp.Expression | None = table
    while node is not None:
        clause = node.args.get("with_")
        if clause is not None and any(it.alias.lower() == table.name.lower() for it in clause.expressions):
            return True
        node = node.parent
    return False


def _assert_short(column: exp.Column, rename: Rename) -> None:
    """That no column of a renamed table is called by database and table."""
    if column.db:
        old = TableName.of(column.db, column.table)
        if rename(old) != old:
            raise CannotTranslate(f"the column {column.sql('hive')}, called by the table's whole name")


def _escaped(name: str) -> str:
    return name.replace("`", "``")
