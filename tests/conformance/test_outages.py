"""A target that is not there, hangs, or dies in the middle. On metastores of these tests' own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pysync.lab import EmbeddedMetastore
from pysync.model.names import TableName
from pysync.targets.base import Outcome, OutcomeUnknown, Target, Unavailable
from pysync.targets.hms import HmsSettings, hms_target
from pysync.targets.target import StoreTarget
from tests.conformance.objects import Source, partition, table
from tests.support.hanging import stopped

NAME = TableName("db", "t")


@contextmanager
def a_target(uri: str, **settings: Any) -> Iterator[StoreTarget]:
    target = hms_target(HmsSettings(name="dr", kind="hms", metastore=uri, **settings))
    try:
        yield target
    finally:
        target.close()
        target.close()


def every_call(target: Target, source: Source) -> list[Callable[[], Any]]:
    return [
        target.check,
        lambda: target.database("db"),
        lambda: target.tables("db"),
        lambda: target.table(NAME),
        lambda: list(target.partitions(NAME)),
        lambda: target.apply(source.put_database("db")),
        lambda: target.apply(source.drop_table(NAME)),
    ]


def test_nobody_there(source: Source) -> None:
    with a_target("thrift://127.0.0.1:1") as target:
        for call in every_call(target, source):
            with pytest.raises(Unavailable, match=r"target 'dr' at thrift://127.0.0.1:1"):
                call()


@pytest.mark.crash
def test_frozen_killed_in_the_middle_and_back(metastores: Callable[..., EmbeddedMetastore], source: Source) -> None:
    server = metastores("outages", database="disk")
    with a_target(server.uri, timeout_seconds=2.0) as target:
        assert target.check() == f"1 database at {server.uri}"
        assert target.apply(source.put_database("db")) == Outcome.APPLIED
        _frozen(server, target, source)
    with a_target(server.uri) as target:
        _killed_in_the_middle(server, target, source)


def _frozen(server: EmbeddedMetastore, target: Target, source: Source) -> None:
    """A process that neither answers nor ends. Once it goes on, it does what it was asked before."""
    put = source.put_table(table(NAME, None, keys=["k"]))
    with stopped(server.pid):
        started = time.monotonic()
        with pytest.raises(OutcomeUnknown, match="did not answer"):
            target.apply(put)
        assert time.monotonic() - started < 30
        with pytest.raises(Unavailable, match="did not answer"):
            target.check()
    assert target.apply(put) in {Outcome.APPLIED, Outcome.UNCHANGED}
    assert target.apply(put) == Outcome.UNCHANGED


def _killed_in_the_middle(server: EmbeddedMetastore, target: Target, source: Source) -> None:
    """Whatever it had done by then, the same operation again leads to its end."""
    definition = table(NAME, None, keys=["k"])
    definition.sd.location = target.table(NAME).sd.location
    numbers = {str(number) for number in range(300)}
    put = source.put_partitions(definition, *(partition(definition, [number]) for number in numbers))
    killer = threading.Timer(0.2, server.kill)
    killer.start()
    with pytest.raises((OutcomeUnknown, Unavailable)):
        target.apply(put)
    killer.join()
    for call in every_call(target, source):
        with pytest.raises(Unavailable):
            call()
    server.start()
    target.apply(put)
    assert {part.values[0] for part in target.partitions(NAME)} == numbers
    assert target.apply(put) == Outcome.UNCHANGED
