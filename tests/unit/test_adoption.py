"""Adoption: tables that are in the way of parked events become the source's, many at once, and follow it then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from pysync.base.errors import PysyncError
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.sidecar.adoption import Adoption
from pysync.sidecar.parked import listed
from tests.support import table, wait_until
from tests.support.drains import FaultyDrain, add_partition, create, create_database, create_partitioned
from tests.support.refreshing import Hms

SECONDS = 10


class Stand:
    """A target that has tables of others in `db`, whose names the source uses, too."""

    def __init__(self, directory: Path, **values: Any) -> None:
        self.bench = FaultyDrain(directory, **values)
        self.source = Hms("db.a", "db.b", "db.c")
        self.refreshed = list[TableName]()
        self.bench.append(create_database())
        self.bench.start()
        self.bench.finish()

    def foreign(self, *names: str, **fields: Any) -> None:
        for name in names:
            self.bench.target.store.create_table(table("db", name, **fields))

    def replay(self, *makers: Any) -> None:
        self.bench.append(*makers)
        self.bench.finish()

    def adopt(self, **request: Any) -> dict[str, Any]:
        assert self.bench.drain is not None
        tables = self.bench.queue.target(self.bench.name).parked.tables()
        source = lambda: nullcontext(self.source)  # noqa: E731
        return Adoption(self.bench.queue, self.bench.drain, source, self.refreshed.extend)(tables, request)

    def groups(self) -> list[dict[str, Any]]:
        assert self.bench.drain is not None
        tables = self.bench.queue.target(self.bench.name).parked.tables()
        groups: list[dict[str, Any]] = listed(self.bench.drain, tables, {})["groups"]
        return groups

    def mark(self, name: str) -> Mark | None:
        return Mark.read(self.bench.target.table(TableName("db", name)).parameters)

    def parked(self) -> list[str]:
        return sorted({name for _, name, _ in self.bench.parked()})


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    made = Stand(tmp_path)
    yield made
    made.bench.close()


def test_all_tables_of_a_reason_are_adopted_at_once_and_follow_the_source(stand: Stand) -> None:
    stand.foreign("a", "b")
    stand.replay(create("db.a"), create("db.b"), create("db.a"))
    assert stand.parked() == ["db.a", "db.b"]
    (group,) = stand.groups()
    assert (group["adoptable"], group["tables"]) == (True, 2)
    answer = stand.adopt(reason=group["reason"])
    assert (answer["adopted"], answer["refused"], answer["more"]) == (2, {}, 0)
    assert (answer["tried"], answer["left"]) == (3, 0)
    assert stand.parked() == []
    assert [it and it.source for it in map(stand.mark, "ab")] == ["onprem", "onprem"]
    assert stand.refreshed == [TableName("db", "a"), TableName("db", "b")], "their partitions follow"
    stand.replay(create("db.a"))
    assert stand.parked() == []


def test_its_calls_are_among_those_that_are_counted_and_limited(stand: Stand) -> None:
    stand.foreign("a")
    stand.replay(create("db.a"))
    assert stand.bench.drain is not None
    before = dict(stand.bench.drain.progress.calls.status())
    assert stand.adopt()["adopted"] == 1
    after = stand.bench.drain.progress.calls.status()
    assert after["alter_table_with_environment_context"] == 1 + before.get("alter_table_with_environment_context", 0)


def test_only_what_is_selected_is_adopted(stand: Stand) -> None:
    stand.foreign("a", "b")
    stand.replay(create("db.a"), create("db.b"))
    assert stand.adopt(table="db.a")["adopted"] == 1
    assert (stand.parked(), stand.mark("b")) == (["db.b"], None)


def test_parked_partitions_go_on_in_an_adopted_table(stand: Stand) -> None:
    stand.foreign("p", partition_keys=[("day", "string")])
    stand.source.add("db.p", "1")
    stand.replay(create_partitioned("db.p"), add_partition("db.p", "1"))
    assert stand.adopt()["left"] == 0
    assert [it.values for it in stand.bench.target.partitions(TableName("db", "p"))] == [["1"]]


def test_a_table_that_would_have_to_be_dropped_is_not_adopted(stand: Stand) -> None:
    """Another table with other partition keys: what it has cannot be kept."""
    stand.foreign("a", partition_keys=[("day", "string")])
    stand.foreign("b")
    stand.replay(create("db.a"), create("db.b"))
    answer = stand.adopt()
    assert (answer["adopted"], list(answer["refused"])) == (1, ["db.a"])
    assert "other partition keys" in answer["refused"]["db.a"]
    assert (stand.parked(), stand.mark("a")) == (["db.a"], None)
    assert [key.name for key in stand.bench.target.table(TableName("db", "a")).partitionKeys] == ["day"]


def test_a_table_that_is_gone_at_the_source_is_not_adopted(stand: Stand) -> None:
    stand.foreign("gone")
    stand.replay(create("db.gone"))
    answer = stand.adopt()
    assert (answer["adopted"], answer["tried"], stand.mark("gone")) == (0, 0, None)
    assert "the source has no table db.gone" in answer["refused"]["db.gone"]


def test_what_is_parked_for_another_reason_cannot_be_adopted(tmp_path: Path) -> None:
    stand = Stand(tmp_path, faults=[{"kind": "refuse", "tables": ["db.a"]}])
    stand.replay(create("db.a"))
    assert [it["adoptable"] for it in stand.groups()] == [False]
    with pytest.raises(PysyncError, match="no parked table that fits is in the way"):
        stand.adopt()
    stand.bench.close()


def test_a_paused_target_adopts_nothing(stand: Stand) -> None:
    stand.foreign("a")
    stand.replay(create("db.a"))
    assert stand.bench.drain is not None
    stand.bench.drain.pause("night")
    wait_until(lambda: stand.bench.status()["state"] == "paused", what="the pause")
    with pytest.raises(PysyncError, match="is paused"):
        stand.adopt()
    assert stand.mark("a") is None
