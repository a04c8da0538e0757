"""What Spark writes into the properties of its views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pysync.views.refusal import CannotTranslate
from pysync.views.typed import Typed
from pysync.views.types import HiveType

_PARTS = "view.catalogAndNamespace.numParts"
DATABASE = "view.catalogAndNamespace.part.1"
"""The property with the database that was the current one when the view was created."""
_VERSION = "spark.sql.create.version"
_ANSI = "view.sqlConfig.spark.sql.ansi.enabled"
_ANSI_BY_DEFAULT = 4
_HIVES_OWN = frozenset({"array_contains", "greatest", "least", "nullif", "sqrt"})


def database_of(properties: Mapping[str, str] | None, own: str) -> str:
    """The database in which names without one are: `own`, that of the view, unless Spark says another."""
    return (properties or {}).get(DATABASE) or own


def is_of_spark(properties: Mapping[str, str] | None) -> bool:
    """Whether Spark has created the view."""
    return any(it in (properties or {}) for it in (DATABASE, _PARTS, _VERSION))


def refuse_comparison(one: Typed, other: Typed) -> None:
    """Raises CannotTranslate for a string beside an integer: Spark makes an integer of it, Hive a double."""
    if (one.type.is_text and other.type.is_integer) or (one.type.is_integer and other.type.is_text):
        raise CannotTranslate("a comparison of a string with an integer in a view of Spark")


def refuse_call(name: str, arguments: Sequence[Typed]) -> None:
    """Raises CannotTranslate for a function whose result is another in Hive: with NULLs, or before a string's head."""
    is_safe = name not in _HIVES_OWN
    if name in {"substr", "substring"}:
        start = arguments[1].literal if len(arguments) > 1 else None
        is_safe = isinstance(start, int) and start >= 0
    if not is_safe:
        raise CannotTranslate(f"the function {name} in a view of Spark")


def refuse_cast(to: HiveType) -> None:
    """Raises CannotTranslate for a cast to a string of some length: Spark does not cut it."""
    if to.name in {"char", "varchar"}:
        raise CannotTranslate(f"a cast to {to} in a view of Spark")


def refuse_other_rules(view: Any) -> None:
    """Raises CannotTranslate for a view of Spark with a catalog of its own, or that fails where Hive gives NULL."""
    properties = view.parameters or {}
    version = properties.get(_VERSION, "")
    if properties.get(_PARTS, "2") != "2":
        raise CannotTranslate("a view of Spark in another catalog")
    by_default = version[:1].isdigit() and int(version.split(".")[0]) >= _ANSI_BY_DEFAULT and _PARTS in properties
    if properties.get(_ANSI, str(by_default)).lower() == "true":
        raise CannotTranslate("a view of Spark in ANSI mode, which fails where Hive gives NULL")
