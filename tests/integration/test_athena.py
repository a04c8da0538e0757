"""The Athena target before an Athena that runs its statements in a real Hive, and fails when it is told to."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.targets.athena.hive_types import keeps
from pysync.targets.base import Forbidden, Missing, Outcome, OutcomeUnknown, Rejected, Unavailable
from tests.conformance.harness_athena import AthenaHarness
from tests.conformance.objects import Source, function, partition, table, view
from tests.conformance.test_replay import a_history
from tests.support.corpus.texts import KEPT, NASTY
from tests.support.glue_structures import bare, missing

pytestmark = pytest.mark.athena

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AthenaHarness]:
    found = AthenaHarness(tmp_path_factory.mktemp("athena"))
    yield found
    found.close()


@pytest.fixture(autouse=True)
def _clean(harness: AthenaHarness) -> Iterator[None]:
    harness.writes.clear()
    yield
    harness.aws.clear_faults()


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def name(harness: AthenaHarness, source: Source) -> TableName:
    database = harness.new_database()
    harness.open().apply(source.put_database(database, harness.location(database)))
    harness.writes.clear()
    return TableName(database, "t")


def plain(name: TableName, **fields: Any) -> Any:
    """A table of which statements say everything."""
    found = table(name, f"s3://bucket/{name.database}/t", **fields)
    found.owner = None
    found.sd.serdeInfo.parameters["serialization.format"] = "1"
    return found


def plain_partition(of: Any, *values: str) -> Any:
    """A partition of which statements say everything."""
    found = partition(of, values)
    found.parameters = {}
    found.sd.cols, found.sd.serdeInfo = of.sd.cols, of.sd.serdeInfo
    return found


# --- what a real Hive makes of the statements


@pytest.mark.smoke
def test_every_text_arrives_as_it_was(harness: AthenaHarness, source: Source, name: TableName) -> None:
    """As value of a property and of a serde's; those that Glue takes also as key and comment; and as location."""
    target = harness.open(glue_api="never")
    wanted = plain(name, parameters={f"p{number}": text for number, text in enumerate(NASTY)})
    lines = [text for text in NASTY if text.strip() and text.isprintable() and len(text) < 200]
    wanted.parameters |= {f"k{text}": "v" for text in lines} | {"comment": "'".join(lines)}
    wanted.sd.serdeInfo.parameters = {f"s{number}": text for number, text in enumerate(NASTY)}
    wanted.sd.cols = [hive.FieldSchema(f"c{number}", "string", text) for number, text in enumerate(lines)]
    wanted.sd.location += "/it's;${x}😀"
    put = source.put_table(wanted)
    assert [target.apply(put), target.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    there = target.table(name)
    assert {key: there.parameters.get(key) for key in wanted.parameters} == wanted.parameters
    its = dict(there.sd.serdeInfo.parameters)
    assert {key: its.get(key) for key in wanted.sd.serdeInfo.parameters} == wanted.sd.serdeInfo.parameters
    assert [col.comment for col in there.sd.cols] == lines
    assert there.sd.location == wanted.sd.location
    assert len(harness.writes) == 1, "one statement, and nothing through the Glue API"

    altered = plain(name, parameters={**wanted.parameters, **{f"p{n}": f"x{text}" for n, text in enumerate(NASTY)}})
    altered.sd = wanted.sd
    target.apply(source.put_table(altered))
    its = target.table(name).parameters
    assert {key: its.get(key) for key in altered.parameters} == altered.parameters


def test_every_name_and_type_arrives_as_it_was(harness: AthenaHarness, source: Source, name: TableName) -> None:
    names = [
        "date",
        "order",
        "a b",
        "a-b",
        "ü",
        "日",
        "a`b",
        "`x",
        "x`",
        "a'b",
        'a"b',
        "1",
        "_",
        "select;",
        "$",
        "a\\b",
    ]
    types = [
        *(
            "tinyint",
            "smallint",
            "int",
            "bigint",
            "boolean",
            "float",
            "double",
            "string",
            "binary",
            "timestamp",
            "date",
        ),
        *("char(3)", "varchar(9)", "decimal(10,0)", "array<map<string,decimal(5,2)>>"),
        "struct<date:int,order:array<struct<user:string,group:map<int,date>>>>",
    ]
    target, wanted = harness.open(glue_api="never"), plain(name, keys=["user", "k k", "x`y"])
    wanted.sd.cols = [hive.FieldSchema(column, kind, "") for column, kind in zip(names, types, strict=True)]
    assert target.apply(source.put_table(wanted)) == Outcome.APPLIED
    there = target.table(name)
    assert [(col.name, col.type) for col in there.sd.cols] == list(zip(names, types, strict=True))
    assert [key.name for key in there.partitionKeys] == ["user", "k k", "x`y"]
    assert target.apply(source.put_partitions(wanted, plain_partition(wanted, "a", "b", "c"))) == Outcome.APPLIED
    assert [found.values for found in target.partitions(name)] == [["a", "b", "c"]]
    assert target.apply(source.drop_partitions(wanted, ["a", "b", "c"])) == Outcome.APPLIED


@pytest.mark.parametrize("kind", KEPT)
def test_values_that_are_kept_are_kept(harness: AthenaHarness, source: Source, name: TableName, kind: str) -> None:
    target, wanted = harness.open(glue_api="never"), plain(name, keys=["k"])
    wanted.partitionKeys[0].type = kind
    target.apply(source.put_table(wanted))
    parts = [plain_partition(wanted, value) for value in KEPT[kind]]
    assert all(keeps(kind, value) for value in KEPT[kind])
    assert target.apply(source.put_partitions(wanted, *parts)) == Outcome.APPLIED
    assert sorted(part.values[0] for part in target.partitions(name)) == sorted(KEPT[kind])
    assert target.apply(source.drop_partitions(wanted, *([value] for value in KEPT[kind]))) == Outcome.APPLIED
    assert list(target.partitions(name)) == []


def test_values_that_are_not_kept_go_through_glue(harness: AthenaHarness, source: Source, name: TableName) -> None:
    target, wanted = harness.open(), plain(name, keys=["k"])
    wanted.partitionKeys[0].type = "int"
    target.apply(source.put_table(wanted))
    harness.writes.clear()
    parts = [plain_partition(wanted, value) for value in ("07", "8")]
    assert target.apply(source.put_partitions(wanted, *parts)) == Outcome.APPLIED
    assert sorted(part.values[0] for part in target.partitions(name)) == ["07", "8"]
    created = [args[0]["PartitionInputList"] for call, args in harness.writes if call == "BatchCreatePartition"]
    assert [[item["Values"] for item in call] for call in created] == [[["07"]]]
    assert len(harness.statements) == 1


# --- few statements


@pytest.mark.smoke
def test_how_many_statements_it_takes(harness: AthenaHarness, source: Source, name: TableName) -> None:
    target, first = harness.open(glue_api="never"), plain(name, keys=["k"])
    parts = [plain_partition(first, str(number)) for number in range(120)]
    target.apply(source.put_table(first))
    target.apply(source.put_partitions(first, *parts))
    wider = plain(name, keys=["k"], cols=("a:int", "b:string", "c:int"), parameters={"x": "1", "y": "2"})
    target.apply(source.put_table(wider))
    target.apply(source.drop_partitions(wider, *([str(number)] for number in range(30))))
    target.apply(source.drop_table(name))
    verbs = [" ".join(text.split("`")[0].split()[:2]) for text in harness.statements]
    assert verbs == ["CREATE EXTERNAL", *["ALTER TABLE"] * 2, *["ALTER TABLE"] * 2, *["ALTER TABLE"] * 2, "DROP TABLE"]
    assert len(harness.writes) == len(verbs)


# --- what the Glue API is not asked for


@pytest.fixture
def never(harness: AthenaHarness) -> Any:
    return harness.open(glue_api="never")


@pytest.mark.smoke
def test_without_the_glue_api_most_things_are_done(
    harness: AthenaHarness, never: Any, source: Source, name: TableName
) -> None:
    """The owner and statistics, which no statement says, are lost; whoever reads the data does not miss them."""
    put = source.put_table(table(name, f"s3://bucket/{name.database}/t", keys=["k"], parameters={"numRows": "3"}))
    add = source.put_partitions(put.definition, partition(put.definition, ["1"]))
    for operation in (put, add):
        assert [never.apply(operation), never.apply(operation)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert Mark.read(never.table(name).parameters) == put.mark
    for operation in (source.drop_partitions(put.definition, ["1"]), source.drop_table(name)):
        assert [never.apply(operation), never.apply(operation)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert never.apply(source.drop_database(name.database)) == Outcome.APPLIED
    assert {call for call, _ in harness.writes} == {"StartQueryExecution"}


def test_without_the_glue_api_the_rest_is_parked_with_its_reason(
    harness: AthenaHarness, never: Any, source: Source, name: TableName
) -> None:
    first = plain(name, keys=["k"], parameters={"x": "1"})
    never.apply(source.put_table(first))
    harness.writes.clear()
    odd = partition(first, ["__HIVE_DEFAULT_PARTITION__"])
    managed, other = plain(name, keys=["k"], external=False), TableName(name.database, "v")
    operations = [
        (source.rename_table(name, plain(TableName(name.database, "new"))), "a new name"),
        (source.put_table(plain(name, keys=["k"])), r"the removal of properties \(x\)"),
        (source.put_table(managed), "a managed table"),
        (source.put_table(view(other, "select 1")), "a virtual view"),
        (source.put_function(function(name.database, "f")), "a Hive function"),
        (
            source.put_partitions(first, odd),
            "would change the partition value '__HIVE_DEFAULT_PARTITION__' of k",
        ),
        (source.put_database(name.database, "s3://bucket/else"), "the location"),
    ]
    for operation, reason in operations:
        words = rf"Athena DDL cannot express this change \(.*, target 'dr'\): .*{reason}"
        with pytest.raises(Rejected, match=words) as refused:
            never.apply(operation)
        assert 'glue_api = "when-needed"' in str(refused.value)
    assert harness.writes == [], "nothing of it was begun"


def test_partitions_that_cannot_be_said_do_not_keep_the_others_from_it(
    never: Any, source: Source, name: TableName
) -> None:
    wanted = plain(name, keys=["k"])
    parts = [plain_partition(wanted, value) for value in ("1", "__HIVE_DEFAULT_PARTITION__", "2")]
    never.apply(source.put_table(wanted))
    add = source.put_partitions(wanted, *parts)
    for _ in range(2):
        with pytest.raises(Rejected, match="__HIVE_DEFAULT_PARTITION__"):
            never.apply(add)
        assert sorted(part.values[0] for part in never.partitions(name)) == ["1", "2"]


@pytest.mark.parametrize(
    ("reason", "number"),
    [
        ("FAILED: SemanticException [Error 10035]: whatever", 1003),
        ("FAILED: NullPointerException Name is null", 1003),
        ("Can not create a Path from an empty string", 1003),
        ("MetaException(message:x (Service: Amazon S3; Status Code: 404; Error Code: NoSuchBucket))", 1003),
        ("Invalid column type", 1000),
    ],
)
def test_what_athena_refuses_the_glue_api_does(
    harness: AthenaHarness, source: Source, name: TableName, *, reason: str, number: int
) -> None:
    put = source.put_table(plain(name))
    harness.aws.fault("Athena.exec", code="x", reason=reason, type=number)
    with pytest.raises(Rejected, match=re.escape(reason)):
        harness.open(glue_api="never").apply(put)
    harness.aws.fault("Athena.exec", code="x", reason=reason, type=number)
    assert harness.open().apply(put) == Outcome.APPLIED
    assert [call for call, _ in harness.writes] == ["StartQueryExecution"] * 2 + ["CreateTable"]


def test_a_missing_database_is_made_if_so_set(harness: AthenaHarness, source: Source) -> None:
    name = TableName(harness.new_database(), "t")
    put = source.put_table(plain(name))
    with pytest.raises(Missing, match=f"database {name.database} does not exist at the target 'dr'"):
        harness.open().apply(put)
    target = harness.open(create_missing_databases=True)
    assert [target.apply(put), target.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    late = source.put_database(name.database, parameters={"x": "1"})
    assert target.apply(late) == Outcome.APPLIED, "it is the source's, and older than every event"


def test_the_files_of_an_iceberg_table_are_not_athenas_to_drop(
    harness: AthenaHarness, source: Source, name: TableName
) -> None:
    target = harness.open()
    wanted = plain(name, parameters={"table_type": "ICEBERG", "metadata_location": "s3://bucket/m.json"})
    for operation in (source.put_table(wanted), source.drop_table(name)):
        assert target.apply(operation) == Outcome.APPLIED
    assert [call for call, _ in harness.writes] == ["CreateTable", "DeleteTable"]


@pytest.mark.parametrize(("mode", "glue_api"), [("athena", "when-needed"), ("athena-never", "never")])
def test_the_rights_in_the_policy_suffice(harness: AthenaHarness, source: Source, mode: str, glue_api: str) -> None:
    """Every call of a history is allowed; what Athena itself calls is not seen here, but by AWS's documentation."""
    target, refused = harness.open(glue_api=glue_api), 0
    harness.aws.reset_calls()
    target.check()
    for operation in a_history(harness, source, harness.new_database(), harness.new_database()):
        try:
            target.apply(operation)
        except Rejected:
            refused += 1
    made = {call for call in harness.aws.calls() if call.split(".", 1)[0] in {"Athena", "Glue"}}
    policy = json.loads((ROOT / "conf" / "iam-policy.json").read_text())[mode]["Statement"]
    allowed = {action.replace(":", ".").capitalize() for statement in policy for action in statement["Action"]}
    assert {call.capitalize() for call in made} <= allowed
    assert {"Athena.StartQueryExecution", "Athena.GetWorkGroup", "Glue.BatchGetPartition"} <= made
    assert bool(refused) is (glue_api == "never")


# --- when things go wrong


@pytest.mark.parametrize(
    ("target", "code", "kind"),
    [
        ("Athena.StartQueryExecution", "ThrottlingException", Unavailable),
        ("Athena.StartQueryExecution", "TooManyRequestsException", Unavailable),
        ("Athena.StartQueryExecution", "ExpiredTokenException", Unavailable),
        ("Athena.StartQueryExecution", "AccessDeniedException", Unavailable),
        ("Glue.GetTable", "AccessDeniedException", Unavailable),
        ("Glue.GetTable", "ThrottlingException", Unavailable),
    ],
)
def test_a_call_that_fails_parks_nothing(
    harness: AthenaHarness, source: Source, name: TableName, *, target: str, code: str, kind: type[Exception]
) -> None:
    put, lake = source.put_table(plain(name)), harness.open()
    harness.aws.fault(target, code=code, count=20)
    with pytest.raises(kind, match=code):
        lake.apply(put)
    harness.aws.clear_faults()
    assert [lake.apply(put), lake.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]


@pytest.mark.parametrize(
    ("number", "reason", "kind"),
    [
        (1401, "Rate exceeded", Unavailable),
        (1500, "Insufficient Lake Formation permission(s)", Unavailable),
        (200, "GENERIC_INTERNAL_ERROR", OutcomeUnknown),
    ],
)
def test_a_statement_that_fails_by_the_way_parks_nothing(
    harness: AthenaHarness, source: Source, name: TableName, *, number: int, reason: str, kind: type[Exception]
) -> None:
    put, lake = source.put_table(plain(name)), harness.open()
    harness.aws.fault("Athena.exec", code="x", reason=reason, type=number)
    with pytest.raises(kind, match=reason.split(maxsplit=1)[0]):
        lake.apply(put)
    assert [lake.apply(put), lake.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]


def test_done_but_said_to_have_failed(harness: AthenaHarness, source: Source, name: TableName) -> None:
    put, lake = source.put_table(plain(name)), harness.open()
    harness.aws.fault("Athena.exec", code="x", reason="GENERIC_INTERNAL_ERROR", type=200, after=True)
    with pytest.raises(OutcomeUnknown):
        lake.apply(put)
    assert lake.apply(put) == Outcome.UNCHANGED


def test_an_answer_that_is_lost_is_asked_for_again_and_the_statement_runs_once(
    harness: AthenaHarness, source: Source, name: TableName
) -> None:
    put, lake = source.put_table(plain(name)), harness.open()
    harness.aws.reset_calls()
    harness.aws.fault("Athena.StartQueryExecution", after=True, count=3)
    harness.aws.fault("Athena.BatchGetQueryExecution", lose=True, count=3)
    assert lake.apply(put) == Outcome.APPLIED
    assert harness.aws.statements() == {"CREATE TABLE": 1}


def test_statements_of_all_lanes_are_asked_about_in_one_call(harness: AthenaHarness, source: Source) -> None:
    database = harness.new_database()
    settings = harness.settings(lanes=12, poll_seconds=0.3)
    lanes = [harness.target(settings) for _ in range(settings.lanes)]
    lanes[0].apply(source.put_database(database))
    puts = [source.put_table(plain(TableName(database, f"t{number}"))) for number in range(len(lanes))]
    harness.aws.reset_calls()
    harness.aws.fault("Athena.exec", delay_seconds=1.0, count=len(lanes))
    with ThreadPoolExecutor(len(lanes)) as threads:
        assert list(threads.map(lambda lane, put: lane.apply(put), lanes, puts)) == [Outcome.APPLIED] * len(lanes)
    calls = harness.aws.calls()
    assert harness.aws.statements() == {"CREATE TABLE": len(lanes)}
    assert calls["Athena.StartQueryExecution"] == len(lanes)
    assert "Athena.GetQueryExecution" not in calls
    for lane in lanes:
        lane.close()


def test_a_statement_that_hangs_is_cancelled_and_run_again(
    harness: AthenaHarness, source: Source, name: TableName
) -> None:
    put, lake = source.put_table(plain(name)), harness.open(statement_timeout_seconds=1.0)
    harness.aws.fault("Athena.exec", reason="", delay_seconds=60.0)
    started = time.monotonic()
    with pytest.raises(OutcomeUnknown, match="cancelled"):
        lake.apply(put)
    assert time.monotonic() - started < 30
    assert lake.table(name) is None
    assert harness.open().apply(put) == Outcome.APPLIED


def test_nobody_there(source: Source, harness: AthenaHarness) -> None:
    lake = harness.open(endpoint_url="http://127.0.0.1:1")
    for call in (lake.check, lambda: lake.tables("x"), lambda: lake.apply(source.put_database("x"))):
        with pytest.raises(Unavailable, match="target 'dr'"):
            call()


def test_check(harness: AthenaHarness) -> None:
    assert harness.open().check().endswith("read alike are translated; Athena work group primary")
    harness.aws.fault("Athena.GetWorkGroup", code="AccessDeniedException")
    with pytest.raises(Unavailable, match="cannot see the work group 'etl' of target 'dr'"):
        harness.open(work_group="etl").check()


@pytest.mark.smoke
def test_a_check_runs_a_statement_and_reads_its_result(harness: AthenaHarness, source: Source) -> None:
    harness.open().apply(source.put_database("listed"))
    reported = harness.open().check_rights()
    assert re.match(r"Athena lists \d+ databases?; ", reported), reported


@pytest.mark.parametrize(
    ("operation", "code", "kind"),
    [
        ("StartQueryExecution", "AccessDeniedException", Forbidden),
        ("StartQueryExecution", "InvalidRequestException", Rejected),
        ("GetQueryResults", "AccessDeniedException", Forbidden),
    ],
)
def test_a_check_tells_what_keeps_a_statement_from_being_run(
    harness: AthenaHarness, operation: str, code: str, kind: type[Exception]
) -> None:
    harness.aws.fault(f"Athena.{operation}", code=code)
    with pytest.raises(kind, match="SHOW DATABASES on target 'dr'"):
        harness.open().check_rights()


# --- what readers of Glue look up without asking whether it is there


def test_a_table_and_partitions_have_all_that_readers_need(
    harness: AthenaHarness, source: Source, name: TableName
) -> None:
    """However they are written: by statements alone, by statements and then through Glue, and through Glue alone."""
    target, glue = harness.open(), harness.aws.client("glue")
    of = plain(name, keys=["k"])
    target.apply(source.put_table(of))
    bare_one = bare("partition", name)
    target.apply(source.put_partitions(of, bare_one, plain_partition(of, "2"), partition(of, ["3"])))
    place = {"DatabaseName": name.database}
    assert missing(glue.get_table(**place, Name=name.table)["Table"], "table", exact=False) == []
    found = glue.get_partitions(**place, TableName=name.table)["Partitions"]
    assert {it["Values"][0]: missing(it, "partition", exact=False) for it in found} == {"1": [], "2": [], "3": []}
    target.apply(source.put_table(bare("table", TableName(name.database, "bare"))))
    assert missing(glue.get_table(**place, Name="bare")["Table"], "table", exact=False) == []
    made = glue.get_database(Name=name.database)["Database"]
    assert missing(made, "database", exact=False) == []
