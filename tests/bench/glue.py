"""bench-glue: partitions that are added one by one, on the way to Glue, against one statement or call for each.

Ten thousand events, each of one new partition, over twenty tables, are drained to the embedded AWS. The ancestor of
pysync sends one ALTER TABLE ADD PARTITION for each; whoever writes to Glue without batches, one CreatePartition. Both
are done by hand on a sample, for the embedded Athena takes longer for a statement the more partitions a table has; the
sample has tables as small as they come, which is to the baseline's advantage.

The embedded Glue answers from loopback, at once; the real one does not. So calls are measured twice: as they come, and
with 20 ms more for each, on both sides alike.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from pysync.lab.aws import EmbeddedAws
from pysync.queue import EventQueue
from pysync.replay.drain import Drain
from pysync.replay.replayer import Replayer
from pysync.replay.window.translate import Translator
from pysync.targets.kinds import target_kind
from tests.bench import athena_burst
from tests.bench.frame import Row, Say
from tests.bench.histories import History
from tests.bench.replay import LANES, append_all, draining

_PARTITIONS = 10_000
_TABLES = 20
_SAMPLE = 200
_WAREHOUSE = "s3://bench/warehouse"
_ANSWER_SECONDS = 0.02
_SLOW = ("BatchCreatePartition", "BatchGetPartition", "CreatePartition", "GetTable")


@dataclass(frozen=True, slots=True)
class Run:
    """What it took: partitions, statements of Athena, calls of Glue, seconds."""

    partitions: int
    statements: int
    calls: int
    seconds: float

    @property
    def rate(self) -> float:
        """Partitions a second."""
        return self.partitions / self.seconds


def run(say: Say) -> Iterator[Row]:
    """The rows `glue.athena.*`, `glue.api.*`, `glue.athena_burst*` and `glue.athena_stream*`."""
    with (
        tempfile.TemporaryDirectory(prefix="pysync-bench-") as name,
        EmbeddedAws(Path(name) / "aws") as aws,
        mock.patch.dict(os.environ, aws.environment()),
    ):
        yield from _by_statements(aws, Path(name), say)
        yield from _by_calls(aws, Path(name), say)
    with tempfile.TemporaryDirectory(prefix="pysync-bench-") as name:
        yield from athena_burst.rows(Path(name), say)


def _by_statements(aws: EmbeddedAws, directory: Path, say: Say) -> list[Row]:
    say(f"athena: {_PARTITIONS:,} partitions")
    ours = _replay("athena", "athena", aws, directory)
    say(f"athena: one statement for each of {_SAMPLE} partitions")
    single = _statement_by_statement(aws)
    each, ancestors = ours.statements / ours.partitions, single.statements / single.partitions
    return [
        Row("glue.athena.statements", ours.statements, "statements", baseline=ancestors * ours.partitions),
        Row("glue.athena.statements_ratio", ancestors / each, "times fewer", goal=50.0, more_is_better=True),
        Row("glue.athena.glue_calls", ours.calls, "calls"),
        Row("glue.athena.seconds", ours.seconds, "s"),
        Row("glue.athena.partitions_per_second", ours.rate, "partitions/s", baseline=single.rate, more_is_better=True),
    ]


def _by_calls(aws: EmbeddedAws, directory: Path, say: Say) -> list[Row]:
    say(f"glue: {_PARTITIONS:,} partitions, at once and one call for each of {_SAMPLE * 5}")
    near, near_single = _replay("glue", "near", aws, directory), _call_by_call("near", aws)
    say("glue: the same with slower answers")
    for call in _SLOW:
        aws.fault(f"Glue.{call}", delay_seconds=_ANSWER_SECONDS, count=_PARTITIONS * 10)
    ours, single = _replay("glue", "far", aws, directory), _call_by_call("far", aws)
    aws.clear_faults()
    return [
        Row("glue.api.near_rate_ratio", near.rate / near_single.rate, "times the rate", more_is_better=True),
        Row("glue.api.calls", ours.calls, "calls", baseline=ours.partitions),
        Row("glue.api.seconds", ours.seconds, "s"),
        Row("glue.api.partitions_per_second", ours.rate, "partitions/s", baseline=single.rate, more_is_better=True),
        Row("glue.api.rate_ratio", ours.rate / single.rate, "times the rate", goal=10.0, more_is_better=True),
    ]


def _replay(kind: str, name: str, aws: EmbeddedAws, directory: Path) -> Run:
    """Drain the events into a database of its own; its tables are made before the clock starts."""
    history = History(f"bench_{name}", _WAREHOUSE)
    owners = [history.table(f"t{number}") for number in range(_TABLES)]
    settings = _settings(kind, aws)
    with EventQueue(directory / name, min_free_bytes=0) as queue:
        queue.target("lake").register()
        append_all(queue, iter([history.begin(), *map(history.create, owners)]))
        with _drained(queue, settings):
            pass
        append_all(queue, history.ingest(owners, _PARTITIONS))
        aws.reset_calls()
        began = time.perf_counter()
        with _drained(queue, settings):
            pass
        seconds = time.perf_counter() - began
        if queue.target("lake").parked.count():
            raise RuntimeError(f"events were parked: {queue.target('lake').parked.events(limit=1)}")
    calls = sum(count for name, count in aws.calls().items() if name.startswith("Glue."))
    _check(aws, history.database)
    return Run(_PARTITIONS, sum(aws.statements().values()), calls, seconds)


def _settings(kind: str, aws: EmbeddedAws) -> Any:
    values = {"name": "lake", "kind": kind, "region": aws.region, "endpoint_url": aws.url, "lanes": LANES}
    more = {"staging": "s3://bench/athena/", "poll_seconds": 0.02, "glue_api": "never"} if kind == "athena" else {}
    return target_kind(kind).settings.model_validate(values | more)


@contextmanager
def _drained(queue: EventQueue, settings: Any) -> Iterator[None]:
    kind = target_kind(settings.kind)
    drain = Drain(Replayer(queue, settings, Translator.of(settings)), lambda: kind.open(settings))
    with draining(drain, queue):
        yield


def _check(aws: EmbeddedAws, database: str) -> None:
    """All of them must be there, or the figures mean nothing."""
    pages = aws.client("glue").get_paginator("get_partitions")
    tables = (pages.paginate(DatabaseName=database, TableName=f"t{number}") for number in range(_TABLES))
    found = sum(len(page["Partitions"]) for table in tables for page in table)
    if found != _PARTITIONS:
        raise RuntimeError(f"{found} partitions are there, of {_PARTITIONS}")


def _statement_by_statement(aws: EmbeddedAws) -> Run:
    """As the ancestor does it: for each event a statement, which is waited for."""
    athena = aws.client("athena")
    database = "bench_single"
    _execute(athena, f"CREATE DATABASE {database}", "default")
    for number in range(_TABLES):
        place = f"LOCATION '{_WAREHOUSE}/single/t{number}'"
        _execute(athena, f"CREATE EXTERNAL TABLE t{number} (c string) PARTITIONED BY (day string) {place}", database)
    aws.reset_calls()
    began = time.perf_counter()
    for number in range(_SAMPLE):
        spec = f"PARTITION (day='{number}') LOCATION '{_WAREHOUSE}/single/{number}'"
        _execute(athena, f"ALTER TABLE t{number % _TABLES} ADD IF NOT EXISTS {spec}", database)
    return Run(_SAMPLE, sum(aws.statements().values()), 0, time.perf_counter() - began)


def _execute(athena: Any, statement: str, database: str) -> None:
    query = athena.start_query_execution(
        QueryString=statement,
        QueryExecutionContext={"Database": database},
        ResultConfiguration={"OutputLocation": "s3://bench/athena/"},
    )["QueryExecutionId"]
    while True:
        status = athena.get_query_execution(QueryExecutionId=query)["QueryExecution"]["Status"]
        if status["State"] not in {"QUEUED", "RUNNING"}:
            break
        time.sleep(0.02)
    if status["State"] != "SUCCEEDED":
        raise RuntimeError(f"{statement}: {status}")


def _call_by_call(name: str, aws: EmbeddedAws) -> Run:
    """One CreatePartition after the other."""
    glue, database = aws.client("glue"), f"bench_{name}"
    where = {"DatabaseName": database, "TableName": "single"}
    keys = [{"Name": "day", "Type": "string"}]
    glue.create_table(DatabaseName=database, TableInput={"Name": "single", "PartitionKeys": keys})
    count = _SAMPLE * 5
    began = time.perf_counter()
    for number in range(count):
        storage = {"Location": f"{_WAREHOUSE}/single/{number}", "Columns": [{"Name": "c", "Type": "string"}]}
        glue.create_partition(**where, PartitionInput={"Values": [str(number)], "StorageDescriptor": storage})
    return Run(count, 0, count, time.perf_counter() - began)
