"""Tables, databases and functions in Glue: versions, races, columns of partitions, what is said to be lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from structlog.testing import capture_logs

from pysync.base.errors import PysyncError
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import Operation
from pysync.targets.base import Forbidden, Missing, Outcome, OutcomeUnknown, Rejected, Unavailable
from tests.conformance.objects import Source, function, partition, primary_key, table, view
from tests.support.glue import Bench, answered, broken_off


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def name(bench: Bench) -> TableName:
    return TableName(bench.database(), "t")


LOCATION = "s3://b/t"


def once(method: str, error: Exception, then: Callable[[], object] = lambda: None) -> Any:
    """A script in which the first call of the method fails, after something else has happened."""
    left = [error]

    def script(_: int, called: str, __: dict[str, Any]) -> Exception | None:
        if called != method or not left:
            return None
        found = left.pop()
        then()
        return found

    return script


# --- what nothing could read


@pytest.mark.parametrize("location", ["hdfs://nn/t", "file:/t", "/t"])
def test_a_table_whose_files_athena_cannot_read_is_refused(
    bench: Bench, source: Source, name: TableName, location: str
) -> None:
    """Before: it was written, status and verify were green, and a query had no rows."""
    with pytest.raises(Rejected, match=f"{location} is not on S3: Athena would read no row") as refused:
        bench.target().apply(source.put_table(table(name, location)))
    assert 'locations = { "hdfs://nn" = "s3://bucket" }' in str(refused.value)
    assert bench.target().table(name) is None
    kept = bench.target(unreadable_locations="keep")
    assert kept.apply(source.put_table(table(name, location))) == Outcome.APPLIED


@pytest.mark.parametrize("location", ["s3://b/t", "s3a://b/t", "s3n://b/t"])
def test_a_table_on_s3_is_written_whatever_hadoop_calls_it(
    bench: Bench, source: Source, name: TableName, location: str
) -> None:
    assert bench.target().apply(source.put_table(table(name, location))) == Outcome.APPLIED
    assert bench.target().table(name).sd.location == "s3://b/t"


# --- writes


def test_an_update_names_the_version_that_was_read_and_archives_nothing(
    bench: Bench, source: Source, name: TableName
) -> None:
    target = bench.target()
    for comment in "abc":
        target.apply(source.put_table(table(name, LOCATION, parameters={"comment": comment})))
    updates = [arguments for method, arguments in bench.calls if method == "update_table"]
    assert [(it["VersionId"], it["SkipArchive"]) for it in updates] == [("0", True), ("1", True)]


def test_old_versions_are_kept_if_so_set(bench: Bench, source: Source, name: TableName) -> None:
    target = bench.target(skip_archive=False)
    for comment in "ab":
        target.apply(source.put_table(table(name, LOCATION, parameters={"comment": comment})))
    assert bench.calls[-1][1]["SkipArchive"] is False


def test_what_was_added_by_hand_stays(bench: Bench, source: Source, name: TableName) -> None:
    target = bench.target()
    target.apply(source.put_table(table(name, LOCATION)))
    there = bench.get_table(DatabaseName=name.database, Name="t")["Table"]
    fields = {key: there[key] for key in ("Name", "Owner", "StorageDescriptor", "Parameters", "TableType")}
    bench.update_table(DatabaseName=name.database, TableInput={**fields, "Description": "by hand"})
    target.apply(source.put_table(table(name, LOCATION, cols=["z:int"])))
    there = bench.get_table(DatabaseName=name.database, Name="t")["Table"]
    assert there["Description"] == "by hand"
    assert [column["Name"] for column in there["StorageDescriptor"]["Columns"]] == ["z"]


def test_other_partition_keys_empty_the_table_before_it_is_altered(
    bench: Bench, source: Source, name: TableName
) -> None:
    """It is never dropped: grants and versions stay. A crash in between leaves the old keys, and the next goes on."""
    target, old = bench.target(), table(name, LOCATION, keys=["k"])
    target.apply(source.put_table(old))
    target.apply(source.put_partitions(old, *(partition(old, [str(n)]) for n in range(30))))
    put = source.put_table(table(name, LOCATION, keys=["k", "l"]))
    bench.restart()
    bench.before = once("update_table", broken_off())
    with pytest.raises(OutcomeUnknown):
        target.apply(put)
    assert list(target.partitions(name)) == []
    assert target.apply(put) == Outcome.APPLIED
    assert bench.writes == ["batch_delete_partition"] * 2 + ["update_table"] * 2


# --- races and failures


def test_a_change_in_between_is_seen_and_the_operation_decided_anew(
    bench: Bench, source: Source, name: TableName
) -> None:
    """Another writer comes between our look and our write, with something that is newer."""
    target, other = bench.target(), bench.target()
    target.apply(source.put_table(table(name, LOCATION)))
    ours = source.put_table(table(name, LOCATION, parameters={"v": "ours"}))
    theirs = source.put_table(table(name, LOCATION, parameters={"v": "newer"}))
    done = list[Outcome]()

    def between(_: int, method: str, __: dict[str, Any]) -> None:
        if method == "update_table" and not done:
            done.append(Outcome.UNCHANGED)
            done[0] = other.apply(theirs)

    bench.before = between
    assert target.apply(ours) == Outcome.STALE
    assert done == [Outcome.APPLIED]
    assert target.table(name).parameters["v"] == "newer"


@pytest.mark.parametrize(
    "kind", ["AlreadyExistsException", "EntityNotFoundException", "ConcurrentModificationException"]
)
@pytest.mark.parametrize("method", ["create_table", "update_table", "delete_table"])
def test_races_are_decided_anew(bench: Bench, source: Source, name: TableName, kind: str, method: str) -> None:
    target = bench.target()
    operations: list[Operation] = [
        source.put_table(table(name, LOCATION)),
        source.put_table(table(name, LOCATION, cols=["z:int"])),
        source.drop_table(name),
    ]
    bench.before = once(method, answered(kind))
    assert [target.apply(operation) for operation in operations] == [Outcome.APPLIED] * 3
    assert bench.methods.count(method) == 2


def test_a_race_without_end_is_given_up_for_now(bench: Bench, source: Source, name: TableName) -> None:
    target = bench.target()
    target.apply(source.put_table(table(name, LOCATION)))
    bench.before = lambda _, method, __: (
        answered("ConcurrentModificationException") if method == "update_table" else None
    )
    with pytest.raises(Unavailable, match=f"PutTable of {name} on target 'lake'"):
        target.apply(source.put_table(table(name, LOCATION, cols=["z:int"])))
    assert bench.methods.count("update_table") == 3


def test_created_by_somebody_meanwhile(bench: Bench, source: Source, name: TableName) -> None:
    target = bench.target()

    def theirs() -> None:
        bench.create_table(DatabaseName=name.database, TableInput={"Name": "t", "Parameters": {"v": "theirs"}})

    bench.before = once("create_table", answered("AlreadyExistsException"), theirs)
    with pytest.raises(Rejected, match="not from this source"):
        target.apply(source.put_table(table(name, LOCATION)))
    assert target.table(name).parameters == {"v": "theirs"}


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("error", [broken_off(), answered("InternalServiceException", status=500)])
def test_an_unknown_outcome_again_ends_the_same(
    bench: Bench, source: Source, name: TableName, error: Exception, after: bool
) -> None:
    target = bench.target()
    for operation in (
        source.put_table(table(name, LOCATION)),
        source.put_table(table(name, LOCATION, cols=["z:int"])),
        source.drop_table(name),
    ):
        bench.restart()
        failing: Any = lambda _, method, __: None if method.startswith("get_") else error  # noqa: E731
        bench.before, bench.after = (bench.before, failing) if after else (failing, bench.after)
        with pytest.raises(OutcomeUnknown):
            target.apply(operation)
        bench.restart()
        assert target.apply(operation) == (Outcome.UNCHANGED if after else Outcome.APPLIED)
    assert target.table(name) is None


@pytest.mark.parametrize(
    "failure",
    [
        (answered("ThrottlingException", "Rate exceeded"), Unavailable),
        (answered("AccessDeniedException", "Insufficient Lake Formation permission(s)"), Forbidden),
        (answered("ExpiredTokenException"), Unavailable),
        (answered("ResourceNumberLimitExceededException"), Rejected),
        (answered("InvalidInputException"), Rejected),
        (answered("SomethingNew"), PysyncError),
    ],
)
@pytest.mark.parametrize("number", [1, 2])
def test_other_failures_say_what_was_tried(
    bench: Bench, source: Source, name: TableName, failure: tuple[Exception, type[PysyncError]], number: int
) -> None:
    target, (error, kind) = bench.target(), failure
    bench.before = lambda at, *_: error if at == number else None
    with pytest.raises(PysyncError, match=f"PutTable of {name} on target 'lake', the Glue catalog in") as raised:
        target.apply(source.put_table(table(name, LOCATION)))
    assert type(raised.value) is kind


# --- databases


def test_a_missing_database_is_created_if_so_set(bench: Bench, source: Source) -> None:
    database = bench.database()
    bench.delete_database(Name=database)
    name = TableName(database, "t")
    put = source.put_table(table(name, LOCATION))
    with pytest.raises(Missing, match=f"database {database} does not exist at the target 'lake'"):
        bench.target().apply(put)
    target = bench.target(create_missing_databases=True)
    assert target.apply(put) == Outcome.APPLIED
    assert target.tables(database) == ["t"]
    assert Mark.read(target.database(database).parameters) == Mark("onprem", 1, 0, 0)
    late = source.put_database(database, LOCATION, description="mine")
    assert target.apply(late) == Outcome.APPLIED, "it is its source's, and every event of it is newer"
    assert target.database(database).description == "mine"
    assert target.apply(source.drop_database(database)) == Outcome.APPLIED


def test_functions_create_missing_databases_too(bench: Bench, source: Source) -> None:
    database = bench.database()
    bench.delete_database(Name=database)
    assert bench.target(create_missing_databases=True).apply(source.put_function(function(database, "f"))) == (
        Outcome.APPLIED
    )


def test_a_description_of_somebody_stays_where_the_source_has_none(bench: Bench, source: Source) -> None:
    database = bench.database()
    bench.update_database(Name=database, DatabaseInput={"Name": database, "Description": "d", "LocationUri": LOCATION})
    target = bench.target(on_conflict="adopt")
    assert target.apply(source.put_database(database, parameters={"x": "y"})) == Outcome.APPLIED
    there = target.database(database)
    assert (there.description, there.locationUri, there.parameters["x"]) == ("d", LOCATION, "y")


def test_a_big_database_is_dropped_in_batches(bench: Bench, source: Source) -> None:
    database, target = bench.database(), bench.target()
    target.apply(source.put_database(database))
    bench.delete_database(Name=database)
    target.apply(source.put_database(database))
    for number in range(101):
        target.apply(source.put_table(table(TableName(database, f"t{number}"), LOCATION)))
    bench.restart()
    assert target.apply(source.drop_database(database)) == Outcome.APPLIED
    assert bench.methods == ["get_database", "get_tables", "get_tables", *["batch_delete_table"] * 2, "delete_database"]
    assert target.database(database) is None


def test_a_table_that_is_gone_already_is_no_failure_and_one_that_stays_is(bench: Bench, source: Source) -> None:
    database, target = bench.database(), bench.target(on_conflict="adopt")
    target.apply(source.put_database(database))
    target.apply(source.put_table(table(TableName(database, "t"), LOCATION)))
    drop = source.drop_database(database)

    def failing(number: int, method: str, arguments: dict[str, Any]) -> None:
        if method == "batch_delete_table":
            bench.restart()
            bench.delete_table(DatabaseName=database, Name="t")

    bench.before = failing
    assert target.apply(drop) == Outcome.APPLIED


def test_the_drop_of_a_database_stops_at_a_table_that_is_not_dropped(
    bench: Bench, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two tables go in one call, which says of each what became of it."""
    database, target = bench.database(), bench.target(on_conflict="adopt")
    target.apply(source.put_database(database))
    for name in ("t", "u"):
        target.apply(source.put_table(table(TableName(database, name), LOCATION)))
    detail = {"ErrorCode": "InternalServiceException", "ErrorMessage": "oops"}
    answer = {"Errors": [{"TableName": "t", "ErrorDetail": detail}]}
    with monkeypatch.context() as patched:
        patched.setattr(bench, "batch_delete_table", lambda **_: answer, raising=False)
        with pytest.raises(OutcomeUnknown, match=f"cannot drop table {database}.t"):
            target.apply(source.drop_database(database))
    assert target.database(database) is not None
    assert "delete_database" not in bench.methods


def test_the_drop_of_a_database_stops_at_its_only_table_that_is_not_dropped(bench: Bench, source: Source) -> None:
    database, target = bench.database(), bench.target(on_conflict="adopt")
    target.apply(source.put_database(database))
    target.apply(source.put_table(table(TableName(database, "t"), LOCATION)))
    bench.restart()
    bench.before = once("delete_table", answered("InternalServiceException", "oops"))
    drop = source.drop_database(database)
    with pytest.raises(OutcomeUnknown, match=f"DropDatabase of {database}.* InternalServiceException: oops"):
        target.apply(drop)
    assert target.database(database) is not None
    assert "delete_database" not in bench.methods
    assert target.apply(drop) == Outcome.APPLIED


# --- columns of partitions


def narrow_and_wide(name: TableName) -> tuple[Any, Any]:
    old, new = (table(name, LOCATION, keys=["k"], cols=cols) for cols in (("a:int",), ("a:int", "b:int")))
    return old, new


@pytest.mark.parametrize(
    ("policy", "after"),
    [
        ("none", {"1": ["a"], "2": ["z"], "3": ["a"]}),
        ("append", {"1": ["a", "b"], "2": ["z"], "3": ["a", "b"]}),
        ("full", {"1": ["a", "b"], "2": ["a", "b"], "3": ["a", "b"]}),
    ],
)
def test_new_columns_go_to_partitions_as_the_settings_say(
    bench: Bench, source: Source, name: TableName, policy: str, after: dict[str, list[str]]
) -> None:
    """Partition 2 has other columns; 3 comes later, with the columns that it has at the source."""
    target, (old, new) = bench.target(partition_schema=policy), narrow_and_wide(name)
    put = bench.target().apply
    put(source.put_table(old))
    put(source.put_partitions(old, partition(old, ["1"], cols=["a:int"]), partition(old, ["2"], cols=["z:int"])))
    wide = source.put_table(new)
    late = source.put_partitions(new, partition(new, ["3"], cols=["a:int"]))
    for operation in (wide, late):
        assert [target.apply(operation), target.apply(operation)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    found = {part.values[0]: [col.name for col in part.sd.cols] for part in target.partitions(name)}
    assert found == after


def test_partitions_get_the_columns_before_the_table_does(bench: Bench, source: Source, name: TableName) -> None:
    """Else a crash in between would leave partitions that no later try looks at."""
    target, (old, new) = bench.target(partition_schema="full"), narrow_and_wide(name)
    target.apply(source.put_table(old))
    target.apply(source.put_partitions(old, partition(old, ["1"], cols=["a:int"])))
    bench.restart()
    bench.before = once("batch_update_partition", broken_off())
    wide = source.put_table(new)
    with pytest.raises(OutcomeUnknown):
        target.apply(wide)
    assert target.apply(wide) == Outcome.APPLIED
    assert bench.writes == ["batch_update_partition", "batch_update_partition", "update_table"]
    (part,) = target.partitions(name)
    assert [col.name for col in part.sd.cols] == ["a", "b"]


# --- what is lost is said


def test_changes_are_logged_with_the_write_and_only_then(bench: Bench, source: Source, name: TableName) -> None:
    definition = table(name, LOCATION)
    definition.sd.cols[0].comment = "x" * 300
    put = source.put_table(definition)
    with capture_logs() as logs:
        assert [bench.target().apply(put), bench.target().apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    (line,) = logs
    assert (line["event"], line["log_level"]) == ("definition_adapted", "warning")
    assert (line["target"], line["operation"], line["key"], line["more"]) == ("lake", "PutTable", str(name), 0)
    assert line["changes"] == ["comment of column 'a': cut from 300 to 255 characters"]


def test_many_changes_are_counted(bench: Bench, source: Source, name: TableName) -> None:
    definition = table(name, LOCATION, cols=[f"c{n}:int" for n in range(25)])
    for column in definition.sd.cols:
        column.comment = "a\nb"
    with capture_logs() as logs:
        bench.target().apply(source.put_table(definition))
    assert (len(logs[0]["changes"]), logs[0]["more"]) == (10, 15)


def test_a_view_is_said_to_be_hives(bench: Bench, source: Source, name: TableName) -> None:
    with capture_logs() as logs:
        bench.target().apply(source.put_table(view(name, "select 1")))
    assert "HiveQL" in logs[0]["changes"][0]


def test_constraints_are_left_out_and_that_is_said_once(bench: Bench, source: Source, name: TableName) -> None:
    target = bench.target()
    add, drop = source.put_constraint(name, primary_key(name, "pk", "a")), source.drop_constraint(name, "pk")
    with capture_logs() as logs:
        assert [target.apply(it) for it in (add, add, drop)] == [Outcome.UNSUPPORTED] * 3
    (line,) = logs
    assert (line["event"], line["target"], line["feature"]) == ("feature_unsupported", "lake", "constraints")
    assert line["reason"] == "Glue has no constraints"
    assert bench.calls == []


class Unheard(Operation):
    """Of a kind that no target knows."""

    key = "db.t"


def test_an_unknown_operation(bench: Bench) -> None:
    with pytest.raises(Rejected, match="a target of kind glue does not support Unheard"):
        bench.target().apply(Unheard(mark=Mark("s", 1, 1)))
    assert bench.calls == []


def test_the_catalogs_objects_read_as_a_metastores(bench: Bench, source: Source, name: TableName) -> None:
    """Even those that somebody created with nothing but a name."""
    target = bench.target()
    bench.create_table(DatabaseName=name.database, TableInput={"Name": "bare"})
    there = target.table(TableName(name.database, "bare"))
    assert (there.dbName, there.tableName, there.partitionKeys, there.parameters) == (name.database, "bare", [], {})
    assert (there.sd.cols, there.sd.location, there.createTime > 0) == ([], None, True)
    assert isinstance(target.database(name.database), hive.Database)
    assert target.tables(name.database) == ["bare"]
    assert name.database in target.databases()
    assert list(target.partitions(name)) == []
    assert target.tables("absent") == []
    assert target.database("absent") is None
