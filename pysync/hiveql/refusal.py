"""The refusal of a view: raised wherever its text cannot be read, renamed or translated."""

from __future__ import annotations

from collections.abc import Mapping

_FORMAT_KEY = "table_type"
"""The property by which other engines than Hive and Spark say whose a view is: ICEBERG-VIEW."""


class CannotTranslate(Exception):
    """Why a view keeps its HiveQL: a few words for people, which name the part of the query.

    `difference` is the id of the difference (pysync.hiveql.differences) that stands in the way, if a person may accept
    it; `needs` is the key of [source] without which the view cannot be translated.
    """

    def __init__(self, reason: str, *, difference: str = "", needs: str = "") -> None:
        super().__init__(reason)
        self.difference = difference
        self.needs = needs


def refuse_other_dialects(properties: Mapping[str, str] | None) -> None:
    """Raise CannotTranslate for a view with these properties whose text may be in another dialect than Hive's or
    Spark's: Iceberg's views have that of the engine that has written them last, and do not say which.
    """
    if kind := (properties or {}).get(_FORMAT_KEY):
        raise CannotTranslate(f"the text of a view of type {kind[:60]!r}, whose dialect is not known")
