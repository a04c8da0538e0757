"""Tables that only look as if an event told all of them, between two real metastores: the target ends as the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, partition, table, wait_until
from tests.support.sidecars import pysync
from tests.support.stages import wait_until_compared

DAY = [("day", "string")]
DAYS = ["1", "2", "3", "4", "5"]


@dataclass(slots=True)
class Ends:
    """Clients of both metastores, and a database of this test's own."""

    stage: Stage
    source: Metastore
    target: Metastore
    database: str

    def create(self, name: str = "t", days: list[str] = DAYS, **fields: Any) -> None:
        made = table(self.database, name, partition_keys=DAY if days else (), **fields)
        self.source.call(lambda client: client.create_table(made))
        for day in days:
            self.add(day, name)
        self.arrives(name, lambda it: it is not None and len(self.days(name)) == len(days))

    def add(self, day: str, name: str = "t") -> None:
        new = partition(self.source.table(self.database, name), [day])
        self.source.call(lambda client: client.add_partition(new))

    def alter(self, change: Callable[[Any], None], name: str = "t") -> None:
        found = self.source.table(self.database, name)
        change(found)
        self.source.call(lambda client: client.alter_table(self.database, name, found))

    def drop_at_target(self, name: str = "t") -> None:
        self.target.call(lambda client: client.drop_table(self.database, name, False))

    def days(self, name: str = "t") -> list[str]:
        return sorted(part.values[0] for part in self.target.partitions(self.database, name))

    def arrives(self, name: str, holds: Callable[[Any], bool]) -> None:
        wait_until(
            lambda: holds(self.target.table(self.database, name)),
            what=f"the change of {self.database}.{name}; now {self.stage.status()['targets']}",
        )

    def rests(self) -> None:
        """Wait until nothing is queued; nothing may be parked."""
        wait_until(lambda: self.stage.status()["targets"][0]["queued"] == 0, what="the end of the queue")
        assert self.stage.status()["targets"][0]["parked"] == 0


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("changed")) as found:
        found.target.start()
        found.source.start()
        found.start_sidecar()
        wait_until_compared(found)
        yield found


@pytest.fixture
def ends(stage: Stage) -> Iterator[Ends]:
    with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
        yield Ends(stage, source, target, new_database(source))


def test_a_partition_of_a_table_that_was_dropped_at_the_target(ends: Ends) -> None:
    ends.create()
    ends.drop_at_target()
    ends.add("6")
    ends.arrives("t", lambda it: it is not None)
    ends.rests()
    assert ends.days() == [*DAYS, "6"]


def test_a_rename_of_a_table_that_was_dropped_at_the_target(ends: Ends) -> None:
    ends.create()
    ends.drop_at_target()
    ends.alter(lambda found: setattr(found, "tableName", "u"))
    ends.arrives("u", lambda it: it is not None)
    ends.rests()
    assert ends.days("u") == DAYS


def index_of(ends: Ends, name: str) -> None:
    """An index of the table, as Hive 2.3 makes one: with a table for itself."""
    base = ends.source.table(ends.database, name)
    its = table(ends.database, f"{name}_index", parameters={})
    its.tableType, its.parameters = "INDEX_TABLE", {}
    handler = "org.apache.hadoop.hive.ql.index.compact.CompactIndexHandler"
    index = hive.Index("i", handler, ends.database, name, 0, 0, its.tableName, base.sd, {}, True)
    ends.source.call(lambda client: client.add_index(index, its))


def test_the_table_of_an_index_is_not_replicated(ends: Ends) -> None:
    ends.create(days=[])
    index_of(ends, "t")
    assert ends.source.table(ends.database, "t_index").tableType == "INDEX_TABLE"
    ends.create("u", days=[])
    assert ends.target.tables(ends.database) == ["t", "u"]
    for command in (["refresh", f"{ends.database}.t_index", "--wait"], ["verify", ends.database]):
        done = pysync(*command, "-c", ends.stage.config_file)
        assert done.returncode == 0, done.stdout + done.stderr
    assert ends.target.tables(ends.database) == ["t", "u"]
    ends.source.call(lambda client: client.drop_index_by_name(ends.database, "t", "i", True))
    ends.source.call(lambda client: client.drop_database(ends.database, False, True))
    wait_until(lambda: ends.target.database(ends.database) is None, what="the drop of the database")
    ends.rests()


def test_the_table_of_an_index_that_an_earlier_release_made_goes_with_its_database(ends: Ends) -> None:
    ends.create(days=[])
    theirs = ends.target.table(ends.database, "t")
    theirs.tableName, theirs.tableType, theirs.sd.location = "t_index", "INDEX_TABLE", None
    ends.target.call(lambda client: client.create_table(theirs))
    ends.source.call(lambda client: client.drop_database(ends.database, False, True))
    wait_until(lambda: ends.target.database(ends.database) is None, what="the drop of the database")
    ends.rests()
