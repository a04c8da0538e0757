"""Running one statement in Athena: start it, wait for its end within a deadline, say what became of it.

pyathena (4.2.1) knows no deadline, drops the type of a failure when it raises, and raises for a statement that was done
if its results cannot be read. Its AsyncCursor gives the query's id, by which Athena can be asked what became of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from typing import Any

import pyathena
import structlog
from pyathena.async_cursor import AsyncCursor
from pyathena.util import RetryConfig

from pysync.errors import PysyncError
from pysync.targets.athena.errors import Ending, failure
from pysync.targets.athena.settings import PRIMARY, AthenaSettings
from pysync.targets.athena.statements import summary
from pysync.targets.aws.errors import classified
from pysync.targets.aws.session import client, tell_calls
from pysync.targets.base import OutcomeUnknown, Unavailable

_SETTLE_SECONDS = 10.0
"""How long the end of a cancelled statement is waited for."""

log = structlog.get_logger(__name__)


class Athena:
    """Runs statements, one at a time."""

    def __init__(self, settings: AthenaSettings) -> None:
        self._settings = settings
        self._connection: Any = None
        self._unfinished: str | None = None
        self._name = settings.name
        self._where = f"target {settings.name!r}"

    def check(self) -> str:
        """The work group and its state. Raises Unavailable or Rejected."""
        group = self._settings.work_group or PRIMARY
        with classified(f"cannot see the work group {group!r} of {self._where}", reading=True):
            found = client(self._settings, "athena").get_work_group(WorkGroup=group)["WorkGroup"]
        if found.get("State", "ENABLED") != "ENABLED":
            raise Unavailable(f"the work group {group!r} of {self._where} is disabled", "enable the work group")
        return f"Athena work group {group}"

    def run(self, statement: str, database: str | None = None) -> None:
        """Run a statement, with this database as the current one, until Athena has done it.

        A statement whose end nobody has seen is ended first: it must not be done after a later one.
        Raises Unavailable, Rejected, Missing or OutcomeUnknown; the statement may be run again after any of them.
        """
        cursor = self._cursor(database)
        try:
            self._settle(cursor)
            self._run(cursor, statement)
        finally:
            # Its threads may still poll a statement that hangs.
            cursor.close(wait=False)

    def tell_calls(self, on_call: Callable[[str], object]) -> None:
        """Call `on_call` with the name of each request to Athena."""
        tell_calls(self._settings, "athena", on_call)

    def close(self) -> None:
        """Forget the connection, which holds nothing of its own."""
        self._connection = None

    def _run(self, cursor: Any, statement: str) -> None:
        short = summary(statement)
        what = f"{short} on {self._where}"
        started = time.monotonic()
        query, future = _start(cursor, statement, what)
        self._unfinished = query
        ending = self._ending(cursor, query, future, short)
        self._unfinished = None if ending.is_final else query
        log.debug("statement_finished", target=self._name, statement=short, query=query, state=ending.state)
        if not ending.is_final:
            waited = time.monotonic() - started
            raise OutcomeUnknown(f"{what}: query {query} did not finish within {waited:.0f} s and was cancelled")
        if not ending.succeeded:
            raise failure(ending, f"{what}: query {query}")

    def _ending(self, cursor: Any, query: str, future: Future[Any], statement: str) -> Ending:
        """How the query ended, as its result set says, or else as Athena says when it is asked by the query's id."""
        deadline = time.monotonic() + self._settings.statement_timeout_seconds
        try:
            return _seen(future.result(timeout=self._settings.statement_timeout_seconds))
        except FutureTimeout:
            return _cancelled(cursor, query)
        except pyathena.Error as lost:
            told = str(lost)[:200]
            log.info("statement_unconfirmed", target=self._name, statement=statement, query=query, reason=told)
        try:
            # A second at least, for an end that has come already to be seen.
            return _seen(cursor.poll(query).result(timeout=max(deadline - time.monotonic(), 1.0)))
        except FutureTimeout:
            return _cancelled(cursor, query)
        except pyathena.Error as error:
            what = f"{statement} on {self._where}"
            raise OutcomeUnknown(f"{what}: the result of query {query} is unknown: {error}"[:500]) from error

    def _settle(self, cursor: Any) -> None:
        """Make sure that the statement before this one has ended. Raises Unavailable while Athena does not tell."""
        query = self._unfinished
        if query is None:
            return
        what = f"query {query} on {self._where}"
        try:
            ending = _cancelled(cursor, query)
        except pyathena.Error as error:
            raise _cause(error, what, reading=True) from error
        if not ending.is_final:
            raise Unavailable(f"{what} was cancelled but has not ended yet")
        self._unfinished = None

    def _cursor(self, database: str | None) -> Any:
        if self._connection is None:
            self._connection = self._connect()
        # Two threads: one polls until the statement ends, and the other must be free to cancel it.
        return self._connection.cursor(schema_name=database, max_workers=2)

    def _connect(self) -> Any:
        settings = self._settings
        with classified(f"{self._where} cannot use Athena", reading=True):
            return pyathena.connect(
                session=_Clients(settings),
                s3_staging_dir=settings.staging or "",
                work_group=settings.work_group or ("" if settings.staging else PRIMARY),
                region_name=settings.region,
                schema_name=None,
                catalog_name=settings.catalog or "AwsDataCatalog",
                poll_interval=settings.poll_seconds,
                cursor_class=AsyncCursor,
                retry_config=RetryConfig(attempt=1),  # botocore tries again; both would multiply
                # It would start one more thread for each statement.
                kill_on_interrupt=False,
                result_reuse_enable=False,
            )


class _Clients:
    """As much of a boto3 session as pyathena uses: it gives the clients that all lanes share."""

    def __init__(self, settings: AthenaSettings) -> None:
        self._settings = settings
        self.region_name = settings.region

    def client(self, service: str, **_: Any) -> Any:
        """The target's client of that service."""
        return client(self._settings, service)


def _start(cursor: Any, statement: str, what: str) -> tuple[str, Future[Any]]:
    try:
        # cache_size=0: an identical statement of before must not stand in for this one.
        query, future = cursor.execute(statement, cache_size=0)
    except pyathena.Error as error:
        raise _cause(error, what, reading=False) from error
    return str(query), future


def _seen(result: Any) -> Ending:
    """The ending in a result set or query execution of pyathena's: both have the same fields for it."""
    return Ending(result.state or "", result.state_change_reason or "", result.error_type)


def _cancelled(cursor: Any, query: str) -> Ending:
    """Ask Athena to stop the query, and see how it ends: it may be done all the same."""
    with suppress(pyathena.Error):
        cursor.cancel(query).result(timeout=_SETTLE_SECONDS)
    try:
        return _seen(cursor.poll(query).result(timeout=_SETTLE_SECONDS))
    except FutureTimeout:
        return Ending("RUNNING")


def _cause(error: Exception, what: str, *, reading: bool) -> PysyncError:
    """The error of a target for the botocore error that pyathena has wrapped."""
    try:
        with classified(what, reading=reading):
            raise error.__cause__ or error
    except PysyncError as found:
        return found
    except pyathena.Error:
        return PysyncError(f"{what}: {error}"[:500])
