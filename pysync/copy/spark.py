"""The Spark session that copies: started when it is first wanted, started again when it has died."""

from __future__ import annotations

import importlib.util
import threading
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import structlog

from pysync.errors import UsageError
from pysync.targets.base import Unavailable
from pysync.targets.settings import CopySettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_END_SECONDS = 5
_STARTING_SECONDS = 1
_CLASS = "org.pysync.copy.FileCopy"
_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c{{1}}: %m%n%ex
"""

log = structlog.get_logger(__name__)


class Workers(Protocol):
    """Who does what the Java class can; from several threads at once."""

    def call(self, method: str, request: str) -> str:
        """Run a method of org.pysync.copy.FileCopy somewhere; blocks. Raises Unavailable when that cannot be."""


class SparkWorkers:
    """Tasks of one Spark session; any number of threads may call, a call is a job of one task."""

    def __init__(self, settings: CopySettings, jar: Path, directory: Path) -> None:
        """`directory` is for Spark's log and its scratch files. Raises UsageError when pyspark is not installed."""
        if importlib.util.find_spec("pyspark") is None:
            raise UsageError("copy needs pyspark, which is not installed", "pip install 'pysync[spark]'")
        self._settings = settings
        self._jar = jar
        self._directory = directory
        self._log = directory / "spark.log"
        self._lock = threading.Lock()
        self._session: SparkSession | None = None
        self._closed = False

    def call(self, method: str, request: str) -> str:
        """Run a method of the Java class in a Spark task. Raises Unavailable when Spark cannot."""
        session = self._opened()
        try:
            return _run(session, method, request)
        except Exception as error:
            if not _answers(session):
                self._forget(session)
            raise Unavailable(f"Spark cannot copy: {_reason(error)}", f"its log: {self._log}") from error

    def close(self) -> None:
        """End the session and what runs in it; calls raise Unavailable from then on. May be called twice."""
        self._closed = True
        if not self._lock.acquire(timeout=_STARTING_SECONDS):
            return  # it is just starting: whoever starts it sees to its end
        try:
            if self._session is not None:
                _end(self._session)
            self._session = None
        finally:
            self._lock.release()

    def _opened(self) -> SparkSession:
        with self._lock:
            if self._session is None and not self._closed:
                try:
                    self._session = self._start()
                except Exception as error:
                    raise Unavailable(f"Spark does not start: {_reason(error)}", f"its log: {self._log}") from error
            if self._session is not None and self._closed:
                _end(self._session)
                self._session = None
            if self._session is None:
                raise Unavailable("Spark is stopped")
            return self._session

    def _forget(self, session: SparkSession) -> None:
        with self._lock:
            if self._session is not session:
                return
            self._session = None
            log.warning("Spark has ended; it is started again when it is wanted")
            _end(session)

    def _start(self) -> SparkSession:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra, and slow to load

        builder: Any = SparkSession.builder
        for key, value in self._all_settings().items():
            builder = builder.config(key, value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # pyspark leaves its launcher's pipes open
            session: SparkSession = builder.getOrCreate()
        log.info("Spark runs", master=session.sparkContext.master, application=session.sparkContext.applicationId)
        return session

    def _all_settings(self) -> dict[str, str]:
        master = self._settings.master or f"local[{self._settings.parallelism}]"
        found = {
            "spark.master": master,
            "spark.app.name": "pysync copy",
            "spark.jars": str(self._jar),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.catalogImplementation": "in-memory",
            "spark.sql.adaptive.enabled": "false",  # a call is one task: nothing to plan, nothing to compile
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.warehouse.dir": str(self._directory / "spark-warehouse"),
            "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={self._log_settings().as_uri()}",
        }
        if master.startswith("local"):
            found |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
        return found | self._settings.spark

    def _log_settings(self) -> Path:
        file = self._directory / "spark-log4j2.properties"
        file.write_text(_LOG4J.format(file=self._log), encoding="utf-8")
        return file.absolute()


def _run(session: SparkSession, method: str, request: str) -> str:
    from pyspark.sql import functions as sql  # noqa: PLC0415 - an extra

    called = sql.call_function("reflect", sql.lit(_CLASS), sql.lit(method), sql.lit(request))
    rows = session.range(0, 1, 1, 1).select(called).collect()
    return str(rows[0][0])


def _end(session: SparkSession) -> None:
    """Stop the session and its JVM, and let pyspark forget both: it would go on with a JVM that is dead."""
    from pyspark import SparkContext  # noqa: PLC0415 - an extra

    gateway = SparkContext._gateway
    for end in (session.sparkContext.cancelAllJobs, session.stop):
        with suppress(Exception):
            end()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    type(session)._instantiatedSession = None
    if gateway is not None:
        with suppress(Exception):
            gateway.shutdown()
        with suppress(Exception):
            gateway.proc.stdin.close()  # at which it ends
            gateway.proc.wait(_END_SECONDS)


def _answers(session: SparkSession) -> bool:
    try:
        return not session.sparkContext._jsc.sc().isStopped()
    except Exception:  # noqa: BLE001 - whatever it is, it is no answer
        return False


def _reason(error: Exception) -> str:
    """The line that tells: of a Java error the last cause, as its traceback ends with that."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return f"{type(error).__name__}: {(causes or lines or [''])[-1 if causes else 0]}"
