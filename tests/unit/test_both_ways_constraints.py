"""Both ways in memory: constraints. A Hive 2.3 tells nobody of them, so that only a refresh finds them."""

from __future__ import annotations

from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.event import SIDECAR, Event, Kind
from pysync.model.wire import encode, encode_event
from pysync.queue import Queued
from tests.support import table
from tests.support.worlds import World

PAIR = (("east", "west"), ("west", "east"))
RING = (("east", "west"), ("west", "north"), ("north", "east"))


def with_table(links: tuple[tuple[str, str], ...]) -> World:
    """Clusters with a table that was born in the east."""
    found = World(*dict(links), links=links)
    client = found.clusters["east"].client
    client.create_database(hive.Database("db", parameters={}, locationUri="/db"))
    client.create_table(table("db", "t"))
    found.calm()
    return found


def key() -> Any:
    return hive.SQLPrimaryKey("db", "t", "id", 1, "pk", False, False, False)


def add_key(clusters: World, at: str) -> None:
    clusters.clusters[at].client.add_primary_key(hive.AddPrimaryKeyRequest([key()]))


def drop_key(clusters: World, at: str) -> None:
    clusters.clusters[at].client.drop_constraint(hive.DropConstraintRequest("db", "t", "pk"))


def have_key(clusters: World) -> list[str]:
    return [it.name for it in clusters.clusters.values() if it.store.table("db", "t").keys]


def lose_table(clusters: World, at: str) -> None:
    """Drop the table there, and nobody is told."""
    del clusters.clusters[at].store.databases["db"].tables["t"]


def have_table(clusters: World) -> list[str]:
    return [it.name for it in clusters.clusters.values() if it.store.find("db", "t")]


def refresh(clusters: World, at: str) -> None:
    """Have the sidecar of that cluster compare the table with its targets."""
    created = str(clusters.clusters[at].store.table("db", "t").struct.createTime)
    tell(clusters, at, Kind.REFRESH, attributes={"database": "db", "table": "t", "created": created})


def tell_key(clusters: World, at: str) -> None:
    """Add the key as a Hive 3 would, which tells its listener."""
    add_key(clusters, at)
    tell(clusters, at, Kind.ADD_PRIMARYKEY, after=(encode(key()),))


def tell(clusters: World, at: str, kind: Kind, **what: Any) -> None:
    cluster = clusters.clusters[at]
    position = len(cluster.events) + 1
    event = Event(kind, at, SIDECAR, position, 0, **what)
    cluster.events.append(Queued(position, encode_event(event), 0))


@pytest.mark.parametrize("links", [PAIR, RING], ids=["pair", "ring"])
def test_a_refresh_at_a_replica_drops_no_constraint_that_the_home_has(links: tuple[tuple[str, str], ...]) -> None:
    clusters = with_table(links)
    add_key(clusters, "east")
    refresh(clusters, links[-1][0])
    clusters.calm()
    assert have_key(clusters) == list(clusters.clusters)


@pytest.mark.parametrize("links", [PAIR, RING], ids=["pair", "ring"])
def test_a_refresh_at_the_home_drops_constraints_that_only_replicas_have(links: tuple[tuple[str, str], ...]) -> None:
    clusters = with_table(links)
    add_key(clusters, "east")
    refresh(clusters, "east")
    clusters.calm()
    drop_key(clusters, "east")
    refresh(clusters, "east")
    clusters.calm()
    assert have_key(clusters) == []


@pytest.mark.parametrize("links", [PAIR, RING], ids=["pair", "ring"])
def test_a_replica_that_has_lost_a_table_gets_it_back_with_its_next_constraint(
    links: tuple[tuple[str, str], ...],
) -> None:
    clusters = with_table(links)
    lose_table(clusters, "west")
    tell_key(clusters, "east")
    clusters.calm()
    assert have_key(clusters) == list(clusters.clusters)


@pytest.mark.parametrize("links", [PAIR, RING], ids=["pair", "ring"])
def test_a_constraint_of_a_table_that_its_home_has_no_more_ends_with_the_table(
    links: tuple[tuple[str, str], ...],
) -> None:
    clusters = with_table(links)
    lose_table(clusters, "east")
    tell_key(clusters, links[-1][0])
    clusters.calm()
    assert have_table(clusters) == []
