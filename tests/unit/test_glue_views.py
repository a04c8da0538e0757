"""Views of Hive at Glue: translated for Athena, with Hive's text beside it, or as they are, and then that is said."""

from __future__ import annotations

from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from structlog.testing import capture_logs

from pysync.model.names import TableName
from pysync.sidecar.why import EndsReader
from pysync.targets.base import Forbidden, Outcome, OutcomeUnknown, Rejected, Target, Unavailable
from pysync.targets.settings import TargetSettings
from tests.conformance.objects import Source, table, view
from tests.support.glue import Bench, answered, broken_off
from tests.support.presto_views import decoded


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def base(bench: Bench, source: Source) -> TableName:
    """A table `t` with the columns `a int, b string` and the partition key `k`."""
    name = TableName(bench.database(), "t")
    bench.target().apply(source.put_table(table(name, "s3://b/t", keys=["k"])))
    bench.calls.clear()
    return name


def on(base: TableName, columns: str = "`t`.`a` as `a`, `t`.`b` as `b`", name: str = "v") -> Any:
    """A view of it, in Hive's words."""
    return view(TableName(base.database, name), f"select {columns} from `{base.database}`.`t`")


def there(bench: Bench, base: TableName, name: str = "v") -> Any:
    return bench.target().table(TableName(base.database, name))


def logged_changes(bench: Bench, source: Source, definition: Any, **settings: Any) -> str:
    """What the log says of a view that is written."""
    with capture_logs() as logs:
        bench.target(**settings).apply(source.put_table(definition))
    return " ".join(change for line in logs for change in line.get("changes", ()))


@pytest.mark.parametrize(
    ("settings", "is_hinted"),
    [
        *[({}, True), ({"hive": "3.1"}, False), ({"views": "off"}, False), ({"hive": "unknown"}, False)],
    ],
)
def test_check_hints_at_the_version_of_hive(bench: Bench, settings: dict[str, Any], is_hinted: bool) -> None:
    assert bench.target(**settings).check().endswith("read alike are translated") == is_hinted


def test_a_view_is_athenas_and_hives(bench: Bench, source: Source, base: TableName) -> None:
    definition = on(base)
    definition.parameters["comment"] = "what it is for"
    assert logged_changes(bench, source, definition) == ""
    found = there(bench, base)
    assert found.viewExpandedText == definition.viewExpandedText
    assert "SerdeInfo" in found.handle["StorageDescriptor"]
    assert (found.tableType, found.parameters["presto_view"]) == ("VIRTUAL_VIEW", "true")
    assert found.parameters["comment"] == "Presto View"
    assert [(it.name, it.type) for it in found.sd.cols] == [("a", "int"), ("b", "string")]
    assert decoded(found.viewOriginalText) == {
        "originalSql": f'SELECT "t"."a" AS "a", "t"."b" AS "b" FROM "{base.database}"."t" AS "t"',
        "catalog": "awsdatacatalog",
        "schema": base.database,
        "columns": [{"name": "a", "type": "integer"}, {"name": "b", "type": "varchar"}],
        "comment": "what it is for",
    }


def test_the_second_replay_changes_nothing_and_verify_finds_nothing(
    bench: Bench, source: Source, base: TableName
) -> None:
    target, put = bench.target(), source.put_table(on(base))
    assert [target.apply(put), target.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert target.differences(on(base), there(bench, base)) == []


def test_a_partition_key_is_a_column_of_the_table(bench: Bench, source: Source, base: TableName) -> None:
    definition = on(base, "`t`.`a` as `a`, `t`.`k` as `b`")
    assert logged_changes(bench, source, definition) == ""


def test_a_write_whose_answer_is_lost_comes_again_and_changes_nothing(
    bench: Bench, source: Source, base: TableName
) -> None:
    put = source.put_table(on(base))
    bench.after = lambda _, method, __: broken_off() if method == "create_table" else None
    with pytest.raises(OutcomeUnknown):
        bench.target().apply(put)
    bench.restart()
    assert bench.target().apply(put) == Outcome.UNCHANGED
    assert bench.writes == []


def test_a_view_of_a_view(bench: Bench, source: Source, base: TableName) -> None:
    target = bench.target()
    target.apply(source.put_table(on(base)))
    outer = view(TableName(base.database, "w"), f"select a, b from `{base.database}`.`v`")
    assert logged_changes(bench, source, outer) == ""
    assert (decoded(there(bench, base, "w").viewOriginalText) or {})["originalSql"].endswith('"v" AS "v"')


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ("my_function(a) as a, b", "the function my_function"),
        ("a, c as b", "the name c, which is not known"),
        ("a", "1 columns in the query, 2 in the view"),
        ("b as a, b", "the column a: string in the query, int in the view"),
    ],
)
def test_a_view_that_is_not_known_to_mean_the_same_keeps_its_text(
    bench: Bench, source: Source, base: TableName, columns: str, reason: str
) -> None:
    definition = on(base, columns)
    changes = logged_changes(bench, source, definition)
    assert "view: its text remains HiveQL, which Athena cannot run" in changes
    assert f"view: not translated: {reason}" in changes
    found = there(bench, base)
    assert found.viewOriginalText == definition.viewOriginalText
    assert "presto_view" not in found.parameters
    assert bench.target().differences(definition, found) == []


def test_a_view_of_iceberg_is_not_read_as_hives(bench: Bench, source: Source, base: TableName) -> None:
    """Before: `greatest` gave NULL where its engine gives a number, and "order" was a text."""
    definition = on(base)
    definition.parameters |= {"table_type": "ICEBERG-VIEW", "engine_version": "1.9"}
    changes = logged_changes(bench, source, definition)
    assert "view: not translated: the text of a view of type 'ICEBERG-VIEW', whose dialect is not known" in changes
    assert "presto_view" not in there(bench, base).parameters


def test_strict_parks_such_a_view(bench: Bench, source: Source, base: TableName) -> None:
    with pytest.raises(Rejected, match="cannot be translated for Athena: the function my_function") as caught:
        bench.target(views="strict").apply(source.put_table(on(base, "my_function(a) as a, b")))
    assert "best-effort" in str(caught.value.hint)
    assert bench.target(views="strict").apply(source.put_table(on(base))) == Outcome.APPLIED


def test_a_table_stays_that_was_renamed_and_became_a_view_which_is_refused(
    bench: Bench, source: Source, base: TableName
) -> None:
    renamed = TableName(base.database, "x")
    target = bench.target(views="strict")
    target.apply(source.put_table(table(renamed, "s3://b/x")))
    with pytest.raises(Rejected, match="the function my_function"):
        target.apply(source.rename_table(renamed, on(base, "my_function(a) as a, b")))
    assert target.tables(base.database) == ["t", "x"]


def test_off_keeps_all_as_they_are(bench: Bench, source: Source, base: TableName) -> None:
    definition = on(base)
    changes = logged_changes(bench, source, definition, views="off")
    assert changes == "view: its text remains HiveQL, which Athena cannot run"
    assert there(bench, base).viewOriginalText == definition.viewOriginalText
    assert "get_table" not in [method for method, arguments in bench.calls if arguments.get("Name") == "t"]


def test_another_setting_is_a_difference_that_a_refresh_writes(bench: Bench, source: Source, base: TableName) -> None:
    put = source.put_table(on(base))
    bench.target(views="off").apply(put)
    assert bench.target().differences(on(base), there(bench, base)) != []
    assert bench.target().apply(put) == Outcome.APPLIED
    assert bench.target(views="off").apply(put) == Outcome.APPLIED
    assert "presto_view" not in there(bench, base).parameters


def test_other_columns_of_a_table_are_found_by_verify(bench: Bench, source: Source, base: TableName) -> None:
    target, definition = bench.target(), on(base, "`t`.`a` + 1 as `a`, `t`.`b` as `b`")
    target.apply(source.put_table(definition))
    target.apply(source.put_table(table(base, "s3://b/t", keys=["k"], cols=["a:bigint", "b:string"])))
    assert target.differences(definition, there(bench, base)) != []


def test_a_view_of_what_is_not_there_keeps_its_text(bench: Bench, source: Source, base: TableName) -> None:
    definition = view(TableName(base.database, "v"), "select a, b from `nowhere`.`t`")
    assert "the table nowhere.t, which is not at the target" in logged_changes(bench, source, definition)
    outer = view(TableName(base.database, "w"), f"select a, b from `{base.database}`.`v`")
    assert f"the view {base.database}.v, which remains HiveQL" in logged_changes(bench, source, outer)


def test_a_view_of_athenas_own_is_left_alone(bench: Bench, source: Source, base: TableName) -> None:
    definition = view(TableName(base.database, "v"), "/* Presto View */")
    definition.viewOriginalText = "/* Presto View: e30= */"
    assert logged_changes(bench, source, definition) == ""
    assert there(bench, base).viewOriginalText == "/* Presto View: e30= */"


def test_without_the_right_to_read_a_table_its_views_go_on_as_before(
    bench: Bench, source: Source, base: TableName
) -> None:
    def denied(_: int, method: str, arguments: dict[str, Any]) -> Exception | None:
        is_table = method == "get_table" and arguments.get("Name") == "t"
        return answered("AccessDeniedException") if is_table else None

    bench.before = denied
    assert f"the table {base}, which pysync may not read" in logged_changes(bench, source, on(base))
    with pytest.raises(Forbidden):
        bench.target().table(base)


def test_a_table_that_cannot_be_read_now_is_waited_for(bench: Bench, source: Source, base: TableName) -> None:
    def throttled(_: int, method: str, arguments: dict[str, Any]) -> Exception | None:
        is_table = method == "get_table" and arguments.get("Name") == "t"
        return answered("ThrottlingException") if is_table else None

    bench.before = throttled
    with pytest.raises(Unavailable):
        bench.target().apply(source.put_table(on(base)))
    with pytest.raises(Unavailable):
        bench.target().differences(on(base), None)


def test_a_translation_that_is_too_long_for_glue_is_none(bench: Bench, source: Source, base: TableName) -> None:
    literal = "'" + "é" * 120_000 + "'"
    definition = on(base, f"`t`.`a`, {literal} as `b`")
    assert "a translation that is too long for Glue" in logged_changes(bench, source, definition)


def test_timestamps_of_iceberg_are_not_those_of_hive(bench: Bench, source: Source, base: TableName) -> None:
    name = TableName(base.database, "ice")
    for columns, is_translated in ((["a:int", "b:string", "c:timestamp"], False), (["a:int", "b:string"], True)):
        bench.target().apply(
            source.put_table(table(name, "s3://b/i", cols=columns, parameters={"table_type": "delta"}))
        )
        definition = view(TableName(base.database, "v"), f"select a, b from `{base.database}`.`ice`")
        assert ("whose format has timestamps" not in logged_changes(bench, source, definition)) == is_translated


@pytest.mark.parametrize(
    ("zone", "kind", "is_translated"),
    [
        ("Europe/Oslo", "parquet.MapredParquet", False),
        ("Europe/Oslo", "orc.Orc", True),
        ("UTC", "parquet.MapredParquet", True),
        (None, "parquet.MapredParquet", True),
    ],
)
def test_timestamps_of_parquet_files_are_others_outside_of_utc(
    bench: Bench, base: TableName, zone: str | None, kind: str, *, is_translated: bool
) -> None:
    """Hive writes them in UTC, and shows them in its own time zone; a view that does not read them is as ever."""
    made = table(TableName(base.database, "files"), "s3://b/f", cols=["a:int", "c:timestamp"])
    made.sd.inputFormat = f"org.apache.hadoop.hive.ql.io.{kind}InputFormat"
    source = Source()
    target = bench.target(hive="2.3", zone=zone)
    target.apply(source.put_table(made))
    for name, columns, is_read in (("v", "c as a, a as b", True), ("w", "a, a as b", False)):
        definition = view(TableName(base.database, name), f"select {columns} from `{base.database}`.`files`")
        definition.sd.cols = made.sd.cols[::-1] if is_read else [made.sd.cols[0]] * 2
        for place, it in enumerate(definition.sd.cols):
            definition.sd.cols[place] = hive.FieldSchema("ab"[place], it.type)
        target.apply(source.put_table(definition))
        text = there(bench, base, name).viewOriginalText
        assert (decoded(text) is not None) == (is_translated or not is_read), text


def test_why_says_of_a_view_that_it_remains_hiveql_and_nothing_of_others(
    bench: Bench, source: Source, base: TableName
) -> None:
    target = bench.target()
    target.apply(source.put_table(on(base, "my_function(a) as a, b")))
    target.apply(source.put_table(on(base, name="w")))
    opened = list[Target]()

    def open_target(_: TargetSettings) -> Target:
        opened.append(bench.target())
        return opened[-1]

    def losses(name: str, settings: TargetSettings = target.store.settings) -> list[str]:
        opened.clear()
        found = EndsReader(None, open_target).read("", [(settings, f"{base.database}.{name}")])
        assert len(opened) == 1, "one look"
        return list(found[settings.name].lost)

    assert losses("v") == [
        "view: its text remains HiveQL, which Athena cannot run",
        "view: not translated: the function my_function: what it gives in Trino is not known",
    ]
    assert losses("w") == losses("t") == losses("nowhere") == losses("f()") == []
    off = target.store.settings.model_copy(update={"views": "off"})
    assert losses("v", off) == [], "the settings want it so"
    bench.before = lambda *_: answered("ThrottlingException", "slowly", 400)
    assert losses("v") == [], "what does not answer holds up no why"
