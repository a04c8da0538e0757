"""Properties that others set at Glue stay through every change that pysync makes, and are no drift."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.names import TableName
from pysync.targets.base import Outcome, OutcomeUnknown
from pysync.targets.target import StoreTarget
from tests.conformance.objects import Source, partition, table
from tests.support.glue import Bench, answered, broken_off

PROJECTION = {"projection.enabled": "true", "projection.k.type": "date", "classification": "csv"}
LOCATION = "s3://b/t"


class World:
    """A table with one partition in a database of its own, as pysync wrote it."""

    def __init__(self, **settings: Any) -> None:
        self.bench, self.source = Bench(), Source()
        self.name = TableName(self.bench.database(), "t")
        self.target: StoreTarget = self.bench.target(on_conflict="adopt", **settings)
        self.definition = table(self.name, LOCATION, keys=["k"], parameters={"comment": "c", "mine": "1"})
        self.apply(self.source.put_table(self.definition))
        self.apply(self.source.put_partitions(self.definition, self.partition()))

    def apply(self, operation: Any) -> Outcome:
        return self.target.apply(operation)

    def put(self, **parameters: str) -> Outcome:
        """The source alters the table so that it has these parameters."""
        self.definition = deepcopy(self.definition)
        self.definition.parameters = {"EXTERNAL": "TRUE", **parameters}
        return self.apply(self.source.put_table(self.definition))

    def partition(self, **parameters: str) -> Any:
        found = partition(self.definition, ["1"])
        found.parameters |= {"mine": "1", **parameters}
        return found

    def raw(self, name: TableName | None = None) -> Any:
        name = name or self.name
        return self.bench.get_table(DatabaseName=name.database, Name=name.table)["Table"]

    def raw_partition(self) -> Any:
        place = {"DatabaseName": self.name.database, "TableName": "t"}
        return self.bench.get_partition(**place, PartitionValues=["1"])["Partition"]

    def others_set(self, change: Callable[[Any], object]) -> None:
        """Somebody else alters the table."""
        found = self.raw()
        kept = ("Name", "Owner", "StorageDescriptor", "PartitionKeys", "Parameters", "TableType")
        given = {key: found[key] for key in kept if key in found}
        change(given)
        self.bench.update_table(DatabaseName=self.name.database, TableInput=given)


def parameters(found: Any) -> dict[str, str]:
    """Those that are neither pysync's nor the server's."""
    return {key: value for key, value in found["Parameters"].items() if not key.startswith("pysync.")}


def test_they_stay_when_the_source_alters_the_table() -> None:
    world = World()
    world.others_set(lambda it: it["Parameters"].update(PROJECTION))
    assert world.put(comment="other") == Outcome.APPLIED
    assert parameters(world.raw()) == {"EXTERNAL": "TRUE", "comment": "other", **PROJECTION}


def test_they_are_no_drift_and_cause_no_write() -> None:
    world = World()
    world.others_set(lambda it: it["Parameters"].update(PROJECTION))
    there = world.target.table(world.name)
    assert world.target.differences(world.definition, there) == []
    assert world.apply(world.source.put_table(world.definition)) == Outcome.UNCHANGED


def test_what_the_source_removes_goes_and_what_it_takes_over_is_its_own() -> None:
    world = World()
    world.others_set(lambda it: it["Parameters"].update(PROJECTION))
    assert world.put(comment="c", classification="csv") == Outcome.APPLIED, "now it is the source's"
    assert world.put(comment="c") == Outcome.APPLIED
    left = {key: value for key, value in PROJECTION.items() if key != "classification"}
    assert parameters(world.raw()) == {"EXTERNAL": "TRUE", "comment": "c", **left}


def test_a_value_of_the_sources_that_somebody_changes_is_drift() -> None:
    world = World()
    world.others_set(lambda it: it["Parameters"].update(mine="2"))
    assert world.target.differences(world.definition, world.target.table(world.name)) != []
    assert world.apply(world.source.put_table(world.definition)) == Outcome.APPLIED
    assert world.raw()["Parameters"]["mine"] == "1"


@pytest.mark.parametrize(
    ("keep", "stays"), [([], set()), (["projection.*"], {"projection.enabled", "projection.k.type"})]
)
def test_the_setting_says_which_stay(keep: list[str], stays: set[str]) -> None:
    world = World(keep_parameters=keep)
    world.others_set(lambda it: it["Parameters"].update(PROJECTION))
    world.put(comment="other")
    assert world.raw()["Parameters"].keys() & PROJECTION.keys() == stays


def test_parameters_of_columns_and_storage_stay() -> None:
    world = World()

    def crawled(given: Any) -> None:
        given["StorageDescriptor"]["Columns"][1]["Parameters"] = {"pii": "yes"}
        given["PartitionKeys"][0]["Parameters"] = {"iceberg.field.id": "1"}
        given["StorageDescriptor"]["Parameters"] = {"CrawlerSchemaSerializerVersion": "1.0"}

    world.others_set(crawled)
    world.definition.sd.cols.insert(0, hive.FieldSchema("z", "int", ""))
    assert world.put(comment="other") == Outcome.APPLIED
    storage = world.raw()["StorageDescriptor"]
    assert [it.get("Parameters") for it in storage["Columns"]] == [None, None, {"pii": "yes"}]
    assert storage["Parameters"] == {"CrawlerSchemaSerializerVersion": "1.0"}
    assert world.raw()["PartitionKeys"][0]["Parameters"] == {"iceberg.field.id": "1"}


def test_how_files_are_read_is_the_sources() -> None:
    world = World()
    world.others_set(lambda it: it["StorageDescriptor"]["SerdeInfo"]["Parameters"].update({"escape.delim": "x"}))
    assert world.apply(world.source.put_table(world.definition)) == Outcome.APPLIED
    assert world.raw()["StorageDescriptor"]["SerdeInfo"]["Parameters"] == {"field.delim": ","}


def test_those_of_a_partition_stay() -> None:
    world = World()
    found = world.raw_partition()
    given = {"Values": ["1"], "StorageDescriptor": found["StorageDescriptor"]}
    given["Parameters"] = {**found["Parameters"], "classification": "csv"}
    place = {"DatabaseName": world.name.database, "TableName": "t"}
    world.bench.update_partition(**place, PartitionValueList=["1"], PartitionInput=given)
    same = world.source.put_partitions(world.definition, world.partition())
    assert world.apply(same) == Outcome.UNCHANGED
    assert world.apply(world.source.put_partitions(world.definition, world.partition(new="2"))) == Outcome.APPLIED
    wanted = {"numFiles": "3", "totalSize": "7", "mine": "1", "new": "2", "classification": "csv"}
    assert parameters(world.raw_partition()) == wanted
    gone = world.partition()
    del gone.parameters["mine"]
    assert world.apply(world.source.put_partitions(world.definition, gone)) == Outcome.APPLIED
    assert "mine" not in world.raw_partition()["Parameters"]
    assert "classification" in world.raw_partition()["Parameters"]


def test_those_of_a_partition_that_somebody_creates_meanwhile_stay() -> None:
    world = World()
    new = partition(world.definition, ["2"])
    place = {"DatabaseName": world.name.database, "TableName": "t"}
    left = [1]

    def theirs(_: int, method: str, __: Any) -> Any:
        if method == "batch_create_partition" and left:
            left.pop()
            world.bench.create_partition(
                **place, PartitionInput={"Values": ["2"], "StorageDescriptor": {}, "Parameters": {"crawled": "yes"}}
            )

    world.bench.before = theirs
    assert world.apply(world.source.put_partitions(world.definition, new)) == Outcome.APPLIED
    found = world.bench.get_partition(**place, PartitionValues=["2"])["Partition"]
    assert parameters(found) == {"numFiles": "3", "totalSize": "7", "crawled": "yes"}


def test_those_of_a_database_stay() -> None:
    world = World()
    database = world.name.database
    world.apply(world.source.put_database(database, parameters={"mine": "1"}))
    found = world.bench.get_database(Name=database)["Database"]
    given = {"Name": database, "Parameters": {**found["Parameters"], "team": "x"}}
    grants = [{"Principal": {"DataLakePrincipalIdentifier": "IAM_ALLOWED_PRINCIPALS"}, "Permissions": ["ALL"]}]
    world.bench.update_database(Name=database, DatabaseInput={**given, "CreateTableDefaultPermissions": grants})
    world.apply(world.source.put_database(database, parameters={"mine": "2"}))
    found = world.bench.get_database(Name=database)["Database"]
    assert parameters(found) == {"mine": "2", "team": "x"}
    assert found["CreateTableDefaultPermissions"] == grants


def test_they_move_along_with_a_renamed_table() -> None:
    world = World()
    world.others_set(lambda it: it["Parameters"].update(PROJECTION))
    new = TableName(world.name.database, "u")
    rename = world.source.rename_table(world.name, table(new, LOCATION, keys=["k"], parameters={"comment": "c"}))
    assert world.apply(rename) == Outcome.APPLIED
    assert parameters(world.raw(new)) == {"EXTERNAL": "TRUE", "comment": "c", **PROJECTION}, "not mine=1"
    assert world.target.differences(rename.definition, world.target.table(new)) == []


def test_they_move_along_wherever_a_rename_breaks_off() -> None:
    for at in range(1, 30):
        world = World()
        world.others_set(lambda it: it["Parameters"].update(PROJECTION))
        new = TableName(world.name.database, "u")
        rename = world.source.rename_table(world.name, table(new, LOCATION, keys=["k"]))
        world.bench.restart()
        world.bench.after = lambda number, *_, at=at: broken_off() if number == at else None
        try:
            world.apply(rename)
            done = True
        except Exception:
            done = False
        world.bench.restart()
        if not done:
            world.apply(rename)
        assert parameters(world.raw(new)) == {"EXTERNAL": "TRUE", **PROJECTION}
        if done:
            return
    raise AssertionError("it never came through")


@pytest.mark.parametrize("after", [True, False])
def test_an_update_that_is_cut_off_comes_again_with_the_same_result(after: bool) -> None:
    world = World()
    world.others_set(lambda it: it["Parameters"].update(PROJECTION))
    left = [1]

    def cut(_: int, method: str, __: Any) -> Exception | None:
        return broken_off() if method == "update_table" and left and left.pop() else None

    setattr(world.bench, "after" if after else "before", cut)
    world.definition.parameters = {"EXTERNAL": "TRUE", "comment": "c"}
    put = world.source.put_table(world.definition)
    with pytest.raises(OutcomeUnknown):
        world.apply(put)
    world.apply(put)
    assert parameters(world.raw()) == {"EXTERNAL": "TRUE", "comment": "c", **PROJECTION}


def test_what_somebody_sets_between_the_look_and_the_write_stays() -> None:
    world = World()
    left = [1]

    def theirs(_: int, method: str, __: Any) -> Any:
        if method == "update_table" and left:
            left.pop()
            world.others_set(lambda it: it["Parameters"].update(PROJECTION))

    world.bench.before = theirs
    world.put(comment="other")
    assert parameters(world.raw()) == {"EXTERNAL": "TRUE", "comment": "other", **PROJECTION}


def test_an_adopted_table_keeps_all_that_the_source_does_not_have() -> None:
    bench, source = Bench(), Source()
    name = TableName(bench.database(), "t")
    given = {"Name": "t", "StorageDescriptor": {}, "Parameters": PROJECTION, "TableType": "EXTERNAL_TABLE"}
    bench.create_table(DatabaseName=name.database, TableInput=given)
    target = bench.target(on_conflict="adopt")
    put = source.put_table(table(name, LOCATION, parameters={"comment": "c"}))
    assert [target.apply(put) for _ in range(2)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    found = bench.get_table(DatabaseName=name.database, Name="t")["Table"]
    assert parameters(found) == {"EXTERNAL": "TRUE", "comment": "c", **PROJECTION}


def test_new_columns_reach_partitions_and_leave_parameters_of_columns() -> None:
    world = World(partition_schema="append")
    found = world.raw_partition()
    storage = found["StorageDescriptor"]
    storage["Columns"][0]["Parameters"] = {"pii": "yes"}
    given = {"Values": ["1"], "StorageDescriptor": storage, "Parameters": found["Parameters"]}
    place = {"DatabaseName": world.name.database, "TableName": "t"}
    world.bench.update_partition(**place, PartitionValueList=["1"], PartitionInput=given)
    world.definition.sd.cols.append(hive.FieldSchema("z", "int", ""))
    world.put(comment="c")
    columns = world.raw_partition()["StorageDescriptor"]["Columns"]
    assert [(it["Name"], it.get("Parameters")) for it in columns] == [("a", {"pii": "yes"}), ("b", None), ("z", None)]


def test_access_denied_leaves_everything_as_it_is() -> None:
    world = World()
    world.others_set(lambda it: it["Parameters"].update(PROJECTION))
    before = world.raw()
    world.bench.before = lambda _, method, __: answered("AccessDeniedException") if method == "update_table" else None
    with pytest.raises(Exception, match="because"):
        world.put(comment="other")
    assert world.raw() == before
