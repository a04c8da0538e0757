"""Two objects of one source that get one name at the target: the mark tells whose copy is there, and that one stays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import pytest

from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import Operation
from pysync.targets.base import Outcome, Rejected, Target
from tests.conformance.harness import TargetHarness, needs_marks
from tests.conformance.objects import Source, partition, table

Op = TypeVar("Op", bound=Operation)


@pytest.fixture(autouse=True)
def _names_are_in_marks(harness: TargetHarness) -> None:
    needs_marks(harness, "a mark has no name")


FIRST, SECOND = "db.t", "twin.t"


def of(operation: Op, name: str, *, rival: str = "", formerly: str = "") -> Op:
    """The operation for the source's object of this name, beside a rival."""
    mark = replace(operation.mark, object=name, formerly=formerly, rivals=frozenset({rival} - {""}))
    return replace(operation, mark=mark)


def whose(target: Target, name: TableName) -> str | None:
    there = target.table(name)
    mark = Mark.read(there.parameters) if there is not None else None
    return mark.object if mark is not None else None


@pytest.mark.parametrize("on_conflict", ["park", "skip", "adopt"])
def test_the_second_is_refused_whatever_becomes_of_conflicts(
    harness: TargetHarness, source: Source, name: TableName, location: str, on_conflict: str
) -> None:
    target = harness.open(on_conflict=on_conflict)
    keyed = table(name, location, keys=["k"], parameters={"by": "first"})
    other = table(name, location, keys=["k"], parameters={"by": "second"})
    assert target.apply(of(source.put_table(keyed, born=True), FIRST, rival=SECOND)) == Outcome.APPLIED
    target.apply(of(source.put_partitions(keyed, partition(keyed, ["1"])), FIRST, rival=SECOND))
    second: list[Any] = [
        source.put_table(other, created=99, born=True),
        source.put_partitions(other, partition(other, ["2"]), created=99),
    ]
    for operation in second:
        with pytest.raises(Rejected, match=f"is the copy of {FIRST}, and {SECOND} of the source would overwrite it"):
            target.apply(of(operation, SECOND, rival=FIRST))
    left: list[Any] = [source.drop_partitions(other, ["1"], created=99), source.drop_table(name, created=99)]
    assert [target.apply(of(it, SECOND, rival=FIRST)) for it in left] == [Outcome.FOREIGN] * 2
    assert (whose(target, name), target.table(name).parameters["by"]) == (FIRST, "first")
    assert [it.values for it in target.partitions(name)] == [["1"]]
    assert target.apply(of(source.drop_table(name), FIRST, rival=SECOND)) == Outcome.APPLIED
    assert target.apply(of(source.put_table(other, created=99, born=True), SECOND, rival=FIRST)) == Outcome.APPLIED


def test_a_mark_without_a_name_gets_one_though_nothing_else_differs(
    target: Target, source: Source, name: TableName, location: str
) -> None:
    target.apply(source.put_table(table(name, location)))
    claim = of(source.put_table(table(name, location)), FIRST, rival=SECOND)
    assert [target.apply(claim), target.apply(claim)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert whose(target, name) == FIRST


def test_a_name_that_the_settings_no_longer_give_is_no_rival(
    target: Target, source: Source, name: TableName, location: str
) -> None:
    target.apply(of(source.put_table(table(name, location)), FIRST, rival=SECOND))
    assert target.apply(of(source.put_table(table(name, location)), SECOND)) == Outcome.APPLIED
    assert whose(target, name) == SECOND


def test_a_rename_finds_its_own_table_and_takes_no_name_of_a_rival(
    target: Target, source: Source, name: TableName, location: str
) -> None:
    other = TableName(name.database, "other")
    target.apply(of(source.put_table(table(name, location)), FIRST, rival=SECOND))
    held = source.put_table(table(other, location, parameters={"by": "rival"}), created=5)
    target.apply(of(held, "twin.u", rival="db.u"))
    with pytest.raises(Rejected, match=r"is the copy of twin\.u, and db\.u"):
        target.apply(
            of(source.rename_table(name, table(other, location)), "db.u", rival="twin.u", formerly=FIRST),
        )
    assert (whose(target, name), whose(target, other)) == (FIRST, "twin.u")
    target.apply(of(source.drop_table(other, created=5), "twin.u"))
    rename = of(source.rename_table(name, table(other, location)), "db.u", rival="twin.u", formerly=FIRST)
    assert target.apply(rename) == Outcome.APPLIED
    assert (target.table(name), whose(target, other)) == (None, "db.u")


def test_a_rename_that_an_older_release_applied_is_not_applied_again(
    target: Target, source: Source, name: TableName, location: str
) -> None:
    """After the upgrade all events come again; the mark at the target does not tell the table yet."""
    keyed, other = table(name, location, keys=["k"]), TableName(name.database, "other")
    target.apply(source.put_table(keyed, at=1, born=True))
    target.apply(source.put_partitions(keyed, partition(keyed, ["1"])))
    rename = source.rename_table(name, table(other, location, keys=["k"]))
    target.apply(rename)
    target.apply(of(source.put_table(keyed, at=1, born=True), FIRST))
    assert target.apply(of(rename, "db.u", formerly=FIRST)) == Outcome.APPLIED
    assert (target.table(name), whose(target, other)) == (None, "db.u")
    assert [it.values for it in target.partitions(other)] == [["1"]]


def test_the_drop_of_a_database_leaves_the_tables_of_another(
    harness: TargetHarness, target: Target, source: Source, location: str
) -> None:
    database = harness.new_database()
    one, other = TableName(database, "one"), TableName(database, "other")
    target.apply(of(source.put_database(database), "db", rival="twin"))
    assert target.apply(of(source.put_database(database, description="x"), "twin", rival="db")) == Outcome.FOREIGN
    target.apply(of(source.put_table(table(one, location)), "db.one", rival="twin.one"))
    target.apply(of(source.put_table(table(other, location)), "twin.other", rival="db.other"))
    assert target.apply(of(source.drop_database(database), "twin", rival="db")) == Outcome.FOREIGN
    assert list(target.tables(database)) == ["one"]
    assert target.apply(of(source.drop_database(database), "db", rival="twin")) == Outcome.APPLIED
    assert target.database(database) is None
