"""A drop with `delete_data = true` deletes what the source deleted, and nothing else: whole windows, event by event."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from structlog.testing import capture_logs

from pysync.lab.faulty import FaultySettings
from pysync.lab.memory import MemoryStore, MemoryTarget
from pysync.lab.memory.store import Notice
from pysync.model.event import Kind
from pysync.model.mark import Writer
from pysync.model.struct_copies import copied
from pysync.replay.window.blocks import Blocks
from pysync.replay.window.draft import draft
from pysync.replay.window.translate import Translator
from tests.support import partition, table
from tests.support.events import database
from tests.support.worlds import Clock, Cluster

HERE, THERE = "hdfs://here/wh", "hdfs://there/wh"
DAY = [("day", "string")]
WINDOWS = pytest.mark.parametrize("most", [1, 100], ids=["each event by itself", "one window"])


class Pair:
    """A source, and a target that has everything elsewhere and may delete files."""

    def __init__(self) -> None:
        self.source = Cluster("onprem", Clock())
        self.changes: list[Notice] = []
        given = {"name": "dr", "kind": "faulty", "delete_data": True, "locations": {HERE: THERE}}
        settings = FaultySettings.model_validate(given)
        self._target = MemoryTarget(settings, MemoryStore(self.changes.append))
        self._translator = Translator.of(settings)
        self._taken = 0
        self.source.client.create_database(database("db", locationUri=f"{HERE}/db.db"))

    def create(self, *days: str, at: str | None = None, **parameters: str) -> None:
        """The managed table db.t, with partitions that are at `at` or below the table; both ends have it afterwards."""
        made = table("db", "t", location=f"{HERE}/db.db/t", partition_keys=DAY if days else ())
        made.tableType, made.parameters = "MANAGED_TABLE", parameters
        self.source.client.create_table(made)
        parts = [partition(made, [day]) for day in days]
        for part in parts:
            part.sd.location = at or f"{made.sd.location}/day={part.values[0]}"
        if parts:
            self.source.client.add_partitions_req(hive.AddPartitionsRequest("db", "t", parts, False))
        self.replay(100)

    def alter(self, *, location: str | None = None, **parameters: str) -> None:
        wanted = self.source.hms.table("db", "t")
        wanted.parameters |= parameters
        wanted.sd.location = location or wanted.sd.location
        self.source.client.alter_table_with_environment_context("db", "t", wanted, None)

    def move_partition(self, day: str, location: str) -> None:
        (part,) = self.source.hms.partitions_by_name("db", "t", [f"day={day}"])
        moved = copied(part)
        moved.sd.location = location
        self.source.client.alter_partition("db", "t", moved)

    def drop_partition(self, day: str, *, delete_data: bool = True) -> None:
        names = hive.RequestPartsSpec(names=[f"day={day}"])
        self.source.client.drop_partitions_req(hive.DropPartitionsRequest("db", "t", names, delete_data))

    def drop(self, *, delete_data: bool = True) -> None:
        self.source.client.drop_table("db", "t", delete_data)

    def replay(self, most: int) -> None:
        """Replay what has happened, in windows of at most so many events."""
        while events := self.source.events[self._taken : self._taken + most]:
            found = draft(events, self._translator, Writer(1), Blocks())
            assert not found.refused, found.refused[0].reason
            for operation in (operation for work in found.works for operation in work.operations):
                self._target.apply(operation)
            self._taken += len(events)

    @property
    def deleted(self) -> set[str]:
        """Where the target's metastore has deleted files: of managed tables, and only if it was asked to."""
        drops = [it for it in self.changes if it.kind in {Kind.DROP_TABLE, Kind.DROP_PARTITION} and it.delete_data]
        return {it.sd.location for drop in drops for it in drop.before if _is_managed(drop.table or it)}

    @property
    def tables(self) -> list[str]:
        return self._target.store.table_names("db")


def _is_managed(of: Any) -> bool:
    return bool(of.tableType == "MANAGED_TABLE")


@pytest.fixture
def logs() -> Iterator[list[Any]]:
    with capture_logs() as lines:
        yield lines


def kept(logs: list[Any]) -> list[tuple[str, str]]:
    """What the log says stayed, although the source has deleted files."""
    return [(it["object"], it["location"]) for it in logs if it["event"] == "files_not_deleted"]


@WINDOWS
def test_a_managed_table_goes_with_its_files(most: int, logs: list[Any]) -> None:
    pair = Pair()
    pair.create()
    pair.alter(note="altered on the way")
    pair.drop()
    pair.replay(most)
    assert (pair.tables, pair.deleted, kept(logs)) == ([], {f"{THERE}/db.db/t"}, [])


@WINDOWS
def test_a_table_that_was_made_external_keeps_its_files(most: int, logs: list[Any]) -> None:
    pair = Pair()
    pair.create()
    pair.alter(EXTERNAL="TRUE")
    pair.drop()
    pair.replay(most)
    assert (pair.tables, pair.deleted, kept(logs)) == ([], set(), [])


@WINDOWS
def test_so_do_the_partitions_of_one_that_was_made_external(most: int) -> None:
    pair = Pair()
    pair.create("1", "2")
    pair.alter(EXTERNAL="TRUE")
    pair.drop_partition("1")
    pair.replay(most)
    assert pair.deleted == set()


@WINDOWS
def test_an_external_table_that_was_made_managed_goes_with_its_files(most: int) -> None:
    pair = Pair()
    pair.create(EXTERNAL="TRUE")
    pair.alter(EXTERNAL="FALSE")
    pair.replay(most)
    pair.drop()
    pair.replay(most)
    assert pair.deleted == {f"{THERE}/db.db/t"}


def test_the_old_place_of_a_table_that_moved_stays(logs: list[Any]) -> None:
    """An alter of the location moves no files: the source has deleted those at the new place alone."""
    pair = Pair()
    pair.create()
    pair.alter(location=f"{HERE}/elsewhere")
    pair.drop()
    pair.replay(100)
    assert (pair.tables, pair.deleted, kept(logs)) == ([], set(), [("db.t", f"{THERE}/db.db/t")])


def test_the_new_place_of_a_table_that_moved_goes() -> None:
    pair = Pair()
    pair.create()
    pair.alter(location=f"{HERE}/elsewhere")
    pair.drop()
    pair.replay(1)
    assert pair.deleted == {f"{THERE}/elsewhere"}


def test_the_old_place_of_a_partition_that_moved_stays(logs: list[Any]) -> None:
    pair = Pair()
    pair.create("1", "2")
    pair.move_partition("1", f"{HERE}/elsewhere")
    pair.drop_partition("1")
    pair.drop_partition("2")
    pair.replay(100)
    assert (pair.deleted, kept(logs)) == ({f"{THERE}/db.db/t/day=2"}, [("db.t", f"{THERE}/db.db/t/day=1")])


@pytest.mark.parametrize("how", ["moved", "dropped without its files"])
def test_a_partition_elsewhere_that_its_table_did_not_take_along_stays(how: str, logs: list[Any]) -> None:
    """A metastore deletes the directories of all partitions with a table: those that the target still has."""
    pair = Pair()
    pair.create("1", at=f"{HERE}/elsewhere")
    if how == "moved":
        pair.move_partition("1", f"{HERE}/db.db/t/day=1")
    else:
        pair.drop_partition("1", delete_data=False)
    pair.drop()
    pair.replay(100)
    assert (pair.tables, pair.deleted) == ([], set())
    assert kept(logs) == [("db.t", f"{THERE}/elsewhere")]


def test_a_partition_that_moved_within_its_table_goes_with_it() -> None:
    pair = Pair()
    pair.create("1")
    pair.move_partition("1", f"{HERE}/db.db/t/other")
    pair.drop()
    pair.replay(100)
    assert pair.deleted == {f"{THERE}/db.db/t"}


@WINDOWS
def test_partitions_that_were_dropped_without_their_files_keep_them(most: int, logs: list[Any]) -> None:
    pair = Pair()
    pair.create("1", "2")
    pair.drop_partition("1", delete_data=False)
    pair.drop_partition("2")
    pair.replay(most)
    assert (pair.deleted, kept(logs)) == ({f"{THERE}/db.db/t/day=2"}, [])


def _external(pair: Pair) -> None:
    pair.alter(EXTERNAL="TRUE")


def _plain(_: Pair) -> None:
    """Leave the table as it is."""


@WINDOWS
@pytest.mark.parametrize(("first", "goes"), [(_plain, True), (_external, False)])
def test_so_it_is_if_the_database_goes_with_them(first: Callable[[Pair], None], goes: bool, most: int) -> None:
    """A client's DROP DATABASE CASCADE drops the tables first, one by one: those say what happened to files."""
    pair = Pair()
    pair.create()
    first(pair)
    pair.drop()
    pair.source.client.drop_database("db", True, False)
    pair.replay(most)
    assert pair.deleted == ({f"{THERE}/db.db/t"} if goes else set())
    assert [it.delete_data for it in pair.changes if it.kind is Kind.DROP_DATABASE] == [False]


def test_a_table_that_was_there_again_keeps_its_files_when_the_database_goes() -> None:
    """The second table may have been in the same place, and no event says what became of its files."""
    pair = Pair()
    pair.create()
    pair.drop()
    pair.source.client.create_table(table("db", "t", location=f"{HERE}/db.db/t"))
    pair.source.client.drop_database("db", True, True)
    pair.replay(100)
    assert [it.kind for it in pair.changes][-1] is Kind.DROP_DATABASE
    assert pair.deleted == set()


def test_the_last_drop_counts() -> None:
    """The first table went with its files; the second was in the same place, and kept them."""
    pair = Pair()
    pair.create()
    pair.drop()
    pair.source.client.create_table(table("db", "t", location=f"{HERE}/db.db/t"))
    pair.drop()
    pair.replay(100)
    assert (pair.tables, pair.deleted) == ([], set())
