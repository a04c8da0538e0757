"""The workers that copy: tasks of a Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pysync.targets.base import Unavailable
from pysync.targets.spark.session import SparkHost, reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_CLASS = "org.pysync.copy.FileCopy"


class Workers(Protocol):
    """Runs methods of the Java class, from several threads at once."""

    def call(self, method: str, request: str) -> str:
        """Run a method of org.pysync.copy.FileCopy somewhere; blocks. Raises Unavailable when that cannot be."""


class SparkWorkers:
    """Tasks of one Spark session; any number of threads may call, a call is a job of one task."""

    def __init__(self, host: SparkHost) -> None:
        """The session may have other users, too; it has the jar of `copy_jar`."""
        self.host = host

    def call(self, method: str, request: str) -> str:
        """Run a method of the Java class in a Spark task. Raises Unavailable when Spark cannot."""
        session = self.host.session()
        try:
            return _run(session, method, request)
        except Exception as error:
            self.host.failed(session)
            raise Unavailable(f"Spark cannot copy: {reason(error)}", f"its log: {self.host.log_file}") from error

    def close(self) -> None:
        """End the session and what runs in it; calls raise Unavailable from then on. May be called twice."""
        self.host.close()


def _run(session: SparkSession, method: str, request: str) -> str:
    from pyspark.sql import functions as sql  # noqa: PLC0415 - an extra

    # `reflect` calls a static Java method within a task: executors need no Python.
    called = sql.call_function("reflect", sql.lit(_CLASS), sql.lit(method), sql.lit(request))
    rows = session.range(0, 1, 1, 1).select(called).collect()
    return str(rows[0][0])
