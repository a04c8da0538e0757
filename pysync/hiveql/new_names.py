"""New names: how tables and databases are called at the target. Pure, and without the extra that reads texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pysync.model.names import TableName


@dataclass(frozen=True, slots=True)
class NewNames:
    """A table's whole new name by its old one, and a database's."""

    table: Callable[[TableName], TableName]
    database: Callable[[str], str] = str
