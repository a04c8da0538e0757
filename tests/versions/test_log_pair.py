"""Two clusters that replicate to each other one way each, by their notification logs: echoes are known, and die."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.config import load_config
from pysync.model import idl
from pysync.model.mark import SOURCE_KEY
from tests.support import partition, table, wait_until
from tests.support.clusters import Cluster, assert_rest
from tests.versions.conftest import Report
from tests.versions.server import metastore_of
from tests.versions.test_pairs import need

SECONDS = 180.0
_CONFIG = """
[source]
name = "{here}"
metastore = "{uri}"
capture = "notification-log"
poll_seconds = 0.2
[queue]
directory = "{directory}/queue"
min_free_mb = 1
[[targets]]
name = "{there}"
kind = "hms"
metastore = "{target}"
"""


class LogCluster(Cluster):
    """A metastore with a notification log and without a listener; one other cluster is its target."""

    def configure_log(self, version: str, other: Cluster, more: str) -> None:
        text = _CONFIG.format(
            here=self.here, uri=self.uri, directory=self.directory, there=other.here, target=other.uri
        )
        file = self.directory / "pysync.toml"
        file.write_text(text + more)
        self.config = load_config(file)
        self.server = metastore_of(version, notification_log=True)(self.directory / "hms", port=self.port)

    def is_compared(self) -> bool:
        """Whether the comparison with the new target is over."""
        gaps = self.sidecar.status()["gaps"]
        return bool(gaps) and all(gap["state"] == "closed" for gap in gaps)

    def count(self, outcome: str) -> int:
        """How many changes ended so at the target: `applied`, `foreign`."""
        return int(self.sidecar.status()["targets"][0]["counts"].get(outcome, 0))


@contextmanager
def logged_pair(directory: Path, version: str, more: str = "") -> Iterator[tuple[LogCluster, LogCluster]]:
    """East and west; each has the other as a target, without both_ways. `more` are lines of both targets."""
    east, west = LogCluster(directory, "east"), LogCluster(directory, "west")
    east.configure_log(version, west, more)
    west.configure_log(version, east, more)
    with ExitStack() as stack:
        for server in (east.server, west.server):
            stack.enter_context(server)
        east.start(stack)
        west.start(stack)
        for cluster in (east, west):
            wait_until(cluster.is_compared, seconds=SECONDS, what=f"the comparison of {cluster.here}")
        yield east, west


class Client:
    """A client of one cluster, which changes objects of its own."""

    def __init__(self, cluster: Cluster) -> None:
        self._hms = cluster.metastore
        self.database = f"of_{cluster.here}"
        self._constraint = f"nn_{self.database}"  # Hive 3.1 wants names that no other database has

    def create(self) -> None:
        self._do(lambda it: it.create_database(hive.Database(self.database, "", None, {"a": "1"})))
        self._do(lambda it: it.create_table(table(self.database, "t", partition_keys=[("k", "string")])))
        self._do(lambda it: it.create_table(table(self.database, "short")))
        self.add("1", "2", "3")
        self.constrain()
        self.function("f")

    def change(self) -> None:
        """The same objects again and again, back to what they were: an echo that came late would undo a change."""
        for value in ("a", "b", "a", "b"):
            found = self._hms.table(self.database, "t")
            found.parameters["note"] = value
            self._do(lambda it, found=found: it.alter_table(self.database, "t", found))
            self._do(lambda it: it.drop_partition(self.database, "t", ["2"], False))
            self.add("2")
            self._do(lambda it: it.drop_function(self.database, "f"))
            self.function("f")
            self._do(lambda it: it.drop_constraint(hive.DropConstraintRequest(self.database, "t", self._constraint)))
            self.constrain()
            self._do(lambda it: it.drop_table(self.database, "short", False))
            self._do(lambda it: it.create_table(table(self.database, "short")))
        self._do(lambda it: it.drop_function(self.database, "f"))
        self._do(lambda it: it.drop_table(self.database, "short", False))
        found = self._hms.database(self.database)
        found.parameters = {"a": "2"}
        self._do(lambda it: it.alter_database(self.database, found))

    def rename(self) -> None:
        found = self._hms.table(self.database, "t")
        found.tableName = "u"
        self._do(lambda it: it.alter_table(self.database, "t", found))

    def add(self, *values: str) -> None:
        of = self._hms.table(self.database, "t")
        self._do(lambda it: it.add_partitions([partition(of, [value]) for value in values]))

    def constrain(self) -> None:
        place = {"catName": "hive", "table_db": self.database, "table_name": "t", "column_name": "id"}
        column = idl.SQLNotNullConstraint(
            **place, nn_name=self._constraint, enable_cstr=False, validate_cstr=False, rely_cstr=True
        )
        self._do(lambda it: it.add_not_null_constraint(idl.constraint_request(idl.SQLNotNullConstraint, [column])))

    def function(self, name: str) -> None:
        new = hive.Function(name, self.database, "org.F", "ann", 1, 0, 1, [])
        self._do(lambda it: it.create_function(new))

    def drop(self) -> None:
        self._do(lambda it: it.drop_database(self.database, False, True))

    def _do(self, statement: Any) -> None:
        self._hms.call(statement)


def assert_same(clusters: tuple[LogCluster, LogCluster], database: str) -> None:
    states = [cluster.state(database) for cluster in clusters]
    assert states[0] == states[1], database
    constraints = [
        sorted(str(it) for its in cluster.metastore.constraints(found).values() for it in its)
        for cluster in clusters
        for found in [cluster.metastore.table(database, "u")]
    ]
    assert constraints[0] == constraints[1], database
    assert constraints[0], "the constraint is gone"


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("version", "more"), [("3.1.3", ""), ("3.1.3", 'on_conflict = "adopt"\n'), ("4.2.0", "")], ids=["3.1", "adopt", "4"]
)
def test_what_each_side_creates_goes_to_the_other_and_does_not_come_back(
    version: str, more: str, tmp_path: Path, report: Report
) -> None:
    need(report, version)
    with logged_pair(tmp_path, version, more) as pair:
        foreign = [cluster.count("foreign") for cluster in pair]  # the database `default`, which both had before
        clients = [Client(cluster) for cluster in pair]
        for client in clients:
            client.create()
        assert_rest(pair, SECONDS)
        for client in clients:
            client.change()
            client.rename()
        assert_rest(pair, SECONDS)
        before = [cluster.count("applied") for cluster in pair]
        for here, client in zip(pair, clients, strict=True):
            there = pair[1 - pair.index(here)]
            assert_same(pair, client.database)
            assert SOURCE_KEY not in here.metastore.table(client.database, "u").parameters, "an echo was written"
            assert there.metastore.table(client.database, "u").parameters[SOURCE_KEY] == here.here
            assert here.metastore.tables(client.database) == ["u"]
            assert here.metastore.functions(client.database) == []
        assert_rest(pair, SECONDS)
        assert [cluster.count("applied") for cluster in pair] == before, "something is written again and again"
        for client in clients:
            client.drop()
        assert_rest(pair, SECONDS)
        for client in clients:
            assert [cluster.metastore.database(client.database) for cluster in pair] == [None, None]
        assert [cluster.counts()[2] for cluster in pair] == [0, 0], "an echo was parked"
        assert [cluster.count("foreign") for cluster in pair] == foreign, "an echo got as far as the target"
