"""A target of kind hms tells the listener of its metastore where a change has been, whatever call it comes by."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.event import Event, Kind, replicator
from pysync.model.names import TableName
from pysync.targets.hms import HmsSettings, hms_target
from pysync.targets.target import StoreTarget
from tests.conformance.objects import Source
from tests.listener.stand import Event as Told
from tests.listener.stand import Stand
from tests.support import partition, table

OVERRIDES = {"pysync.synchronous": "true"}
"""So that an event is there when the call returns."""


@pytest.fixture
def target(stand: Stand) -> Iterator[StoreTarget]:
    settings = HmsSettings(name="west", kind="hms", metastore=stand.server.uri, both_ways=True)
    with closing(hms_target(settings)) as opened:
        yield opened


def everything(target: StoreTarget, source: Source) -> None:
    """Each kind of object put and dropped, by `source`."""
    name = f"db_{uuid.uuid4().hex[:12]}"
    target.apply(source.put_database(name))
    function = hive.Function("f", name, "C", "me", hive.PrincipalType.USER, 0, hive.FunctionType.JAVA, [])
    target.apply(source.put_function(function))
    of = table(name, "t", partition_keys=[("day", "string")])
    target.apply(source.put_table(of))
    target.apply(source.put_partitions(of, partition(of, ["mon"]), partition(of, ["tue"])))
    target.apply(source.drop_partitions(of, ["mon"]))
    target.apply(source.drop_function(name, "f"))
    target.apply(source.drop_table(TableName(name, "t")))
    target.apply(source.drop_database(name))


def visited(event: Told) -> tuple[str, ...]:
    """As the sidecar reads it."""
    known = {"environment": event.environment, "attributes": event.attributes}
    return Event(Kind(event.kind), event.source, event.instance, event.sequence, event.time_ms, **known).visited


@pytest.mark.parametrize("path", [("east",), ("north", "east")])
def test_every_call_tells_where_the_change_has_been(stand: Stand, target: StoreTarget, path: tuple[str, ...]) -> None:
    seen = len(stand.bridge.events)
    everything(target, Source("east", path))
    found = {event.kind: visited(event) for event in stand.bridge.events[seen:]}
    assert len(found) == 8
    assert set(found.values()) == {(*path, "onprem")}
    assert {event.attributes["user"] for event in stand.bridge.events[seen:]} == {replicator(path)}


def test_a_check_says_that_our_name_is_taken(stand: Stand, target: StoreTarget) -> None:
    assert target.check().endswith(f" at {stand.server.uri}; it accepts the user name of pysync")
