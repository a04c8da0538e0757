"""`drops = "trash"`: what is dropped is renamed into a database of its own, and comes back as it was, but nobody's."""

from __future__ import annotations

import time
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from pysync.base.errors import PysyncError
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.targets.apply.door import TRASHED
from pysync.targets.base import Outcome, Rejected
from pysync.targets.diff import differences
from pysync.targets.target import StoreTarget
from tests.conformance.harness import TargetHarness
from tests.conformance.objects import Source, partition, table, view


@pytest.fixture(autouse=True)
def _kind_has_a_trash(harness: TargetHarness) -> None:
    if "trash" not in harness.features:
        pytest.skip("this kind has no trash")


@pytest.fixture
def trash(harness: TargetHarness) -> str:
    """The name of the database, which is not there yet."""
    return harness.new_database()


@pytest.fixture
def target(harness: TargetHarness, trash: str) -> Any:
    return harness.open(drops="trash", trash_database=trash)


@pytest.fixture
def files(harness: TargetHarness, location: str) -> list[Path]:
    """Files of the table and of its partitions."""
    found = [harness.directory(location) / it for it in ("data", "k=1/data", "k=2/data")]
    for path in found:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("rows")
    return found


def made(target: StoreTarget, source: Source, name: TableName, location: str, *, external: bool = True) -> Any:
    """A table with two partitions."""
    definition = table(name, location, keys=["k"], external=external, parameters={"comment": "one"})
    target.apply(source.put_table(definition))
    target.apply(source.put_partitions(definition, partition(definition, ["1"]), partition(definition, ["2"])))
    return definition


def only(target: StoreTarget) -> str:
    (found,) = target.trashed()
    return found.name


def places(target: StoreTarget, name: TableName) -> dict[str, str]:
    return {it.values[0]: it.sd.location for it in target.partitions(name)}


@pytest.mark.parametrize("external", [True, False])
def test_a_dropped_table_comes_back_with_its_partitions_where_it_was(
    target: StoreTarget, source: Source, name: TableName, location: str, files: list[Path], *, external: bool
) -> None:
    made(target, source, name, location, external=external)
    before, parts = target.table(name), places(target, name)
    drop = source.drop_table(name)
    assert [target.apply(drop), target.apply(drop)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert target.table(name) is None
    (found,) = target.trashed()
    assert (found.table, found.source) == (name, "onprem")
    assert abs(time.time() - found.at) < 600  # it is rounded to a millisecond
    kept = target.table(TableName(target.store.settings.trash_database, found.name))
    assert (kept.sd.location, Mark.read(kept.parameters)) == (before.sd.location, None)
    assert target.restore(found.name, None) == name
    there = target.table(name)
    assert (there.tableType, there.sd.location) == (before.tableType, before.sd.location)
    assert Mark.read(there.parameters) is None
    assert not [key for key in there.parameters if key.startswith("pysync.")]
    assert there.parameters["comment"] == "one"
    assert places(target, name) == parts
    assert target.trashed() == []
    assert [path.exists() for path in files] == [True] * 3


def test_the_journal_is_told_where_it_went(target: StoreTarget, source: Source, name: TableName, location: str) -> None:
    made(target, source, name, location)
    target.take_differences()
    target.apply(source.drop_table(name))
    reported = [(it.field, it.new) for it in target.take_differences()]
    assert (f"table {name}", TRASHED + only(target)) in reported


def test_a_restored_table_is_nobodys(target: StoreTarget, source: Source, name: TableName, location: str) -> None:
    made(target, source, name, location)
    drop = source.drop_table(name)
    target.apply(drop)
    target.restore(only(target), None)
    assert target.apply(drop) == Outcome.FOREIGN, "the drop comes again"
    with pytest.raises(Rejected, match="is not from this source"):
        target.apply(source.put_table(table(name, location, keys=["k"], parameters={"comment": "two"})))
    assert target.apply(source.drop_database(name.database)) == Outcome.FOREIGN
    assert target.table(name) is not None


def test_a_table_that_is_created_anew_is_dropped_into_the_trash_again(
    target: StoreTarget, source: Source, name: TableName, location: str
) -> None:
    for created in (10, 20, 30):
        definition = table(name, location, parameters={"comment": str(created)})
        assert target.apply(source.put_table(definition, created=created, born=True)) == Outcome.APPLIED
        assert target.apply(source.drop_table(name, created=created)) == Outcome.APPLIED
    found = target.trashed()
    assert [it.table for it in found] == [name] * 3
    trash = target.store.settings.trash_database
    kept = {target.table(TableName(trash, it.name)).parameters["comment"]: it.name for it in found}
    assert sorted(kept) == ["10", "20", "30"]
    target.restore(kept["20"], None)
    assert target.table(name).parameters["comment"] == "20"


def test_a_newer_table_and_one_of_others_are_left(
    harness: TargetHarness, target: StoreTarget, source: Source, name: TableName, location: str
) -> None:
    late = source.drop_table(name, at=1, created=10)
    target.apply(source.put_table(table(name, location), at=5, created=20))
    assert target.apply(late) == Outcome.STALE
    theirs = TableName(name.database, "theirs")
    harness.create(table(theirs, harness.location("theirs")))
    assert target.apply(source.drop_table(theirs, at=9)) == Outcome.FOREIGN
    assert target.trashed() == []


def test_a_dropped_database_goes_with_its_tables_and_views_in_the_trash(
    target: StoreTarget, source: Source, name: TableName, location: str
) -> None:
    made(target, source, name, location, external=False)
    target.apply(source.put_table(view(TableName(name.database, "v"), "select 1 a")))
    assert target.apply(source.drop_database(name.database)) == Outcome.APPLIED
    assert target.database(name.database) is None
    assert sorted(str(it.table) for it in target.trashed()) == [str(name), f"{name.database}.v"]
    kept = {str(it.table): it.name for it in target.trashed()}
    with pytest.raises(Rejected, match="does not exist at the target"):
        target.restore(kept[str(name)], None)
    target.apply(source.put_database(name.database))
    for it in kept.values():
        target.restore(it, None)
    assert target.tables(name.database) == ["t", "v"]


def test_under_another_name(target: StoreTarget, source: Source, name: TableName, location: str) -> None:
    made(target, source, name, location)
    target.apply(source.drop_table(name))
    kept = only(target)
    made(target, source, name, location)
    with pytest.raises(PysyncError, match=f"has a table {name} already"):
        target.restore(kept, None)
    other = TableName(name.database, "saved")
    assert target.restore(kept, other) == other
    assert target.tables(name.database) == ["saved", "t"]
    with pytest.raises(PysyncError, match=f"the trash has no table {kept}"):
        target.restore(kept, None)


def test_a_name_in_the_trash_is_short_and_plain(
    target: StoreTarget, source: Source, database: str, location: str
) -> None:
    long = TableName(database, "a" * 127)
    target.apply(source.put_table(table(long, location)))
    target.apply(source.drop_table(long))
    (found,) = target.trashed()
    assert len(found.name) <= 128
    assert found.table == long
    target.restore(found.name, None)
    assert target.table(long) is not None


def test_what_is_expunged_is_gone_but_not_its_files_and_nobody_elses_table(
    harness: TargetHarness, target: StoreTarget, name: TableName, location: str, files: list[Path]
) -> None:
    source = Source()
    made(target, source, name, location, external=False)
    target.apply(source.drop_table(name))
    kept = only(target)
    theirs = TableName(target.store.settings.trash_database, "theirs")
    harness.create(table(theirs, harness.location("theirs")))
    assert only(target) == kept, "it is no trash of ours"
    assert [target.expunge(it) for it in (kept, kept, "theirs")] == [True, False, False]
    assert target.table(theirs) is not None
    assert [path.exists() for path in files] == [True] * 3


@pytest.mark.parametrize("external", [True, False])
def test_a_kill_between_the_steps_of_a_drop_is_made_good(
    target: StoreTarget, source: Source, name: TableName, location: str, *, external: bool
) -> None:
    """HMS takes two calls for a managed table: it is made external, then renamed."""
    made(target, source, name, location, external=external)
    half = deepcopy(target.table(name))
    half.tableType, half.parameters["EXTERNAL"] = "EXTERNAL_TABLE", "TRUE"
    target.store.alter_table(half, target.table(name))
    assert target.apply(source.drop_table(name)) == Outcome.APPLIED
    target.restore(only(target), None)
    assert differences(half.sd, target.table(name).sd) == []
    assert target.table(name).tableType == "EXTERNAL_TABLE"


def test_a_table_in_the_way_of_a_rename_is_kept(
    harness: TargetHarness, target: StoreTarget, source: Source, name: TableName, location: str
) -> None:
    """Its drop was lost, or the source would not have renamed another to its name."""
    new = TableName(name.database, "t_new")
    target.apply(source.put_table(table(new, harness.location("older"), parameters={"comment": "older"})))
    target.apply(source.put_table(table(name, location)))
    assert target.apply(source.rename_table(name, table(new, location))) == Outcome.APPLIED
    assert target.tables(name.database) == [new.table]
    target.restore(only(target), TableName(name.database, "older"))
    assert target.table(TableName(name.database, "older")).parameters["comment"] == "older"


def test_partitions_are_dropped_for_good(target: StoreTarget, source: Source, name: TableName, location: str) -> None:
    definition = made(target, source, name, location)
    assert target.apply(source.drop_partitions(definition, ["1"])) == Outcome.APPLIED
    assert (sorted(places(target, name)), target.trashed()) == (["2"], [])
