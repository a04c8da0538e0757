"""Errors of a Spark session as errors of a metastore, which pysync.targets.hms.errors sorts into kinds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.errors import PysyncError
from pysync.base.text import one_line
from pysync.metastore.errors import MetastoreCallFailed
from pysync.targets.spark.session import SparkHost, reason

_HIVES = "org.apache.hadoop.hive.metastore.api."
_MOST_CAUSES = 20
_LONGEST = 400  # characters: what was tried stands before it
_BROKEN = re.compile(r"TTransportException|TProtocolException|SocketException|SocketTimeoutException|ConnectException")
_ABSENT = re.compile(r"\bNoSuch\w*Exception|_NOT_FOUND\]|(Table|Database|Partition) not found")
_EXISTS = re.compile(r"AlreadyExists?Exception|_ALREADY_EXISTS?\]|already exists")


# What Spark or Hive's own code in its process refuse: types, names, formats and serdes whose class is not there.
_REFUSED = re.compile(
    r"AnalysisException|ParseException|IllegalArgumentException|HiveException|SerDeException|ClassNotFoundException|"
    r"SparkUnsupportedOperationException|URISyntaxException|InvalidFormatException|NoClassDefFoundError"
)


# A serde that Hive's own code in Spark's process does not find; as a MetaException that would be taken for an accident.
_NO_CLASS = re.compile(r"ClassNotFoundException|NoClassDefFoundError|does not exist")

_KINDS = (
    (_EXISTS, hive.AlreadyExistsException),
    (_ABSENT, hive.NoSuchObjectException),
    (_REFUSED, hive.InvalidObjectException),
)


@dataclass(frozen=True, slots=True)
class Cause:
    """A Java exception: its class and what it says."""

    name: str
    text: str


@contextmanager
def hive_errors(host: SparkHost, session: Any, action: str) -> Iterator[None]:
    """Turn what py4j and pyspark raise into errors of a metastore; `action` describes the call.

    Raises hive's own exceptions, MetastoreCallFailed where nobody knows whether it was done, or a plain PysyncError.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with pyspark, which is an extra
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (Py4JError, PySparkException, OSError) as error:
        if host.failed(session):
            raise MetastoreCallFailed(
                f"Spark ended during {action}: {reason(error)}", f"its log: {host.log_file}"
            ) from error
        raise hive_error(causes(error), action) from error


@contextmanager
def _absent_or_not() -> Iterator[None]:
    """Ignore that an object is not there."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with pyspark, which is an extra

    try:
        yield
    except Py4JError as error:
        if not isinstance(hive_error(causes(error), "drop"), hive.NoSuchObjectException):
            raise


def causes(error: BaseException) -> list[Cause]:
    """The Java exception behind an error of pyspark's, and its causes; empty if there is none."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    chain: list[Cause] = []
    while java is not None and len(chain) < _MOST_CAUSES:
        chain.append(Cause(java.getClass().getName(), java.getMessage() or ""))
        java = java.getCause()
    return chain or [Cause(type(error).__name__, str(error))]


def hive_error(chain: Sequence[Cause], action: str) -> Exception:
    """The error of a metastore that says the same. Pure."""
    for cause in chain:
        kind = getattr(hive, cause.name.removeprefix(_HIVES), None) if cause.name.startswith(_HIVES) else None
        if kind is not None and not (kind is hive.MetaException and _NO_CLASS.search(cause.text)):
            return kind(one_line(cause.text, _LONGEST) or cause.name)  # type: ignore[no-any-return]
    message = next((line for cause in chain if (line := one_line(cause.text, _LONGEST))), chain[-1].name)
    if any(_BROKEN.search(cause.name) for cause in chain):
        return MetastoreCallFailed(f"Spark's metastore did not answer {action}: {message}")
    texts = [f"{cause.name}: {cause.text}" for cause in chain]
    for pattern, refusal in _KINDS:
        if any(pattern.search(text) for text in texts):
            return refusal(message)  # type: ignore[no-any-return]
    return PysyncError(f"Spark failed in {action}: {chain[-1].name}: {message}", "see the log of Spark")
