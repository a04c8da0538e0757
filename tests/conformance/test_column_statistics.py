"""Column statistics, for each kind that has them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from pysync.model.names import TableName
from pysync.model.operation import PutStatistics, RenameTable
from pysync.targets.base import Outcome
from pysync.targets.store import Capability
from tests.conformance.harness import TargetHarness
from tests.conformance.objects import Source, partition, table
from tests.support.statistics import columns, of_columns, plain


class Place:
    """A table with a column of every type, and one partition."""

    def __init__(self, harness: TargetHarness) -> None:
        if "column statistics" not in harness.features:
            pytest.skip("this kind has no column statistics")
        self.source, self.target = Source(), harness.open(on_conflict="adopt", statistics="columns")
        self.name = TableName(harness.new_database(), "t")
        self.target.apply(self.source.put_database(self.name.database))
        self.definition = table(self.name, harness.location("t"), keys=["k"])
        self.definition.sd.cols = columns()
        self.target.apply(self.source.put_table(self.definition))
        self.target.apply(self.source.put_partitions(self.definition, partition(self.definition, ["a/b"])))

    def put(self, statistics: dict[str, Any]) -> Outcome:
        return self.target.apply(PutStatistics(table=self.name, statistics=statistics, **self.source.at()))

    def there(self, part: str) -> Any:
        found = self.target.store.column_statistics(self.target.table(self.name), [part])
        return plain(found[part])


@pytest.fixture
def place(harness: TargetHarness) -> Place:
    return Place(harness)


@pytest.mark.parametrize("part", ["", "k=a%2Fb"])
def test_they_arrive_and_rest(place: Place, part: str) -> None:
    statistics = {part: of_columns(1)}
    assert [place.put(statistics), place.put(statistics)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert place.there(part) == plain(of_columns(1))


@pytest.mark.parametrize("part", ["", "k=a%2Fb"])
def test_they_are_replaced_and_go(place: Place, part: str) -> None:
    place.put({part: of_columns(1)})
    assert place.put({part: of_columns(2, ["id", "sum"])}) == Outcome.APPLIED
    assert place.there(part) == plain(of_columns(2, ["id", "sum"]))
    assert place.put({part: []}) == Outcome.APPLIED
    assert place.there(part) == {}


def test_of_what_is_not_there_none_are_written(place: Place) -> None:
    assert place.put({"k=gone": of_columns(1)}) == Outcome.UNCHANGED
    place.target.apply(place.source.drop_table(place.name))
    assert place.put({"": of_columns(1)}) == Outcome.UNCHANGED


def test_columns_of_another_type_or_name_get_none(place: Place) -> None:
    odd = of_columns(1, ["id", "note"])
    odd[0].colType, odd[1].colName = "int", "other"
    assert place.put({"": odd}) == Outcome.UNCHANGED
    assert place.there("") == {}


def test_an_alter_of_the_table_keeps_them(place: Place) -> None:
    place.put({"": of_columns(1)})
    place.definition.parameters["comment"] = "c"
    place.target.apply(place.source.put_table(place.definition))
    assert place.put({"": of_columns(1)}) in {Outcome.UNCHANGED, Outcome.APPLIED}
    assert place.there("") == plain(of_columns(1))


def test_those_of_a_table_go_with_a_rename(place: Place) -> None:
    """Those of partitions only where pysync copies: Hive 2.3 drops them in a rename."""
    part = "" if Capability.RENAMES not in place.target.store.lacks else "k=a%2Fb"
    place.put({"": of_columns(1), part: of_columns(1)})
    renamed = deepcopy(place.definition)
    renamed.tableName = "renamed"
    operation = RenameTable(table=place.name, definition=renamed, **place.source.at())
    assert [place.target.apply(operation), place.target.apply(operation)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    place.name = TableName(place.name.database, "renamed")
    assert place.there("") == place.there(part) == plain(of_columns(1))
