"""Renaming tables."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from pysync.model.names import TableName
from pysync.targets.base import Incomplete, Missing, Outcome, Rejected, Target
from tests.conformance.harness import BOTH_WAYS, TargetHarness
from tests.conformance.objects import Source, partition, table, view


class Pair(NamedTuple):
    """The table before and after a rename, and where a source has them."""

    name: TableName
    location: str
    new: TableName
    new_location: str


@pytest.fixture
def pair(harness: TargetHarness, name: TableName, location: str) -> Pair:
    new = TableName(name.database, "t_new")
    return Pair(name, location, new, harness.location(f"{new.database}/{new.table}"))


def test_a_rename_takes_partitions_and_locations_along(target: Target, source: Source, pair: Pair) -> None:
    name, location, new, new_location = pair
    old = table(name, location, keys=["k"])
    target.apply(source.put_table(old))
    elsewhere = partition(old, ["x"], location=f"{location}-elsewhere/k=x")
    target.apply(source.put_partitions(old, partition(old, ["1"]), partition(old, ["2"]), elsewhere))
    rename = source.rename_table(name, table(new, new_location, keys=["k"], parameters={"v": "2"}))

    assert [target.apply(rename), target.apply(rename)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert target.tables(name.database) == [new.table]
    assert target.table(new).sd.location == new_location
    assert target.table(new).parameters["v"] == "2"
    places = {part.values[0]: part.sd.location for part in target.partitions(new)}
    assert places == {"1": f"{new_location}/k=1", "2": f"{new_location}/k=2", "x": f"{location}-elsewhere/k=x"}


def test_into_another_database(
    harness: TargetHarness, target: Target, source: Source, name: TableName, location: str
) -> None:
    other = TableName(harness.new_database(), "moved")
    target.apply(source.put_database(other.database))
    old = table(name, location, keys=["k"])
    target.apply(source.put_table(old))
    target.apply(source.put_partitions(old, partition(old, ["1"])))
    rename = source.rename_table(name, table(other, location, keys=["k"]))
    assert [target.apply(rename), target.apply(rename)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert target.table(name) is None
    assert [part.values for part in target.partitions(other)] == [["1"]]


def test_into_a_missing_database(harness: TargetHarness, target: Target, source: Source, pair: Pair) -> None:
    target.apply(source.put_table(table(pair.name, pair.location)))
    elsewhere = TableName(harness.new_database(), "t")
    with pytest.raises(Missing, match=f"database {elsewhere.database} does not exist at the target"):
        target.apply(source.rename_table(pair.name, table(elsewhere, pair.location)))
    assert target.tables(pair.name.database) == ["t"]


def test_views_are_renamed(target: Target, source: Source, pair: Pair) -> None:
    name, _, new, _ = pair
    target.apply(source.put_table(view(name, "select 1 a, '' b")))
    rename = source.rename_table(name, view(new, "select 1 a, '' b"))
    assert [target.apply(rename), target.apply(rename)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert target.tables(name.database) == [new.table]


def test_the_old_one_absent(target: Target, source: Source, pair: Pair) -> None:
    """Then its partitions are nowhere, too."""
    name, _, new, new_location = pair
    with pytest.raises(Incomplete, match=f"table {new} does not exist at the target 'dr'"):
        target.apply(source.rename_table(name, table(new, new_location)))
    assert target.tables(name.database) == []


def test_an_older_one_in_the_way_is_dropped(target: Target, source: Source, pair: Pair) -> None:
    name, location, new, new_location = pair
    target.apply(source.put_table(table(new, new_location, keys=["old"])))
    old = table(name, location, keys=["k"])
    target.apply(source.put_table(old))
    target.apply(source.put_partitions(old, partition(old, ["1"])))
    assert target.apply(source.rename_table(name, table(new, new_location, keys=["k"]))) == Outcome.APPLIED
    assert target.tables(name.database) == [new.table]
    assert [part.values for part in target.partitions(new)] == [["1"]]


def test_a_replayed_leftover_is_dropped(target: Target, source: Source, pair: Pair) -> None:
    name, location, new, new_location = pair
    old, renamed = table(name, location, keys=["k"]), table(new, new_location, keys=["k"])
    create, rename = source.put_table(old), source.rename_table(name, renamed)
    target.apply(create)
    target.apply(rename)
    target.apply(source.put_partitions(renamed, partition(renamed, ["7"])))
    assert target.apply(create) == Outcome.APPLIED  # nobody knows that it has been
    target.apply(rename)
    assert target.tables(name.database) == [new.table]
    assert [part.values for part in target.partitions(new)] == [["7"]]


def test_a_newer_table_of_the_old_name_is_left(target: Target, source: Source, pair: Pair) -> None:
    name, location, new, new_location = pair
    target.apply(source.put_table(table(name, location)))
    rename = source.rename_table(name, table(new, new_location))
    target.apply(rename)
    target.apply(source.put_table(table(name, location, parameters={"v": "second"})))
    assert target.apply(rename) == Outcome.UNCHANGED
    assert target.table(name).parameters["v"] == "second"


def test_a_table_of_the_old_name_that_was_created_later_is_another(target: Target, source: Source, pair: Pair) -> None:
    """A comparison has brought both, before the events came: it found the next table under the old name."""
    name, location, new, new_location = pair
    renamed, later = table(new, new_location, keys=["k"]), table(name, location, keys=["k"], parameters={"v": "later"})
    target.apply(source.put_table(later, created=20))
    target.apply(source.put_table(renamed))
    target.apply(source.put_partitions(renamed, partition(renamed, ["1"])))
    assert target.apply(source.rename_table(name, renamed)) == Outcome.UNCHANGED
    assert target.table(name).parameters["v"] == "later"
    assert [part.values for part in target.partitions(new)] == [["1"]]


@pytest.mark.parametrize("on_conflict", ["skip", "park", "adopt"])
def test_a_foreign_table_in_the_way(
    harness: TargetHarness,
    source: Source,
    pair: Pair,
    on_conflict: str,
) -> None:
    name, location, new, new_location = pair
    target = harness.open(on_conflict=on_conflict)
    target.apply(source.put_table(table(name, location)))
    harness.create(table(new, new_location, parameters={"v": "theirs"}))
    rename = source.rename_table(name, table(new, new_location))
    if BOTH_WAYS in harness.features and on_conflict != "park":
        # The old table is gone at its home; the one of the new name stays, or becomes the home's.
        target.apply(rename)
        assert target.tables(name.database) == ["t_new"]
        assert (target.table(new).parameters.get("v") == "theirs") is (on_conflict == "skip")
        return
    if on_conflict == "skip":
        assert target.apply(rename) == Outcome.FOREIGN
    else:
        reason = f"the target has a table {new} that is not from this source|table {new} was created both"
        with pytest.raises(Rejected, match=reason):
            target.apply(rename)
    assert target.tables(name.database) == ["t", "t_new"]
    assert target.table(new).parameters["v"] == "theirs"


def test_a_foreign_table_of_the_old_name(harness: TargetHarness, source: Source, pair: Pair) -> None:
    name, location, new, new_location = pair
    harness.create(table(name, location))
    rename = source.rename_table(name, table(new, new_location))
    if BOTH_WAYS in harness.features:  # it is another table: the renamed one is read whole
        with pytest.raises(Incomplete):
            harness.open(on_conflict="adopt").apply(rename)
        assert harness.open().tables(name.database) == ["t"]
        return
    assert harness.open(on_conflict="skip").apply(rename) == Outcome.FOREIGN
    with pytest.raises(Rejected, match=f"table {name} already exists at the target"):
        harness.open(on_conflict="park").apply(rename)
    assert harness.open().tables(name.database) == ["t"]
    assert harness.open(on_conflict="adopt").apply(rename) == Outcome.APPLIED
    assert harness.open().tables(name.database) == ["t_new"]


def test_a_rename_comes_again_when_somebody_has_a_table_of_the_old_name(
    harness: TargetHarness, source: Source, pair: Pair
) -> None:
    name, location, new, new_location = pair
    target = harness.open(on_conflict="park")
    target.apply(source.put_table(table(name, location)))
    rename = source.rename_table(name, table(new, new_location))
    assert target.apply(rename) == Outcome.APPLIED
    harness.create(table(name, location, parameters={"v": "theirs"}))
    assert target.apply(rename) == Outcome.UNCHANGED, "it is done already, so their table is no conflict"
    assert target.table(name).parameters["v"] == "theirs"


def test_renamed_with_other_partition_keys(target: Target, source: Source, pair: Pair) -> None:
    """Two changes folded into one: the table is another one, of which the rename tells a part."""
    name, location, new, new_location = pair
    target.apply(source.put_table(table(name, location, keys=["k"])))
    with pytest.raises(Incomplete):
        target.apply(source.rename_table(name, table(new, new_location, keys=["l"])))
    assert target.tables(name.database) == []


def test_renamed_with_incompatible_columns(target: Target, source: Source, pair: Pair) -> None:
    name, location, new, new_location = pair
    old = table(name, location, keys=["k"])
    target.apply(source.put_table(old))
    target.apply(source.put_partitions(old, partition(old, ["1"])))
    rename = source.rename_table(name, table(new, new_location, keys=["k"], cols=("a:date",)))
    assert [target.apply(rename), target.apply(rename)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert [part.values for part in target.partitions(new)] == [["1"]]


@pytest.mark.parametrize("keys", [["k"], ["l"]])
def test_a_refused_rename_drops_nothing(target: Target, source: Source, pair: Pair, keys: list[str]) -> None:
    """Neither the table itself, nor an older one that has the new name."""
    name, location, new, new_location = pair
    for each, place in ((new, new_location), (name, location)):
        definition = table(each, place, keys=["k"])
        target.apply(source.put_table(definition))
        target.apply(source.put_partitions(definition, partition(definition, ["1"])))
    renamed = table(new, new_location, keys=keys, external=False, parameters={"transactional": "true"})
    with pytest.raises(Rejected, match=f"table {new} is transactional"):
        target.apply(source.rename_table(name, renamed))
    assert target.tables(name.database) == ["t", "t_new"]
    assert [[it.values for it in target.partitions(each)] for each in (name, new)] == [[["1"]], [["1"]]]
