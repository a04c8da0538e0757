"""The text of a view with other names of tables: only the names change, every other character stays. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import exp

from pysync.hiveql.new_names import NewNames
from pysync.hiveql.refusal import CannotTranslate
from pysync.hiveql.text import parsed
from pysync.model.names import TableName

_OWN_CATALOG = "spark_catalog"
"""How Spark calls the catalog whose databases are those of the metastore."""


class _Edit(NamedTuple):
    """Characters of a text, both ends included, and what takes their place."""

    start: int
    end: int
    new: str


def with_new_names(text: str, database: str, becomes: str, names: NewNames) -> str:
    """The text with the tables that it reads, and the databases of its functions, under their new names.

    `database` is where names without one are; at the other place they are in `becomes`. Raises CannotTranslate if the
    text cannot be read, or has a whole name where it cannot be changed.
    """
    tree = parsed(text)
    edits = [it for table in tree.find_all(exp.Table) for it in _edits(table, (database, becomes), names, text)]
    edits += [it for call in tree.find_all(exp.Dot) for it in _edits_of_call(call, names, text)]
    for column in tree.find_all(exp.Column):
        _assert_short(column, names)
    for it in sorted(edits, reverse=True):
        text = text[: it.start] + it.new + text[it.end + 1 :]
    return text


def _edits(table: exp.Table, default: tuple[str, str], names: NewNames, text: str) -> Iterator[_Edit]:
    if not isinstance(table.this, exp.Identifier) or table.catalog.lower() not in {"", _OWN_CATALOG}:
        raise CannotTranslate(f"{table.sql('hive')[:60]!r} in FROM")
    if not table.db and _is_named_query(table):
        return
    old = TableName.of(table.db or default[0], table.name)
    new = names.table(old)
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


def _edits_of_call(call: exp.Dot, names: NewNames, text: str) -> Iterator[_Edit]:
    """The database in the call of a function, `db.f(x)`."""
    if not isinstance(call.expression, exp.Anonymous):
        return
    if not isinstance(call.this, exp.Identifier):
        raise CannotTranslate(f"{call.sql('hive')[:60]!r}, the call of a function")
    old = call.this.name.lower()
    if (new := names.database(old)) != old:
        yield _Edit(*_place(call.this, text), f"`{_escaped(new)}`")


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


def _assert_short(column: exp.Column, names: NewNames) -> None:
    """That no column of a renamed table is called by database and table."""
    if column.db:
        old = TableName.of(column.db, column.table)
        if names.table(old) != old:
            raise CannotTranslate(f"the column {column.sql('hive')}, called by the table's whole name")


def _escaped(name: str) -> str:
    return name.replace("`", "``")
