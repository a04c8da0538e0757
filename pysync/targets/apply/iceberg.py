"""Iceberg's pointer: the parameter that a commit moves, and that says which files are the table.

It is moved from where the source had it, as a commit would do it: what somebody has committed at the target would be
gone without a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import structlog

from pysync.model.iceberg import PREVIOUS_KEY, WRITTEN_KEY, pointer
from pysync.model.operation import PutTable, TableOperation
from pysync.targets.base import Rejected
from pysync.targets.settings import TargetSettings

log = structlog.get_logger(__name__)

_HADOOPS_S3 = re.compile(r"^s3[an]://")

Parameters = Mapping[str, str] | None


def stays(settings: TargetSettings, operation: TableOperation, wanted: Parameters, there: Parameters) -> bool:
    """Whether the operation's table at the target is to be left alone because somebody has committed there.

    Raises Rejected where such a table is to be parked.
    """
    name, its = operation.table, pointer(there)
    before = operation.pointers if isinstance(operation, PutTable) else ()
    known = {(there or {}).get(WRITTEN_KEY), (wanted or {}).get(PREVIOUS_KEY), pointer(wanted), *before}
    if its is None or _plain(its) in {_plain(at) for at in known if at}:
        return False
    if settings.on_conflict == "park":
        raise Rejected(
            f"somebody has committed to the Iceberg table {name} at the target {settings.name!r}: "
            f"it is at {its}, where the source has not been",
            'bring that commit to the source, or give it up: on_conflict = "adopt", pysync parked retry',
        )
    log.warning("conflict_found", target=settings.name, table=str(name), pointer=its, wanted=pointer(wanted))
    return settings.on_conflict == "skip"


def _plain(at: str) -> str:
    """A location as AWS writes it: Hadoop has other schemes for S3."""
    return _HADOOPS_S3.sub("s3://", at)
