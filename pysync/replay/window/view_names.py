"""Names of tables in the texts of views, as the target has them. Alters the view in place."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import structlog

from pysync.base.installation import install_extra
from pysync.hiveql.new_names import NewNames
from pysync.hiveql.refusal import CannotTranslate, refuse_other_dialects
from pysync.model.catalogs import catalog_of, database_in, name_in_catalog
from pysync.model.definition import VIEW_DATABASE_KEY, VIEWS, database_in_view
from pysync.model.names import TableName

_PRESTO = "/* Presto "
_NAME = re.compile(r"(?:`?(\w+)`?\s*\.\s*)?`?(\w+)`?")
_SPARKS_CATALOG = re.compile(r"`?\bspark_catalog\b`?\s*\.")
log = structlog.get_logger(__name__)


def names_in_view(table: Any) -> frozenset[str]:
    """What may be tables in the text of a view, as `db.table`, and more: whatever looks so. Nothing for a table."""
    if table.tableType not in VIEWS:
        return frozenset()
    text = _SPARKS_CATALOG.sub("", (table.viewExpandedText or table.viewOriginalText or "").lower())
    catalog, own = catalog_of(table.dbName), database_in_view(table.parameters, name_in_catalog(table.dbName)).lower()
    return frozenset(f"{database_in(catalog, it[1] or own)}.{it[2]}" for it in _NAME.finditer(text))


def rename_in_view(view: Any, database: str, names: NewNames) -> None:
    """Rename the tables in the texts of a view; its own names are the target's already, and it was in `database`.

    The text that engines run is left as it is if it cannot be read, and the log says why. Hive's record of what was
    typed is renamed if it can be.
    """
    if view.tableType not in VIEWS:
        return
    names = _within(catalog_of(database), names)
    old = database_in_view(view.parameters, name_in_catalog(database))
    new = names.database(old) if VIEW_DATABASE_KEY in (view.parameters or {}) else name_in_catalog(view.dbName)
    runs = "viewExpandedText" if view.viewExpandedText else "viewOriginalText"
    try:
        refuse_other_dialects(view.parameters)
        setattr(view, runs, _renamed(getattr(view, runs), old, new, names))
    except CannotTranslate as reason:
        log.warning("view_names_kept", view=f"{view.dbName}.{view.tableName}", reason=str(reason))
        return
    if runs == "viewExpandedText":
        with suppress(CannotTranslate):
            view.viewOriginalText = _renamed(view.viewOriginalText, old, new, names)
    if VIEW_DATABASE_KEY in (view.parameters or {}):
        view.parameters = {**view.parameters, VIEW_DATABASE_KEY: new}


def _within(catalog: str | None, names: NewNames) -> NewNames:
    """The names as texts have them, in which all databases are of one catalog."""

    def table(name: TableName) -> TableName:
        new = names.table(TableName(database_in(catalog, name.database), name.table))
        return TableName(name_in_catalog(new.database), new.table)

    return NewNames(table, lambda name: name_in_catalog(names.database(database_in(catalog, name))))


def _renamed(text: str | None, old: str, new: str, names: NewNames) -> str | None:
    if not text:
        return text
    if text.startswith(_PRESTO):
        raise CannotTranslate("the text is encoded, as Presto, Trino and Athena do")
    try:
        from pysync.hiveql.renaming import with_new_names  # noqa: PLC0415 - an extra
    except ImportError:
        raise CannotTranslate(f"sqlglot is not installed: {install_extra('aws')}") from None
    return with_new_names(text, old, new, names)
