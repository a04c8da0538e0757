"""Transactional tables: written as metadata only where the settings say so."""

from __future__ import annotations

from typing import Any

from pysync.targets.base import Rejected
from pysync.targets.settings import TargetSettings


def refuse_transactional(settings: TargetSettings, table: Any) -> None:
    """Raise Rejected for a transactional table (full ACID or insert-only), unless `transactional = "metadata"`.

    Only the transactions in its own metastore tell which of its files count, and those are not replicated.
    """
    is_one = (table.parameters or {}).get("transactional", "").lower() == "true"
    if is_one and settings.transactional == "refuse":
        raise Rejected(
            f"table {table.dbName}.{table.tableName} is transactional: no engine at the target {settings.name!r} can "
            "read it correctly",
            'exclude the table, make it external, or set transactional = "metadata"',
        )
