"""What Spark writes into the properties of its views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pysync.views.refusal import CannotTranslate

_PARTS = "view.catalogAndNamespace.numParts"
DATABASE = "view.catalogAndNamespace.part.1"
"""The property with the database that was the current one when the view was created."""
_VERSION = "spark.sql.create.version"
_ANSI = "view.sqlConfig.spark.sql.ansi.enabled"
_ANSI_BY_DEFAULT = 4


def database_of(properties: Mapping[str, str] | None, own: str) -> str:
    """The database in which names without one are: `own`, that of the view, unless Spark says another."""
    return (properties or {}).get(DATABASE) or own


def refuse_other_rules(view: Any) -> None:
    """Raises CannotTranslate for a view of Spark with a catalog of its own, or that fails where Hive gives NULL."""
    properties = view.parameters or {}
    version = properties.get(_VERSION, "")
    if properties.get(_PARTS, "2") != "2":
        raise CannotTranslate("a view of Spark in another catalog")
    by_default = version[:1].isdigit() and int(version.split(".")[0]) >= _ANSI_BY_DEFAULT and _PARTS in properties
    if properties.get(_ANSI, str(by_default)).lower() == "true":
        raise CannotTranslate("a view of Spark in ANSI mode, which fails where Hive gives NULL")
