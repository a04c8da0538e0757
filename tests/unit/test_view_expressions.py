"""Expressions of Hive in Trino's SQL, rule by rule. What they return is compared with a real Trino in tests/views."""

from __future__ import annotations

import pytest

from pysync.views.versions import VERSIONS
from tests.support.hive_views import expression, refusal, type_of


@pytest.mark.parametrize(
    ("hive", "trino"),
    [
        # integers divide into doubles, and a division by zero is NULL
        ("id / 2", "(CAST(id AS double) / NULLIF(CAST(2 AS double), double '0'))"),
        ("id % 3", "CAST(id % NULLIF(3, 0) AS integer)"),
        ("id div 2", "(CAST(id AS bigint) / NULLIF(CAST(2 AS bigint), 0))"),
        ("b + id", "CAST(b + id AS bigint)"),
        ("0 * -1", "CAST(0 * (-1) AS integer)"),
        # strings are doubles where a number is needed
        ("s + 1", "CAST(TRY_CAST(s AS double) + 1 AS double)"),
        ("s = 1", "(TRY_CAST(s AS double) = CAST(1 AS double))"),
        # NaN is equal to itself, and more than any other number
        ("s < 1", "(TRY_CAST(s AS double) < CAST(1 AS double))"),
        ("max(f)", "IF(bool_or(is_nan(f)), CAST(nan() AS double), max(f))"),
        (
            "rank() over (order by f)",
            "CAST(rank() OVER (ORDER BY is_nan(f) ASC NULLS FIRST, f ASC NULLS FIRST) AS integer)",
        ),
        ("c = 'a'", "(rtrim(CAST(c AS varchar)) = 'a')"),
        ("cast(f as decimal(5,1))", "TRY_CAST(IF(f <> 0 AND abs(f) < 1e-99, NULL, f) AS decimal(5,1))"),
        ("f <> f", "(NOT (f = f OR (is_nan(f) AND is_nan(f))))"),
        ("f > id", "(CAST(id AS double) < f OR (is_nan(f) AND NOT is_nan(CAST(id AS double))))"),
        ("f >= 2", "(CAST(2 AS double) <= f OR (is_nan(f) AND CAST(2 AS double) IS NOT NULL))"),
        ("f <=> 1e0", "(f IS NOT DISTINCT FROM double '1e0')"),
        # decimals keep Hive's digits
        ("d * d", "CAST(d * d AS decimal(15,4))"),
        ("d + 1", "CAST(d + 1 AS decimal(8,2))"),
        ("d / 3", "TRY_CAST(CAST(d AS decimal(11,6)) / NULLIF(3, 0) AS decimal(11,6))"),
        (
            "sum(d) / count(*)",
            "TRY_CAST(CAST(CAST(sum(d) AS decimal(17,2)) AS decimal(37,22)) / NULLIF(count(*), 0) AS decimal(37,22))",
        ),
        ("1.50", "decimal '1.5'"),
        ("007.0", "decimal '7'"),
        ("1e3", "double '1e3'"),
        ("3000000000", "bigint '3000000000'"),
        ("-id", "(-id)"),
        # conditions
        ("id <=> b", "(id IS NOT DISTINCT FROM b)"),
        ("id in (1, null)", "((id = 1) OR (id = NULL))"),
        ("id between 1 and 2", "((id >= 1) AND (id <= 2))"),
        ("id between b and 2", "IF((id >= b), (id <= 2), (id >= b))"),
        ("ok is not true", "(NOT (ok IS NOT DISTINCT FROM true))"),
        ("not ok or id = 1 and ok", "((NOT ok) OR ((id = 1) AND ok))"),
        ("s like 'a%'", "(s LIKE 'a%')"),
        ("s not like 'a%'", "(NOT (s LIKE 'a%'))"),
        ("not s like 'a%'", "(NOT (s LIKE 'a%'))"),
        ("s not rlike 'a'", "(NOT regexp_like(s, 'a'))"),
        ("s like 'a\\_%'", "(s LIKE 'a\\_%' ESCAPE '\\')"),
        ("s like 'a\\\\b%'", "(s LIKE 'a\\\\b%' ESCAPE '\\')"),
        ("!ok", "(NOT ok)"),
        ("! id = 1", "(NOT (id = 1))"),
        ("id not between 1 and 2", "(NOT ((id >= 1) AND (id <= 2)))"),
        ("id not in (1)", "(NOT ((id = 1)))"),
        ("s rlike '\\\\d'", "regexp_like(s, '[0-9]')"),
        ("case id when 1 then 'a' end", "(CASE WHEN (id = 1) THEN 'a' ELSE CAST(NULL AS varchar) END)"),
        ("case when ok then id else f end", "(CASE WHEN ok THEN CAST(id AS double) ELSE f END)"),
        ("if(ok, d, 0)", "IF(ok, TRY_CAST(d AS decimal(12,2)), TRY_CAST(0 AS decimal(12,2)))"),
        ("nvl(s, 'x')", "COALESCE(s, 'x')"),
        ("coalesce(s, id)", "COALESCE(s, CAST(id AS varchar))"),
        (
            "coalesce(cast(s as varchar(20)), b)",
            "COALESCE(CAST(CAST(s AS varchar(20)) AS varchar), CAST(b AS varchar))",
        ),
        ("trim(cast(s as varchar(3)))", "trim(BOTH ' ' FROM CAST(CAST(s AS varchar(3)) AS varchar))"),
        ("cast(id as string)", "CAST(id AS varchar)"),
        ("cast('1.5' as decimal(5,1))", "TRY_CAST('1.5' AS decimal(5,1))"),
        ("cast('-7' as int)", "TRY_CAST('-7' AS integer)"),
        ("cast('2020-01-31' as date)", "date '2020-01-31'"),
        ("cast('2020-01-31 10:20:30' as timestamp)", "timestamp '2020-01-31 10:20:30'"),
        ("sqrt(f)", "IF(f < 0e0, NULL, sqrt(f))"),
        ("round(f, 2)", "IF(abs(f) < 1e17, CAST(CAST(CAST(f AS varchar) AS decimal(38,2)) AS double), f)"),
        # moments
        ("dt >= '2020-01-01'", "(dt >= date '2020-01-01')"),
        ("'2020-01-01' > dt", "(date '2020-01-01' > dt)"),
        ("dt in ('2020-01-01')", "((dt = date '2020-01-01'))"),
        ("ts < '2020-01-01'", "(ts < timestamp '2020-01-01')"),
        ("ts = '2020-01-01 10:00:00'", "(ts = timestamp '2020-01-01 10:00:00')"),
        ("dt < date '2020-01-01' + interval 1 month", "(dt < date_add('month', 1, date '2020-01-01'))"),
        ("date_sub(dt, 3)", "date_add('day', -3, dt)"),
        ("dt - interval 2 months", "date_add('month', -2, dt)"),
        ("datediff(ts, dt)", "CAST(date_diff('day', dt, CAST(ts AS date)) AS integer)"),
        ("dayofweek(dt)", "CAST(day_of_week(dt) % 7 + 1 AS integer)"),
        ("date_format(dt, 'yyyy-MM')", "date_format(CAST(dt AS timestamp(3)), '%Y-%m')"),
        # strings
        ("concat(s, id)", "(s || CAST(id AS varchar))"),
        ("s || 'x' || v", "((s || 'x') || CAST(v AS varchar))"),
        ("reverse(c)", "reverse(rtrim(CAST(c AS varchar)))"),
        ("s like 'a_'", "(s LIKE 'a_' AND NOT regexp_like(s, '[\n\r\u0085\u2028\u2029]'))"),
        ("trim(s)", "trim(BOTH ' ' FROM s)"),
        ("regexp_extract(s, '(a)')", "IF(s IS NULL, NULL, COALESCE(regexp_extract(s, '(a)', 1), ''))"),
        (
            "regexp_extract(s, '(a)|(b)', 2)",
            "IF(regexp_like(s, '(a)|(b)'), regexp_extract(s, '(a)|(b)', 2), IF(s IS NOT NULL, ''))",
        ),
        ("regexp_extract(s, '(a|b)-(c)', 2)", "IF(s IS NULL, NULL, COALESCE(regexp_extract(s, '(a|b)-(c)', 2), ''))"),
        ("regexp_replace(s, '(a)?b', '$1')", "regexp_replace(s, '(a)?b', '$1')"),
        (
            "lag(d, 1, 0) over (order by id nulls first)",
            "lag(d, 1, TRY_CAST(0 AS decimal(7,2))) OVER (ORDER BY id ASC NULLS FIRST)",
        ),
        ("sign(d)", "CAST(sign(d) AS integer)"),
        ("sha2(s, 512)", "lower(to_hex(sha512(to_utf8(s))))"),
        ("split(s, '\\\\.')", "regexp_split(s, '\\.')"),
        ("regexp_replace(s, '(a)', '<$1>')", "regexp_replace(s, '(a)', '<$1>')"),
        (
            "locate('a', s, 3)",
            "CAST(COALESCE(NULLIF(strpos(substr(s, 3), 'a'), 0) + 2, strpos(substr(s, 3), 'a')) AS integer)",
        ),
        ("'it\\'s'", "'it''s'"),
        # collections
        ("arr[0]", "element_at(arr, 1)"),
        ("arr[id]", "element_at(arr, IF(id >= 0, CAST(id AS bigint) + 1))"),
        ("m['k']", "element_at(m, 'k')"),
        ("st.y", 'st."y"'),
        ("t.st.x", 'st."x"'),
        ("t.nest.z.q", 'nest."z"."q"'),
        ("items[0].b", 'element_at(items, 1)."b"'),
        ("size(arr)", "CAST(COALESCE(cardinality(arr), -1) AS integer)"),
        ("named_struct('A', id)", 'CAST(ROW(id) AS row("a" integer))'),
        ("array(1, b)", "ARRAY[CAST(1 AS bigint), b]"),
        # aggregates and windows
        ("count(distinct s)", "count(DISTINCT s)"),
        ("count(distinct s, id)", "count(DISTINCT IF(s IS NOT NULL AND id IS NOT NULL, ROW(s, id)))"),
        ("stddev(id)", "stddev_pop(CAST(id AS double))"),
        ("lag(b, 2, 0) over (order by id)", "lag(b, 2, CAST(0 AS bigint)) OVER (ORDER BY id ASC NULLS FIRST)"),
        ("last_value(s, true) over (order by id)", "last_value(s) IGNORE NULLS OVER (ORDER BY id ASC NULLS FIRST)"),
        (
            "count(*) over (order by id range 2 preceding)",
            "count(*) OVER (ORDER BY CAST(id AS bigint) ASC NULLS FIRST RANGE BETWEEN 2 PRECEDING AND CURRENT ROW)",
        ),
        ("sum(d)", "CAST(sum(d) AS decimal(17,2))"),
        ("avg(d)", "CAST(CAST(sum(d) AS decimal(38,6)) / NULLIF(count(d), 0) AS decimal(11,6))"),
        ("avg(id)", "avg(CAST(id AS double))"),
        (
            "collect_set(id)",
            "COALESCE(array_agg(DISTINCT id) FILTER (WHERE id IS NOT NULL), CAST(ARRAY[] AS array(integer)))",
        ),
        (
            "rank() over (partition by s order by id desc)",
            "CAST(rank() OVER (PARTITION BY s ORDER BY id DESC NULLS LAST) AS integer)",
        ),
        (
            "max(b) over (order by id rows 2 preceding)",
            "max(b) OVER (ORDER BY id ASC NULLS FIRST ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
        ),
    ],
)
def test_an_expression_in_trinos_sql(hive: str, trino: str) -> None:
    assert expression(hive, "2.3") == trino


@pytest.mark.parametrize(
    ("hive", "kind"),
    [
        # as a real Hive 2.3 says them
        ("d / d", "decimal(17,10)"),
        ("cast(d as decimal(17,2)) * 100 / sum(cast(d as decimal(17,2))) over ()", "decimal(38,17)"),
        ("cast(d as decimal(17,2)) * id", "decimal(28,2)"),
        ("5 / cast(d as decimal(17,2))", "decimal(21,18)"),
        ("round(cast(d as decimal(17,2)), 1)", "decimal(17,1)"),
        ("ceil(cast(d as decimal(17,2)))", "decimal(16,0)"),
        ("cast(d as decimal(17,2)) % 3", "decimal(3,2)"),
        ("abs(id)", "int"),
        ("floor(id)", "bigint"),
        ("size(split(s, ','))", "int"),
        ("datediff(dt, ts)", "int"),
        ("coalesce(id, f)", "double"),
        ("if(ok, id, b)", "bigint"),
    ],
)
def test_an_expression_has_hives_type(hive: str, kind: str) -> None:
    assert type_of(hive) == kind


@pytest.mark.parametrize(
    ("hive", "reason"),
    [
        ("my_function(s)", "the function my_function"),
        ("unix_timestamp()", "time zone"),
        ("current_date", "its result depends on the time zone of the session"),
        ("rand()", "another at each call"),
        ("upper(s, s)", "2 arguments"),
        ("nothing", "the name nothing"),
        ("cast(f as string)", "a cast from double to string"),
        ("cast(raw as string)", "a cast from binary"),
        ("cast(s as int)", "versions of Hive give different rows for "),
        ("cast(s as date)", "versions of Hive"),
        ("cast('2019-2-8' as timestamp)", "the time zone of the session (source.hive_time_zone is not set)"),
        ("cast(f as string)", "versions of Java write other digits"),
        ("cast(ts as bigint)", "its result depends on the time zone of the session"),
        ("from_unixtime(b)", "its result depends on the time zone of the session"),
        ("percentile(f, 0.5)", "the function percentile of double"),
        ("get_json_object(s, '$.a[*]')", "more than names and indexes"),
        ("get_json_object(s, '$')", "more than names and indexes"),
        ("get_json_object(s, v)", "a path of get_json_object that is not a constant"),
        ("parse_url(s, 'FILE')", "the function parse_url for 'FILE'"),
        ("parse_url(s, 'HOST', 'x')", "the function parse_url for 'HOST' and a key"),
        ("parse_url(s, 'QUERY', 'x.*')", "which Hive takes for a pattern"),
        ("my_function(s)", "the function my_function: what it gives in Trino is not known"),
        ("sha2(s, 224)", "sha2 of 224 bits"),
        ("percentile(b, f)", "parts that are not constants"),
        ("cast(s as timestamp)", "source.hive_time_zone is not set"),
        ("cast(s as decimal(5,1))", "versions of Hive give different rows for "),
        ("cast(cast(d as decimal(30,2)) as double)", "a cast from decimal(30,2) to double"),
        ("year(s)", "versions of Hive"),
        ("trunc(dt, 'mm')", "trunc to 'mm'"),
        ("s in (1, 7)", "IN of string and int"),
        ("id in ('1', 7)", "IN of int and string"),
        ("f in (0, 7)", "IN of double and int"),
        ("f = f", "as keys of a join"),
        ("b = 'YEAR'", "a comparison of bigint with the string 'YEAR'"),
        ("regexp_extract(s, 'a')", "has no such"),
        ("f % cast(d as decimal(38,10))", "a cast from decimal(38,10) to double"),
        ("cast(d as decimal(38,10)) / cast(d as decimal(18,4))", "rounds twice"),
        ("map(id, 1)", "not all different constants"),
        ("map(1, 'a', '1', 'b')", "not all different constants"),
        ("f = id", "as keys of a join"),
        ("greatest(f, r)", "values of double and float"),
        ("greatest(id, dt)", "values of int and date"),
        ("case s when 1 then 2 end", "CASE of string and int"),
        ("if(ok, id)", "IF without a third argument"),
        ("s <=> 1", "a comparison of string with int"),
        ("nullif(id, b)", "nullif of int and bigint"),
        ("arr is null", "IS NULL of array<int>"),
        ("concat_ws(',', arr)", "the function concat_ws of array<int>"),
        ("map_keys(m)", "differ in its result"),
        ("var_samp(f)", "versions of Hive give different rows for "),
        ("ceil(b)", "ceil of bigint"),
        ("round(f, 16)", "more than 15 digits"),
        ("repeat(s, 10001)", "more than 10000 times"),
        ("arr[b]", "an item of array<int> by bigint"),
        ("cast(d as decimal(38,10)) + cast(d as decimal(38,2))", "of which Hive cuts some"),
        ("cast(d as decimal(38,10)) * cast(d as decimal(38,2))", "of which Hive cuts some"),
        ("dt = '2020-1-1'", "'2020-1-1'"),
        ("dt = '2020-02-30'", "'2020-02-30'"),
        ("ts = '2020-1-1'", "a comparison of timestamp"),
        ("s <=> dt", "a comparison of string with date"),
        ("dt in (s, '2020-01-31')", "IN of date and string"),
        ("r = 0.1", "a comparison of float"),
        ("arr = arr", "a comparison of array<int>"),
        ("ok + 1", "arithmetic with boolean"),
        ("r + 1", "arithmetic with float"),
        ("s rlike '(?i)a'", "the pattern '(?i)a'"),
        ("s like 'a\\\\\\\\_'", "a backslash before other characters"),
        ("s = id", "as keys of a join"),
        ("s rlike s", "not a constant"),
        ("'a\\u0041'", "an escape"),
        ("s and ok", "string as a condition"),
        ("coalesce(f, s)", "values of double and string"),
        ("greatest(s, id)", "the function greatest"),
        ("d & 1", "bits of decimal"),
        ("id & b + 1", "without parentheses"),
        ("st.z", "the field z"),
        ("items.a", "the field a"),
        ("regexp_extract(s, '(?:(a)|b)+', 1)", "take no part in a repetition"),
        ("regexp_replace(s, 'a', '$1')", "a replacement"),
        ("regexp_replace(s, ')', 'x')", "the pattern ')'"),
        ("regexp_replace(s, 'a{2,1}', 'x')", "the pattern"),
        ("split(s, '(')", "the pattern '('"),
        ("count(distinct f, id)", "doubles or arrays among them"),
        ("lag(id, 1, 'x') over (order by id)", "a default of string for values of int"),
        ("months_between(s, dt)", "a cast from string to date"),
        ("sum(id) over w", "with a name"),
        ("sum(distinct id) over ()", "over a window"),
        ("sum(id) over (order by f range between 1 preceding and current row)", "a frame by values"),
        ("sum(id) over (order by b range between 1 preceding and current row)", "a frame by values"),
        ("max(id) over (order by id range between 2 preceding and 1 preceding)", "without the current row"),
        ("c in ('a', s)", "IN of char(5) and string"),
        ("c = 'a '", "with a string that ends with a blank"),
        ("c in (' ', 'a')", "with a string that ends with a blank"),
        ("'a ' in (c, 'b')", "with a string that ends with a blank"),
        ("c between '' and 'a '", "with a string that ends with a blank"),
        ("b between null and 7", "BETWEEN with a NULL"),
        ("case c when ' ' then 1 end", "with a string that ends with a blank"),
        ("case when ok then c else 'a ' end", "values of char(5) and string in one column"),
        ("coalesce(c, id)", "values of char(5) and int in one column"),
        ("if(ok, cast(s as varchar(10)), b)", "values of varchar(10) and bigint in one column: Hive may cut"),
        ("1.5 % 7", "a constant whose digits depend on the version"),
        ("d / (3 + 4)", "a constant whose digits depend on the version"),
        ("d % cast(7 as bigint)", "a constant whose digits depend on the version"),
        ("0 / -1", "which is 0.0 or -0.0"),
        ("-1 * 0e0", "which is 0.0 or -0.0"),
        ("-0e0", "which engines make 0.0 or -0.0"),
        ("first_value(id, ok) over ()", "of 2 values"),
        ("99999999999999999999", "too large"),
        ("collect_set(s) over ()", "over a window"),
        ("date_format(dt, 'D')", "'D'"),
        ("date_format(dt, '')", "the function date_format with ''"),
        ("date_format(dt, 'yyyy[-MM]')", "'yyyy[-MM]'"),
        ("dt + interval 1 day", "an interval of 1 day"),
        ("ts + interval 1 month", "source.hive_time_zone is not set"),
        ("id + interval 1 day", "an interval of 1 day beside int"),
        ("split(s, '')", "which matches nothing"),
        ("array()", "without items"),
        ("max(arr)", "the function max"),
        ("last_value(id, true) over (order by id rows 2 preceding)", "last_value past NULLs over some rows"),
        ("first_value(id, true) over (order by id rows 2 preceding)", "first_value past NULLs over some rows"),
        ("rank() over (order by arr)", "an order of array<int>"),
        ("rank() over (order by st desc)", "an order of struct<"),
        ("array_contains(array(arr), arr)", "the function array_contains of array<array<int>> and array<int>"),
        ("s like 'a%' escape '!'", "ESCAPE"),
        ("last_value(id) ignore nulls over (order by id)", "IGNORENULLS"),
    ],
)
def test_an_expression_that_is_refused_says_why(hive: str, reason: str) -> None:
    assert reason in refusal(f"select {hive} x from t")


@pytest.mark.parametrize("function", ["var_pop({})", "stddev({})", "covar_pop({}, id)", "std({}) over ()"])
def test_a_variance_of_one_row_is_0_also_of_what_is_no_number(function: str) -> None:
    assert " = 1, 0e0, " in expression(function.format("f"), "2.3")
    assert "0e0" not in expression(function.format("id"), "2.3")


@pytest.mark.parametrize("hive", ["3.1", "4"])
def test_since_hive_3_a_variance_of_a_group_is_one_of_squares(hive: str) -> None:
    x = "CAST(id AS double)"
    squares = f"((sum({x} * {x}) - sum({x}) * sum({x}) / count({x})) / NULLIF(count({x}) - 1, 0))"
    assert expression("var_samp(id)", hive) == squares
    assert expression("stddev_samp(id)", hive) == f"sqrt({squares})"
    assert expression("stddev_samp(id) over ()", hive) == f"stddev_samp({x}) OVER ()"
    assert "of different values" in refusal("select stddev(distinct id) from t", hive)


def test_a_correlation_is_nan_if_a_number_is_not_finite_and_no_side_is_a_constant() -> None:
    sql = expression("corr(f, id)", "4")
    assert sql.startswith(
        "IF(count(f + CAST(id AS double)) > 1 AND bool_or(NOT is_finite(f + CAST(id AS double))) AND "
    )
    assert sql.endswith(", nan(), corr(f, CAST(id AS double)))")
    assert expression("corr(b, id)") == "corr(CAST(b AS double), CAST(id AS double))"


def test_strings_that_are_no_numbers_make_a_sum_0_before_hive_4() -> None:
    number = "TRY_CAST(s AS double)"
    for hive in ("2.3", "3.1"):
        assert expression("sum(s)", hive) == f"COALESCE(sum({number}), IF(count(s) > 0, 0e0))"
    assert expression("sum(s)", "4") == f"sum({number})"
    assert expression("avg(s)", "3.1") == f"(COALESCE(sum({number}), 0e0) / NULLIF(count(s), 0))"
    assert expression("avg(s)", "2.3") == expression("avg(s)", "4") == f"avg({number})"
    assert "of which Hive 3.1 counts" in refusal("select var_pop(s) from t", "3.1")


def test_a_sum_over_some_rows_is_one_up_to_them_less_that_before() -> None:
    over, rows = " OVER (ORDER BY id ASC NULLS FIRST ROWS BETWEEN ", "sum({}) over (order by id rows 2 preceding)"
    frame, to_end = f"{over}2 PRECEDING AND CURRENT ROW)", f"{over}UNBOUNDED PRECEDING AND CURRENT ROW)"
    total = f"(sum(f){to_end} - COALESCE(sum(f){over}UNBOUNDED PRECEDING AND 3 PRECEDING), 0e0))"
    assert expression(rows.format("f"), "2.3") == f"IF(count(*){frame} > 0, {total})"
    assert expression(rows.format("b"), "2.3").startswith(
        f"COALESCE(sum(b){frame}, IF(count(b){to_end} > 0 AND count(*)"
    )
    assert "LAST" in expression(rows.format("b"), "4")
    assert "COALESCE" not in expression(rows.format("b"), "4")
    for frame in ("rows between 1 preceding and unbounded following", "range between 1 preceding and current row"):
        assert "which Hive takes in steps" in refusal(f"select avg(f) over (order by id {frame}) from t", "2.3")
    assert "of strings over some rows" in refusal("select sum(s) over (order by id rows 2 preceding) from t", "4")


@pytest.mark.parametrize(
    ("frame", "before"),
    [
        ("rows between current row and 2 following", "1 PRECEDING"),
        ("rows between 1 following and 2 following", "CURRENT ROW"),
        ("rows between 3 following and 4 following", "2 FOLLOWING"),
        ("rows between 3 preceding and 1 preceding", "4 PRECEDING"),
    ],
)
def test_what_is_before_a_frame_ends_one_row_before_it(frame: str, before: str) -> None:
    sql = expression(f"avg(f) over (order by id {frame})", "4")
    assert (
        f"COALESCE(sum(f) OVER (ORDER BY id ASC NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND {before}), 0e0)" in sql
    )


def test_hive_4_compares_a_char_with_strings_of_its_length() -> None:
    assert "where Hive 4 counts blanks" in refusal("select id from t where c = 'a'", "4")
    for version in VERSIONS:
        assert expression("c in ('abcde', 'fghij')", version).startswith("((rtrim(")


def test_hive_4_finds_nothing_in_an_empty_string() -> None:
    assert expression("instr(s, v)", "4").startswith("IF(s = '' AND CAST(v AS varchar) = '', 0, CAST(strpos(")
    assert expression("instr(s, 'a')", "4").startswith("CAST(strpos(")
    assert expression("instr(s, v)", "3.1") == "CAST(strpos(s, CAST(v AS varchar)) AS integer)"
