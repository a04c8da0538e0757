"""Drops with `delete_data = true` that keep files: those in a directory that others have files in, too.

The source has deleted everything there, each time: what others have at the target is theirs all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from pysync.lab.faulty import FaultySettings
from pysync.lab.memory import MemoryStore, MemoryTarget
from pysync.lab.memory.store import Notice
from pysync.model.event import Kind
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import (
    DropDatabase,
    DropPartitions,
    DropTable,
    Operation,
    PutDatabase,
    PutPartitions,
    PutTable,
)
from pysync.targets.base import Outcome
from tests.support import partition, table
from tests.support.events import database

NAME = TableName("db", "t")
HOME = "hdfs://there/wh/db.db"
DAY = [("day", "string")]
SHARED = [HOME, f"{HOME}/", "hdfs://THERE//wh", "hdfs://there", f"{HOME}/t/.."]
MARK, LATER = Mark("onprem", 1, 1, 100), Mark("onprem", 1, 9, 100)


class Place:
    """A target with the database db at HOME; `changes` are those that its metastore made."""

    def __init__(self, **values: Any) -> None:
        given = {"name": "dr", "kind": "faulty", "delete_data": True, "locations": {"hdfs://here": "hdfs://there/wh"}}
        self.changes: list[Notice] = []
        self.target = MemoryTarget(FaultySettings.model_validate({**given, **values}), MemoryStore(self.changes.append))
        self.apply(PutDatabase(database="db", definition=database("db", locationUri=HOME), mark=MARK))

    def apply(self, *operations: Operation) -> None:
        for operation in operations:
            assert self.target.apply(operation) is Outcome.APPLIED

    def put(self, location: str, *days: str, at: str = "") -> Any:
        """The table db.t at a location, with partitions, which are at `at`."""
        made = table("db", "t", location=location, partition_keys=DAY if days or at else ())
        made.tableType, made.parameters = "MANAGED_TABLE", {}
        self.apply(PutTable(table=NAME, definition=made, mark=MARK))
        parts = [partition(made, [day]) for day in days]
        for day, part in zip(days, parts, strict=True):
            part.sd.location = at if day == days[0] and at else f"{HOME}/t/day={day}"
        if parts:
            self.apply(PutPartitions(table=NAME, definition=made, partitions=tuple(parts), mark=MARK))
        return made

    def deleted(self, kind: Kind) -> dict[str, bool]:
        """What was dropped, by location, and whether its files were deleted."""
        dropped = [(it, change.delete_data) for change in self.changes if change.kind is kind for it in change.before]
        return {it.locationUri if kind is Kind.DROP_DATABASE else it.sd.location: deleted for it, deleted in dropped}


@pytest.fixture
def logs() -> Iterator[list[Any]]:
    with capture_logs() as lines:
        yield lines


def not_deleted(logs: list[Any]) -> list[tuple[str, str]]:
    return [(it["object"], it["location"]) for it in logs if it["event"] == "files_not_deleted"]


@pytest.mark.parametrize("location", SHARED)
def test_the_drop_of_a_table_keeps_the_files_of_others(location: str, logs: list[Any]) -> None:
    place = Place()
    place.put(location)
    place.apply(DropTable(table=NAME, deleted_locations=(location,), mark=LATER))
    assert place.deleted(Kind.DROP_TABLE) == {location: False}
    assert not_deleted(logs) == [("db.t", location)]


@pytest.mark.parametrize("location", SHARED)
def test_so_does_the_drop_of_its_database(location: str, logs: list[Any]) -> None:
    place = Place()
    place.put(location)
    place.apply(DropDatabase(database="db", deleted_locations=(location,), mark=LATER))
    assert place.deleted(Kind.DROP_TABLE) == {location: False}
    assert not_deleted(logs) == [("db.t", location), ("db", HOME)]


def test_files_of_the_table_alone_are_deleted(logs: list[Any]) -> None:
    for requested in (True, False):
        place = Place()
        place.put(f"{HOME}/t")
        deleted = (f"{HOME}/t",) if requested else ()
        place.apply(DropTable(table=NAME, deleted_locations=deleted, mark=LATER))
        assert place.deleted(Kind.DROP_TABLE) == {f"{HOME}/t": requested}
    assert not_deleted(logs) == []


@pytest.mark.parametrize("location", [*SHARED, f"{HOME}/t"])
def test_the_drop_of_a_partition_keeps_the_files_of_others(location: str, logs: list[Any]) -> None:
    place = Place()
    place.put(f"{HOME}/t", "1", "2", at=location)
    deleted = (location, f"{HOME}/t/day=2")
    place.apply(DropPartitions(table=NAME, keys=["day"], values=[["1"], ["2"]], deleted_locations=deleted, mark=LATER))
    assert place.deleted(Kind.DROP_PARTITION) == {location: False, f"{HOME}/t/day=2": True}
    assert not_deleted(logs) == [("db.t", location)]


def test_the_drop_of_a_table_keeps_the_files_of_others_at_a_partition(logs: list[Any]) -> None:
    place = Place()
    place.put(f"{HOME}/t", "1", "2", at=HOME)
    place.apply(DropTable(table=NAME, deleted_locations=(HOME, f"{HOME}/t"), mark=LATER))
    assert place.deleted(Kind.DROP_TABLE) == {f"{HOME}/t": False}
    assert not_deleted(logs) == [("db.t", HOME)]


def test_files_of_a_table_that_is_external_here_stay(logs: list[Any]) -> None:
    place = Place()
    made = place.put(f"{HOME}/t", "1", "2")
    made.parameters = {"EXTERNAL": "TRUE"}
    place.apply(PutTable(table=NAME, definition=made, mark=replace(MARK, position=2)))
    deleted = (f"{HOME}/t", f"{HOME}/t/day=1")
    place.apply(DropPartitions(table=NAME, keys=["day"], values=[["1"]], deleted_locations=deleted, mark=LATER))
    place.apply(DropTable(table=NAME, deleted_locations=deleted, mark=LATER))
    assert place.deleted(Kind.DROP_PARTITION) == {f"{HOME}/t/day=1": False}
    assert place.deleted(Kind.DROP_TABLE) == {f"{HOME}/t": False}
    assert not_deleted(logs) == [("db.t", f"{HOME}/t/day=1"), ("db.t", f"{HOME}/t")]


def test_the_directory_of_a_database_stays(logs: list[Any]) -> None:
    place = Place()
    place.apply(DropDatabase(database="db", mark=LATER))
    assert place.deleted(Kind.DROP_DATABASE) == {HOME: False}
    assert not_deleted(logs) == [("db", HOME)]
