"""Both ways in memory: random clients on all clusters, events replayed in any order; at rest all have the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TException

from tests.support import partition, table
from tests.support.worlds import Cluster, World

PAIR = [("east", "west"), ("west", "east")]
RING = [("east", "west"), ("west", "north"), ("north", "east")]
MESH = [(a, b) for a in ("east", "north", "west") for b in ("east", "north", "west") if a != b]

TABLES = ("t", "u")
DAYS = ("1", "2")


class Client:
    """Does something at a cluster; what its metastore refuses is not done."""

    def __init__(self, cluster: Cluster, luck: random.Random, acts: tuple[str, ...]) -> None:
        self.luck, self.acts = luck, acts
        self.client = type(cluster.client)(cluster.store)
        self.log: list[str] = []
        self.cluster = cluster

    def act(self) -> None:
        what = self.luck.choice(self.acts)
        try:
            text = getattr(self, f"_{what}")()
        except TException as error:
            text = f"{what}: {type(error).__name__}"
        self.log.append(f"{self.cluster.name}: {text}")

    def _table(self) -> tuple[str, Any]:
        name = self.luck.choice(TABLES)
        return name, self.client.get_table_req(hive.GetTableRequest("db", name)).table

    def _create_database(self) -> str:
        self.client.create_database(hive.Database("db", parameters={}, locationUri="/db"))
        return "create database"

    def _drop_database(self) -> str:
        self.client.drop_database("db", False, True)
        return "drop database"

    def _create(self) -> str:
        name = self.luck.choice(TABLES)
        value = {"value": self.luck.choice("abc")}
        self.client.create_table(table("db", name, partition_keys=[("day", "string")], parameters=value))
        return f"create {name} {value['value']}"

    def _drop(self) -> str:
        name = self.luck.choice(TABLES)
        self.client.drop_table("db", name, False)
        return f"drop {name}"

    def _alter(self) -> str:
        name, found = self._table()
        value = self.luck.choice("abcd")
        found.parameters = {**found.parameters, "value": value}
        self.client.alter_table_with_environment_context("db", name, found, None)
        return f"alter {name} {value}"

    def _rename(self) -> str:
        name, found = self._table()
        found.tableName = "u" if name == "t" else "t"
        self.client.alter_table_with_environment_context("db", name, found, None)
        return f"rename {name} {found.tableName}"

    def _add(self) -> str:
        name, found = self._table()
        day, value = self.luck.choice(DAYS), self.luck.choice("ab")
        item = partition(found, [day])
        item.parameters = {"value": value}
        self.client.add_partitions_req(hive.AddPartitionsRequest("db", name, [item], ifNotExists=False))
        return f"add {name} {day} {value}"

    def _change(self) -> str:
        name, _ = self._table()
        day, value = self.luck.choice(DAYS), self.luck.choice("abc")
        item = self.client.get_partition("db", name, [day])
        item.parameters = {**item.parameters, "value": value}
        self.client.alter_partition("db", name, item)
        return f"change {name} {day} {value}"

    def _remove(self) -> str:
        name, found = self._table()
        day = self.luck.choice(DAYS)
        spec = hive.RequestPartsSpec(names=[f"{found.partitionKeys[0].name}={day}"])
        self.client.drop_partitions_req(hive.DropPartitionsRequest("db", name, spec, ifExists=False))
        return f"remove {name} {day}"

    def _create_function(self) -> str:
        value = self.luck.choice("ab")
        made = hive.Function("f", "db", f"org.{value}", "me", hive.PrincipalType.USER, 0, hive.FunctionType.JAVA, [])
        self.client.create_function(made)
        return f"create function {value}"

    def _drop_function(self) -> str:
        self.client.drop_function("db", "f")
        return "drop function"


TABLE_ACTS = ("create", "drop", "alter", "alter")
PART_ACTS = ("create", "drop", "alter", "add", "add", "change", "remove")
RENAME_ACTS = (*PART_ACTS, "rename")
FUNCTION_ACTS = ("create_function", "drop_function")
EVERYTHING = (*RENAME_ACTS, *FUNCTION_ACTS, "create_database", "create_database", "drop_database")


def history(seed: int, links: list[tuple[str, str]], acts: tuple[str, ...], steps: int, *, relay: bool) -> list[str]:
    """What differs in the end, and before it what was done; nothing if all is well."""
    luck = random.Random(seed)
    world = World(*sorted({name for link in links for name in link}), links=links, relay=relay)
    clients = [Client(cluster, luck, acts) for cluster in world.clusters.values()]
    reported: list[str] = []
    next(iter(world.clusters.values())).client.create_database(hive.Database("db", parameters={}, locationUri="/db"))
    world.calm()
    try:
        for _ in range(luck.randint(1, steps)):
            if luck.random() < 0.5:
                client = luck.choice(clients)
                client.act()
                reported.append(client.log[-1])
            else:
                link = luck.choice(world.links)
                most = luck.choice((1, 1, 2, 5))
                if link.waiting:
                    reported.append(f"   {link.source.name} > {link.target.name}: {min(most, link.waiting)}")
                link.step(most)
        world.calm()
    except AssertionError as error:
        return [*reported, str(error)]
    found = world.differences()
    return [*reported, *found] if found else []


def shortest(seeds: range, run: Callable[[int], list[str]]) -> list[str]:
    """Of the histories that fail the shortest."""
    failed = [(len(found), seed, found) for seed in seeds if (found := run(seed))]
    if not failed:
        return []
    _, seed, found = min(failed)
    return [f"seed {seed}, {len(failed)} of {len(seeds)} fail:", *found]


WAYS = {"pair": (PAIR, True), "ring": (RING, True), "mesh": (MESH, False)}
ACTS = {
    "tables": TABLE_ACTS,
    "partitions": PART_ACTS,
    "functions": FUNCTION_ACTS,
    "renames": RENAME_ACTS,
    "everything": EVERYTHING,
}
CASES = [(way, acts) for way in WAYS for acts in ACTS]


RENAMED_IN_A_RING = ("create", "drop", "alter", "rename")


@pytest.mark.parametrize(
    ("seed", "steps"),
    [(5149, 22), (2351, 30), (4152, 30)],
    ids=["a look-alike of another home", "passed on by the cluster between", "renamed where nothing is left"],
)
def test_renames_in_a_ring_that_once_ended_different_do_so_no_more(seed: int, steps: int) -> None:
    links, relay = WAYS["ring"]
    found = history(seed, links, RENAMED_IN_A_RING, steps, relay=relay)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("way", "acts"), CASES)
def test_whatever_is_done_at_rest_all_have_the_same(way: str, acts: str) -> None:
    links, relay = WAYS[way]
    found = shortest(range(20), lambda seed: history(seed, links, ACTS[acts], 30, relay=relay))
    assert not found, "\n".join(found)
