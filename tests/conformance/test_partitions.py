"""Partitions: put and drop."""

from __future__ import annotations

import os
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from pysync.model.definition import STATISTICS
from pysync.model.names import DEFAULT_PARTITION, TableName, partition_name
from pysync.targets.base import Incomplete, Missing, Outcome, Rejected, Target
from tests.conformance.harness import BOTH_WAYS, HmsHarness, TargetHarness
from tests.conformance.objects import Source, partition, table

NASTY = [
    "plain",
    "with space",
    " ends with spaces ",
    "a/b",
    "a=b",
    "12:30:00",
    "100%",
    "%2F",
    "'single'",
    '"double"',
    "ünïcødé",
    "日本",
    "😀",
    "back\\slash",
    "#?*{}[]^",
    "tab\there",
    "UPPER",
    "upper",
    DEFAULT_PARTITION,
]


@pytest.fixture
def owner(target: Target, source: Source, name: TableName, location: str) -> Any:
    """The table of the partitions, at the target already."""
    found = table(name, location, keys=["k"])
    target.apply(source.put_table(found))
    return found


def values(target: Target, name: TableName) -> list[str]:
    return sorted(part.values[0] for part in target.partitions(name))


def test_put_alter_drop_each_twice(
    harness: TargetHarness, target: Target, source: Source, name: TableName, owner: Any
) -> None:
    add = source.put_partitions(owner, partition(owner, ["1"]), partition(owner, ["2"]))
    moved = partition(owner, ["2"], location=f"{owner.sd.location}/elsewhere", cols=("a:int",))
    alter = source.put_partitions(owner, moved, partition(owner, ["3"]))
    drop = source.drop_partitions(owner, ["1"], ["2"], ["absent"])

    assert [target.apply(add), target.apply(add)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert [target.apply(alter), target.apply(alter)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    there = {part.values[0]: part for part in target.partitions(name)}
    assert sorted(there) == ["1", "2", "3"]
    assert there["1"].sd.location == f"{owner.sd.location}/k=1"
    assert there["2"].sd.location == f"{owner.sd.location}/elsewhere"
    assert [col.name for col in there["2"].sd.cols] == (["a"] if "columns" in harness.features else ["a", "b"])
    if "statistics" in harness.features:
        assert there["1"].parameters["numFiles"] == "3"
    assert [target.apply(drop), target.apply(drop)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert values(target, name) == ["3"]


def test_a_table_that_is_taken_for_new_and_is_not(
    harness: TargetHarness, target: Target, source: Source, name: TableName, owner: Any
) -> None:
    """Then the target has to look after all: what is there is altered, and the others are added."""
    target.apply(replace(source.put_partitions(owner, partition(owner, ["1"]), partition(owner, ["2"])), fresh=True))
    moved = partition(owner, ["2"], location=f"{owner.sd.location}/elsewhere")
    again = replace(source.put_partitions(owner, partition(owner, ["1"]), moved, partition(owner, ["3"])), fresh=True)
    assert [target.apply(again), target.apply(again)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    there = {part.values[0]: part for part in target.partitions(name)}
    assert sorted(there) == ["1", "2", "3"]
    assert there["2"].sd.location == f"{owner.sd.location}/elsewhere"
    if "statistics" in harness.features:
        assert {part.parameters["numFiles"] for part in there.values()} == {"3"}


def test_nasty_values(harness: TargetHarness, target: Target, source: Source, name: TableName, owner: Any) -> None:
    parts = [partition(owner, [value]) for value in NASTY]
    add, drop = source.put_partitions(owner, *parts), source.drop_partitions(owner, *([value] for value in NASTY))
    assert [target.apply(add), target.apply(add)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert values(target, name) == sorted(NASTY)
    if isinstance(harness, HmsHarness):
        assert sorted(harness.partition_names(name)) == sorted(partition_name(["k"], [value]) for value in NASTY)
    assert [target.apply(drop), target.apply(drop)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert values(target, name) == []


def test_an_empty_value_is_the_default_partition(target: Target, source: Source, name: TableName, owner: Any) -> None:
    add = source.put_partitions(owner, partition(owner, [""]))
    assert [target.apply(add), target.apply(add)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert target.apply(source.drop_partitions(owner, [""])) == Outcome.APPLIED
    assert values(target, name) == []


def test_statistics_are_kept_where_the_data_is_already(
    harness: TargetHarness, target: Target, source: Source, name: TableName, owner: Any
) -> None:
    """HMS counts the files of a directory that it did not make itself."""
    if "statistics" not in harness.features:
        pytest.skip("this kind counts by itself")
    directory = harness.directory(owner.sd.location) / "k=1"
    directory.mkdir(parents=True)
    (directory / "data").write_text("rows")
    counted = partition(owner, ["1"])
    del counted.parameters["totalSize"]
    add = source.put_partitions(owner, counted)
    assert [target.apply(add), target.apply(add)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert next(target.partitions(name)).parameters["numFiles"] == "3"


def test_no_statistics_where_the_source_has_none(
    harness: TargetHarness, target: Target, source: Source, name: TableName, owner: Any
) -> None:
    """A server that counts an empty directory makes the partition an empty one to a planner."""
    for value in "12":
        (harness.directory(owner.sd.location) / f"k={value}").mkdir(parents=True)
        uncounted = partition(owner, [value])
        uncounted.parameters = {"x": "y"}
        add = replace(source.put_partitions(owner, uncounted), fresh=value == "1")
        assert target.apply(add) == Outcome.APPLIED
    there = max(target.partitions(name), key=lambda part: part.values)
    assert all(STATISTICS.isdisjoint(part.parameters) for part in target.partitions(name))
    assert STATISTICS.isdisjoint(there.parameters)
    assert target.differences(uncounted, there, target.table(name)) == []
    counted = deepcopy(there)
    counted.parameters["numFiles"] = "0"
    # Statements cannot say them, and both ways each cluster counts its own files.
    if "statistics" in harness.features and BOTH_WAYS not in harness.features and not hasattr(harness, "statements"):
        assert target.differences(uncounted, counted, target.table(name)) != []


def test_more_than_one_call_takes(
    harness: TargetHarness, target: Target, source: Source, name: TableName, owner: Any
) -> None:
    numbers = [f"{number:04}" for number in range(getattr(harness, "many", 1200))]
    # In one directory: to make another costs HMS a chmod, in a process of its own (Hadoop without its native library).
    add = source.put_partitions(owner, *(partition(owner, [number], location=owner.sd.location) for number in numbers))
    harness.writes.clear()
    assert target.apply(add) == Outcome.APPLIED
    assert values(target, name) == numbers
    if isinstance(harness, HmsHarness) and not os.environ.get("PYSYNC_TEST_HIVE"):  # Hive 4 counts files: alters follow
        assert [call for call, _ in harness.writes] == ["add_partitions_req"] * 3
    assert target.apply(add) == Outcome.UNCHANGED
    assert target.apply(source.drop_partitions(owner, *([number] for number in numbers[1:]))) == Outcome.APPLIED
    assert values(target, name) == ["0000"]


def test_one_on_a_file_system_that_the_target_does_not_know(
    harness: TargetHarness, target: Target, source: Source, name: TableName, owner: Any
) -> None:
    hadoops, aws = "partition k=3: .*No FileSystem for scheme", "nofs://x/y is not on S3: Athena would read no row"
    reasons = {"hms": hadoops, "spark": hadoops, "glue": aws, "athena": aws}
    if harness.kind not in reasons:
        pytest.skip("this kind looks at no file system")
    bad = partition(owner, ["3"], location="nofs://x/y")
    add = source.put_partitions(owner, *(partition(owner, [number]) for number in "012"), bad, partition(owner, ["4"]))
    for fresh in (True, False):
        with pytest.raises(Rejected, match=f"1 partition of {name} failed: {reasons[harness.kind]}"):
            target.apply(replace(add, fresh=fresh))
        assert values(target, name) == ["0", "1", "2", "4"]


def test_without_their_table(target: Target, source: Source, name: TableName, location: str) -> None:
    """Somebody has dropped it there: it has more partitions than those of the operation."""
    absent = table(name, location, keys=["k"], parameters={"v": "1"})
    assert target.apply(source.drop_partitions(absent, ["1"])) == Outcome.UNCHANGED
    with pytest.raises(Incomplete, match=f"table {name} of the partitions does not exist at the target 'dr'"):
        target.apply(source.put_partitions(absent, partition(absent, ["1"])))
    assert target.table(name) is None


def test_without_their_database(harness: TargetHarness, target: Target, source: Source, location: str) -> None:
    absent = table(TableName(harness.new_database(), "t"), location, keys=["k"])
    with pytest.raises(Missing, match=f"table {absent.dbName}.t of the partitions does not exist at the target"):
        target.apply(source.put_partitions(absent, partition(absent, ["1"])))


def test_partitions_from_before_the_table_got_its_name_are_stale(
    target: Target, source: Source, name: TableName, location: str
) -> None:
    """A window that is replayed after a crash: by then another table, created in the same second, has the name."""
    new = TableName(name.database, "new")
    first, second = table(name, location, keys=["k"]), table(new, f"{location}_new", keys=["k"])
    for definition in (first, second):
        target.apply(source.put_table(definition))
    add = source.put_partitions(first, partition(first, ["1"]))
    drop = source.drop_partitions(first, ["2"])
    old = TableName(name.database, "old")
    target.apply(add)
    target.apply(source.put_partitions(second, partition(second, ["2"])))
    target.apply(source.rename_table(name, table(old, location, keys=["k"])))
    target.apply(source.rename_table(new, table(name, f"{location}_new", keys=["k"])))
    target.apply(source.put_table(table(name, f"{location}_new", keys=["k"], parameters={"altered": "1"})))
    assert [target.apply(add), target.apply(drop)] == [Outcome.STALE, Outcome.STALE]
    assert (values(target, name), values(target, old)) == (["2"], ["1"])


def test_with_the_wrong_number_of_values(target: Target, source: Source, name: TableName, owner: Any) -> None:
    with pytest.raises(Rejected, match="2 values, but the table has 1 partition key"):
        target.apply(source.drop_partitions(owner, ["1", "2"]))


def test_partitions_of_a_former_table_with_other_keys_need_a_reread(
    target: Target, source: Source, name: TableName, owner: Any
) -> None:
    former = table(name, owner.sd.location, keys=["k", "l"])
    put = source.put_partitions(former, partition(former, ["1", "2"]))
    for operation in (put, source.drop_partitions(former, ["1", "2"])):
        with pytest.raises(Incomplete, match="2 values, but the table has 1 partition key"):
            target.apply(operation)


def test_partitions_of_a_table_that_was_created_anew_are_stale(
    target: Target, source: Source, name: TableName, location: str
) -> None:
    anew = table(name, location, keys=["k"])
    target.apply(source.put_table(anew, created=20))
    target.apply(source.put_partitions(anew, partition(anew, ["1"]), created=20))
    assert target.apply(source.put_partitions(anew, partition(anew, ["2"]), created=10)) == Outcome.STALE
    assert target.apply(source.drop_partitions(anew, ["1"], created=10)) == Outcome.STALE
    assert values(target, name) == ["1"]


def test_partitions_of_an_event_before_the_tables_last_are_put(
    target: Target, source: Source, name: TableName, owner: Any
) -> None:
    """A window folds to the table's last definition, and its partitions come after it."""
    late = source.put_partitions(owner, partition(owner, ["1"]))
    target.apply(source.put_table(table(name, owner.sd.location, keys=["k"], parameters={"v": "2"}), at=90))
    assert target.apply(late) == Outcome.APPLIED


@pytest.mark.parametrize("on_conflict", ["skip", "park", "adopt"])
def test_of_a_foreign_table(
    harness: TargetHarness, source: Source, name: TableName, location: str, on_conflict: str
) -> None:
    target, theirs = harness.open(on_conflict=on_conflict), table(name, location, keys=["k"])
    harness.create(theirs)
    add = source.put_partitions(theirs, partition(theirs, ["1"]))
    if BOTH_WAYS in harness.features:  # the table counts, not its partitions: its put is a conflict of its own
        assert [target.apply(add), target.apply(add)] == [Outcome.APPLIED, Outcome.UNCHANGED]
        assert target.apply(source.drop_partitions(theirs, ["1"])) == Outcome.APPLIED
        return
    if on_conflict == "park":
        with pytest.raises(Rejected, match="not from this source"):
            target.apply(add)
    else:
        assert target.apply(add) == (Outcome.FOREIGN if on_conflict == "skip" else Outcome.APPLIED)
    harness.open(on_conflict="adopt").apply(add)
    assert target.apply(add) == Outcome.UNCHANGED, "the echo of what is there already is no conflict"
    assert target.apply(source.drop_partitions(theirs, ["1"])) == Outcome.FOREIGN
    assert values(target, name) == ["1"]
