"""Primary and foreign keys."""

from __future__ import annotations

import pytest

from pysync.model.names import TableName
from pysync.targets.base import Missing, Outcome, Rejected, Target
from tests.conformance.harness import BOTH_WAYS, TargetHarness
from tests.conformance.objects import Source, foreign_key, primary_key, table


@pytest.fixture(autouse=True)
def _kind_has_constraints(harness: TargetHarness) -> None:
    if "constraints" not in harness.features:
        pytest.skip("this kind has no constraints")


@pytest.fixture
def parent(harness: TargetHarness, target: Target, source: Source, database: str) -> TableName:
    name = TableName(database, "parent")
    target.apply(source.put_table(table(name, harness.location(f"{database}/parent"))))
    return name


@pytest.fixture
def child(harness: TargetHarness, target: Target, source: Source, parent: TableName) -> TableName:
    name = TableName(parent.database, "child")
    location = harness.location(f"{parent.database}/child")
    target.apply(source.put_table(table(name, location, cols=("a:int", "b:int"))))
    target.apply(source.put_constraint(parent, primary_key(parent, f"pk_{parent.database}", "a")))
    return name


def test_primary_key(harness: TargetHarness, target: Target, source: Source, parent: TableName) -> None:
    add = source.put_constraint(parent, primary_key(parent, "pk", "a"))
    alter = source.put_constraint(parent, primary_key(parent, "pk", "b", "a"))
    drop = source.drop_constraint(parent, "pk")
    assert [target.apply(add), target.apply(add)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert harness.constraints(parent) == {"pk": ["a"]}
    assert [target.apply(alter), target.apply(alter)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert harness.constraints(parent) == {"pk": ["b", "a"]}
    assert [target.apply(drop), target.apply(drop)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert harness.constraints(parent) == {}


def test_primary_key_of_another_name_takes_its_place(
    harness: TargetHarness, target: Target, source: Source, parent: TableName
) -> None:
    one, two = (f"{it}_{parent.database}" for it in ("one", "two"))  # HMS 2.3 has each name once, in all databases
    target.apply(source.put_constraint(parent, primary_key(parent, one, "a")))
    target.apply(source.put_constraint(parent, primary_key(parent, two, "a")))
    assert harness.constraints(parent) == {two: ["a"]}


def test_foreign_key(
    harness: TargetHarness, target: Target, source: Source, parent: TableName, child: TableName
) -> None:
    add = source.put_constraint(child, foreign_key(child, parent, "fk"))
    alter = source.put_constraint(child, foreign_key(child, parent, "fk", "b"))
    drop = source.drop_constraint(child, "FK")
    assert [target.apply(add), target.apply(add)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert [target.apply(alter), target.apply(alter)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert harness.constraints(child) == {"fk": ["b"]}
    assert [target.apply(drop), target.apply(drop)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert harness.constraints(child) == {}


def test_without_their_tables(
    harness: TargetHarness, target: Target, source: Source, parent: TableName, child: TableName
) -> None:
    absent = TableName(parent.database, "absent")
    without = [source.put_constraint(child, foreign_key(child, absent, "fk9"))]
    alone = source.put_constraint(absent, primary_key(absent, "pk9", "a"))
    if BOTH_WAYS in harness.features:
        assert target.apply(alone) == Outcome.CONFLICT, "the source has to hear what the home of the table has"
    else:
        without.append(alone)
    for operation in without:
        with pytest.raises(Missing, match=f"{absent} of the constraint does not exist at the target"):
            target.apply(operation)
    assert target.apply(source.drop_constraint(absent, "pk9")) == Outcome.UNCHANGED


def test_of_a_foreign_table(harness: TargetHarness, target: Target, source: Source, parent: TableName) -> None:
    theirs = TableName(parent.database, "theirs")
    harness.create(table(theirs, harness.location(f"{parent.database}/theirs")))
    key = f"p_{parent.database}"
    add, drop = source.put_constraint(theirs, primary_key(theirs, key, "a")), source.drop_constraint(theirs, key)
    if BOTH_WAYS in harness.features:  # the table counts, not its constraints
        assert [target.apply(add), target.apply(add)] == [Outcome.APPLIED, Outcome.UNCHANGED]
        assert target.apply(drop) == Outcome.APPLIED
        return
    with pytest.raises(Rejected, match="not from this source"):
        target.apply(add)
    assert harness.open(on_conflict="skip").apply(add) == Outcome.FOREIGN
    assert harness.open(on_conflict="adopt").apply(add) == Outcome.APPLIED
    assert target.apply(drop) == Outcome.FOREIGN
    assert harness.constraints(theirs) == {key: ["a"]}
