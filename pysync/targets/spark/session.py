"""The one Spark session of this process: started when it is first wanted, started again when it has died.

A process can have one SparkContext. Whoever needs Spark, targets and copiers alike, shares one SparkHost.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import shutil
import tempfile
import threading
import warnings
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from pysync.base.errors import UsageError
from pysync.base.installation import install_extra
from pysync.targets.base import Unavailable
from pysync.targets.spark_request import SparkRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_END_SECONDS = 5
_STARTING_SECONDS = 1
_LISTS = {"spark.jars": ",", "spark.driver.extraJavaOptions": " "}
_AT_LAUNCH = tuple(
    f"spark.{it}" for it in ("app.", "driver.", "jars", "kerberos.", "kubernetes.", "master", "submit.", "yarn.")
)
"""The settings that the JVM needs at its start, by prefix. Only these are on its command line, which all can read."""
AUTHENTICATED = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true", "spark.ui.enabled": "false"}
"""Whoever reaches a port of Spark's has to know a secret; for a session here or on YARN, Spark makes it at each start.

Without it the driver deserializes every Java object that it is sent.
"""
AUTHENTICATED_LOCAL = AUTHENTICATED | {
    "spark.network.crypto.saslFallback": "false",  # there is nobody that can only speak the older protocol
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
"""The same for a session that is one process: it listens on loopback, with nobody else to talk to."""
_MARK = "spark.pysync.session"
"""Whether a running session was made for the same request, and can be shared: any other has another catalog."""
_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {file}
appender.file.filePattern = {file}.%i
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = {megabytes}MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.fileIndex = min
appender.file.strategy.max = {older}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c{{1}}: %m%n%ex
"""
_LOG_MEGABYTES = 10
_OLDER_LOGS = 3
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""To these pyspark logs each exception of the JVM's that has a place in a query, with its traceback."""

log = structlog.get_logger(__name__)


def assert_spark() -> None:
    """Raises UsageError when pyspark is not installed."""
    if importlib.util.find_spec("pyspark") is None:
        raise UsageError("pysync needs Spark, but pyspark is not installed", install_extra("spark"))


class SparkHost:
    """A Spark session for any number of threads. Nothing is started before it is wanted."""

    def __init__(self, request: SparkRequest, directory: Path | None = None, jars: Sequence[Path] = ()) -> None:
        """`directory` is for Spark's logs and its scratch files; a temporary one unless given.

        Raises UsageError when pyspark is not installed.
        """
        assert_spark()
        self._request = request
        self._mark = hashlib.sha256(repr((request, sorted(map(str, jars)))).encode()).hexdigest()
        self._jars = list(jars)
        self._directory = directory or self._temporary()
        self.log_file = self._directory / "spark.log"
        self.output_file = self._directory / "spark.out"
        """What the JVM and spark-submit print, before there is a log and beside it; that of the last start has `.1`."""
        self._lock = threading.Lock()
        self._session: SparkSession | None = None
        self._closed = False

    def session(self) -> SparkSession:
        """The session, started if need be: that takes seconds. Raises Unavailable when it does not start."""
        with self._lock:
            if self._session is None and not self._closed:
                try:
                    self._session = self._start()
                except Exception as error:
                    hint = f"its log: {self.log_file}, and what it printed: {self.output_file}"
                    raise Unavailable(f"Spark cannot start: {reason(error)}", hint) from error
            # `close` gave up waiting for this start.
            if self._session is not None and self._closed:
                _end(self._session)
                self._session = None
            if self._session is None:
                raise Unavailable("Spark is stopped")
            return self._session

    def failed(self, session: SparkSession) -> bool:
        """Report a failure with this session. True if it has died; the next call starts another then."""
        if _answers(session):
            return False
        with self._lock:
            if self._session is session:
                self._session = None
                log.warning("spark_ended")
                _end(session)
        return True

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

    def _temporary(self) -> Path:
        made = tempfile.mkdtemp(prefix="pysync-spark-")
        weakref.finalize(self, shutil.rmtree, made, ignore_errors=True)
        return Path(made)

    def _start(self) -> SparkSession:
        from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - an extra, and slow to load
        from pyspark.sql import SparkSession  # noqa: PLC0415

        running = SparkContext._active_spark_context
        if running is not None and running.getConf().get(_MARK) != self._mark:
            raise RuntimeError("another Spark session runs in this process, but a process can have only one")
        settings = self._all_settings()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # pyspark leaves its launcher's pipes open
            at_launch = [(key, value) for key, value in settings.items() if key.startswith(_AT_LAUNCH)]
            # This launches the JVM; the builder then brings all the other settings, off the command line.
            if SparkContext._gateway is None:
                self._launch(SparkConf().setAll(at_launch))
            builder: Any = SparkSession.builder.config(conf=SparkConf().setAll(list(settings.items())))
            session: SparkSession = builder.getOrCreate()
        silence_refusals(session)
        log.info("spark_started", master=session.sparkContext.master, application=session.sparkContext.applicationId)
        return session

    def _launch(self, settings: Any) -> None:
        """Start the JVM. What it prints goes to a file: on the sidecar's standard error it would be no log line."""
        from pyspark import SparkContext  # noqa: PLC0415 - an extra
        from pyspark.java_gateway import launch_gateway  # noqa: PLC0415

        silence_loggers()
        if self.output_file.exists():
            # It may say why the last one has died.
            self.output_file.replace(self.output_file.with_suffix(".out.1"))
        with self.output_file.open("wb") as output:
            gateway = launch_gateway(settings, {"stdout": output, "stderr": output})
        SparkContext._ensure_initialized(gateway=gateway, conf=settings)

    def _all_settings(self) -> dict[str, str]:
        java = (
            f"-Dlog4j2.configurationFile={log_settings(self._directory).as_uri()} -Dderby.system.home={self._directory}"
        )
        settings = {
            **(AUTHENTICATED_LOCAL if self._request.is_local else AUTHENTICATED),
            "spark.master": self._request.master or f"local[{self._request.threads}]",
            "spark.app.name": "pysync",
            _MARK: self._mark,
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.catalogImplementation": "hive" if self._request.catalog else "in-memory",
            "spark.sql.adaptive.enabled": "false",  # a call is one task: nothing to plan, nothing to compile
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.warehouse.dir": str(self._directory / "spark-warehouse"),
            "spark.driver.extraJavaOptions": java,
        }
        if self._request.catalog:
            # Hive's own default is ten minutes.
            settings["spark.hadoop.hive.metastore.client.socket.timeout"] = "120s"
        if self._jars:
            settings["spark.jars"] = ",".join(map(str, self._jars))
        return _joined(settings, dict(self._request.settings))


def silence_loggers() -> None:
    """Keep pyspark from logging what it raises as well: the text may quote a query, and so a value of a table."""
    with suppress(ImportError):  # before pyspark 4 there are none
        from pyspark.logger import PySparkLogger  # noqa: PLC0415 - an extra

        for name in _LOGGERS:
            PySparkLogger.getLogger(name).handlers[:] = [logging.NullHandler()]


def silence_refusals(session: SparkSession) -> None:
    """Keep pyspark from printing a traceback for each caller of its port in this process that knows no secret."""
    server: Any = session.sparkContext._accumulatorServer
    server.handle_error = lambda *_: None


def log_settings(directory: Path) -> Path:
    """A file in `directory` by which Spark logs to spark.log beside it, which is bounded: older ones have a number."""
    file = directory / "spark-log4j2.properties"
    text = _LOG4J.format(file=directory / "spark.log", megabytes=_LOG_MEGABYTES, older=_OLDER_LOGS)
    file.write_text(text, encoding="utf-8")
    return file.absolute()


def _joined(defaults: dict[str, str], chosen: dict[str, str]) -> dict[str, str]:
    """The operator's settings win. But their jars and Java options are added to ours, which are always needed."""
    both = {name: it for name, it in _LISTS.items() if name in defaults and name in chosen}
    return {
        **defaults,
        **chosen,
        **{name: f"{defaults[name]}{between}{chosen[name]}" for name, between in both.items()},
    }


def reason(error: Exception) -> str:
    """The line that says most: for a Java error its last cause, with which its traceback ends."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return f"{type(error).__name__}: {(causes or lines or [''])[-1 if causes else 0]}"


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
