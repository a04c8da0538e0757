"""Metadata only: files stay where they are, unless a drop shall delete them and may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pysync.model.names import TableName
from pysync.targets.base import Outcome, Target
from tests.conformance.harness import TargetHarness
from tests.conformance.objects import Source, partition, table


@pytest.fixture(autouse=True)
def _kind_has_managed_tables(harness: TargetHarness) -> None:
    if "managed" not in harness.features:
        pytest.skip("this kind has no tables whose files are its own")


@pytest.fixture
def files(harness: TargetHarness, location: str) -> list[Path]:
    """Files of the table and of two of its partitions."""
    found = [harness.directory(location) / name for name in ("data", "k=1/data", "k=2/data")]
    for path in found:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("rows")
    return found


def managed(target: Target, source: Source, name: TableName, location: str, *, external: bool = False) -> Any:
    definition = table(name, location, keys=["k"], external=external)
    target.apply(source.put_table(definition))
    target.apply(source.put_partitions(definition, partition(definition, ["1"]), partition(definition, ["2"])))
    return definition


@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("asked", [False, True])
def test_a_drop_deletes_only_what_it_shall_and_may(
    harness: TargetHarness, name: TableName, location: str, files: list[Path], *, allowed: bool, asked: bool
) -> None:
    target, source = harness.open(delete_data=allowed), Source()
    definition = managed(target, source, name, location)
    deleted = allowed and asked
    places = [location, f"{location}/k=1"] if asked else []
    assert target.apply(source.drop_partitions(definition, ["1"], deleted=places[1:])) == Outcome.APPLIED
    assert [path.exists() for path in files] == [True, not deleted, True]
    assert target.apply(source.drop_table(name, *places[:1])) == Outcome.APPLIED
    assert [path.exists() for path in files] == ([False] * 3 if deleted else [True] * 3)


def test_the_data_of_an_external_table_stays(
    harness: TargetHarness, source: Source, name: TableName, location: str, files: list[Path]
) -> None:
    target = harness.open(delete_data=True)
    managed(target, source, name, location, external=True)
    target.apply(source.drop_table(name, location))
    assert all(path.exists() for path in files)


@pytest.mark.parametrize("allowed", [False, True])
def test_a_dropped_database(
    harness: TargetHarness, name: TableName, location: str, files: list[Path], *, allowed: bool
) -> None:
    target, source = harness.open(delete_data=allowed), Source()
    source.position = 1
    managed(target, source, name, location)
    assert target.apply(source.drop_database(name.database, location)) == Outcome.APPLIED
    assert [path.exists() for path in files] == [not allowed] * 3


@pytest.mark.parametrize("how", ["moved", "external", "elsewhere"])
def test_files_stay_where_the_source_did_not_delete_them(
    harness: TargetHarness, source: Source, name: TableName, location: str, files: list[Path], *, how: str
) -> None:
    """The source deleted another directory with it, or none; or the table has a partition in a place of its own."""
    target = harness.open(delete_data=True)
    definition = managed(target, source, name, location)
    if how == "elsewhere":
        target.apply(source.put_partitions(definition, partition(definition, ["3"], location=f"{location}-3")))
    deleted = {"moved": [f"{location}-moved"], "external": [], "elsewhere": [location]}[how]
    target.apply(source.drop_partitions(definition, ["1"], deleted=deleted[:1] if how == "moved" else ()))
    assert target.apply(source.drop_table(name, *deleted)) == Outcome.APPLIED
    assert target.table(name) is None
    assert all(path.exists() for path in files)


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("moved", [False, True])
def test_a_rename_moves_no_file(
    harness: TargetHarness, name: TableName, location: str, files: list[Path], *, external: bool, moved: bool
) -> None:
    """HMS would: a managed table in the default place, whose location the request leaves as it is."""
    target, source = harness.open(), Source()
    source.position = 1
    managed(target, source, name, location, external=external)
    new = TableName(name.database, "renamed")
    new_location = harness.location(f"{name.database}/renamed") if moved else location
    target.apply(source.rename_table(name, table(new, new_location, keys=["k"], external=external)))
    there = target.table(new)
    external = external or "TRANSLATED_TO_EXTERNAL" in there.parameters  # by Hive 4
    assert (there.sd.location, there.tableType) == (new_location, "EXTERNAL_TABLE" if external else "MANAGED_TABLE")
    assert ("EXTERNAL" in there.parameters) is external
    assert {part.sd.location for part in target.partitions(new)} == {f"{new_location}/k=1", f"{new_location}/k=2"}
    assert all(path.exists() for path in files)
    assert not harness.directory(harness.location(f"{name.database}/renamed")).exists()


@pytest.mark.parametrize("slashes", ["///", "/"])
def test_a_rename_to_the_same_place_written_differently(
    target: Target, source: Source, name: TableName, location: str, files: list[Path], *, slashes: str
) -> None:
    managed(target, source, name, location)
    new = TableName(name.database, "renamed")
    other = location.replace("file:/", f"file:{slashes}") + "/"
    rename = source.rename_table(name, table(new, other, keys=["k"], external=False))
    assert [target.apply(rename), target.apply(rename)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert all(path.exists() for path in files)


def test_nothing_else_moves_or_deletes_a_file(
    harness: TargetHarness, source: Source, name: TableName, location: str, files: list[Path]
) -> None:
    target = harness.open(delete_data=True)
    definition = managed(target, source, name, location)
    target.apply(source.put_partitions(definition, partition(definition, ["3"], location=f"{location}/k=1")))
    target.apply(source.drop_partitions(definition, ["1"]))
    target.apply(source.put_partitions(definition, partition(definition, ["2"], location=f"{location}/other")))
    target.apply(source.put_table(table(name, f"{location}-new", keys=["k"], external=False)))
    target.apply(source.put_table(table(name, location, keys=["k", "l"], external=False)))
    assert all(path.exists() for path in files)
