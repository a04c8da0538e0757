"""What several tests need; the fixtures are in tests/conftest.py."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes

from pysync.metastore.client import Metastore

SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
INPUT = "org.apache.hadoop.mapred.TextInputFormat"
OUTPUT = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"


def wait_until(condition: Callable[[], bool], *, seconds: float = 60.0, what: str = "it") -> None:
    """Return as soon as the condition holds; AssertionError if it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {seconds:g} s")
        time.sleep(0.02)


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
