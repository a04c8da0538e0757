"""A view of Hive in Trino's SQL, or the reason why not. Pure: what it must know of tables it asks a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pysync.model.names import normalized
from pysync.views.queries import query, renamed
from pysync.views.refusal import CannotTranslate
from pysync.views.scopes import ColumnsOf, Scope
from pysync.views.spark import database_of, rules_of
from pysync.views.text import understood
from pysync.views.types import DATE, STRING, Columns, HiveType, parse_type


@dataclass(frozen=True, slots=True)
class Translation:
    """A query of Trino that gives the rows of a view, and the columns of the view."""

    sql: str
    columns: Columns


def translate(view: Any, columns_of: ColumnsOf) -> Translation:
    """The view in Trino's SQL, with the columns that its metastore says. Raises CannotTranslate.

    The same view and the same tables give the same text.
    """
    scope = _scope(view, columns_of)
    declared = (view.sd.cols if view.sd is not None else None) or ()
    wanted = [(normalized(it.name or ""), parse_type(it.type or "")) for it in declared]
    try:
        sql, found = query(understood(view.viewExpandedText or view.viewOriginalText or ""), scope)
    except RecursionError:
        raise CannotTranslate("the query is nested too deeply") from None
    _assert_same(wanted, found)
    if list(found) != wanted:
        sql = renamed(sql, found, wanted)
    return Translation(sql, wanted)


def _scope(view: Any, columns_of: ColumnsOf) -> Scope:
    database = normalized(database_of(view.parameters, view.dbName))
    return Scope(columns_of, database, rules=rules_of(view))


def _assert_same(wanted: Columns, found: Columns) -> None:
    """That each column is of a type that its declared one can hold: else something has been misunderstood."""
    if len(wanted) != len(found):
        raise CannotTranslate(f"{len(found)} columns in the query, {len(wanted)} in the view")
    for (name, want), (_, have) in zip(wanted, found, strict=True):
        if not _holds(want, have):
            raise CannotTranslate(f"the column {name}: {have} in the query, {want} in the view")


def _holds(want: HiveType, have: HiveType) -> bool:
    if want == have or have.name == "void":
        return True
    if want.within or have.within:
        return (
            want.name == have.name
            and _same_within(want.names, have.names)
            and all(map(_holds, want.within, have.within))
        )
    if want.name == "decimal" and have.name == "decimal":
        return want.scale == have.scale
    if want.is_integer and have.is_integer:
        return True
    # Some versions of Hive give dates as strings.
    return want.name in {"string", "varchar"} and (have.is_text or (have == DATE and want == STRING))


def _same_within(one: Sequence[str], other: Sequence[str]) -> bool:
    return [it.lower() for it in one] == [it.lower() for it in other]
