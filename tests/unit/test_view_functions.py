"""Functions of Hive in Trino's SQL. What they return is compared with a real Trino in tests/views."""

from __future__ import annotations

import unicodedata

import pytest

from tests.support.hive_views import expression, refusal, sql_of, type_of


@pytest.mark.parametrize(
    ("hive", "trino"),
    [
        # strings, with an array in the place of some
        ("concat_ws(',', s, 'x')", "concat_ws(',', s, 'x')"),
        ("concat_ws(',', split(s, '-'))", "concat_ws(',', array_join(regexp_split(s, '-'), ',', 'null'))"),
        ("trim(s)", "trim(BOTH ' ' FROM s)"),
        ("trim(leading from s)", "trim(LEADING ' ' FROM s)"),
        ("translate(s, 'ab', 'x')", "translate(s, 'ab', 'x')"),
        ("space(2)", "IF(' ' IS NOT NULL, array_join(repeat(' ', 2), ''))"),
        ("find_in_set(s, 'a,b')", "CAST(array_position(split('a,b', ','), s) AS integer)"),
        (
            "substring_index(s, '-', 2)",
            "element_at(transform(ARRAY[split(s, '-')], x -> array_join(slice(x, 1, 2), '-')), 1)",
        ),
        (
            "substring_index(s, '-', -1)",
            "element_at(transform(ARRAY[split(s, '-')], x -> array_join(IF(cardinality(x) > 1, slice(x, -1, 1), x), '-'"
            ")), 1)",
        ),
        # numbers as text
        ("format_number(d, 2)", "IF(d IS NOT NULL, format('%,.2f', d))"),
        ("format_number(b, 0)", "IF(b IS NOT NULL, format('%,.0f', CAST(b AS decimal(19,0))))"),
        ("printf('%s-%02d', s, id)", "format('%s-%02d', s, id)"),
        # numbers
        ("round(d, -2)", "CAST(round(truncate(d), -2) AS decimal(6,0))"),
        ("round(id, -1)", "CAST(round(id, -1) AS integer)"),
        ("radians(f)", "radians(f)"),
        ("nullif(d, 0)", "IF((d = 0), NULL, d)"),
        (
            "least(f, 2e0)",
            "element_at(transform(ARRAY[ARRAY[f, double '2e0']], x -> IF(x[1] IS NOT NULL AND x[2] IS NOT NULL, "
            "IF(is_nan(x[2]) OR x[1] <= x[2], x[1], x[2]))), 1)",
        ),
        # dates
        (
            "next_day(dt, 'monday')",
            "CAST(element_at(transform(ARRAY[dt], x -> date_add('day', (1 + 6 - day_of_week(x)) % 7 + 1, x)), 1) "
            "AS varchar)",
        ),
        ("extract(year from dt)", "CAST(year(dt) AS integer)"),
        ("extract(week from dt)", "CAST(week(dt) AS integer)"),
    ],
)
def test_a_function_in_trinos_sql(hive: str, trino: str) -> None:
    assert expression(hive) == trino


@pytest.mark.parametrize(
    ("hive", "kind"),
    [
        ("round(d, -2)", "decimal(6,0)"),
        ("round(b, -1)", "bigint"),
        ("greatest(id, 2.5)", "decimal(11,1)"),
        ("greatest(d, f)", "double"),
        ("next_day(dt, 'FR')", "string"),
        ("str_to_map(s, ';', '=')", "map<string,string>"),
        ("str_to_map(s)['k']", "string"),
        ("nullif(b, 0)", "bigint"),
    ],
)
def test_a_function_has_hives_type(hive: str, kind: str) -> None:
    assert type_of(hive) == kind


@pytest.mark.parametrize(
    ("hive", "reason"),
    [
        ("substring_index(s, 'ab', 1)", "the function substring_index with the delimiter 'ab'"),
        ("substring_index(s, '-', id)", "a count of substring_index that is not a constant"),
        ("str_to_map(s, '|', '=')", "the function str_to_map with the delimiter '|', which is a pattern"),
        ("str_to_map(s, v, '=')", "a delimiter of str_to_map that is not a constant"),
        ("translate(s, v, 'a')", "what translate looks for that is not a constant"),
        ("format_number(f, 2)", "the function format_number of double with 2 digits"),
        ("format_number(d, 1)", "the function format_number of decimal(7,2) with 1 digits"),
        ("printf('%d', s)", "the function printf with '%d' and string"),
        ("printf('%5.2f', d)", "the function printf"),
        ("printf('%s', s, s)", "the function printf"),
        ("round(f, -1)", "the function round of double with -1 digits"),
        ("round(d, id)", "the digits of round that are not a constant"),
        ("nullif(id, b)", "the function nullif of int and bigint"),
        ("nullif(d, 0.005)", "the function nullif"),
        ("nullif(f, 0)", "the function nullif of double and int"),
        ("next_day(dt, 'Montag')", "the function next_day to 'Montag'"),
        ("extract(century from dt)", "EXTRACT of century"),
        ("space(10001)", "more than 10000 times"),
        ("trim(both 'x' from s)", "TRIM with EXPRESSION"),
        ("concat_ws(',', arr)", "the function concat_ws of array<int>"),
    ],
)
def test_a_function_that_is_refused_says_why(hive: str, reason: str) -> None:
    assert reason in refusal(f"select {hive} x from t")


def test_an_angle_that_there_is_not_depends_on_the_version() -> None:
    assert expression("asin(f)", "2.3") == "asin(f)"
    assert expression("asin(f)", "3.1") == expression("asin(f)", "4") == "IF(f BETWEEN -1e0 AND 1e0, asin(f))"


def test_hive_3_1_adds_months_to_no_string() -> None:
    assert expression("add_months(s, 1)", "2.3")
    assert expression("add_months('2020-01-31', 1)", "3.1")
    assert "Hive 3.1 reads in a way of its own" in refusal("select add_months(s, 1) x from t", "3.1")


def test_hive_3_1_has_averages_of_decimals_over_windows() -> None:
    assert expression("avg(d) over (partition by s)", "3.1") == expression("avg(d) over (partition by s)", "4")
    assert "an average of decimals" in refusal("select avg(d) x from t", "3.1")


def test_a_string_beside_a_date_is_read_as_its_version_reads_dates() -> None:
    for version in ("2.3", "3.1", "4"):
        assert expression("dt = s", version) == f"(dt = {expression('cast(s as date)', version)})"


def test_the_capital_of_a_character_is_that_of_what_it_consists_of() -> None:
    """The rule of `upper`, as Trino follows it, over all characters whose capital is more than one character."""
    several = [it for it in map(chr, [*range(0x80, 0xD800), *range(0xE000, 0x10000)]) if len(it.upper()) > 1]
    for it in several:
        apart = "".join(one.upper() for one in unicodedata.normalize("NFKD", it))
        capital = (
            unicodedata.normalize("NFC", apart).replace("\u03aa", "\u0399\u0308").replace("\u03ab", "\u03a5\u0308")
        )
        assert (capital if it != "\u00df" else "SS") == it.upper()


def test_a_table_function_needs_no_table() -> None:
    sql = sql_of("select x, pos from (select posexplode(split('a-b', '-')) as (pos, x)) q")
    assert (
        """FROM (SELECT 1) AS "_one" CROSS JOIN UNNEST(regexp_split('a-b', '-')) WITH ORDINALITY AS "_rows\"""" in sql
    )


def test_rows_that_are_stacked() -> None:
    sql = sql_of("select k, w from t lateral view stack(2, 'a', ok, 'b') q as k, w")
    assert sql.endswith("""CROSS JOIN UNNEST(ARRAY[ROW('a', ok), ROW('b', CAST(NULL AS boolean))]) AS "q" ("k", "w")""")


def test_parts_of_a_url_are_columns() -> None:
    sql = sql_of("select h, k from t lateral view parse_url_tuple(s, 'HOST', 'QUERY:id') q as h, k")
    assert "(?:&|^)id=([^&]*)" in sql
    assert sql.endswith(')]) AS "q" ("h", "k")')


def test_rows_are_grouped_in_several_ways_by_an_expression() -> None:
    sql = sql_of("select year(dt), s, count(*) as n from t group by year(dt), s with rollup")
    assert sql.startswith('SELECT "_keys"."_k0" AS "_c0", s AS "s", count(*) AS "n" FROM "db"."t" AS "t" CROSS JOIN ')
    assert sql.endswith('AS "_keys" ("_k0") GROUP BY ROLLUP ("_keys"."_k0", s)')


def test_a_key_within_another_key_is_a_column_of_its_own() -> None:
    keys = "trim(s), concat(trim(s), 'a')"
    sql = sql_of(
        f"select concat(trim(s), 'a') as x, max(trim(v)) as m from t where trim(s) <> '' group by {keys} with cube"
    )
    assert sql.startswith('SELECT "_keys"."_k1" AS "x", max(trim(')
    assert """WHERE (trim(BOTH ' ' FROM s) <> '')""" in sql
    assert sql.endswith('GROUP BY CUBE ("_keys"."_k0", "_keys"."_k1")')
