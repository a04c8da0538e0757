"""Concerns: whether a work has anything to do with the objects that somebody asks about. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Set

from pysync.replay.window.order import database_of, is_database

Concerns = Callable[[Set[str]], bool]
"""Whether a work of these keys concerns the objects that are asked about."""


def concerns(objects: Collection[str]) -> Concerns:
    """For the names of tables (`db.table`) and databases at the target, a database with everything in it.

    A work of a table's database concerns the table, too. A work without keys concerns everything.
    """
    databases = {name for name in objects if "." not in name}
    tables = {name for name in objects if "." in name}
    around = {database_of(name) for name in tables}

    def any_of(keys: Set[str]) -> bool:
        return not keys or any(
            key in tables or database_of(key) in databases or (is_database(key) and database_of(key) in around)
            for key in keys
        )

    return any_of
