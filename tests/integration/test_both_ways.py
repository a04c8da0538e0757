"""Both ways on real metastores: whatever two clients do on the two sides, it comes to rest and the ends are equal."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.client import Metastore
from tests.support import new_database, partition, table, wait_until
from tests.support.clusters import Cluster, assert_equal, assert_rest, pair

pytestmark = pytest.mark.crash

Pair = tuple[Cluster, Cluster]
ROUNDS = 5


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with pair(tmp_path_factory.mktemp("both-ways"), os.environ.get("BOTH", "both_ways = true")) as found:
        yield found


@pytest.fixture
def name(clusters: Pair) -> str:
    """A database of the east that the west has, too."""
    name = new_database(clusters[0].metastore, "shared")
    wait_until(lambda: clusters[1].metastore.database(name) is not None, what="the database in the west")
    return name


def create(cluster: Cluster, database: str, name: str = "t", *days: str) -> Any:
    """A table, partitioned by day."""
    wanted = table(database, name, partition_keys=[("day", "string")])
    cluster.metastore.call(lambda c: c.create_table(wanted))
    made = cluster.metastore.table(database, name)
    for day in days:
        cluster.metastore.call(lambda c, day=day: c.add_partition(partition(made, [day])))
    return made


def assert_calm_and_equal(clusters: Pair, database: str) -> None:
    assert_rest(clusters)
    assert_equal(clusters, database)


def function(database: str, name: str) -> Any:
    return hive.Function(name, database, "org.F", "me", hive.PrincipalType.USER, 0, hive.FunctionType.JAVA, [])


@pytest.mark.parametrize("at", [0, 1], ids=["at-home", "at-the-replica"])
def test_functions_created_and_dropped_at_once(clusters: Pair, name: str, at: int) -> None:
    hms = clusters[at].metastore
    for number in range(ROUNDS):
        hms.call(lambda c, n=number: c.create_function(function(name, f"f{n}")))
        hms.call(lambda c, n=number: c.drop_function(name, f"f{n}"))
    assert_calm_and_equal(clusters, name)
    assert hms.functions(name) == []


def test_one_function_created_and_dropped_again_and_again(clusters: Pair, name: str) -> None:
    hms = clusters[0].metastore
    for _ in range(ROUNDS):
        hms.call(lambda c: c.create_function(function(name, "f")))
        hms.call(lambda c: c.drop_function(name, "f"))
    assert_calm_and_equal(clusters, name)
    assert hms.functions(name) == []


def test_a_database_that_lives_a_moment(clusters: Pair) -> None:
    east, west = clusters
    for number in range(3):
        name = new_database(east.metastore, f"moment{number}")
        time.sleep(0.15)
        east.metastore.call(lambda c, n=name: c.drop_database(n, True, True))
        assert_rest(clusters)
        assert west.metastore.database(name) is None
        assert east.metastore.database(name) is None


@pytest.mark.parametrize("at", [0, 1], ids=["at-home", "at-the-replica"])
def test_partitions_added_and_dropped_at_once(clusters: Pair, name: str, at: int) -> None:
    made = create(clusters[0], name)
    wait_until(lambda: clusters[1].metastore.table(name, "t") is not None, what="the table in the west")
    hms = clusters[at].metastore
    for day in map(str, range(ROUNDS)):
        hms.call(lambda c, d=day: c.add_partition(partition(made, [d])))
        hms.call(lambda c, d=day: c.drop_partition(name, "t", [d], False))
    assert_calm_and_equal(clusters, name)
    assert hms.partition_names(name, "t") == []


def test_what_was_born_in_the_east_is_dropped_in_the_west(clusters: Pair, name: str) -> None:
    east, west = (cluster.metastore for cluster in clusters)
    create(clusters[0], name, "t", "1", "2")
    create(clusters[0], name, "u")
    wait_until(lambda: west.table(name, "u") is not None, what="the tables in the west")
    wait_until(lambda: west.partition_names(name, "t") == ["day=1", "day=2"], what="the partitions in the west")
    west.call(lambda c: c.drop_partition(name, "t", ["1"], False))
    west.call(lambda c: c.drop_table(name, "u", False))
    wait_until(lambda: east.table(name, "u") is None, what="the table's drop in the east")
    wait_until(lambda: east.partition_names(name, "t") == ["day=2"], what="the partition's drop in the east")
    assert_calm_and_equal(clusters, name)


def altered(hms: Metastore, database: str, name: str, value: str) -> None:
    """As a client does: read it, change it, write it."""
    found = hms.table(database, name)
    found.parameters = {**found.parameters, "owner_of_it": value}
    hms.call(lambda c: c.alter_table(database, name, found))


def test_both_alter_one_table_at_once(clusters: Pair, name: str) -> None:
    for number in range(ROUNDS):
        table_name = f"t{number}"
        create(clusters[0], name, table_name)
        wait_until(lambda t=table_name: clusters[1].metastore.table(name, t) is not None, what="the table in the west")
        at_once(*(lambda it=it, t=table_name: altered(it.metastore, name, t, it.here) for it in clusters))
    assert_calm_and_equal(clusters, name)


def at_once(*calls: Callable[[], Any]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_database_of_the_east_is_dropped_in_the_west_with_its_tables(clusters: Pair, name: str) -> None:
    east, west = (cluster.metastore for cluster in clusters)
    create(clusters[0], name, "t", "1")
    wait_until(lambda: west.partition_names(name, "t") == ["day=1"] if west.table(name, "t") else False, what="it")
    assert_rest(clusters)
    west.call(lambda c: c.drop_database(name, True, True))
    wait_until(lambda: east.database(name) is None, what="the database's drop in the east")
    assert_rest(clusters)
    assert west.database(name) is None


def test_a_table_is_renamed_in_the_west(clusters: Pair, name: str) -> None:
    east, west = (cluster.metastore for cluster in clusters)
    create(clusters[0], name, "t", "1")
    wait_until(lambda: west.partition_names(name, "t") == ["day=1"] if west.table(name, "t") else False, what="it")
    renamed = west.table(name, "t")
    renamed.tableName = "u"
    west.call(lambda c: c.alter_table(name, "t", renamed))
    wait_until(lambda: east.tables(name) == ["u"], what="the new name in the east")
    assert_calm_and_equal(clusters, name)
    assert east.partition_names(name, "u") == ["day=1"]


def test_each_gets_what_the_other_does(clusters: Pair) -> None:
    east, west = (cluster.metastore for cluster in clusters)
    name = new_database(east, "shared")
    create(clusters[0], name, "t", "1")
    wait_until(lambda: west.table(name, "t") is not None, what="the table's arrival in the west")
    wait_until(lambda: west.partition_names(name, "t") == ["day=1"], what="the partition's arrival in the west")
    west.call(lambda c: c.add_partition(partition(west.table(name, "t"), ["2"])))
    changed = west.table(name, "t")
    changed.sd.cols.append(hive.FieldSchema("from_west", "string", None))
    west.call(lambda c: c.alter_table(name, "t", changed))
    wait_until(lambda: len(east.table(name, "t").sd.cols) == 2, what="the column's arrival in the east")
    wait_until(lambda: east.partition_names(name, "t") == ["day=1", "day=2"], what="its partition's arrival")
    assert_calm_and_equal(clusters, name)


def test_drops_and_renames_do_not_come_back(clusters: Pair, name: str) -> None:
    east, west = (cluster.metastore for cluster in clusters)
    for table_name in ("a", "b"):
        east.call(lambda c, t=table_name: c.create_table(table(name, t)))
    wait_until(lambda: west.tables(name) == ["a", "b"], what="the tables' arrival in the west")
    renamed = east.table(name, "a")
    renamed.tableName = "c"
    east.call(lambda c: c.alter_table(name, "a", renamed))
    east.call(lambda c: c.drop_table(name, "b", False))
    wait_until(lambda: west.tables(name) == ["c"], what="the rename and the drop")
    assert_calm_and_equal(clusters, name)
    east.call(lambda c: c.drop_database(name, True, True))
    wait_until(lambda: west.database(name) is None, what="the database's drop")
    assert_rest(clusters)
    assert east.database(name) is None
