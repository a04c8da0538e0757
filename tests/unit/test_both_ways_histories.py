"""Both ways in memory: renames in a ring that once ended with a difference, each by the seed of its history."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TException

from tests.support import table
from tests.support.worlds import Cluster, World

RING = [("east", "west"), ("west", "north"), ("north", "east")]

TABLES = ("t", "u")
ACTS = ("create", "drop", "alter", "rename")


class Client:
    """Does something at a cluster; what its metastore refuses is not done."""

    def __init__(self, cluster: Cluster, luck: random.Random) -> None:
        self.luck = luck
        self.client = type(cluster.client)(cluster.store)
        self.log: list[str] = []
        self.cluster = cluster

    def act(self) -> None:
        what = self.luck.choice(ACTS)
        try:
            text = getattr(self, f"_{what}")()
        except TException as error:
            text = f"{what}: {type(error).__name__}"
        self.log.append(f"{self.cluster.name}: {text}")

    def _table(self) -> tuple[str, Any]:
        name = self.luck.choice(TABLES)
        return name, self.client.get_table_req(hive.GetTableRequest("db", name)).table

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


def history(seed: int, steps: int) -> list[str]:
    """What differs in the end, and before it what was done; nothing if all is well."""
    luck = random.Random(seed)
    world = World("east", "north", "west", links=RING)
    clients = [Client(cluster, luck) for cluster in world.clusters.values()]
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


@pytest.mark.parametrize(
    ("seed", "steps"),
    [(5149, 22), (2351, 30), (4152, 30)],
    ids=["a look-alike of another home", "passed on by the cluster between", "renamed where nothing is left"],
)
def test_renames_in_a_ring_that_once_ended_different_do_so_no_more(seed: int, steps: int) -> None:
    found = history(seed, steps)
    assert not found, "\n".join(found)
