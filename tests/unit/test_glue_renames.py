"""Renames in Glue, which has none: whatever breaks off where, applied again it ends right, and nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from pysync.model.names import TableName
from pysync.model.operation import Operation
from pysync.replay.window.whole import from_events
from pysync.targets.apply.renames import RENAMING_KEY
from pysync.targets.base import Incomplete, Outcome, OutcomeUnknown, Unavailable
from pysync.targets.glue import partition_batches
from tests.conformance.objects import Source, partition, table
from tests.support.glue import Bench, broken_off

PARTS = [f"{number:03}" for number in range(13)]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of Glue's, so that a tenth of the partitions takes several calls, too."""
    for name, size in (("_CREATE", 10), ("_UPDATE", 10), ("_DELETE", 2)):
        monkeypatch.setattr(partition_batches, name, replace(getattr(partition_batches, name), size=size))


class World(NamedTuple):
    """A table with partitions that is renamed, and all that has happened to it before."""

    bench: Bench
    old: TableName
    new: TableName
    history: list[Operation]
    rename: Operation

    def begin(self) -> None:
        for operation in self.history:
            self.bench.target().apply(operation)
        self.bench.restart()

    def ends(self) -> dict[str, Any]:
        """What is there in the end."""
        target = self.bench.target()
        tables = target.tables(self.old.database)
        assert "old" not in tables or "keep" in self.old.table, tables
        found = target.table(self.new)
        parts = {part.values[0]: part.sd.location for part in target.partitions(self.new)}
        return {
            "tables": tables,
            "keys": [key.name for key in found.partitionKeys],
            "parts": parts,
            "p": found.parameters,
        }


def world(*, in_the_way: bool = False, keys: tuple[str, ...] = ("k",)) -> World:
    bench, source = Bench(), Source()
    database = bench.database()
    old, new = TableName(database, "old"), TableName(database, "new")
    definition = table(old, "s3://b/old", keys=["k"])
    history: list[Operation] = []
    if in_the_way:
        other = table(new, "s3://b/other", keys=["k"])
        history += [source.put_table(other), source.put_partitions(other, partition(other, ["stale"]))]
    history.append(source.put_table(definition))
    history.append(source.put_partitions(definition, *(partition(definition, [value]) for value in PARTS)))
    rename = source.rename_table(old, table(new, "s3a://b/new", keys=keys, parameters={"v": "2"}))
    return World(bench, old, new, history, rename)


def is_right(found: World, kept: bool = True) -> None:
    expected = {value: f"s3://b/new/k={value}" for value in PARTS} if kept else {}
    ends = found.ends()
    assert ends["tables"] == ["new"]
    assert ends["parts"] == expected
    assert (ends["p"]["v"], RENAMING_KEY in ends["p"]) == ("2", False)


def rename(found: World, **settings: Any) -> Outcome:
    """Apply the rename as a drain without a source does: where the table is not there, its definition is put."""
    target = found.bench.target(**settings)
    try:
        return target.apply(found.rename)
    except Incomplete:
        (put,) = from_events(found.rename)
        return target.apply(put)


VARIANTS: tuple[dict[str, Any], ...] = ({}, {"in_the_way": True}, {"keys": ("l",)})


def calls(variant: dict[str, Any]) -> int:
    found = world(**variant)
    found.begin()
    rename(found)
    return len(found.bench.calls)


def break_off(found: World, number: int, after: bool) -> None:
    """Apply the rename until its call of that number, before or after which the connection breaks."""
    found.bench.restart()
    script: Any = lambda at, *_: broken_off() if at == number else None  # noqa: E731
    if after:
        found.bench.after = script
    else:
        found.bench.before = script
    with pytest.raises(OutcomeUnknown):
        rename(found)
    found.bench.restart()


@pytest.mark.parametrize("replayed", [False, True], ids=["rename_again", "all_again"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("variant", VARIANTS, ids=["plain", "in_the_way", "other_keys"])
def test_broken_off_at_any_call(variant: dict[str, Any], after: bool, replayed: bool) -> None:
    """Then comes the operation again, or, after a crash, its whole window."""
    for number in range(1, calls(variant) + 1):
        found = world(**variant)
        found.begin()
        break_off(found, number, after)
        for operation in found.history if replayed else ():
            found.bench.target().apply(operation)
        rename(found)
        is_right(found, kept="keys" not in variant)


@pytest.mark.parametrize("first", range(3, 12, 2))
def test_broken_off_twice(first: int) -> None:
    for second in range(1, 12):
        found = world()
        found.begin()
        break_off(found, first, True)
        script: Any = lambda at, *_, second=second: broken_off() if at == second else None  # noqa: E731
        found.bench.before = script
        try:
            found.bench.target().apply(found.rename)
        except OutcomeUnknown:
            found.bench.restart()
            found.bench.target().apply(found.rename)
        found.bench.restart()
        is_right(found)


def test_the_old_table_stays_until_all_of_it_is_copied() -> None:
    """At every moment all partitions are in one table or the other, and readers of the old one miss nothing."""
    found = world()
    found.begin()
    seen: list[tuple[int, int]] = []

    def count(_: int, method: str, __: dict[str, Any]) -> None:
        if method.startswith(("get_", "batch_get_")):
            return
        script, found.bench.before = found.bench.before, lambda *_: None
        seen.append(tuple(sum(1 for _ in found.bench.target().partitions(name)) for name in (found.old, found.new)))
        found.bench.before = script

    found.bench.before = count
    found.bench.target().apply(found.rename)
    assert seen == [(13, 0), (13, 0), (13, 10), (13, 13), (13, 13)]


def test_a_copy_that_is_short_drops_nothing() -> None:
    """Glue answers that it has created them all, and has not."""
    found = world()
    found.begin()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(found.bench, "batch_create_partition", lambda **_: {"Errors": []}, raising=False)
        with pytest.raises(
            Unavailable, match=r"\.new has only 0 of the 13 partitions of .*\.old; they are copied again"
        ):
            found.bench.target().apply(found.rename)
    assert sum(1 for _ in found.bench.target().partitions(found.old)) == 13
    found.bench.target().apply(found.rename)
    is_right(found)


def test_a_foreign_table_that_becomes_another_is_left_where_it_is() -> None:
    found = world(keys=("l",))
    target = found.bench.target(on_conflict="adopt")
    old = table(found.old, "s3://b/old", keys=["k"])
    storage = {"Columns": [], "Location": "s3://b/old"}
    keys = [{"Name": "k", "Type": "string"}]
    found.bench.create_table(
        DatabaseName=found.old.database, TableInput={"Name": "old", "PartitionKeys": keys, "StorageDescriptor": storage}
    )
    assert rename(found, on_conflict="adopt") == Outcome.APPLIED
    assert target.tables(found.old.database) == ["new", "old"]
    assert old.partitionKeys[0].name == "k"


def test_a_foreign_table_broken_off_in_the_middle_goes_on() -> None:
    found = world()
    source = Source("other")
    for operation in found.history:
        found.bench.target().apply(operation)
    rename = source.rename_table(found.old, table(found.new, "s3://b/new", keys=["k"], parameters={"v": "2"}))
    adopting = World(found.bench, found.old, found.new, [], rename)
    number = 6
    found.bench.restart()
    found.bench.before = lambda at, *_: broken_off() if at == number else None
    with pytest.raises(OutcomeUnknown):
        found.bench.target(on_conflict="adopt").apply(rename)
    found.bench.restart()
    assert found.bench.target(on_conflict="adopt").apply(rename) == Outcome.APPLIED
    is_right(adopting)


def test_without_a_location_it_stays_where_it_was() -> None:
    found, source = world(), Source()
    found.begin()
    source.position = 50
    definition = table(found.new, None, keys=["k"], parameters={"v": "2"})
    rename = source.rename_table(found.old, definition)
    target = found.bench.target()
    assert [target.apply(rename), target.apply(rename)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert target.table(found.new).sd.location == "s3://b/old"
    assert {part.sd.location for part in target.partitions(found.new)} == {f"s3://b/old/k={value}" for value in PARTS}
    assert definition.sd.location is None
