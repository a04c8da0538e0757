"""A trial: one statement as any program sends it, through Python's DB-API, and its result read back.

It proves what no simulation of rights can: that statements run, and that results can be written where they go. The
statements of changes do not go this way: pyathena asks about each one alone.
"""

from __future__ import annotations

from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

import pyathena
from pyathena.async_cursor import AsyncCursor

from pysync.base.errors import PysyncError
from pysync.base.text import count
from pysync.targets.athena.failures import Ending, failure
from pysync.targets.athena.settings import PRIMARY, AthenaSettings
from pysync.targets.aws.clients import client
from pysync.targets.aws.errors import classified
from pysync.targets.base import Unavailable

STATEMENT = "SHOW DATABASES"


def probe(settings: AthenaSettings) -> str:
    """`Athena lists 12 databases`. Changes nothing. Raises Unavailable, Forbidden, Missing or Rejected."""
    action = f"{STATEMENT} on target {settings.name!r}"
    try:
        with classified(action, reading=True):
            cursor = _connection(settings).cursor()
        try:
            return f"Athena lists {count(_rows(cursor, settings.statement_timeout_seconds), 'database')}"
        except FutureTimeout:
            raise Unavailable(f"{action} did not end within {settings.statement_timeout_seconds:g} s") from None
        finally:
            cursor.close(wait=False)  # its threads may still ask about a statement that hangs
    except pyathena.Error as error:
        raise _classified_error(error, action) from error


def _rows(cursor: Any, seconds: float) -> int:
    query, future = cursor.execute(STATEMENT)
    try:
        return len(future.result(timeout=seconds).fetchall())
    except FutureTimeout:
        cursor.cancel(query)
        raise


def _connection(settings: AthenaSettings) -> Any:
    return pyathena.connect(
        session=_Session(settings),
        s3_staging_dir=settings.staging or "",
        work_group=settings.work_group or ("" if settings.staging else PRIMARY),
        region_name=client(settings, "athena").meta.region_name,
        catalog_name=settings.catalog or "AwsDataCatalog",
        poll_interval=settings.poll_seconds,
        cursor_class=AsyncCursor,
        cursor_kwargs={"max_workers": 2},  # one asks until the statement ends, the other can cancel it
    )


class _Session:
    """What pyathena asks of boto3's session; it gets the target's own clients, with their endpoints and limits."""

    def __init__(self, settings: AthenaSettings) -> None:
        self._settings = settings

    def client(self, service: str, **_: Any) -> Any:
        """The target's client of a service."""
        return client(self._settings, service)


def _classified_error(error: Exception, action: str) -> PysyncError:
    """The error of a target for the error of botocore that pyathena has wrapped, or for a statement that failed."""
    cause = error.__cause__
    if cause is None:
        return failure(Ending("FAILED", str(error)), action)
    try:
        with classified(action, reading=True):
            raise cause
    except PysyncError as classified_error:
        return classified_error
