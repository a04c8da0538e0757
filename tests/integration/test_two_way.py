"""Two clusters that replicate to each other, on real servers: both get everything, and come to rest."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.config import Config, load_config
from pysync.embedded import EmbeddedMetastore, free_port
from pysync.metastore.client import Metastore
from pysync.service.install import listener_jar, listener_settings, write_token
from pysync.service.sidecar import Sidecar
from tests.support import new_database, partition, table, wait_until

CONFIG = """
[source]
name = "{here}"
[bridge]
port = {port}
token_file = "{directory}/token"
[queue]
directory = "{directory}/queue"
min_free_mb = 1
[[targets]]
name = "{there}"
kind = "hms"
metastore = "{uri}"
on_conflict = "adopt"
"""


class Cluster:
    """A metastore with its listener, and the sidecar that replays its changes to the other one."""

    def __init__(self, directory: Path, here: str) -> None:
        self.directory = directory / here
        self.directory.mkdir()
        self.here = here
        self.bridge_port, self.port = free_port(), free_port()
        write_token(self.directory / "token")

    def configure(self, other: Cluster) -> None:
        file = self.directory / "pysync.toml"
        uri = f"thrift://127.0.0.1:{other.port}"
        file.write_text(
            CONFIG.format(here=self.here, there=other.here, port=self.bridge_port, directory=self.directory, uri=uri)
        )
        self.config: Config = load_config(file)
        self.server = EmbeddedMetastore(
            self.directory / "hms",
            port=self.port,
            jars=[listener_jar()],
            overrides=listener_settings(self.config, self.directory / "spool"),
        )

    def events(self) -> int:
        return sum(item.received for item in self.sidecar.queue.instances())

    def start(self, stack: ExitStack) -> None:
        stack.enter_context(self.server)
        self.sidecar = Sidecar(self.config)
        stack.callback(self.sidecar.stop)
        self.sidecar.start()
        self.metastore = stack.enter_context(closing(Metastore(self.server.uri)))


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Cluster]]:
    directory = tmp_path_factory.mktemp("two-way")
    east, west = Cluster(directory, "east"), Cluster(directory, "west")
    east.configure(west)
    west.configure(east)
    with ExitStack() as stack:
        east.start(stack)
        west.start(stack)
        yield east, west


def assert_rest(clusters: tuple[Cluster, Cluster]) -> None:
    """No event comes any more, and nothing is queued or parked."""

    def numbers() -> list[object]:
        status = [cluster.sidecar.status() for cluster in clusters]
        return [(s["targets"][0]["queued"], s["targets"][0]["parked"], s["instances"][0]["received"]) for s in status]

    def rests() -> bool:
        before = numbers()
        time.sleep(1.0)
        return numbers() == before and all(row[:2] == (0, 0) for row in before)

    wait_until(rests, seconds=60, what=f"rest; now {numbers()}")


def test_each_gets_what_the_other_does_and_both_come_to_rest(clusters: tuple[Cluster, Cluster]) -> None:
    east, west = (cluster.metastore for cluster in clusters)
    name = new_database(east, "shared")
    east.call(lambda c: c.create_table(table(name, "t", partition_keys=[("day", "string")])))
    east.call(lambda c: c.add_partition(partition(east.table(name, "t"), ["1"])))
    wait_until(lambda: west.table(name, "t") is not None, what="the table's arrival in the west")
    wait_until(lambda: west.partition_names(name, "t") == ["day=1"], what="the partition's arrival in the west")

    west.call(lambda c: c.add_partition(partition(west.table(name, "t"), ["2"])))
    changed = west.table(name, "t")
    changed.sd.cols.append(hive.FieldSchema("from_west", "string", None))
    west.call(lambda c: c.alter_table(name, "t", changed))
    wait_until(lambda: len(east.table(name, "t").sd.cols) == 2, what="the column's arrival in the east")
    wait_until(lambda: east.partition_names(name, "t") == ["day=1", "day=2"], what="its partition's arrival")
    assert_rest(clusters)


def test_drops_and_renames_do_not_come_back(clusters: tuple[Cluster, Cluster]) -> None:
    east, west = (cluster.metastore for cluster in clusters)
    name = new_database(east, "gone")
    for table_name in ("a", "b"):
        east.call(lambda c, t=table_name: c.create_table(table(name, t)))
    wait_until(lambda: west.tables(name) == ["a", "b"], what="the tables' arrival in the west")
    renamed = east.table(name, "a")
    renamed.tableName = "c"
    east.call(lambda c: c.alter_table(name, "a", renamed))
    east.call(lambda c: c.drop_table(name, "b", False))
    wait_until(lambda: west.tables(name) == ["c"], what="the rename and the drop")
    assert_rest(clusters)
    assert east.tables(name) == ["c"]
    east.call(lambda c: c.drop_database(name, True, True))
    wait_until(lambda: west.database(name) is None, what="the database's drop")
    assert_rest(clusters)
    assert east.database(name) is None
