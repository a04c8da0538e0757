"""Databases, functions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.definition import LAST_ID_KEY
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import PutDatabase
from pysync.targets.base import Missing, Outcome, Rejected, Target
from tests.conformance.harness import BOTH_WAYS, TargetHarness, needs_marks
from tests.conformance.objects import Source, function, table


def test_create_alter_drop_each_twice(harness: TargetHarness, target: Target, source: Source) -> None:
    name = harness.new_database()
    create = source.put_database(name, harness.location(name), parameters={"team": "red"})
    alter = source.put_database(name, harness.location(name), parameters={"team": "blue"}, ownerName="ann")
    drop = source.drop_database(name)

    assert [target.apply(create), target.apply(create)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert Mark.read(target.database(name).parameters) == create.mark
    assert [target.apply(alter), target.apply(alter)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert target.database(name).parameters["team"] == "blue"
    assert target.database(name).ownerName == "ann"
    assert target.apply(create) == Outcome.STALE
    assert [target.apply(drop), target.apply(drop)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert target.database(name) is None


def test_the_event_id_of_a_database_only_grows(harness: TargetHarness, target: Target, source: Source) -> None:
    needs_marks(harness, "each write of it would be replicated back")
    name = harness.new_database()
    create = source.put_database(name, harness.location(name), parameters={"team": "red"})
    target.apply(replace(create, event_id=5))
    ids = [target.database(name).parameters.get(LAST_ID_KEY)]
    for event_id in (7, 7, 6, 12, 0):
        target.apply(replace(source.put_database(name, harness.location(name)), event_id=event_id))
        ids.append(target.database(name).parameters.get(LAST_ID_KEY))
    assert ids == [None, "7", "7", "7", "12", "12"], "one that is created may lack what else is in it at the source"


def test_what_the_server_does_not_take_is_written_once(
    harness: TargetHarness, target: Target, source: Source, database: str
) -> None:
    """HMS 2.3 alters neither description nor location."""
    alter = source.put_database(database, harness.location("elsewhere"), description="new")
    target.apply(alter)
    harness.writes.clear()
    if BOTH_WAYS in harness.features:  # the mark does not tell what somebody has changed there since
        target.apply(alter)
        assert {name for name, _ in harness.writes} <= {"alter_database"}
        return
    assert target.apply(alter) == Outcome.UNCHANGED
    assert harness.writes == []


def test_a_definition_is_not_altered(harness: TargetHarness, target: Target, source: Source) -> None:
    create = source.put_database(harness.new_database(), parameters={"a": "b"})
    target.apply(create)
    assert create.definition.parameters == {"a": "b"}


def test_a_stale_drop_leaves_a_newer_database(target: Target, source: Source, database: str) -> None:
    target.apply(source.put_database(database, parameters={"x": "y"}))
    assert target.apply(source.drop_database(database, at=1)) == Outcome.STALE
    assert target.database(database) is not None


def test_a_stale_drop_takes_the_tables_from_before_it(
    harness: TargetHarness, target: Target, source: Source, database: str
) -> None:
    """After a crash a window is replayed from its start: its tables are put again into the database made anew."""
    late = source.put_table(table(TableName(database, "late"), harness.location(f"{database}/late")))
    drop = source.drop_database(database)
    target.apply(drop)
    target.apply(source.put_database(database, parameters={"anew": "1"}))
    target.apply(source.put_table(table(TableName(database, "new"), harness.location(f"{database}/new"))))
    target.apply(late)
    assert target.apply(drop) == Outcome.STALE
    # Both ways each table gets a drop of its own from its home.
    assert target.tables(database) == (["late", "new"] if BOTH_WAYS in harness.features else ["new"])


def test_functions_from_before_the_database_was_made_anew_are_stale(
    harness: TargetHarness, target: Target, source: Source, database: str
) -> None:
    if "functions" not in harness.features:
        pytest.skip("this kind has no functions")
    put, drop = source.put_function(function(database, "f")), source.drop_function(database, "g")
    target.apply(source.drop_database(database))
    definition = hive.Database(name=database, parameters={})
    target.apply(PutDatabase(database=database, definition=definition, **source.at(created=0, born=True)))
    target.apply(source.put_function(function(database, "g")))
    assert [target.apply(put), target.apply(drop)] == [Outcome.STALE, Outcome.STALE]
    assert harness.functions(database) == {"g": "com.example.F"}


@pytest.mark.parametrize("on_conflict", ["skip", "park"])
def test_a_foreign_database_is_left_and_its_tables_go_on(
    harness: TargetHarness, source: Source, on_conflict: str
) -> None:
    needs_marks(harness, "a database that was born at both ends is one")
    name, target = harness.new_database(), harness.open(on_conflict=on_conflict)
    harness.create(hive.Database(name=name, parameters={"mine": "yes"}))
    assert target.apply(source.put_database(name, parameters={"x": "y"})) == Outcome.FOREIGN
    assert target.database(name).parameters == {"mine": "yes"}
    assert target.apply(source.put_table(table(TableName(name, "t"), None))) == Outcome.APPLIED
    harness.create(table(TableName(name, "theirs"), harness.location(f"{name}/theirs")))
    assert target.apply(source.drop_database(name)) == Outcome.FOREIGN
    assert target.tables(name) == ["theirs"], "ours are gone at the source"
    assert target.database(name).parameters == {"mine": "yes"}


def test_a_foreign_database_is_adopted_if_so_set_but_not_dropped_before(harness: TargetHarness, source: Source) -> None:
    needs_marks(harness, "a database that was born at both ends is one")
    name, target = harness.new_database(), harness.open(on_conflict="adopt")
    harness.create(hive.Database(name=name, parameters={}))
    assert target.apply(source.drop_database(name)) == Outcome.FOREIGN
    assert target.apply(source.put_database(name)) == Outcome.APPLIED
    assert target.apply(source.drop_database(name)) == Outcome.APPLIED


def test_a_database_that_was_born_at_both_ends_is_one(harness: TargetHarness, source: Source) -> None:
    if BOTH_WAYS not in harness.features:
        pytest.skip("one way it is somebody else's")
    name, target = harness.new_database(), harness.open(on_conflict="park")
    harness.create(hive.Database(name=name, parameters={"mine": "yes"}))
    theirs = TableName(name, "theirs")
    assert target.apply(source.put_database(name, parameters={"x": "y"})) == Outcome.APPLIED
    assert target.database(name).parameters["pysync.births"] == "onprem,west"
    assert target.apply(source.put_table(table(TableName(name, "t"), None))) == Outcome.APPLIED
    harness.create(table(theirs, harness.location(f"{name}/theirs")))
    assert target.apply(source.drop_database(name)) == Outcome.CONFLICT
    assert target.tables(name) == ["theirs"], "it was born here"
    assert target.apply(source.drop_table(theirs)) == Outcome.FOREIGN


def test_another_sources_database_is_foreign(harness: TargetHarness, target: Target, database: str) -> None:
    needs_marks(harness, "the database of a third cluster is judged by births")
    other = Source("other")
    other.position = 100
    assert target.apply(other.put_database(database, parameters={"x": "y"})) == Outcome.FOREIGN
    assert target.apply(other.drop_database(database)) == Outcome.FOREIGN


def test_default_is_never_altered_nor_dropped(harness: TargetHarness, source: Source) -> None:
    target = harness.open(on_conflict="adopt")
    before = target.database("default")
    assert target.apply(source.put_database("default", parameters={"x": "y"})) == Outcome.FOREIGN
    assert target.apply(source.drop_database("default")) == Outcome.FOREIGN
    assert target.database("default") == before


def outcome_if_left(harness: TargetHarness, one_way: Outcome) -> Outcome:
    """The outcome of a drop that leaves the database because of a table: both ways the other clusters hear of it."""
    return Outcome.CONFLICT if BOTH_WAYS in harness.features else one_way


def test_a_database_with_a_foreign_table_stays(
    harness: TargetHarness, target: Target, source: Source, database: str
) -> None:
    theirs = TableName(database, "theirs")
    harness.create(table(theirs, harness.location(f"{database}/theirs")))
    target.apply(source.put_table(table(TableName(database, "ours"), harness.location(f"{database}/ours"))))
    assert target.apply(source.drop_database(database)) == outcome_if_left(harness, Outcome.FOREIGN)
    assert target.tables(database) == ["theirs"]
    assert target.database(database) is not None


def test_a_database_with_a_newer_table_stays(
    harness: TargetHarness, target: Target, source: Source, database: str
) -> None:
    target.apply(source.put_table(table(TableName(database, "t"), harness.location(f"{database}/t")), at=50))
    assert target.apply(source.drop_database(database, at=40)) == outcome_if_left(harness, Outcome.STALE)
    assert target.tables(database) == ["t"]


def test_the_drop_takes_tables_views_and_functions(
    harness: TargetHarness, target: Target, source: Source, database: str
) -> None:
    for name in ("one", "two"):
        target.apply(source.put_table(table(TableName(database, name), harness.location(f"{database}/{name}"))))
    if "functions" in harness.features:
        target.apply(source.put_function(function(database, "F")))
    assert target.apply(source.drop_database(database)) == Outcome.APPLIED
    assert target.database(database) is None
    assert target.tables(database) == []


def test_without_cascade_a_drop_takes_no_tables_along(harness: TargetHarness, source: Source) -> None:
    needs_marks(harness, "cascade = false is refused")
    name, target = harness.new_database(), harness.open(cascade=False)
    target.apply(source.put_database(name, harness.location(name)))
    one, two = TableName(name, "one"), TableName(name, "two")
    for each in (one, two):
        target.apply(source.put_table(table(each, harness.location(f"{name}/{each.table}"))))
    drop = source.drop_database(name, at=50)
    harness.writes.clear()
    for _ in range(2):
        with pytest.raises(Rejected, match=rf"cascade = false.*still has 2 tables there: {one}, {two}") as refusal:
            target.apply(drop)
    assert refusal.value.hint == "drop them at the target, or set cascade = true; then retry"
    assert (harness.writes, target.tables(name)) == ([], ["one", "two"]), "nothing was written"
    for each in (one, two):
        assert target.apply(source.drop_table(each, at=40)) == Outcome.APPLIED
    assert [target.apply(drop), target.apply(drop)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert target.database(name) is None


def test_without_cascade_a_refused_drop_is_done_once_cascade_is_set(harness: TargetHarness, source: Source) -> None:
    needs_marks(harness, "cascade = false is refused")
    name, target = harness.new_database(), harness.open(cascade=False)
    target.apply(source.put_database(name, harness.location(name)))
    target.apply(source.put_table(table(TableName(name, "t"), harness.location(f"{name}/t"))))
    drop = source.drop_database(name)
    with pytest.raises(Rejected, match="still has 1 table there"):
        target.apply(drop)
    assert harness.open(cascade=True).apply(drop) == Outcome.APPLIED
    assert target.database(name) is None


def test_without_cascade_tables_of_others_and_newer_ones_keep_the_database_as_ever(
    harness: TargetHarness, source: Source
) -> None:
    """They were never taken along, so nobody has to decide about them."""
    needs_marks(harness, "cascade = false is refused")
    target = harness.open(cascade=False)
    theirs, newer = harness.new_database(), harness.new_database()
    for name in (theirs, newer):
        target.apply(source.put_database(name, harness.location(name)))
    harness.create(table(TableName(theirs, "t"), harness.location(f"{theirs}/t")))
    target.apply(source.put_table(table(TableName(newer, "t"), harness.location(f"{newer}/t")), at=50))
    assert target.apply(source.drop_database(theirs, at=40)) == Outcome.FOREIGN
    assert target.apply(source.drop_database(newer, at=40)) == Outcome.STALE
    assert (target.tables(theirs), target.tables(newer)) == (["t"], ["t"])


def test_functions(harness: TargetHarness, target: Target, source: Source, database: str) -> None:
    if "functions" not in harness.features:
        pytest.skip("this kind has no functions")
    create = source.put_function(function(database, "MyF"))
    alter = source.put_function(function(database, "myf", "com.example.G"))
    drop = source.drop_function(database, "MYF")
    assert [target.apply(create), target.apply(create)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert harness.functions(database) == {"myf": "com.example.F"}
    assert create.definition.functionName == "MyF"
    assert [target.apply(alter), target.apply(alter)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert harness.functions(database) == {"myf": "com.example.G"}
    assert [target.apply(drop), target.apply(drop)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert harness.functions(database) == {}


def test_the_resources_of_a_function(harness: TargetHarness, target: Target, source: Source, database: str) -> None:
    """HMS's own alter_function leaves them as they are."""
    if "functions" not in harness.features:
        pytest.skip("this kind has no functions")
    for jars in (["s3://jars/a.jar"], ["s3://jars/b.jar", "s3://jars/c.jar"], []):
        definition = function(database, "f")
        definition.resourceUris = [hive.ResourceUri(hive.ResourceType.JAR, jar) for jar in jars]
        put = source.put_function(definition)
        assert [target.apply(put), target.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]
        (found,) = target.functions(database)
        assert [resource.uri for resource in found.resourceUris or ()] == jars


def test_a_function_of_a_missing_database(harness: TargetHarness, target: Target, source: Source) -> None:
    if "functions" not in harness.features:
        pytest.skip("this kind has no functions")
    name = harness.new_database()
    with pytest.raises(Missing, match=f"database {name} does not exist at the target"):
        target.apply(source.put_function(function(name, "f")))


def test_functions_of_a_foreign_database(harness: TargetHarness, target: Target, source: Source) -> None:
    if "functions" not in harness.features:
        pytest.skip("this kind has no functions")
    name = harness.new_database()
    harness.create(hive.Database(name=name, parameters={}))
    needs_marks(harness, "functions are judged by the births of their database")
    assert target.apply(source.put_function(function(name, "f"))) == Outcome.APPLIED
    assert target.apply(source.put_function(function(name, "f", "Other"))) == Outcome.FOREIGN
    assert target.apply(source.drop_function(name, "f")) == Outcome.FOREIGN
    adopting = harness.open(on_conflict="adopt")
    assert adopting.apply(source.put_function(function(name, "f", "Other"))) == Outcome.APPLIED
    assert harness.functions(name) == {"f": "Other"}


def test_what_is_in_a_catalog_that_the_target_does_not_have_is_refused(
    harness: TargetHarness, target: Target, source: Source
) -> None:
    """Nor is it written to the namesake in the catalog that it has."""
    name = harness.new_database()
    in_catalog = f"@spark#{name}"
    new = table(TableName(in_catalog, "t"), harness.location(f"{name}/t"))
    for operation in (source.put_database(in_catalog, harness.location(name)), source.put_table(new)):
        with pytest.raises(Rejected, match=r"the catalog spark.*catalogs = "):
            target.apply(operation)
    assert target.database(name) is None
