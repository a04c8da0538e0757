"""`pysync verify`: drift of every kind at a real target is found, repaired by the sidecar, and found no more."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.cli.app import main
from pysync.lab.demo.lake import Lake
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import partition, table, wait_until
from tests.support.sidecars import assert_one_line, pysync
from tests.support.stages import assert_converges, is_at_rest

SECONDS = 120.0
DAYS = ("1", "2", "3", "4", "5")
ORC = "org.apache.hadoop.hive.ql.io.orc.OrcSerde"
SEQUENCE = "org.apache.hadoop.mapred.SequenceFileInputFormat"


def create_database(hms: Metastore, name: str, **fields: Any) -> None:
    hms.call(lambda client: client.create_database(hive.Database(name=name, **fields)))


def create(hms: Metastore, name: str, **fields: Any) -> None:
    made = table("db", name, **fields)
    made.sd.cols = [hive.FieldSchema("id", "int", "key"), hive.FieldSchema("name", "string", None)]
    made.parameters |= {"comment": "a test's", "kept": "yes"}
    made.sd.serdeInfo.parameters = {"field.delim": "|"}
    hms.call(lambda client: client.create_table(made))


def add(hms: Metastore, name: str, *days: str) -> None:
    of = hms.table("db", name)
    for day in days:
        made = partition(of, [day])
        made.sd.cols = of.sd.cols
        hms.call(lambda client, it=made: client.add_partition(it))


def view(hms: Metastore, name: str, text: str) -> None:
    made = table("db", name)
    made.tableType, made.viewOriginalText, made.viewExpandedText = "VIRTUAL_VIEW", text, text
    made.parameters.pop("EXTERNAL")
    hms.call(lambda client: client.create_table(made))


def function(name: str, kind: str = "org.F") -> Any:
    jar = hive.ResourceUri(hive.ResourceType.JAR, "hdfs://nn/f.jar")
    return hive.Function(name, "db", kind, "tester", hive.PrincipalType.USER, 0, hive.FunctionType.JAVA, [jar])


def primary_key(name: str, key: str) -> Any:
    column = hive.SQLPrimaryKey("db", name, "id", 1, key, False, False, True)
    return hive.AddPrimaryKeyRequest([column])


def foreign_key(child: str, parent: str, key: str, parents_key: str) -> Any:
    column = hive.SQLForeignKey("db", parent, "id", "db", child, "id", 1, 0, 0, key, parents_key, False, False, True)
    return hive.AddForeignKeyRequest([column])


def alter(name: str, change: Callable[[Any], None]) -> Callable[[Metastore], None]:
    def run(hms: Metastore) -> None:
        found = hms.table("db", name)
        change(found)
        hms.call(lambda client: client.alter_table("db", name, found))

    return run


def alter_day(day: str, change: Callable[[Any], None]) -> Callable[[Metastore], None]:
    def run(hms: Metastore) -> None:
        found = hms.call(lambda client: client.get_partition("db", "parts", [day]))
        change(found)
        hms.call(lambda client: client.alter_partition("db", "parts", found))

    return run


def call(name: str, *arguments: Any) -> Callable[[Metastore], None]:
    def run(hms: Metastore) -> None:
        hms.call(lambda client: getattr(client, name)(*arguments))

    return run


def setting(path: str, value: Any) -> Callable[[Any], None]:
    """Set a field of an object, as `sd.inputFormat`, or an item of it, as `parameters[comment]`."""
    *parents, last = path.split(".")

    def run(item: Any) -> None:
        for name in parents:
            item = getattr(item, name)
        if "[" in last:
            name, key = last.rstrip("]").split("[")
            getattr(item, name)[int(key) if key.isdigit() else key.replace("/", ".")] = value
        else:
            setattr(item, last, value)

    return run


def as_managed(found: Any) -> None:
    found.tableType = "MANAGED_TABLE"
    del found.parameters["EXTERNAL"]


def marked(name: str) -> Callable[[Metastore], None]:
    """A table that looks as if it had come from the source."""

    def run(hms: Metastore) -> None:
        of = hms.table("db", "owner").parameters
        mark = {key: value for key, value in of.items() if key.startswith("pysync.")}
        create(hms, name, parameters={**mark, "pysync.object": f"db.{name}"})

    return run


def marked_database(hms: Metastore) -> None:
    of = hms.database("db").parameters
    mark = {key: value for key, value in of.items() if key.startswith("pysync.")}
    create_database(hms, "db_left", parameters={**mark, "pysync.object": "db_left"})


def alter_database(hms: Metastore) -> None:
    found = hms.database("other")
    found.parameters["by"] = "hand"
    hms.call(lambda client: client.alter_database("other", found))


def move(found: Any) -> None:
    found.sd.location += "_elsewhere"


BIGINT = hive.FieldSchema("id", "bigint", "key")
OTHER = hive.FieldSchema("id", "int", "another key")
COMMENTED = hive.FieldSchema("name", "string", "of nobody's asking")
MORE = hive.FieldSchema("more", "string", None)

TABLES = ("added", "removed", "retyped", "commented", "uncommented", "comment", "parameter", "unset", "location")
TABLES += ("serde", "serde_parameter", "format", "owner", "type", "gone", "child", "keyed", "keyless")

Found = tuple[str, str, str]

DRIFT: dict[str, tuple[Callable[[Metastore], None], Found]] = {
    "a column added": (alter("added", lambda it: it.sd.cols.append(MORE)), ("table", "db.added", "sd.cols")),
    "a column removed": (alter("removed", lambda it: it.sd.cols.pop()), ("table", "db.removed", "sd.cols")),
    "a column retyped": (alter("retyped", setting("sd.cols[0]", BIGINT)), ("table", "db.retyped", "sd.cols")),
    "a column's comment": (alter("commented", setting("sd.cols[0]", OTHER)), ("table", "db.commented", "sd.cols")),
    "a comment where none was": (
        alter("uncommented", setting("sd.cols[1]", COMMENTED)),
        ("table", "db.uncommented", "sd.cols"),
    ),
    "the table's comment": (
        alter("comment", setting("parameters[comment]", "x")),
        ("table", "db.comment", "parameters.comment: 'x' instead of \"a test's\""),
    ),
    "a parameter set": (
        alter("parameter", setting("parameters[by]", "hand")),
        ("table", "db.parameter", "parameters.by: 'hand' instead of nothing"),
    ),
    "a parameter removed": (
        alter("unset", lambda it: it.parameters.pop("kept")),
        ("table", "db.unset", "parameters.kept: nothing instead of 'yes'"),
    ),
    "the location": (alter("location", move), ("table", "db.location", "sd.location")),
    "the serde": (
        alter("serde", setting("sd.serdeInfo.serializationLib", ORC)),
        ("table", "db.serde", "sd.serdeInfo.serializationLib"),
    ),
    "a parameter of the serde": (
        alter("serde_parameter", setting("sd.serdeInfo.parameters[field/delim]", ";")),
        ("table", "db.serde_parameter", "sd.serdeInfo.parameters.field.delim: ';' instead of '|'"),
    ),
    "the input format": (
        alter("format", setting("sd.inputFormat", SEQUENCE)),
        ("table", "db.format", "sd.inputFormat"),
    ),
    "the owner": (alter("owner", setting("owner", "x")), ("table", "db.owner", "owner: 'x' instead of 'tester'")),
    "the type": (alter("type", as_managed), ("table", "db.type", "tableType")),
    "a view's text": (
        alter("seen", lambda it: (setting("viewOriginalText", "b")(it), setting("viewExpandedText", "b")(it))),
        ("table", "db.seen", "viewExpandedText: 'b' instead of 'a'"),
    ),
    "a partition missing": (
        call("drop_partition", "db", "parts", ["1"], False),
        ("table", "db.parts", "partition day=1: missing"),
    ),
    "a partition too many": (lambda hms: add(hms, "parts", "9"), ("table", "db.parts", "partition day=9: extra")),
    "a partition's parameter": (
        alter_day("2", setting("parameters[by]", "hand")),
        ("table", "db.parts", "partition day=2: parameters.by: 'hand' instead of nothing"),
    ),
    "a partition's location": (alter_day("3", move), ("table", "db.parts", "partition day=3: sd.location")),
    "a partition's columns": (
        alter_day("4", lambda it: it.sd.cols.append(MORE)),
        ("table", "db.parts", "partition day=4: sd.cols"),
    ),
    "a table missing": (call("drop_table", "db", "gone", False), ("table", "db.gone", "missing")),
    "a table too many": (marked("left"), ("table", "db.left", "extra")),
    "a database missing": (call("drop_database", "lost", True, True), ("database", "lost", "missing")),
    "a database changed": (alter_database, ("database", "other", "parameters.by: 'hand' instead of nothing")),
    "a database too many": (marked_database, ("database", "db_left", "extra")),
    "a function missing": (call("drop_function", "db", "f_gone"), ("function", "db.f_gone", "missing")),
    "a function too many": (call("create_function", function("f_left")), ("function", "db.f_left", "extra")),
    "a function changed": (
        call("alter_function", "db", "f_changed", function("f_changed", "org.Other")),
        ("function", "db.f_changed", "className: 'org.Other' instead of 'org.F'"),
    ),
    "a foreign key missing": (
        call("drop_constraint", hive.DropConstraintRequest("db", "child", "fk_child")),
        ("constraint", "db.child.fk_child", "missing"),
    ),
    "a primary key missing": (
        call("drop_constraint", hive.DropConstraintRequest("db", "keyed", "pk_keyed")),
        ("constraint", "db.keyed.pk_keyed", "missing"),
    ),
    "a primary key too many": (
        call("add_primary_key", primary_key("keyless", "pk_left")),
        ("constraint", "db.keyless.pk_left", "extra"),
    ),
}


def verify(config: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """`pysync verify`, in this process: each process more takes a second."""
    words = ["pysync", "verify", "-c", *map(str, (config, *arguments))]
    code, out, err = 0, io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", words)
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


@dataclass(slots=True)
class Ends:
    """A stage with the same objects at both ends, and clients of both."""

    stage: Stage
    source: Metastore
    target: Metastore

    def verify(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return verify(self.stage.config_file, *arguments)


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ends]:
    options = '[verify]\nevery = "1d"\n'
    with Stage(tmp_path_factory.mktemp("verify"), options="max_drops_per_window = 100\n" + options) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
            fill(source)
            assert_converges(stage, SECONDS)
            yield Ends(stage, source, target)


def fill(source: Metastore) -> None:
    create_database(source, "db")
    create_database(source, "other", parameters={"team": "sales"})
    create_database(source, "lost")
    for name in TABLES:
        create(source, name)
    create(source, "parts", partition_keys=[("day", "string")])
    add(source, "parts", *DAYS)
    view(source, "seen", "a")
    for name in ("f_gone", "f_changed", "f_kept"):
        source.call(lambda client, name=name: client.create_function(function(name)))


def found(output: str) -> set[Found]:
    """Every line that tells of drift."""
    (report,) = json.loads(output)["targets"]
    drift = [it for it in report["differences"] if it["drift"]]
    return {(it["kind"], it["name"], field) for it in drift for field in it["fields"] or [it["result"]]}


def test_drift_of_every_kind_is_found_repaired_and_found_no_more(ends: Ends, tmp_path: Path) -> None:
    ends.source.call(lambda client: client.add_primary_key(primary_key("keyed", "pk_keyed")))
    ends.source.call(lambda client: client.add_foreign_key(foreign_key("child", "keyed", "fk_child", "pk_keyed")))
    reported = ends.verify("--repair")
    assert (reported.returncode, "no drift" in reported.stdout) == (0, True), reported
    for change, _ in DRIFT.values():
        change(ends.target)

    first = ends.verify("--json", "--junit", tmp_path / "verify.xml")
    assert (first.returncode, first.stderr) == (1, "")
    lines = found(first.stdout)
    for what, (_, (kind, name, field)) in DRIFT.items():
        assert any((kind, name) == line[:2] and line[2].startswith(field) for line in lines), (what, lines)
    wanted = {wanted[:2] for _, wanted in DRIFT.values()}
    assert {line[:2] for line in lines} == wanted, "nothing else has drifted"
    suite = ElementTree.parse(tmp_path / "verify.xml").getroot()[0]  # noqa: S314 - our own
    failed = {(case.get("classname"), case.get("name")) for case in suite if case.find("failure") is not None}
    assert failed == {(f"replica.{kind}", name) for kind, name in wanted}
    assert suite.get("failures") == str(len(wanted))

    repaired = pysync("verify", "-c", ends.stage.config_file, "--repair")
    assert (repaired.returncode, repaired.stderr) == (0, ""), repaired
    second = ends.verify("--json")
    assert (second.returncode, found(second.stdout)) == (0, set())
    assert ends.stage.status()["targets"][0]["parked"] == 0


def test_what_belongs_to_others_is_told_and_is_no_drift_but_where_ours_should_be(ends: Ends) -> None:
    create_database(ends.target, "theirs")
    create(ends.target, "hand")
    ours = ends.target.table("db", "owner")
    plain = {key: value for key, value in ours.parameters.items() if not key.startswith("pysync.")}
    done = ends.verify()
    assert (done.returncode, "table db.hand is foreign" in done.stdout) == (0, True), done.stdout
    assert "database theirs is foreign: not written by pysync" in done.stdout
    alter("owner", setting("parameters", plain))(ends.target)
    try:
        done = ends.verify("db.owner", "--json")
        assert done.returncode == 1
        assert ("table", "db.owner", "another object has this name: not written by pysync") in found(done.stdout)
        assert ends.verify("db.owner", "--repair").returncode == 1, "on_conflict is park: nothing of others is written"
    finally:
        alter("owner", setting("parameters", ours.parameters))(ends.target)
        pysync("parked", "retry", "replica", "-c", ends.stage.config_file)
        ends.target.call(lambda client: client.drop_database("theirs", True, True))
        ends.target.call(lambda client: client.drop_table("db", "hand", False))
    assert ends.verify().returncode == 0


def test_a_name_that_is_nothing_s_and_other_wrong_arguments_are_told_in_a_line(ends: Ends, tmp_path: Path) -> None:
    assert_one_line(ends.verify("db.nosuch"), 2, "no object db.nosuch is in the scope of a target")
    assert_one_line(ends.verify("nosuch"), 2, "no object nosuch is in the scope of a target")
    assert_one_line(ends.verify("a.b.c"), 2, "a.b.c")
    assert_one_line(ends.verify("--target", "nosuch"), 2, "has no target 'nosuch'", "replica")
    assert_one_line(ends.verify("db.owner", "--junit", tmp_path / "no" / "file"), 2, "cannot write", "--junit")


def test_only_what_is_named_is_compared(ends: Ends) -> None:
    (report,) = json.loads(ends.verify("--json", "db.parts", "other").stdout)["targets"]
    assert (report["objects"], report["partitions"], report["drift"]) == (2, len(DAYS), 0)


def test_without_a_sidecar_a_repair_is_refused_in_a_line(ends: Ends, tmp_path: Path) -> None:
    file = tmp_path / "pysync.toml"
    file.write_text(ends.stage.config_file.read_text().replace(f"{ends.stage.directory}/queue", f"{tmp_path}/queue"))
    done = verify(file, "--repair")
    assert_one_line(done, 1, "no sidecar runs", "pysync run")


def last_comparison(ends: Ends) -> dict[str, Any]:
    return ends.stage.status()["targets"][0]["verify"] or {}


def test_what_the_command_line_finds_counts_as_a_comparison_of_the_sidecar(ends: Ends) -> None:
    wait_until(lambda: is_at_rest(ends.stage), seconds=SECONDS, what="the end of all comparisons that mend")
    alter("comment", setting("parameters[comment]", "drifted"))(ends.target)
    assert ends.verify().returncode == 1
    names = ["table db.comment"]
    wait_until(lambda: last_comparison(ends).get("names") == names, seconds=SECONDS, what="what the command has found")
    assert last_comparison(ends)["objects"] > len(TABLES)
    assert ends.verify("--repair").returncode == 0
    wait_until(lambda: last_comparison(ends).get("drift") == 0, seconds=SECONDS, what="the end of the drift")


def test_the_sidecar_verifies_by_itself_and_tells_in_its_status(ends: Ends) -> None:
    ends.stage.kill_sidecar()
    text = ends.stage.config_file.read_text()
    ends.stage.config_file.write_text(text.replace('every = "1d"', 'every = "2s"\ntables_per_second = 1000'))
    ends.stage.start_sidecar()
    wait_until(lambda: is_at_rest(ends.stage), seconds=SECONDS, what="the end of all comparisons that mend")
    alter("comment", setting("parameters[comment]", "drifted"))(ends.target)
    # Its names, and not their number: what an earlier test made may have been seen by a comparison of that time.
    names = ["table db.comment"]
    wait_until(lambda: last_comparison(ends).get("names") == names, seconds=SECONDS, what="the sidecar's own verify")
    status = last_comparison(ends)
    assert (status["drift"], status["objects"] > len(TABLES)) == (1, True)
    assert ends.verify("--repair").returncode == 0
    wait_until(lambda: last_comparison(ends).get("drift") == 0, seconds=SECONDS, what="the end of the drift")


@pytest.mark.crash
def test_a_glue_target_is_equal_after_a_sync_and_its_drift_is_found_and_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(tmp_path / "aws", "glue")
    with Stage(tmp_path, lake=lake) as stage:
        stage.start_target()
        stage.source.start()
        stage.start_sidecar()
        for name, value in lake.environment().items():
            monkeypatch.setenv(name, value)
        with closing(Metastore(stage.source.uri)) as source:
            fill(source)
            source.call(lambda client: client.add_primary_key(primary_key("keyed", "pk_keyed")))
        wait_until(lambda: is_at_rest(stage), seconds=SECONDS, what="the sync")
        clean = verify(stage.config_file)
        assert (clean.returncode, "no drift; " in clean.stdout) == (0, True), clean

        glue = lake.aws.client("glue")
        glue.delete_table(DatabaseName="db", Name="gone")
        glue.delete_partition(DatabaseName="db", TableName="parts", PartitionValues=["1"])
        stored = glue.get_table(DatabaseName="db", Name="comment")["Table"]
        kept = ("Name", "Owner", "Retention", "StorageDescriptor", "PartitionKeys", "TableType", "Parameters")
        wrong = {key: stored[key] for key in kept if key in stored}
        wrong["Parameters"] = {**stored["Parameters"], "comment": "x"}
        glue.update_table(DatabaseName="db", TableInput=wrong)
        glue.delete_user_defined_function(DatabaseName="db", FunctionName="f_gone")
        drifted = verify(stage.config_file, "--json")
        assert drifted.returncode == 1
        assert found(drifted.stdout) == {
            ("table", "db.gone", "missing"),
            ("table", "db.parts", "partition day=1: missing"),
            ("table", "db.comment", "parameters.comment: 'x' instead of \"a test's\""),
            ("function", "db.f_gone", "missing"),
        }
        assert verify(stage.config_file, "--repair").returncode == 0
