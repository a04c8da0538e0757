"""What several tests need; the fixtures are in tests/conftest.py."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence, Sized
from pathlib import Path
from typing import Any, TypeVar

from hmsclient.genthrift.hive_metastore import ttypes

from pysync.metastore.client import Metastore

SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
INPUT = "org.apache.hadoop.mapred.TextInputFormat"
OUTPUT = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"

T = TypeVar("T")
S = TypeVar("S", bound=Sized)


def wait_until(condition: Callable[[], bool], *, seconds: float = 60.0, what: str = "it") -> None:
    """Return as soon as the condition holds; AssertionError if it does not within `seconds`.

    Whoever looks at a value afterwards waits for that value: `wait_for_value`.
    """
    accepted, _ = _read_until(condition, bool, seconds)
    assert accepted, f"{what} did not happen within {seconds:g} s"


def wait_for_value(read: Callable[[], T], expected: T, *, seconds: float = 60.0, what: str = "it") -> T:
    """Return what `read` gives as soon as that is `expected`; AssertionError with the last value if it never is."""
    accepted, last = _read_until(read, lambda value: value == expected, seconds)
    assert accepted, f"{what} did not happen within {seconds:g} s: {last!r} is not {expected!r}"
    return last


def wait_for_items(read: Callable[[], S], least: int, *, seconds: float = 60.0, what: str = "it") -> S:
    """Return what `read` gives as soon as it has so many items; AssertionError with the last value if it never has.

    Only for items that never change once they are there, such as lines of a log. For all others: `wait_for_value`.
    """
    accepted, last = _read_until(read, lambda value: len(value) >= least, seconds)
    assert accepted, f"{what} did not happen within {seconds:g} s: {last!r} has fewer than {least}"
    return last


def _read_until(read: Callable[[], T], accepts: Callable[[T], bool], seconds: float) -> tuple[bool, T]:
    """What `read` gives when it is accepted, or last within `seconds`; and whether it is accepted."""
    deadline = time.monotonic() + seconds
    while not (accepted := accepts(value := read())) and time.monotonic() <= deadline:
        time.sleep(0.02)
    return accepted, value


def process_is_gone(pid: int) -> bool:
    """Whether no program runs under this id (Linux); one that has ended and was not yet waited for is gone too."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in {"Z", "X"}


def new_database(metastore: Metastore, prefix: str = "db") -> str:
    """Create a database with a name that nobody else has, and say its name."""
    name = f"{prefix}_{uuid.uuid4().hex[:12]}"
    database = ttypes.Database(name=name, description="a test's", parameters={})
    metastore.call(lambda client: client.create_database(database))
    return name


def storage(columns: Sequence[tuple[str, str]] = (("id", "bigint"),), location: str | None = None) -> Any:
    """A text-file `ttypes.StorageDescriptor`."""
    return ttypes.StorageDescriptor(
        cols=[ttypes.FieldSchema(name, kind, None) for name, kind in columns],
        location=location,
        inputFormat=INPUT,
        outputFormat=OUTPUT,
        compressed=False,
        numBuckets=-1,
        serdeInfo=ttypes.SerDeInfo(None, SERDE, {}),
        bucketCols=[],
        sortCols=[],
        parameters={},
    )


def table(
    database: str,
    name: str,
    *,
    partition_keys: Sequence[tuple[str, str]] = (),
    location: str | None = None,
    parameters: dict[str, str] | None = None,
) -> Any:
    """An external `ttypes.Table` with one column, `id`."""
    return ttypes.Table(
        tableName=name,
        dbName=database,
        owner="tester",
        createTime=0,
        lastAccessTime=0,
        retention=0,
        sd=storage(location=location),
        partitionKeys=[ttypes.FieldSchema(key, kind, None) for key, kind in partition_keys],
        parameters={"EXTERNAL": "TRUE", **(parameters or {})},
        tableType="EXTERNAL_TABLE",
    )


def partition(of: Any, values: Sequence[str]) -> Any:
    """A `ttypes.Partition` of a table as it was read from a metastore, in its default place."""
    return ttypes.Partition(
        values=list(values), dbName=of.dbName, tableName=of.tableName, sd=storage(), parameters={}, createTime=0
    )
