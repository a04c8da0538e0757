"""What Spark writes into the properties of its views."""

from __future__ import annotations

from typing import Any

from pysync.views.refusal import CannotTranslate

_PARTS = "view.catalogAndNamespace.numParts"
_PART = "view.catalogAndNamespace.part."
_VERSION = "spark.sql.create.version"
_ANSI = "view.sqlConfig.spark.sql.ansi.enabled"
_ANSI_BY_DEFAULT = 4


def database_of(view: Any) -> str:
    """The database in which names without one are: the view's own, unless Spark says another."""
    properties = view.parameters or {}
    return properties.get(f"{_PART}1") or view.dbName  # type: ignore[no-any-return]


def database_property(view: Any) -> str | None:
    """The name of the property with that database, if there is one."""
    return f"{_PART}1" if f"{_PART}1" in (view.parameters or {}) else None


def refuse_other_rules(view: Any) -> None:
    """Raises CannotTranslate for a view of Spark with a catalog of its own, or that fails where Hive gives NULL."""
    properties = view.parameters or {}
    version = properties.get(_VERSION, "")
    if properties.get(_PARTS, "2") != "2":
        raise CannotTranslate("a view of Spark in another catalog")
    by_default = version[:1].isdigit() and int(version.split(".")[0]) >= _ANSI_BY_DEFAULT and _PARTS in properties
    if properties.get(_ANSI, str(by_default)).lower() == "true":
        raise CannotTranslate("a view of Spark in ANSI mode, which fails where Hive gives NULL")
