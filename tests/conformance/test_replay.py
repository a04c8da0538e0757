"""At least once: whatever is applied again, the target ends the same."""

from __future__ import annotations

from contextlib import suppress

import pytest

from pysync.model.names import TableName
from pysync.model.operation import Operation
from pysync.targets.base import Incomplete, Outcome, Target
from tests.conformance.harness import TargetHarness, state
from tests.conformance.objects import Source, foreign_key, function, partition, primary_key, table, view

pytestmark = pytest.mark.smoke


def a_history(harness: TargetHarness, source: Source, database: str, other: str) -> list[Operation]:
    """A bit of everything, with a table that is dropped and created anew, and two that are renamed."""
    a, b, c, d = (TableName(database, name) for name in "abcd")
    first, renamed = (table(name, harness.location(f"{database}/{name.table}"), keys=["k"]) for name in (a, b))
    moved = table(TableName(other, "b"), harness.location(f"{other}/b"), keys=["k"])
    plain, anew = (
        table(c, harness.location(f"{database}/c{n}"), cols=cols)
        for n, cols in ((1, ["a:int"]), (2, ["a:int", "d:date"]))
    )
    history: list[Operation] = [
        source.put_database(database, harness.location(database)),
        source.put_database(other, harness.location(other), parameters={"x": "1"}),
        source.put_table(first),
        source.put_partitions(first, *(partition(first, [value]) for value in "1234")),
        source.put_table(plain),
        source.put_partitions(first, partition(first, ["9"])),
        source.drop_partitions(first, ["1"]),
        source.rename_table(a, renamed),
        source.put_table(table(a, harness.location(f"{database}/second"), keys=["other"]), created=20),
        source.put_partitions(renamed, partition(renamed, ["5"]), partition(renamed, ["2"], cols=["z:int"])),
        source.drop_partitions(renamed, ["3"]),
        source.drop_table(c),
        source.put_table(anew, created=20),
        source.rename_table(b, moved),
        source.put_table(view(d, "select 1")),
        source.put_database(other, harness.location(other), parameters={"x": "2"}),
    ]
    if {"functions", "constraints"} <= harness.features:
        key = f"k_{database}"
        history += [
            source.put_function(function(database, "f")),
            source.put_constraint(c, primary_key(c, key, "a"), created=20),
            source.put_constraint(TableName(other, "b"), foreign_key(TableName(other, "b"), c, f"f{key}")),
            source.drop_function(database, "f"),
        ]
    return history


@pytest.mark.parametrize("times", [1, 2])
def test_the_whole_from_its_start(harness: TargetHarness, target: Target, source: Source, times: int) -> None:
    database, other = harness.new_database(), harness.new_database()
    history = a_history(harness, source, database, other)
    for operation in history:
        for _ in range(times):
            target.apply(operation)
    before = state(target, database, other)
    assert {name for name in before if "." in name} == {f"{database}.{t}" for t in "acd"} | {f"{other}.b"}
    assert [part["values"][0] for part in before[f"{other}.b"][1]] == ["2", "4", "5", "9"]
    for operation in history:
        with suppress(Incomplete):  # of a table that has another name by now: the source does not have it either
            target.apply(operation)
    assert state(target, database, other) == before


def test_any_operation_again_right_after_itself_is_reads_only(
    harness: TargetHarness, target: Target, source: Source
) -> None:
    for operation in a_history(harness, source, harness.new_database(), harness.new_database()):
        target.apply(operation)
        harness.writes.clear()
        assert target.apply(operation) in {Outcome.UNCHANGED, Outcome.STALE}, operation
        assert harness.writes == [], operation


def test_the_change_carries_where_it_has_been(harness: TargetHarness, source: Source) -> None:
    """In every call that has room for it."""
    if "contexts" not in harness.features:
        pytest.skip("the calls of this kind have no room for it")
    target = harness.open(on_conflict="adopt")
    for operation in a_history(harness, source, harness.new_database(), harness.new_database()):
        target.apply(operation)
    carrying = {name: args for name, args in harness.writes if name.endswith("_with_environment_context")}
    drops = [args[0].environmentContext for name, args in harness.writes if name == "drop_partitions_req"]
    contexts = [args[-1] for args in carrying.values()] + drops
    assert len(carrying) == 4, "create_table, alter_table, drop_table, alter_partitions"
    assert drops
    assert {context.properties["pysync.visited"] for context in contexts} == {"far,onprem"}
