"""What a target calls a difference is what it writes: verify and replay agree."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.names import TableName
from pysync.model.operation import PutTable
from pysync.targets.base import Outcome, Target
from tests.conformance.harness import TargetHarness
from tests.conformance.objects import Source, foreign_key, function, partition, primary_key, table

CHANGES = {
    "nothing": lambda _: None,
    "a column more": lambda it: it.sd.cols.append(hive.FieldSchema("more", "string", None)),
    "a column's type": lambda it: setattr(it.sd.cols[0], "type", "string"),
    "a column's comment": lambda it: setattr(it.sd.cols[0], "comment", "another"),
    "a parameter": lambda it: it.parameters.update(x="y"),
    "the mark": lambda it: it.parameters.update({"pysync.event": "1.2.3.4.5"}),
    "what the server counts": lambda it: it.parameters.update(transient_lastDdlTime="7"),
    "the place": lambda it: setattr(it.sd, "location", it.sd.location + "_2"),
    "a slash": lambda it: setattr(it.sd, "location", it.sd.location + "/"),
    "the serde": lambda _: None,  # to one that the kind has
    "the owner": lambda it: setattr(it, "owner", "another"),
    "when it was read": lambda it: setattr(it, "lastAccessTime", 0),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_table_has_differences_if_and_only_if_it_would_be_written(
    what: str, harness: TargetHarness, source: Source, name: TableName, location: str
) -> None:
    target = harness.open()
    wanted = table(name, location, keys=["k"], parameters={"comment": "c"})
    operation = source.put_table(wanted)
    target.apply(operation)
    assert target.differences(wanted, target.table(name)) == []
    changed = deepcopy(wanted)
    CHANGES[what](changed)
    if what == "the serde":
        changed.sd.serdeInfo.serializationLib = getattr(harness, "other_serde", "org.example.Other")
    found = target.differences(changed, target.table(name))
    outcome = target.apply(PutTable(table=name, definition=changed, mark=operation.mark, visited=operation.visited))
    assert bool(found) == (outcome is not Outcome.UNCHANGED), (found, outcome)
    assert target.differences(changed, target.table(name)) == []


def test_what_an_operation_changes_is_told_with_old_and_new_values(
    target: Target, source: Source, name: TableName, location: str
) -> None:
    take = getattr(target, "take_differences", None)
    if take is None:
        pytest.skip("this kind does not tell")
    of = table(name, location, keys=["k"], parameters={"x": "old"})
    target.apply(source.put_table(of))
    assert (f"table {name}", None, "created") in [(it.field, it.old, it.new) for it in take()]
    target.apply(source.put_table(of))
    assert list(take()) == []
    changed = deepcopy(of)
    changed.parameters["x"] = "new"
    target.apply(source.put_table(changed))
    assert ("parameters.x", "old", "new") in [(it.field, it.old, it.new) for it in take()]
    target.apply(source.put_partitions(changed, partition(changed, ["a"]), partition(changed, ["b"])))
    assert ("2 partitions", None, "created") in [(it.field, it.old, it.new) for it in take()]
    assert list(take()) == [], "it is told once"


def test_partitions_are_found_by_their_names_and_compared(
    target: Target, source: Source, name: TableName, location: str
) -> None:
    of = table(name, location, keys=["k"])
    target.apply(source.put_table(of))
    assert target.partition_names(name) == []
    parts = [partition(of, [value]) for value in ("a", "b/c=d %", "Zürich")]
    target.apply(source.put_partitions(of, *parts))
    names = target.partition_names(name)
    assert sorted(names) == ["k=Zürich", "k=a", "k=b%2Fc%3Dd %25"]
    assert len(target.partition_names(name, 2)) == 2
    assert target.partition_names(TableName(name.database, "nosuch")) == []
    there = {tuple(it.values): it for it in target.partitions_by_name(name, [*names, "k=nosuch"])}
    kept: Any = target.table(name)
    assert [target.differences(it, there.pop(tuple(it.values)), kept) for it in parts] == [[], [], []]
    assert there == {}
    parts[0].parameters["x"] = "y"
    (line,) = target.differences(parts[0], target.partitions_by_name(name, ["k=a"])[0], kept)
    assert line.lower() == "parameters.x: nothing instead of 'y'"
    assert target.differences(parts[0], None, kept) == ["missing"]


def test_functions_and_databases_are_compared(
    harness: TargetHarness, target: Target, source: Source, database: str
) -> None:
    made = function(database, "f")
    target.apply(source.put_function(made))
    (there,) = target.functions(database)
    assert (there.functionName, target.differences(made, there)) == ("f", [])
    made.className = "com.example.Other"
    assert len(target.differences(made, there)) == 1
    assert target.functions(harness.new_database()) == []
    base = source.put_database(database, harness.location(database)).definition
    assert target.differences(base, target.database(database)) == []
    base.parameters = {**(base.parameters or {}), "x": "y"}
    assert len(target.differences(base, target.database(database))) == 1


def test_constraints_are_read_by_their_kinds_where_the_target_has_any(
    harness: TargetHarness, target: Target, source: Source, name: TableName, location: str
) -> None:
    other = TableName(name.database, "other")
    for it in (name, other):
        target.apply(source.put_table(table(it, f"{location}_{it.table}")))
    pk, fk = f"pk_{name.database}", f"fk_{name.database}"  # Hive 2.3 wants them to be its only ones of that name
    key, ref = primary_key(other, pk, "a"), foreign_key(name, other, fk)
    target.apply(source.put_constraint(other, key))
    target.apply(source.put_constraint(name, ref))
    found = target.constraints(target.table(name))
    if "constraints" not in harness.features:
        assert found == {}
        return
    assert target.differences(ref, found[hive.SQLForeignKey]) == []
    assert found[hive.SQLPrimaryKey] == []
    its = target.constraints(target.table(other))[hive.SQLPrimaryKey]
    assert target.differences(key, its) == []
    assert target.differences(primary_key(other, pk, "b"), its) == ["column_name: 'a' instead of 'b'"]
    assert target.differences(primary_key(other, pk, "a", "b"), its) != []
