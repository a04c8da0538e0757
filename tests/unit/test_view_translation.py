"""A view as a whole: its declared columns, what Spark says of its views, garbage, and repetition."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.hiveql.refusal import CannotTranslate
from pysync.views.translation import translate
from pysync.views.versions import VERSIONS
from tests.support.hive_views import columns_of, translated, view


def refused(text: str, columns: Mapping[str, str], **fields: Any) -> str:
    with pytest.raises(CannotTranslate) as caught:
        translated(text, columns, **fields)
    return str(caught.value)


def test_the_columns_have_the_names_and_types_of_the_view() -> None:
    found = translated("select id, count(*) from t group by id", {"id": "int", "n": "int"})
    assert [(name, kind.trino) for name, kind in found.columns] == [("id", "integer"), ("n", "integer")]
    assert found.sql == (
        'SELECT "_q"."_c0" AS "id", CAST("_q"."_c1" AS integer) AS "n" FROM (SELECT "t"."id" AS "id", '
        'count(*) AS "_c1" '
        'FROM "db"."t" AS "t" GROUP BY "t"."id") AS "_q" ("_c0", "_c1")'
    )


def test_a_view_whose_columns_are_those_of_its_query_is_just_the_query() -> None:
    assert translated("select id from t", {"id": "int"}).sql == 'SELECT "t"."id" AS "id" FROM "db"."t" AS "t"'


def test_hives_own_form_of_a_view_with_names_of_its_own() -> None:
    text = "SELECT `id` AS `x` FROM (select `t`.`id` from `db`.`t`) `db.v`"
    assert '"db.v"."id" AS "x"' in translated(text, {"x": "int"}).sql


@pytest.mark.parametrize(
    ("text", "columns", "reason"),
    [
        ("select id from t", {}, "1 columns in the query, 0 in the view"),
        ("select s from t", {"s": "int"}, "the column s: string in the query, int in the view"),
        ("select f from t", {"f": "decimal(10,2)"}, "the column f: double in the query"),
        ("select d * d from t", {"x": "decimal(38,6)"}, "the column x: decimal(15,4) in the query"),
        ("select arr from t", {"arr": "array<string>"}, "the column arr"),
        ("select id from t", {"id": "uniontype<int>"}, "the type uniontype<int>"),
    ],
)
def test_a_query_of_other_columns_is_refused(text: str, columns: Mapping[str, str], reason: str) -> None:
    assert reason in refused(text, columns)


def test_a_view_without_columns_or_with_half_of_one_is_refused() -> None:
    definition = view("select id from t", {"id": "int"})
    definition.sd.cols[0].type = None
    with pytest.raises(CannotTranslate, match="the type"):
        translate(definition, columns_of)
    definition.sd = None
    with pytest.raises(CannotTranslate, match="0 in the view"):
        translate(definition, columns_of)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("select dt from t", "string"), ("select v from t", "string"), ("select null from t", "string")],
)
def test_a_column_that_holds_what_the_query_gives(text: str, kind: str) -> None:
    assert str(translated(text, {"x": kind}).columns[0][1]) == kind


def test_names_without_a_database_are_where_spark_says() -> None:
    parameters = {"view.catalogAndNamespace.numParts": "2", "view.catalogAndNamespace.part.1": "other"}
    assert '"other"."w"' in translated("select id from w", {"id": "int"}, parameters=parameters).sql


NAMED = {"view.catalogAndNamespace.numParts": "2"}


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({**NAMED, "view.sqlConfig.spark.sql.ansi.enabled": "true"}, "ANSI"),
        ({**NAMED, "spark.sql.create.version": "4.0.1"}, "ANSI"),
        ({"view.catalogAndNamespace.numParts": "3"}, "another catalog"),
    ],
)
def test_a_view_of_spark_with_other_rules_is_refused(parameters: Mapping[str, str], reason: str) -> None:
    assert reason in refused("select cast(s as int) as x from t", {"x": "int"}, parameters=parameters)


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("cast(s as int)", "int"),
        ("cast(v as bigint)", "bigint"),
        ("cast(s as date)", "date"),
        ("year(s)", "int"),
        ("to_date(s)", "date"),
        ("datediff(s, '2020-1-1')", "int"),
    ],
)
def test_what_versions_of_hive_read_in_their_own_ways_is_translated_for_a_known_one(expression: str, kind: str) -> None:
    text, columns = f"select {expression} as x from t", {"x": kind}
    assert len({translated(text, columns, version).sql for version in VERSIONS}) > 1
    reason = f"versions of hive give different rows for {expression}; the version is not known: source.hive_version"
    assert refused(text, columns).lower() == reason
    refused(text, columns, hive="2.3", parameters={**NAMED, "spark.sql.create.version": "3.0.1"})


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("row_number() over (order by s)", "int"),
        ("s like 'a_'", "boolean"),
        ("instr(s, 'x')", "int"),
    ],
)
def test_what_hive_4_does_differently_needs_the_version(expression: str, kind: str) -> None:
    text, columns = f"select {expression} as x from t", {"x": kind}
    assert translated(text, columns, "3.1") == translated(text, columns, "2.3") != translated(text, columns, "4")
    assert refused(text, columns).startswith("versions of Hive give different rows for ")


def test_a_reason_that_only_one_version_has_names_the_version() -> None:
    reason = refused("select f + 0 as x from t", {"x": "double"})
    assert (
        reason == "a double plus 0, which Hive 4 leaves -0.0 (in Hive 4; the version is not known: source.hive_version)"
    )


def test_the_deviation_of_one_row_is_null_in_views_of_spark_since_3_1() -> None:
    parameters = {**NAMED, "spark.sql.create.version": "3.1.2"}
    found = translated("select stddev(f) as x from t", {"x": "double"}, parameters=parameters)
    assert 'stddev_samp("t"."f")' in found.sql


def test_numbers_are_places_in_views_of_spark() -> None:
    parameters = {**NAMED, "spark.sql.create.version": "3.5.1"}
    text = "select s, count(*) as n from t group by 1 order by 2 desc limit 3"
    found = translated(text, {"s": "string", "n": "bigint"}, parameters=parameters)
    assert found.sql.endswith('GROUP BY "t"."s" ORDER BY "n" DESC NULLS LAST LIMIT 3')
    for of_no_column in ("select 1 as n from t group by 1", "select id as n from t order by 2 limit 1"):
        assert "a column's place" in refused(of_no_column, {"n": "int"}, parameters=parameters)
    assert "a column's place" in refused("select count(*) as n from t group by 1", {"n": "int"}, parameters=parameters)


def test_a_frame_by_values_is_refused_in_views_of_spark() -> None:
    text = "select count(*) over (order by id range 1 preceding) as n from t"
    assert translated(text, {"n": "bigint"}, "2.3").sql
    assert "whose bounds overflow" in refused(text, {"n": "bigint"}, parameters=NAMED)


def test_case_of_doubles_compares_them_in_views_of_spark() -> None:
    text = "select case f when 0 then 1 end as n from t"
    assert '("t"."f" = CAST(0 AS double))' in translated(text, {"n": "int"}, parameters=NAMED).sql
    assert "CASE of double" in refused(text, {"n": "int"})


def test_a_view_of_spark_in_which_numbers_are_no_places_is_refused() -> None:
    parameters = {**NAMED, "view.sqlConfig.spark.sql.orderByOrdinal": "false"}
    assert "orderByOrdinal" in refused("select id from t order by 1", {"id": "int"}, parameters=parameters)


ANSI = {**NAMED, "view.catalogAndNamespace.part.1": "db", "view.sqlConfig.spark.sql.ansi.enabled": "true"}


@pytest.mark.parametrize(
    "expression",
    [
        "cast(s as int) = 1",
        "cast(s as date) = dt",
        "cast(d as int) = 1",
        "s > 1.5e0",
        "id / b = 1",
        "id % b = 1",
        "id div b = 1",
        "id / 0 = 1",
        "s + 1 = 2",
        "-s = 1",
        "arr[0] = 1",
        "to_date(s) = dt",
        "year(s) = 2020",
        "date_add(s, 1) = dt",
        "round(d, 1) = 1",
        "upper(dt) = 'A'",
        "case when id = 1 then s else 1 end = '1'",
        "if(id = 1, s, dt) = '1'",
        "coalesce(s, id) = '1'",
        "s || id = '1'",
        "sum(s) over (partition by id) = 1",
        "lag(s) over (order by id) = 's'",
    ],
)
def test_what_may_fail_in_ansi_mode_is_refused(expression: str) -> None:
    assert "ANSI mode" in refused(f"select {expression} as x from t", {"x": "boolean"}, parameters=ANSI)


@pytest.mark.parametrize(
    "expression",
    [
        "id = 1 and s = 'x' or not b > 2",
        "s like 'a%' and s in ('a', 'b') and id between 1 and 3",
        "upper(trim(s)) = 'A' and s || s = 'xx'",
        "cast(id as bigint) = 1 and cast(id as string) = '1' and cast(id as double) > 0",
        "id + b * 2 - 1 > 0 and -id < 0 and id / 2 > 1 and id % 2 = 0 and id div 2 = 1",
        "case when id = 1 then s else 'no' end = 'no' and if(id = 1, id, null) = 1 and coalesce(s, '') = ''",
        "dt >= date '2020-01-01' and year(dt) = 2020 and dt >= '2020-01-01'",
        "row_number() over (partition by s order by id) = 1",
        "sum(id) over (partition by s) > 1",
    ],
)
def test_what_cannot_fail_or_fails_in_both_is_translated_in_ansi_mode(expression: str) -> None:
    text, columns = f"select {expression} as x from t", {"x": "boolean"}
    assert translated(text, columns, parameters=ANSI).sql == translated(text, columns, "2.3").sql


def test_a_union_in_ansi_mode_does_not_mix_strings_with_numbers() -> None:
    text = "select s as x from t union all select {} as x from t"
    assert "ANSI mode" in refused(text.format("id"), {"x": "string"}, parameters=ANSI)
    assert translated(text.format("upper(s)"), {"x": "string"}, parameters=ANSI).sql


OF_SPARK = {
    "view.catalogAndNamespace.numParts": "2",
    "view.catalogAndNamespace.part.1": "db",
    "view.sqlConfig.spark.sql.ansi.enabled": "false",
}


@pytest.mark.parametrize(
    "expression",
    [
        "s = 1",
        "1 < s",
        "s between 1 and 2",
        "s > 1.5e0",
        "s + 1 = 2",
        "round(s) < 2",
        "ln(s) > 1",
        "corr(f, id) > 0",
        "cast(s as double) > 1",
        "c = 'abcde'",
        "greatest(id, b) = 1",
        "sign(f) = 1",
        "get_json_object(s, '$.a') = 'x'",
        "parse_url(s, 'HOST') = 'x'",
        "array_contains(arr, 1)",
        "substr(s, -3) = 'a'",
        "cast(s as varchar(3)) = 'a'",
        "cast(cast(d as decimal(38,2)) as int) = 1",
    ],
)
def test_what_spark_does_in_another_way_than_hive_is_refused_in_views_of_spark(expression: str) -> None:
    text, columns = f"select {expression} from t", {"x": "boolean"}
    assert "view of Spark" in refused(text, columns, parameters=OF_SPARK)
    assert translated(text, columns).sql


def test_characters_beyond_the_basic_plane_count_as_two_in_views_of_hive() -> None:
    text = "select substr(s, 2) as x from t"
    assert "(?<![" in translated(text, {"x": "string"}).sql
    of_spark = translated(text, {"x": "string"}, parameters=OF_SPARK).sql
    assert of_spark == 'SELECT substr("t"."s", 2) AS "x" FROM "db"."t" AS "t"'


def test_capitals_of_several_characters_are_written_out_in_a_short_form() -> None:
    sql = translated("select upper(s) as x from t", {"x": "string"}).sql
    assert sql.startswith("""SELECT upper(regexp_replace("t"."s", '([\u00df""")
    assert "IF(x[1] = '\u00df', 'SS', " in sql
    assert len(sql) < 300


def test_what_both_do_in_one_way_is_translated_in_views_of_spark() -> None:
    text = "select substr(s, 2) = 'a' and id = b and f > 1.5e0 and s = 'x' and cast(d as int) = 1 from t"
    assert translated(text, {"x": "boolean"}, parameters=OF_SPARK).sql


def test_spark_cuts_a_decimal_that_an_integer_does_not_hold() -> None:
    text, cut = "select cast(d as tinyint) as x from t", "% decimal '256' - decimal '128'"
    assert cut in translated(text, {"x": "tinyint"}, parameters=OF_SPARK).sql
    assert cut not in translated(text, {"x": "tinyint"}).sql
    assert "%" not in translated("select cast(d as int) as x from t", {"x": "int"}, parameters=OF_SPARK).sql


def test_fields_of_a_struct_have_the_names_of_columns_in_views_of_spark() -> None:
    text = "select struct(id, T.S, st.y, 1) as x from t"
    of_hive, of_spark = (
        f"struct<{it}>" for it in ("col1:int,col2:string,col3:string,col4:int", "id:int,S:string,y:string,col4:int")
    )
    assert 'row("col1" integer,' in translated(text, {"x": of_hive}).sql
    sql = translated(text, {"x": of_spark}, parameters=OF_SPARK).sql
    assert 'row("id" integer, "s" varchar, "y" varchar, "col4" integer)' in sql


def test_a_view_of_spark_with_hives_rules_is_translated() -> None:
    parameters = {
        "view.catalogAndNamespace.numParts": "2",
        "view.catalogAndNamespace.part.1": "db",
        "spark.sql.create.version": "4.0.1",
        "view.sqlConfig.spark.sql.ansi.enabled": "false",
    }
    assert translated("select id from t", {"id": "int"}, parameters=parameters).sql


@given(st.text("select idfromtwhr()*,.'`=<1-/\\\n", max_size=80))
def test_garbage_is_refused_or_translated_but_never_an_error(text: str) -> None:
    for query in (text, f"select {text} from t"):
        with suppress(CannotTranslate):
            assert translate(view(query, {"x": "int"}), columns_of).sql


@given(st.sampled_from(["id", "s", "arr", "st"]), st.sampled_from(["=", "+", "/", "||", "like", "rlike", "in", "<=>"]))
def test_any_operator_beside_any_type_is_refused_or_translated_the_same_each_time(column: str, operator: str) -> None:
    outcomes = []
    for _ in range(2):
        try:
            outcomes.append(translated(f"select ({column} {operator} ({column})) is null from t", {"x": "boolean"}).sql)
        except CannotTranslate as reason:
            outcomes.append(str(reason))
    assert outcomes[0] == outcomes[1]
