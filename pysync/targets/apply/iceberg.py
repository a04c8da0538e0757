"""Iceberg's pointer: the table parameter that a commit moves. It names the metadata file that is the table.

pysync moves it only from a place where the source had it, as a commit does. Otherwise it would overwrite what somebody
has committed at the target, and nobody would notice.
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
