"""Partition indexes, Lake Formation's tags, and what a rename by copy keeps."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from pydantic import ValidationError
from structlog.testing import capture_logs

from pysync.model.names import TableName
from pysync.targets.athena.settings import AthenaSettings
from pysync.targets.aws.clients import provide
from pysync.targets.base import Outcome, Rejected, Unavailable
from pysync.targets.glue import GlueSettings, glue_target
from tests.conformance.objects import Source, partition, table
from tests.support.glue import Bench, answered, broken_off

LOCATION = "s3://b/t"


class Formation:
    """Lake Formation: the tags of resources, by the names in them."""

    def __init__(self, **there: dict[str, str]) -> None:
        self.tags: dict[str, dict[str, str]] = dict(there)
        self.calls: list[str] = []
        self.fails: Exception | None = None
        self.meta = SimpleNamespace(region_name="eu-west-1")

    def get_resource_lf_tags(self, Resource: Any, ShowAssignedLFTags: bool) -> dict[str, Any]:  # noqa: N803
        self.calls.append("get")
        if self.fails is not None:
            raise self.fails
        assert ShowAssignedLFTags, "those that the table inherits are not its own"
        name, member = _of(Resource)
        tags = self.tags.get(name, {})
        return {member: [{"TagKey": key, "TagValues": [value]} for key, value in tags.items()]} if tags else {}

    def add_lf_tags_to_resource(self, Resource: Any, LFTags: Any) -> dict[str, Any]:  # noqa: N803
        self.calls.append("add")
        name, _ = _of(Resource)
        unknown = [tag for tag in LFTags if tag["TagKey"] == "unknown"]
        self.tags.setdefault(name, {}).update({it["TagKey"]: it["TagValues"][0] for it in LFTags if it not in unknown})
        error = {"ErrorCode": "EntityNotFoundException", "ErrorMessage": "no such tag"}
        return {"Failures": [{"LFTag": tag, "Error": error} for tag in unknown]}


def _of(resource: Any) -> tuple[str, str]:
    if "Table" in resource:
        its = resource["Table"]
        return f"{its['DatabaseName'].rpartition('_')[0]}.{its['Name']}", "LFTagsOnTable"
    return resource["Database"]["Name"].rpartition("_")[0], "LFTagOnDatabase"


class World:
    def __init__(self, formation: Formation | None = None, **settings: Any) -> None:
        self.bench, self.source, self.formation = Bench(), Source(), formation or Formation()
        self.name = TableName(self.bench.database(), "t")
        self.values = {"name": "lake", "kind": "glue", "region": "eu-west-1", "on_conflict": "adopt", **settings}
        self.restart()
        self.definition = table(self.name, LOCATION, keys=["year", "day"])

    def restart(self) -> None:
        settings = GlueSettings(**self.values)
        provide(settings, glue=self.bench, lakeformation=self.formation)
        self.target = glue_target(settings)

    def put(self, **parameters: str) -> Outcome:
        self.definition.parameters |= parameters
        return self.target.apply(self.source.put_table(self.definition))

    def indexes(self, name: TableName | None = None) -> list[list[str]]:
        of = name or self.name
        return [it["Keys"] for it in self.target.store.catalog.partition_indexes(of)]

    def create_by_hand(self, *keys: str) -> None:
        index = {"IndexName": f"mine_{'_'.join(keys)}", "Keys": list(keys)}
        self.bench.create_partition_index(DatabaseName=self.name.database, TableName="t", PartitionIndex=index)


INDEXES = {"db_*.t": [["year"], ["year", "day"], ["gone"]], "*.u": [["day"]]}


# --- indexes


def test_a_new_table_has_its_indexes_at_once() -> None:
    world = World(partition_indexes=INDEXES)
    world.put()
    assert world.indexes() == [["year"], ["year", "day"]]
    assert world.bench.writes == ["create_table"]


def test_a_table_that_is_there_gets_those_that_are_missing_once() -> None:
    world = World()
    world.put()
    world.create_by_hand("year")
    world.values["partition_indexes"] = INDEXES
    world.restart()
    world.bench.restart()
    assert [world.put(), world.put()] == [Outcome.UNCHANGED, Outcome.UNCHANGED]
    assert world.bench.writes == ["create_partition_index"]
    assert world.bench.methods.count("get_partition_indexes") == 1
    assert world.indexes() == [["year"], ["year", "day"]]


def test_glue_has_three_at_most() -> None:
    world = World(partition_indexes={"*.t": [["year"], ["day"], ["year", "day"], ["day", "year"]]})
    world.put()
    assert world.indexes() == [["year"], ["day"], ["year", "day"]]


@pytest.mark.parametrize(("code", "again"), [("AccessDeniedException", False), ("ThrottlingException", True)])
def test_a_failure_is_told_and_stops_nothing(monkeypatch: pytest.MonkeyPatch, code: str, again: bool) -> None:
    world = World()
    world.put()
    world.values["partition_indexes"] = INDEXES
    world.restart()
    world.bench.before = lambda _, method, __: answered(code) if method == "create_partition_index" else None
    with capture_logs() as logs:
        assert world.put(comment="c") == Outcome.APPLIED
        assert world.put(comment="d") == Outcome.APPLIED
    (reported,) = [line for line in logs if line["event"] == "extra_omitted"]
    assert reported["extra"] == "partition indexes"
    world.bench.restart()
    world.put(comment="e")
    assert "create_partition_index" not in world.bench.methods, "not at once"
    monkeypatch.setattr(time, "monotonic", lambda: float("inf"))
    world.put(comment="f")
    assert ("create_partition_index" in world.bench.methods) is again


def test_an_index_that_glue_refuses_stops_no_table() -> None:
    world = World(partition_indexes=INDEXES)
    world.bench.before = lambda _, __, arguments: (
        answered("InvalidInputException") if "PartitionIndexes" in arguments else None
    )
    with capture_logs() as logs:
        assert world.put() == Outcome.APPLIED
    assert "extra_omitted" in [line["event"] for line in logs]
    assert world.target.table(world.name) is not None


def test_indexes_of_one_name_are_one() -> None:
    world = World(partition_indexes={"*.t": [["a_b"], ["a", "b"]]})
    world.definition = table(world.name, LOCATION, keys=["a", "b", "a_b"])
    world.put()
    assert world.indexes() == [["a_b"]]


def test_the_embedded_glue_has_the_rules_of_indexes() -> None:
    world = World()
    world.definition = table(world.name, LOCATION, keys=["a", "b", "c", "d"])
    world.put()
    world.create_by_hand("a")
    for keys, code in ((("a",), "AlreadyExists"), (("x",), "InvalidInput")):
        with pytest.raises(ClientError, match=code):
            world.create_by_hand(*keys)
    world.create_by_hand("b")
    world.create_by_hand("c")
    with pytest.raises(ClientError, match="ResourceNumberLimitExceeded"):
        world.create_by_hand("d")
    assert world.indexes() == [["a"], ["b"], ["c"]]


def test_without_a_setting_no_call_is_made() -> None:
    world = World()
    world.put()
    world.put(comment="c")
    assert not [it for it in world.bench.methods if "index" in it]
    assert world.formation.calls == []


# --- renames


def rename(world: World) -> tuple[TableName, Any]:
    new = TableName(world.name.database, "u")
    return new, world.source.rename_table(world.name, table(new, LOCATION, keys=["year", "day"]))


def test_a_copy_has_the_indexes_of_the_old_table_and_those_of_its_name() -> None:
    world = World(partition_indexes=INDEXES)
    world.put()
    world.create_by_hand("day", "year")
    world.target.apply(world.source.put_partitions(world.definition, partition(world.definition, ["1", "2"])))
    new, operation = rename(world)
    with capture_logs() as logs:
        assert world.target.apply(operation) == Outcome.APPLIED
    assert world.indexes(new) == [["year"], ["year", "day"], ["day", "year"]], "three at most, the old ones first"
    (reported,) = [line for line in logs if line["event"] == "table_copied"]
    assert (reported["table"], reported["to"]) == (str(world.name), str(new))
    assert "grants and tags" in reported["lost"]


def test_the_indexes_are_there_wherever_a_rename_breaks_off() -> None:
    for at in range(1, 30):
        world = World(partition_indexes=INDEXES)
        world.put()
        new, operation = rename(world)
        world.bench.restart()
        world.bench.after = lambda number, *_, at=at: broken_off() if number == at else None
        try:
            world.target.apply(operation)
            done = True
        except Exception:
            done = False
        world.bench.restart()
        if not done:
            world.target.apply(operation)
        assert world.indexes(new)[:2] == [["year"], ["year", "day"]]
        assert world.target.table(world.name) is None
        if done:
            return
    raise AssertionError("it never came through")


def test_a_right_to_read_indexes_that_is_missing_stops_no_rename() -> None:
    world = World()
    world.put()
    new, operation = rename(world)
    world.bench.before = lambda _, method, __: (
        answered("AccessDeniedException") if method == "get_partition_indexes" else None
    )
    with capture_logs() as logs:
        assert world.target.apply(operation) == Outcome.APPLIED
    assert world.target.table(new) is not None
    assert "extra_omitted" in [line["event"] for line in logs]


def test_keep_refuses_a_copy_and_changes_nothing() -> None:
    world = World(rename="keep")
    world.put()
    _, operation = rename(world)
    world.bench.restart()
    with pytest.raises(Rejected, match="would lose its versions") as caught:
        world.target.apply(operation)
    assert "pysync parked retry" in str(caught.value.hint)
    assert world.bench.writes == []
    world.bench.delete_table(DatabaseName=world.name.database, Name="t")
    world.restart()
    with pytest.raises(Exception, match="u"):  # the whole table is read at the source then
        world.target.apply(operation)


def test_keep_finishes_a_copy_that_was_begun() -> None:
    world = World()
    world.put()
    world.target.apply(world.source.put_partitions(world.definition, partition(world.definition, ["1", "2"])))
    new, operation = rename(world)
    world.bench.before = lambda _, method, __: (
        answered("ThrottlingException") if method == "batch_create_partition" else None
    )
    with pytest.raises(Unavailable):
        world.target.apply(operation)
    world.bench.restart()
    world.values["rename"] = "keep"
    world.restart()
    assert world.target.apply(operation) == Outcome.APPLIED
    assert [it.values for it in world.target.partitions(new)] == [["1", "2"]]


# --- tags


def test_tags_are_added_to_databases_and_tables_once() -> None:
    world = World(lf_tags={"db_*": {"team": "sales"}, "db_*.t": {"pii": "yes"}, "db_*.other": {"pii": "no"}})
    world.target.apply(world.source.put_database(world.name.database))
    world.put()
    world.put(comment="c")
    assert world.formation.tags == {"db": {"team": "sales"}, "db.t": {"pii": "yes"}}
    assert world.formation.calls == ["get", "add", "get", "add"]


def test_a_tag_that_is_there_keeps_its_value() -> None:
    world = World(Formation(**{"db.t": {"PII": "unclear"}}), lf_tags={"*.t": {"pii": "yes", "team": "sales"}})
    world.put()
    assert world.formation.tags["db.t"] == {"PII": "unclear", "team": "sales"}


def test_an_unknown_tag_is_told_and_the_others_are_assigned() -> None:
    world = World(lf_tags={"*.t": {"unknown": "x", "team": "sales"}})
    with capture_logs() as logs:
        assert world.put() == Outcome.APPLIED
    assert world.formation.tags["db.t"] == {"team": "sales"}
    (reported,) = [line for line in logs if line["event"] == "extra_omitted"]
    assert "no such tag" in reported["reason"]


@pytest.mark.parametrize("error", [answered("AccessDeniedException"), broken_off(), answered("ThrottlingException")])
def test_lake_formation_never_holds_up_a_table(error: Exception) -> None:
    world = World(lf_tags={"*.t": {"pii": "yes"}})
    world.formation.fails = error
    assert world.put() == Outcome.APPLIED
    world.formation.fails = None
    world.restart()
    assert world.put() == Outcome.UNCHANGED
    assert world.formation.tags["db.t"] == {"pii": "yes"}


def test_a_table_that_is_made_anew_is_tagged_anew() -> None:
    world = World(lf_tags={"*.t": {"pii": "yes"}})
    world.put()
    world.target.apply(world.source.drop_table(world.name))
    world.formation.tags.clear()
    world.put()
    assert world.formation.tags["db.t"] == {"pii": "yes"}


def test_tables_of_others_are_not_tagged() -> None:
    world = World(lf_tags={"*.t": {"pii": "yes"}}, on_conflict="skip")
    world.bench.create_table(DatabaseName=world.name.database, TableInput={"Name": "t"})
    assert world.put() == Outcome.FOREIGN
    assert world.formation.calls == []


# --- settings


@pytest.mark.parametrize("values", [{"partition_indexes": {"a.b": [["c"]]}}, {"lf_tags": {"a": {"b": "c"}}}])
def test_they_need_the_api(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="needs glue_api"):
        AthenaSettings(name="lake", kind="athena", work_group="w", glue_api="never", **values)


def test_an_index_has_keys() -> None:
    with pytest.raises(ValidationError, match="at least 1"):
        GlueSettings(name="lake", kind="glue", partition_indexes={"a.b": [[]]})
