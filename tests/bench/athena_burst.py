"""glue.athena_burst: what throttling costs a target of kind athena, and a day's DDL at Athena's documented quotas.

The embedded Athena throttles calls and refuses statements as the real one does by default, and each statement takes a
second. Hive runs them one after the other, but faster than that: the quotas and the target are what is measured.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from pysync.lab.aws import EmbeddedAws
from pysync.model.event import Event
from pysync.queue import EventQueue
from pysync.replay.drain import Drain
from pysync.replay.replayer import Replayer
from pysync.replay.window.translate import Translator
from pysync.targets.kinds import target_kind
from tests.bench.frame import Row, Say
from tests.bench.histories import History
from tests.bench.replay import append_all, draining

_STATEMENTS = 300
_THROTTLES = 50
_LATENCY_SECONDS = 1.0
_WAREHOUSE = "s3://bench/warehouse"
_TABLES, _DROPPED, _PARTITIONS = 76, 24, 100
_EVENTS = 377


@dataclass(frozen=True, slots=True)
class Burst:
    """What a history took: statements that Athena ran, calls of Athena, seconds."""

    statements: int
    calls: int
    seconds: float


def rows(directory: Path, say: Say) -> Iterator[Row]:
    """The rows `glue.athena_burst`, `glue.athena_burst.*` and `glue.athena_stream.*`."""
    with (
        EmbeddedAws(directory / "burst", latency=_LATENCY_SECONDS, quotas=True) as aws,
        mock.patch.dict(os.environ, aws.environment()),
    ):
        say(f"athena: {_STATEMENTS} statements, undisturbed")
        _drained(aws, directory, "databases", [History(name, _WAREHOUSE).begin() for name in ("calm", "storm")])
        calm = _drained(aws, directory, "calm", _creates("calm"))
        say(f"athena: {_STATEMENTS} statements, {_THROTTLES} throttles")
        aws.fault("Athena.StartQueryExecution", code="ThrottlingException", reason="Rate exceeded", count=_THROTTLES)
        storm = _drained(aws, directory, "storm", _creates("storm"))
        say(f"athena: a stream of {_EVENTS} events")
        # In small windows, as they come in the course of a day: little of it can be folded.
        stream = _drained(aws, directory, "stream", _stream("stream"), window=40)
        _check(aws)
    yield Row("glue.athena_burst", storm.seconds / calm.seconds, "times undisturbed", goal=1.5)
    yield Row("glue.athena_burst.seconds", storm.seconds, "s", baseline=calm.seconds)
    yield Row("glue.athena_burst.calls", calm.calls, "calls of Athena", baseline=float(calm.statements))
    yield Row("glue.athena_stream.seconds", stream.seconds, "s", goal=60.0)
    yield Row("glue.athena_stream.statements", stream.statements, "statements", baseline=float(_EVENTS))


def _creates(database: str) -> list[Event]:
    """Tables of a database that is there: each is one statement."""
    made = History(database, _WAREHOUSE)
    return [made.create(made.table(f"t{number}")) for number in range(_STATEMENTS)]


def _stream(database: str) -> list[Event]:
    """What a warehouse's jobs do to many tables: create, load, alter, load, drop some."""
    made = History(database, _WAREHOUSE)
    owners = [made.table(f"t{number}") for number in range(_TABLES)]
    events = [made.begin(), *map(made.create, owners), *made.ingest(owners, _PARTITIONS)]
    events += [made.alter(owner, note="later") for owner in owners]
    events += made.ingest(owners[_DROPPED:], _PARTITIONS)
    events += map(made.drop, owners[:_DROPPED])
    return events


def _drained(aws: EmbeddedAws, directory: Path, name: str, events: Sequence[Event], **values: object) -> Burst:
    """Drain the events with a target's default settings but for `values`."""
    kind = target_kind("athena")
    place = {"kind": "athena", "name": "lake", "region": aws.region, "endpoint_url": aws.url}
    settings = kind.settings.model_validate({**place, "staging": "s3://bench/athena/", **values})
    with EventQueue(directory / name, min_free_bytes=0) as queue:
        queue.target("lake").register()
        append_all(queue, iter(events))
        aws.reset_calls()
        began = time.perf_counter()
        with draining(Drain(Replayer(queue, settings, Translator.of(settings)), lambda: kind.open(settings)), queue):
            pass
        seconds = time.perf_counter() - began
        if queue.target("lake").parked.count():
            raise RuntimeError(f"events were parked: {queue.target('lake').parked.events(limit=1)}")
    calls = [count for call, count in aws.calls().items() if call.startswith("Athena.")]
    return Burst(sum(aws.statements().values()), sum(calls), seconds)


def _check(aws: EmbeddedAws) -> None:
    """Everything must be there, or the figures mean nothing."""
    glue = aws.client("glue")
    for database, wanted in (("calm", _STATEMENTS), ("storm", _STATEMENTS), ("stream", _TABLES - _DROPPED)):
        pages = glue.get_paginator("get_tables").paginate(DatabaseName=database)
        found = [table["Name"] for page in pages for table in page["TableList"]]
        if len(found) != wanted:
            raise RuntimeError(f"{len(found)} tables are in {database}, of {wanted}")
