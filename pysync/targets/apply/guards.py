"""Guards: tables that nobody may write, whoever decides.

- Transactional tables are written as metadata only where the settings say so.
- The pointer of an Iceberg table names the metadata file that is the table, and a commit moves it. pysync moves it only
  from a place where the source had it. Otherwise it would overwrite what somebody has committed at the target.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import structlog

from pysync.model.iceberg import PREVIOUS_KEY, WRITTEN_KEY, pointer
from pysync.model.operation import PutTable, TableOperation
from pysync.targets.base import Rejected
from pysync.targets.settings import TargetSettings

log = structlog.get_logger(__name__)

_HADOOPS_S3 = re.compile(r"^s3[an]://")

Parameters = Mapping[str, str] | None


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


def stays(settings: TargetSettings, operation: TableOperation, wanted: Parameters, there: Parameters) -> bool:
    """Whether to leave the table alone because somebody has committed to it at the target.

    Raises Rejected if the settings want such a table parked.
    """
    name, its = operation.table, pointer(there)
    before = operation.pointers if isinstance(operation, PutTable) else ()
    # The pointers that the source is known to have had: the last one written here, the one before the wanted one, the
    # wanted one (a repeat), and those of earlier alters in this window.
    known = {(there or {}).get(WRITTEN_KEY), (wanted or {}).get(PREVIOUS_KEY), pointer(wanted), *before}
    if its is None or _plain(its) in {_plain(at) for at in known if at}:
        return False
    if settings.on_conflict == "park":
        raise Rejected(
            f"the Iceberg table {name} at the target {settings.name!r} has a commit that is not from the source: {its}",
            'bring the commit to the source, or discard it: on_conflict = "adopt", then pysync parked retry',
        )
    log.warning("conflict_found", target=settings.name, table=str(name), pointer=its, wanted=pointer(wanted))
    return settings.on_conflict == "skip"


def _plain(at: str) -> str:
    """A location with AWS's scheme for S3; Hadoop has others (s3a, s3n)."""
    return _HADOOPS_S3.sub("s3://", at)
