"""Expressions of Hive in Trino's SQL, rule by rule. What they return is compared with a real Trino in tests/views."""

from __future__ import annotations

import pytest

from tests.support.hive_views import expression, refusal, type_of


@pytest.mark.parametrize(
    ("hive", "trino"),
    [
        # integers divide into doubles, and a division by zero is NULL
        ("id / 2", "(CAST(id AS double) / NULLIF(CAST(2 AS double), double '0'))"),
        ("id % 3", "CAST(id % NULLIF(3, 0) AS integer)"),
        ("id div 2", "(CAST(id AS bigint) / NULLIF(CAST(2 AS bigint), 0))"),
        ("b + id", "CAST(b + id AS bigint)"),
        # strings are doubles where a number is needed
        ("s + 1", "CAST(TRY_CAST(s AS double) + 1 AS double)"),
        ("s = 1", "(TRY_CAST(s AS double) = CAST(1 AS double))"),
        ("1 < s", "(CAST(1 AS double) < TRY_CAST(s AS double))"),
        # decimals keep Hive's digits
        ("d * d", "CAST(d * d AS decimal(15,4))"),
        ("d + 1", "CAST(d + 1 AS decimal(8,2))"),
        ("d / 3", "TRY_CAST(CAST(d AS decimal(11,6)) / NULLIF(3, 0) AS decimal(11,6))"),
        ("1.50", "decimal '1.5'"),
        ("007.0", "decimal '7'"),
        ("1e3", "double '1e3'"),
        ("3000000000", "bigint '3000000000'"),
        ("-id", "(-id)"),
        # conditions
        ("id <=> b", "(id IS NOT DISTINCT FROM b)"),
        ("id in (1, null)", "((id = 1) OR (id = NULL))"),
        ("id between 1 and 2", "((id >= 1) AND (id <= 2))"),
        ("ok is not true", "(NOT (ok IS NOT DISTINCT FROM true))"),
        ("not ok or id = 1 and ok", "((NOT ok) OR ((id = 1) AND ok))"),
        ("s like 'a%'", "(s LIKE 'a%')"),
        ("s not like 'a%'", "(NOT (s LIKE 'a%'))"),
        ("not s like 'a%'", "(NOT (s LIKE 'a%'))"),
        ("s not rlike 'a'", "(NOT regexp_like(s, 'a'))"),
        ("id not between 1 and 2", "(NOT ((id >= 1) AND (id <= 2)))"),
        ("id not in (1)", "(NOT ((id = 1)))"),
        ("s rlike '\\\\d'", "regexp_like(s, '[0-9]')"),
        ("case id when 1 then 'a' end", "(CASE WHEN (id = 1) THEN 'a' ELSE CAST(NULL AS varchar) END)"),
        ("case when ok then id else f end", "(CASE WHEN ok THEN CAST(id AS double) ELSE f END)"),
        ("if(ok, d, 0)", "IF(ok, TRY_CAST(d AS decimal(12,2)), TRY_CAST(0 AS decimal(12,2)))"),
        ("nvl(s, 'x')", "COALESCE(s, 'x')"),
        ("coalesce(s, id)", "COALESCE(s, CAST(id AS varchar))"),
        ("upper(cast(s as varchar(3)))", "upper(CAST(CAST(s AS varchar(3)) AS varchar))"),
        ("cast(id as string)", "CAST(id AS varchar)"),
        ("cast(s as decimal(5,1))", "TRY_CAST(trim(s) AS decimal(5,1))"),
        # moments
        ("dt >= '2020-01-01'", "(dt >= date '2020-01-01')"),
        ("'2020-01-01' > dt", "(date '2020-01-01' > dt)"),
        ("ts < '2020-01-01'", "(ts < timestamp '2020-01-01')"),
        ("ts = '2020-01-01 10:00:00'", "(ts = timestamp '2020-01-01 10:00:00')"),
        ("dt < date '2020-01-01' + interval 1 month", "(dt < date_add('month', 1, date '2020-01-01'))"),
        ("date_sub(dt, 3)", "date_add('day', -3, dt)"),
        ("datediff(ts, dt)", "CAST(date_diff('day', dt, CAST(ts AS date)) AS integer)"),
        ("dayofweek(dt)", "CAST(day_of_week(dt) % 7 + 1 AS integer)"),
        ("date_format(dt, 'yyyy-MM')", "date_format(CAST(dt AS timestamp(3)), '%Y-%m')"),
        # strings
        ("concat(s, id)", "(s || CAST(id AS varchar))"),
        ("s || 'x' || v", "((s || 'x') || CAST(v AS varchar))"),
        ("upper(c)", "upper(rtrim(CAST(c AS varchar)))"),
        ("substr(s, 0, 2)", "substr(s, 1, 2)"),
        ("substr(s, id)", "substr(s, IF(id = 0, 1, id))"),
        ("trim(s)", "trim(BOTH ' ' FROM s)"),
        ("regexp_extract(s, '(a)')", "IF(s IS NULL, NULL, COALESCE(regexp_extract(s, '(a)', 1), ''))"),
        ("split(s, '\\\\.')", "regexp_split(s, '\\.')"),
        ("'it\\'s'", "'it''s'"),
        # collections
        ("arr[0]", "element_at(arr, 1)"),
        ("arr[id]", "element_at(arr, IF(id >= 0, id + 1))"),
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
            "sum(b) over (order by id rows 2 preceding)",
            "sum(b) OVER (ORDER BY id ASC NULLS FIRST ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
        ),
    ],
)
def test_an_expression_in_trinos_sql(hive: str, trino: str) -> None:
    assert expression(hive) == trino


@pytest.mark.parametrize(
    ("hive", "kind"),
    [
        # as a real Hive 2.3 says them
        ("d / d", "decimal(17,10)"),
        ("cast(d as decimal(38,10)) + cast(d as decimal(38,2))", "decimal(38,6)"),
        ("cast(d as decimal(38,10)) * cast(d as decimal(38,2))", "decimal(38,6)"),
        ("cast(d as decimal(20,10)) * cast(d as decimal(20,10))", "decimal(38,17)"),
        ("cast(d as decimal(38,10)) / cast(d as decimal(38,2))", "decimal(38,8)"),
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
        ("current_date", "which is not known"),
        ("rand()", "another at each call"),
        ("upper(s, s)", "2 arguments"),
        ("nothing", "the name nothing"),
        ("cast(f as string)", "a cast from double to string"),
        ("cast(raw as string)", "a cast from binary"),
        ("dt = '2020-1-1'", "'2020-1-1'"),
        ("dt = '2020-02-30'", "'2020-02-30'"),
        ("ts = '2020-01-01'", "a comparison of timestamp"),
        ("ts > '2020-01-01'", "a comparison of timestamp"),
        ("s = dt", "a comparison of string with date"),
        ("r = 0.1", "a comparison of float"),
        ("arr = arr", "a comparison of array<int>"),
        ("ok + 1", "arithmetic with boolean"),
        ("r + 1", "arithmetic with float"),
        ("s rlike '(?i)a'", "the pattern '(?i)a'"),
        ("s like 'a\\\\_'", "LIKE with a backslash"),
        ("s rlike s", "not a constant"),
        ("'a\\u0041'", "an escape"),
        ("s and ok", "string as a condition"),
        ("coalesce(f, s)", "values of double and string"),
        ("greatest(s, id)", "the function greatest"),
        ("d & 1", "bits of decimal"),
        ("id & b + 1", "without parentheses"),
        ("st.z", "the field z"),
        ("items.a", "the field a"),
        ("regexp_extract(s, '(a)?', 1)", "take no part"),
        ("regexp_replace(s, 'a', '$1')", "a replacement"),
        ("regexp_replace(s, ')', 'x')", "the pattern ')'"),
        ("regexp_replace(s, 'a{2,1}', 'x')", "the pattern"),
        ("split(s, '(')", "the pattern '('"),
        ("stddev(f)", "differ in its result"),
        ("count(distinct s, id)", "of 2 values"),
        ("sum(id) over w", "with a name"),
        ("sum(distinct id) over ()", "over a window"),
        ("sum(id) over (order by id range between 1 preceding and current row)", "a frame by values"),
        ("first_value(id, true) over ()", "of 2 values"),
        ("99999999999999999999", "too large"),
        ("collect_set(s) over ()", "over a window"),
        ("date_format(dt, 'EEE')", "'EEE'"),
        ("dt + interval 1 day", "INTERVAL"),
        ("split(s, '')", "which matches nothing"),
        ("map(s, 1)['a']", None),
        ("array()", "without items"),
        ("max(arr)", "the function max"),
        ("!ok", "the operator !"),
        ("s like 'a%' escape '!'", "ESCAPE"),
        ("last_value(id) ignore nulls over (order by id)", "IGNORENULLS"),
    ],
)
def test_an_expression_that_is_refused_says_why(hive: str, reason: str | None) -> None:
    if reason is not None:
        assert reason in refusal(f"select {hive} x from t")
