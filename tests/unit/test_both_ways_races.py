"""Both ways in memory: races that once ended with a difference, each as a short history that is written down."""

from __future__ import annotations

from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from tests.support import partition, table
from tests.support.worlds import World

PAIR = (("east", "west"), ("west", "east"))
RING = (("east", "west"), ("west", "north"), ("north", "east"))
MESH = tuple((a, b) for a in ("east", "north", "west") for b in ("east", "north", "west") if a != b)


def world(links: tuple[tuple[str, str], ...], *, relay: bool = True) -> World:
    return World(*dict(links), links=links, relay=relay)


def hand_over(clusters: World, source: str, target: str) -> None:
    """All that the source has told of so far is replayed to the target."""
    next(it for it in clusters.links if (it.source.name, it.target.name) == (source, target)).step(1000)


def create(clusters: World, at: str, *, value: str = "1", columns: tuple[str, ...] = ("x", "y")) -> None:
    made = table("db", "t", partition_keys=[("day", "string")], parameters={"value": value})
    made.sd.cols = [hive.FieldSchema(name, "string", None) for name in columns]
    clusters.clusters[at].client.create_table(made)


def table_at(clusters: World, at: str) -> Any:
    return clusters.clusters[at].client.get_table_req(hive.GetTableRequest("db", "t")).table


def add(clusters: World, at: str, day: str) -> None:
    made = partition(table_at(clusters, at), [day])
    made.sd.cols = table_at(clusters, at).sd.cols
    clusters.clusters[at].client.add_partitions_req(hive.AddPartitionsRequest("db", "t", [made], ifNotExists=False))


def create_database(clusters: World, at: str) -> None:
    clusters.clusters[at].client.create_database(hive.Database("db", parameters={}, locationUri="/db"))


def calm(clusters: World) -> None:
    clusters.calm()
    assert not clusters.differences()


def test_partitions_that_are_added_while_the_home_cascades_are_everywhere_the_same() -> None:
    pair = world(PAIR)
    create_database(pair, "east")
    create(pair, "east")
    pair.calm()
    add(pair, "west", "1")
    narrow = table_at(pair, "east")
    narrow.sd.cols = narrow.sd.cols[:1]
    cascade = hive.EnvironmentContext({"CASCADE": "true"})
    pair.clusters["east"].client.alter_table_with_environment_context("db", "t", narrow, cascade)
    calm(pair)


def rename(clusters: World, at: str) -> None:
    """Rename db.t to db.u."""
    renamed = table_at(clusters, at)
    renamed.tableName = "u"
    clusters.clusters[at].client.alter_table_with_environment_context("db", "t", renamed, None)


def alter_columns(clusters: World, at: str, *columns: str, cascade: bool = False) -> None:
    wanted = table_at(clusters, at)
    wanted.sd.cols = [hive.FieldSchema(name, "string", None) for name in columns]
    context = hive.EnvironmentContext({"CASCADE": "true"} if cascade else {})
    clusters.clusters[at].client.alter_table_with_environment_context("db", "t", wanted, context)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("alters", ["east", "west", "north"])
@pytest.mark.parametrize("adds", ["east", "west", "north"])
@pytest.mark.parametrize(("links", "relay"), [(RING, True), (MESH, False)], ids=["ring", "mesh"])
def test_partitions_that_are_added_while_columns_come_and_go(
    links: tuple[tuple[str, str], ...], relay: bool, adds: str, alters: str, first: bool
) -> None:
    clusters = world(links, relay=relay)
    create_database(clusters, "east")
    create(clusters, "east", columns=("x",))
    clusters.calm()
    if first:
        add(clusters, adds, "1")
    alter_columns(clusters, alters, "x", "y", cascade=True)
    alter_columns(clusters, alters, "x")
    if not first:
        add(clusters, adds, "1")
    calm(clusters)


def test_partitions_of_a_table_that_is_gone_do_not_return_with_the_next_of_its_name() -> None:
    pair = world(PAIR)
    create_database(pair, "east")
    pair.calm()
    create(pair, "west", value="west")
    add(pair, "west", "1")
    create(pair, "east", value="east")
    hand_over(pair, "west", "east")
    pair.clusters["east"].client.drop_table("db", "t", False)
    create(pair, "east", value="anew")
    calm(pair)
    assert pair.clusters["west"].client.get_partition_names("db", "t", -1) == []


def test_a_table_that_was_born_and_dropped_takes_along_one_that_it_would_have_become() -> None:
    ring = world(RING)
    create_database(ring, "east")
    ring.calm()
    create(ring, "north", value="north")
    create(ring, "east", value="east")
    hand_over(ring, "north", "east")
    ring.clusters["east"].client.drop_table("db", "t", False)
    calm(ring)


def create_function(clusters: World, at: str, name: str = "org.F") -> None:
    made = hive.Function("f", "db", name, "me", hive.PrincipalType.USER, 0, hive.FunctionType.JAVA, [])
    clusters.clusters[at].client.create_function(made)


def drop_database(clusters: World, at: str) -> None:
    clusters.clusters[at].client.drop_database("db", False, True)


def has_database(clusters: World) -> bool:
    return "db" in clusters.clusters["east"].state()


def test_who_drops_a_database_means_the_births_that_had_come_to_him() -> None:
    mesh = world(MESH, relay=False)
    create_database(mesh, "west")
    drop_database(mesh, "west")
    create_database(mesh, "north")
    create_function(mesh, "north")
    create_database(mesh, "west")
    calm(mesh)
    assert "db.f()" in mesh.clusters["east"].state()


def test_a_database_that_was_known_to_be_born_at_both_ends_goes_at_both() -> None:
    pair = world(PAIR)
    create_database(pair, "east")
    create_database(pair, "west")
    hand_over(pair, "west", "east")
    drop_database(pair, "east")
    calm(pair)
    assert not has_database(pair)


def test_a_database_whose_birth_was_still_on_its_way_stays_at_both_ends() -> None:
    pair = world(PAIR)
    create_database(pair, "east")
    create_database(pair, "west")
    hand_over(pair, "east", "west")
    drop_database(pair, "east")
    calm(pair)
    assert has_database(pair)


def test_a_drop_that_finds_nothing_on_its_way_is_told_to_whoever_it_means() -> None:
    ring = world(RING)
    create_database(ring, "west")
    create_database(ring, "north")
    hand_over(ring, "west", "north")
    drop_database(ring, "north")
    calm(ring)


def test_a_database_that_stays_comes_back_to_who_dropped_it() -> None:
    ring = world(RING)
    create_database(ring, "west")
    create_database(ring, "east")
    hand_over(ring, "west", "north")
    drop_database(ring, "north")
    calm(ring)
    assert has_database(ring)


def test_a_function_that_a_relay_replaces_is_told_on() -> None:
    ring = world(RING)
    create_database(ring, "west")
    create_database(ring, "east")
    hand_over(ring, "west", "north")
    create_function(ring, "north", "org.North")
    create_function(ring, "west", "org.West")
    hand_over(ring, "east", "west")
    hand_over(ring, "west", "north")
    calm(ring)


def test_in_pairs_a_function_is_at_home_where_its_database_was_born_last() -> None:
    mesh = world(MESH, relay=False)
    create_database(mesh, "east")
    mesh.calm()
    drop_database(mesh, "west")
    create_function(mesh, "east")
    create_database(mesh, "west")
    calm(mesh)


def test_a_database_that_stays_for_a_table_is_told_of_though_the_table_goes() -> None:
    mesh = world(MESH, relay=False)
    create_database(mesh, "east")
    mesh.calm()
    create(mesh, "north", value="north")
    create(mesh, "west", value="west")
    drop_database(mesh, "north")
    for source, target in (("west", "east"), ("west", "north"), ("north", "east"), ("north", "west")):
        hand_over(mesh, source, target)
    hand_over(mesh, "east", "north")
    calm(mesh)


def test_the_functions_of_a_database_that_stays_are_told_of() -> None:
    mesh = world(MESH, relay=False)
    create_database(mesh, "east")
    mesh.calm()
    create_function(mesh, "north")
    hand_over(mesh, "north", "west")
    create(mesh, "north")
    drop_database(mesh, "east")
    calm(mesh)
    assert "db.f()" in mesh.clusters["west"].state()


def test_a_touched_table_that_gave_way_to_a_renamed_one_is_gone_everywhere() -> None:
    ring = world(RING)
    create_database(ring, "west")
    create_database(ring, "east")
    drop_database(ring, "east")
    create(ring, "west", value="west")
    create_database(ring, "east")
    create(ring, "east", value="east")
    rename(ring, "east")
    hand_over(ring, "east", "west")
    calm(ring)
    assert "db.t" not in ring.clusters["east"].state()


def test_a_replica_that_drops_a_table_after_its_rename_is_heard_by_the_home() -> None:
    """A replica is created later than its original: for the next cluster that must not make it another table."""
    ring = world(RING)
    create_database(ring, "east")
    ring.calm()
    create(ring, "east")
    rename(ring, "east")
    hand_over(ring, "east", "west")
    ring.clusters["west"].client.drop_table("db", "u", False)
    calm(ring)
    assert "db.u" not in ring.clusters["east"].state()


def test_a_table_that_a_replica_renamed_and_the_home_dropped_is_gone_round_the_ring() -> None:
    """The cluster between the two never had it under the new name, so its metastore tells of no drop."""
    ring = world(RING)
    create_database(ring, "east")
    create(ring, "east")
    ring.calm()
    ring.clusters["west"].client.drop_table("db", "t", False)
    rename(ring, "north")
    hand_over(ring, "north", "east")
    ring.clusters["east"].client.drop_table("db", "u", False)
    calm(ring)
    assert "db.u" not in ring.clusters["north"].state()
