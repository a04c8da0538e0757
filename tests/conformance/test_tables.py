"""Tables and views: put and drop, whose they are, and what an alter cannot do."""

from __future__ import annotations

import os
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from pysync.model.definition import STATISTICS
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import LeaveTable
from pysync.targets.base import Incomplete, Missing, Outcome, Rejected, Target
from tests.conformance.harness import BOTH_WAYS, HmsHarness, TargetHarness, needs_marks, plain
from tests.conformance.objects import Source, partition, table, view

ORC = "org.apache.hadoop.hive.ql.io.orc.Orc"


def test_create_alter_drop_each_twice(target: Target, source: Source, name: TableName, location: str) -> None:
    create = source.put_table(table(name, location, parameters={"comment": "one"}))
    alter = source.put_table(table(name, location, cols=("a:int", "b:string", "c:date"), parameters={"comment": "two"}))
    drop = source.drop_table(name)

    assert [target.apply(create), target.apply(create)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert Mark.read(target.table(name).parameters) == create.mark
    assert [target.apply(alter), target.apply(alter)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    there = target.table(name)
    assert [(col.name, col.type) for col in there.sd.cols] == [("a", "int"), ("b", "string"), ("c", "date")]
    assert (there.parameters["comment"], there.owner, there.sd.location) == ("two", "ann", location)
    assert [target.apply(drop), target.apply(drop)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert target.table(name) is None


def test_an_unchanged_put_writes_nothing_and_keeps_the_older_mark(
    harness: TargetHarness, target: Target, source: Source, name: TableName, location: str
) -> None:
    create, touch = (source.put_table(table(name, location)) for _ in range(2))
    target.apply(create)
    harness.writes.clear()
    assert target.apply(touch) == Outcome.UNCHANGED
    assert harness.writes == []
    assert Mark.read(target.table(name).parameters) == create.mark


def test_a_table_created_anew_at_the_source_is_marked_anew(
    target: Target, source: Source, name: TableName, location: str
) -> None:
    """Else a late drop of its predecessor would take it."""
    target.apply(source.put_table(table(name, location), created=10))
    assert target.apply(source.put_table(table(name, location), created=20)) == Outcome.APPLIED
    assert target.apply(source.drop_table(name, at=99, created=10)) == Outcome.STALE


def test_a_table_has_no_partition_of_a_predecessor_whose_drop_was_lost(
    harness: TargetHarness, target: Target, source: Source, name: TableName, location: str
) -> None:
    needs_marks(harness, "the state that an operation expects decides")
    old = table(name, location, keys=["k"])
    target.apply(source.put_table(old, created=10, born=True))
    target.apply(source.put_partitions(old, partition(old, ["1"]), created=10))
    create = source.put_table(old, created=20, born=True)
    assert target.apply(create) == Outcome.APPLIED
    assert list(target.partitions(name)) == []
    target.apply(source.put_partitions(old, partition(old, ["2"]), created=20))
    assert target.apply(create) in {Outcome.STALE, Outcome.UNCHANGED}, "after a crash it comes again"
    assert [it.values for it in target.partitions(name)] == [["2"]]


def test_a_definition_is_not_altered(target: Target, source: Source, name: TableName, location: str) -> None:
    for definition in (table(name, location), table(name, location, parameters={"x": "y"})):
        before = deepcopy(definition)
        target.apply(source.put_table(definition))
        assert definition == before


def test_a_stale_put_changes_nothing(target: Target, source: Source, name: TableName, location: str) -> None:
    target.apply(source.put_table(table(name, location, parameters={"v": "new"}), at=9))
    before = plain(target.table(name))
    assert target.apply(source.put_table(table(name, location, parameters={"v": "old"}), at=8)) == Outcome.STALE
    assert plain(target.table(name)) == before


@pytest.mark.parametrize("stale", [{"at": 8, "created": 10}, {"at": 99, "created": 5}])
def test_a_stale_drop_changes_nothing(
    target: Target, source: Source, name: TableName, location: str, stale: dict[str, int]
) -> None:
    """Stale is the drop of an older event, and that of a table which was created earlier."""
    target.apply(source.put_table(table(name, location), at=9, created=10))
    assert target.apply(source.drop_table(name, **stale)) == Outcome.STALE
    assert target.table(name) is not None


def test_foreign_table_is_skipped(harness: TargetHarness, source: Source, name: TableName, location: str) -> None:
    target = harness.open(on_conflict="skip")
    harness.create(table(name, location, parameters={"v": "theirs"}))
    assert target.apply(source.put_table(table(name, location, parameters={"v": "ours"}))) == Outcome.FOREIGN
    assert target.table(name).parameters["v"] == "theirs"


def test_foreign_table_is_parked(harness: TargetHarness, source: Source, name: TableName, location: str) -> None:
    target = harness.open(on_conflict="park")
    harness.create(table(name, location, parameters={"v": "theirs"}))
    reason = (
        f"table {name} (already exists at the target 'dr' and is not from this source|was created both at the source)"
    )
    with pytest.raises(Rejected, match=reason):
        target.apply(source.put_table(table(name, location, parameters={"v": "ours"})))
    assert target.table(name).parameters["v"] == "theirs"


def test_foreign_table_is_adopted(harness: TargetHarness, source: Source, name: TableName, location: str) -> None:
    target = harness.open(on_conflict="adopt")
    harness.create(table(name, location))
    put = source.put_table(table(name, location))
    assert [target.apply(put), target.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert Mark.read(target.table(name).parameters) == put.mark
    assert target.apply(source.drop_table(name)) == Outcome.APPLIED


@pytest.mark.parametrize("on_conflict", ["skip", "park", "adopt"])
def test_foreign_table_is_never_dropped(
    harness: TargetHarness, source: Source, name: TableName, location: str, on_conflict: str
) -> None:
    target = harness.open(on_conflict=on_conflict)
    harness.create(table(name, location, keys=["k"]))
    assert target.apply(source.drop_table(name)) == Outcome.FOREIGN
    with (
        pytest.raises(Rejected, match=r"already exists at the target|was created both|other partition keys")
        if on_conflict != "skip"
        else nullcontext()
    ):
        target.apply(source.put_table(table(name, location, keys=["other"])))
    assert [key.name for key in target.table(name).partitionKeys] == ["k"]


def test_views(target: Target, source: Source, name: TableName) -> None:
    create, alter = (source.put_table(view(name, query)) for query in ("select 1 a, '' b", "select 2 a, '' b"))
    assert [target.apply(create), target.apply(create)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert [target.apply(alter), target.apply(alter)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert target.table(name).viewExpandedText == "select 2 a, '' b"
    assert target.table(name).tableType == "VIRTUAL_VIEW"
    assert target.apply(source.drop_table(name)) == Outcome.APPLIED


def test_view_to_table_and_back(target: Target, source: Source, name: TableName, location: str) -> None:
    target.apply(source.put_table(view(name, "select 1 a, '' b")))
    assert target.apply(source.put_table(table(name, location))) == Outcome.APPLIED
    assert target.table(name).tableType == "EXTERNAL_TABLE"
    assert target.apply(source.put_table(view(name, "select 3 a, '' b"))) == Outcome.APPLIED
    assert target.table(name).viewExpandedText == "select 3 a, '' b"


def test_partition_keys_changed(target: Target, source: Source, name: TableName, location: str) -> None:
    old = table(name, location, keys=["k"])
    target.apply(source.put_table(old))
    target.apply(source.put_partitions(old, partition(old, ["1"])))
    put = source.put_table(table(name, location, keys=["k", "l"]))
    assert [target.apply(put), target.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert [key.name for key in target.table(name).partitionKeys] == ["k", "l"]
    assert list(target.partitions(name)) == []


def test_other_types_of_partition_keys_keep_the_partitions(
    target: Target, source: Source, name: TableName, location: str
) -> None:
    old, new = (table(name, location, keys=["k", "l"]) for _ in range(2))
    target.apply(source.put_table(old))
    target.apply(source.put_partitions(old, partition(old, ["1", "x"]), partition(old, ["2", "y"])))
    new.partitionKeys[0].type = "int"
    put = replace(source.put_table(new), creates=False)
    assert [target.apply(put), target.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert [(key.name, key.type) for key in target.table(name).partitionKeys] == [("k", "int"), ("l", "string")]
    assert sorted(part.values for part in target.partitions(name)) == [["1", "x"], ["2", "y"]]


def test_an_alter_tells_not_all_of_a_table_that_has_other_partition_keys(
    target: Target, source: Source, name: TableName, location: str
) -> None:
    old, new = table(name, location, keys=["k"]), table(name, location, keys=["l"])
    target.apply(source.put_table(old))
    target.apply(source.put_partitions(old, partition(old, ["1"])))
    with pytest.raises(Incomplete, match=f"table {name} does not exist at the target 'dr'"):
        target.apply(replace(source.put_table(new), creates=False))
    assert list(target.partitions(name)) == []


def test_an_alter_of_a_table_that_is_not_there(target: Target, source: Source, name: TableName, location: str) -> None:
    """Somebody has dropped it there, with all that it had."""
    with pytest.raises(Incomplete, match=f"table {name} does not exist at the target 'dr'"):
        target.apply(replace(source.put_table(table(name, location, keys=["k"])), creates=False))
    assert target.table(name) is None


@pytest.mark.parametrize(
    "cols", [("a:int", "b:int"), ("a:date", "b:binary"), ("b:int", "a:date", "c:int"), ("b:map<int,int>",)]
)
def test_incompatible_columns_keep_the_partitions(
    target: Target, source: Source, name: TableName, location: str, cols: tuple[str, ...]
) -> None:
    old = table(name, location, keys=["k"], cols=("a:string", "b:string"))
    target.apply(source.put_table(old))
    target.apply(source.put_partitions(old, partition(old, ["1"])))
    put = source.put_table(table(name, location, keys=["k"], cols=cols))
    assert [target.apply(put), target.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert [f"{col.name}:{col.type}" for col in target.table(name).sd.cols] == list(cols)
    assert [part.values for part in target.partitions(name)] == [["1"]]


@pytest.mark.parametrize("cascade", [False, True])
def test_cascade(harness: TargetHarness, source: Source, name: TableName, location: str, cascade: bool) -> None:
    target, reaches = harness.open(), cascade or "columns" not in harness.features
    old = table(name, location, keys=["k"])
    target.apply(source.put_table(old))
    target.apply(source.put_partitions(old, partition(old, ["1"])))
    target.apply(source.put_table(table(name, location, keys=["k"], cols=("a:int", "b:int", "c:int")), cascade=cascade))
    (part,) = target.partitions(name)
    assert [col.name for col in part.sd.cols] == (["a", "b", "c"] if reaches else ["a", "b"])


@pytest.mark.parametrize("newer", [False, True])
def test_a_cascade_reaches_partitions_that_a_replay_has_put_back(
    harness: TargetHarness, source: Source, name: TableName, location: str, newer: bool
) -> None:
    """The table has the columns already, or later ones: HMS by itself would leave the partitions as they are."""
    if "columns" not in harness.features:
        pytest.skip("partitions of this kind have the columns of their table")
    target = harness.open()
    old, wide = (table(name, location, keys=["k"], cols=cols) for cols in (("a:int",), ("a:int", "c:int")))
    target.apply(source.put_table(old))
    add = source.put_partitions(old, partition(old, ["1"], cols=("a:int",)))
    cascade = source.put_table(wide, cascade=True)
    target.apply(cascade)
    if newer:
        target.apply(source.put_table(table(name, location, keys=["k"], cols=("a:int", "c:int", "d:int"))))
    target.apply(add)
    if newer and BOTH_WAYS in harness.features:  # what the home cascaded later reaches them
        assert target.apply(cascade) == Outcome.STALE
        return
    assert target.apply(cascade) == Outcome.APPLIED
    assert target.apply(cascade) == (Outcome.STALE if newer else Outcome.UNCHANGED)
    (part,) = target.partitions(name)
    assert [col.name for col in part.sd.cols] == ["a", "c"]


def test_external_stays_external_and_managed_managed(
    harness: TargetHarness, target: Target, source: Source, name: TableName, location: str
) -> None:
    target.apply(source.put_table(table(name, location)))
    assert (target.table(name).tableType, target.table(name).parameters["EXTERNAL"]) == ("EXTERNAL_TABLE", "TRUE")
    if "managed" in harness.features:
        target.apply(source.put_table(table(name, location, external=False)))
        assert target.table(name).tableType == "MANAGED_TABLE"
        target.apply(source.put_table(table(name, location)))
        assert target.table(name).tableType == "EXTERNAL_TABLE"


def test_names_in_mixed_case_are_the_same(target: Target, source: Source, name: TableName, location: str) -> None:
    """In an event, columns are written as the client wrote them; HMS stores them in lower case."""
    put = source.put_table(table(name, location, cols=("Aa:int", "B:string"), keys=["Kk"]))
    assert [target.apply(put), target.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]


def test_statistics_are_left_as_given(
    harness: TargetHarness, target: Target, source: Source, name: TableName, location: str
) -> None:
    if "statistics" not in harness.features:
        pytest.skip("this kind counts by itself")
    for rows in ("41", "42"):
        target.apply(source.put_table(table(name, location, parameters={"numRows": rows, "numFiles": rows})))
        there = target.table(name).parameters
        assert (there["numRows"], there["numFiles"]) == (rows, rows)


def test_transactional_tables_are_refused_unless_their_metadata_is_wanted(
    harness: TargetHarness, source: Source, name: TableName, location: str
) -> None:
    target, taking = harness.open(), harness.open(transactional="metadata")
    definition = table(name, location, external=False, parameters={"transactional": "true"})
    definition.sd.bucketCols, definition.sd.numBuckets = ["a"], 2
    definition.sd.inputFormat, definition.sd.outputFormat = (f"{ORC}{kind}" for kind in ("InputFormat", "OutputFormat"))
    definition.sd.serdeInfo.serializationLib = f"{ORC}Serde"
    put, rename = source.put_table(definition), source.rename_table(TableName(name.database, "old"), definition)
    target.apply(source.put_table(table(TableName(name.database, "old"), location)))
    for refused in (put, rename):
        with pytest.raises(Rejected, match=f'table {name} is transactional: .* set transactional = "snapshot"'):
            target.apply(refused)
    with pytest.raises(Rejected, match=f"table {name} is transactional"):
        target.differences(definition, None)
    assert target.tables(name.database) == ["old"]
    if isinstance(harness, HmsHarness) and os.environ.get("PYSYNC_TEST_HIVE"):
        # 3.1 without Hive's file formats on its classpath; 4.x to a client that cannot write such tables.
        with pytest.raises(Rejected, match="ACID"):
            taking.apply(put)
        return
    assert taking.apply(put) == Outcome.APPLIED
    assert taking.differences(definition, taking.table(name)) == []
    assert taking.apply(put) == Outcome.UNCHANGED
    assert target.table(name).parameters["transactional"] == "true"


def iceberg(name: TableName, location: str, at: str, before: str | None = None) -> Any:
    """A table that is at that commit, and was at the one `before`."""
    moved = {"previous_metadata_location": f"{location}/{before}.json"} if before else {}
    pointer = {"table_type": "ICEBERG", "metadata_location": f"{location}/{at}.json", **moved}
    return table(name, location, parameters=pointer)


def committed(target: Target, name: TableName) -> str:
    return str(target.table(name).parameters["metadata_location"]).rpartition("/")[2].removesuffix(".json")


def test_commits_of_the_source_move_the_pointer_of_an_iceberg_table(
    target: Target, source: Source, name: TableName, location: str
) -> None:
    """Also if some were missed: the target is where pysync has left it."""
    for at, before in (("1", None), ("2", "1"), ("7", "6"), ("8", "7")):
        put = source.put_table(iceberg(name, location, at, before))
        assert [target.apply(put), target.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]
        assert committed(target, name) == at


def commit_of(there: Any, pointer: str) -> Any:
    """The table after a commit of somebody else."""
    before = there.parameters["metadata_location"]
    there.parameters |= {"metadata_location": pointer, "previous_metadata_location": before}
    return there


def test_a_commit_at_the_target_that_the_source_has_taken_over_is_its_own(
    harness: TargetHarness, target: Target, source: Source, name: TableName, location: str
) -> None:
    for reported in ({"before": "theirs"}, {"before": "4"}):
        target.apply(source.put_table(iceberg(name, location, f"1{reported['before']}", None)))
        harness.alter(commit_of(target.table(name), f"{location}/theirs.json"))
        put = source.put_table(iceberg(name, location, f"5{reported['before']}", reported["before"]))
        put = replace(put, pointers=(f"{location}/theirs.json",) if reported["before"] == "4" else ())
        assert target.apply(put) == Outcome.APPLIED


@pytest.mark.parametrize("table_type", [{}, {"table_type": "ICEBERG"}])
def test_an_iceberg_table_may_lose_its_pointer(
    target: Target, source: Source, name: TableName, location: str, table_type: dict[str, str]
) -> None:
    """Somebody has converted it, or has removed the parameter alone."""
    target.apply(source.put_table(iceberg(name, location, "2", "1")))
    put = source.put_table(table(name, location, parameters=table_type))
    assert [target.apply(put), target.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert "metadata_location" not in target.table(name).parameters
    again = source.put_table(iceberg(name, location, "4", "3"))
    assert [target.apply(again), target.apply(again)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert committed(target, name) == "4"


def test_a_table_that_leaves_the_scope_stays_as_it_is_under_another_object(
    harness: TargetHarness, target: Target, source: Source, name: TableName, location: str
) -> None:
    needs_marks(harness, "a mark has no object")
    definition, other = table(name, location, keys=["k"]), TableName("db", "tmp_t")
    target.apply(source.put_table(definition))
    target.apply(source.put_partitions(definition, partition(definition, ["1"])))
    keep = LeaveTable(table=name, new_source=other, **source.at())
    assert [target.apply(keep), target.apply(keep)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    there = target.table(name)
    assert Mark.read(there.parameters) == replace(keep.mark, object=str(other))
    assert target.differences(definition, there) == []
    assert [it.values for it in target.partitions(name)] == [["1"]]
    absent = replace(keep, table=TableName(name.database, "absent"))
    assert target.apply(absent) == Outcome.UNCHANGED


def test_no_statistics_of_a_directory_that_is_there(
    harness: TargetHarness, target: Target, source: Source, name: TableName, location: str
) -> None:
    for keys in ([], ["k"]):
        mine = TableName(name.database, f"{name.table}{len(keys)}")
        place = f"{location}{len(keys)}"
        harness.directory(place).mkdir(parents=True)
        (harness.directory(place) / "data").write_text("rows")
        put = source.put_table(table(mine, place, keys=keys))
        assert target.apply(put) == Outcome.APPLIED
        assert STATISTICS.isdisjoint(target.table(mine).parameters)
        assert target.apply(put) == Outcome.UNCHANGED


def test_a_table_of_a_missing_database(harness: TargetHarness, target: Target, source: Source) -> None:
    name = TableName(harness.new_database(), "t")
    with pytest.raises(Missing, match=f"database {name.database} does not exist at the target 'dr'"):
        target.apply(source.put_table(table(name, None)))


def test_an_invalid_table_is_rejected_in_one_short_line(target: Target, source: Source, name: TableName) -> None:
    with pytest.raises(Rejected) as refused:
        target.apply(source.put_table(table(name, None, cols=("a:nosuchtype\n" + "x" * 2000,))))
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 600
