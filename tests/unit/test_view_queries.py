"""Queries of Hive in Trino's SQL: what they read, how rows are joined, grouped, ordered and exploded."""

from __future__ import annotations

import pytest

from pysync.views.versions import VERSIONS
from tests.support.hive_views import refusal, sql_of

LONG = "9" * 5_000
"""A number that Python refuses to read."""


@pytest.mark.parametrize(
    ("hive", "trino"),
    [
        ("select id from t", 'SELECT id AS "id"'),
        ("select T.ID from DB.T T", 'SELECT id AS "id"'),
        ("select id, id + 1 from t", 'SELECT id AS "id", CAST(id + 1 AS integer) AS "_c1"'),
        ("select distinct s from t limit 3", 'SELECT DISTINCT s AS "s" FROM "db"."t" AS "t" LIMIT 3'),
        (
            "select * from u x",
            'SELECT "x"."id" AS "id", "x"."name" AS "name", "x"."t" AS "t" FROM "db"."u" AS "x"',
        ),
        (
            "select id, s, grouping__id from t group by id, s with rollup",
            'SELECT id AS "id", s AS "s", CAST(grouping(id, s) AS bigint) AS "grouping__id" FROM "db"."t" AS "t" '
            "GROUP BY ROLLUP (id, s)",
        ),
        (
            "select id from t order by id nulls first, s desc nulls last limit 7",
            'SELECT id AS "id" FROM "db"."t" AS "t" ORDER BY "id" ASC NULLS FIRST, s DESC NULLS LAST LIMIT 7',
        ),
        (
            "select s, count(*) n from t group by s having n > 1",
            'SELECT s AS "s", count(*) AS "n" FROM "db"."t" AS "t" GROUP BY s HAVING (count(*) > 1)',
        ),
        ("select s, ok, count(*) from t group by s, ok with cube", None),
        (
            "select s from t group by s, ok grouping sets ((s), (s, ok), ())",
            'SELECT s AS "s" FROM "db"."t" AS "t" GROUP BY GROUPING SETS ((s), (s, ok), ())',
        ),
        (
            "select s from t group by rollup(s, ok)",
            'SELECT s AS "s" FROM "db"."t" AS "t" GROUP BY ROLLUP (s, ok)',
        ),
        (
            "select t.id from t left join u on t.b = u.id, other.w",
            'SELECT id AS "id" FROM "db"."t" AS "t" LEFT JOIN "db"."u" AS "u" ON (b = "u"."id") '
            'CROSS JOIN "other"."w" AS "w"',
        ),
        (
            "select t.id from t left semi join u on t.b = u.id where t.ok",
            'SELECT id AS "id" FROM "db"."t" AS "t" WHERE ok AND '
            'EXISTS (SELECT 1 FROM "db"."u" AS "u" WHERE (b = "u"."id"))',
        ),
        (
            "select id from t where b in (select u.id from u where u.name = s)",
            'SELECT id AS "id" FROM "db"."t" AS "t" WHERE (b IN '
            '(SELECT "u"."id" AS "id" FROM "db"."u" AS "u" WHERE ("u"."name" = s)))',
        ),
        (
            "with q as (select id x from t) select x from q",
            'WITH "q" AS (SELECT id AS "x" FROM "db"."t" AS "t") SELECT "q"."x" AS "x" FROM "q" AS "q"',
        ),
        (
            "select id from t union all select id from u",
            '(SELECT "_q"."_c0" AS "id" FROM',  # its beginning: the first branch is widened
        ),
        (
            "select x from t lateral view outer explode(arr) e as x",
            'SELECT "e"."x" AS "x" FROM "db"."t" AS "t" LEFT JOIN UNNEST(arr) AS "e" ("x") ON true',
        ),
        (
            "select explode(arr) as x from t where ok",
            'SELECT "_rows"."x" AS "x" FROM "db"."t" AS "t" CROSS JOIN UNNEST(arr) AS "_rows" ("x") WHERE ok',
        ),
        (
            "select w.id from t join other.w using (id)",
            'SELECT "w"."id" AS "id" FROM "db"."t" AS "t" JOIN "other"."w" AS "w" ON (id = "w"."id")',
        ),
        (
            "select sum(id) over w from t window w as (partition by s)",
            'SELECT sum(id) OVER (PARTITION BY s) AS "_c0"',
        ),
        ("select /*+ MAPJOIN(t) */ id from t distribute by s sort by id", 'SELECT id AS "id"'),
        (
            "select p, x from t lateral view posexplode(arr) e as p, x",
            'SELECT CAST("e"."p" - 1 AS integer) AS "p", "e"."x" AS "x" FROM "db"."t" AS "t" '
            'CROSS JOIN UNNEST(arr) WITH ORDINALITY AS "e" ("x", "p")',
        ),
        (
            "select e.i.a from t lateral view explode(items) e as i",
            'SELECT "e"."i"."a" AS "a" FROM "db"."t" AS "t" '
            'CROSS JOIN UNNEST(transform(items, x -> ROW(x))) AS "e" ("i")',
        ),
        (
            'select `a b`.`x"y` from (select id as `x"y` from t) `a b`',
            'SELECT "a b"."x""y" AS "x""y" FROM (SELECT id AS "x""y" FROM "db"."t" AS "t") AS "a b"',
        ),
    ],
)
def test_a_query_in_trinos_sql(hive: str, trino: str | None) -> None:
    found = sql_of(hive)
    if trino is None:
        assert "GROUP BY CUBE" in found
    elif trino.endswith("FROM"):
        assert found.startswith('(SELECT CAST("_q"."_c0" AS bigint) AS "id"')
    else:
        assert found == trino


@pytest.mark.parametrize(
    ("hive", "reason"),
    [
        ("", "not a single query"),
        ("select", "a SELECT of nothing"),
        ("drop table t", "not a single query"),
        ("select 1; select 2", "not a single query"),
        ("select id from missing", "the table db.missing, which is not at the target"),
        ("select id from t, u", "the name id, which is ambiguous"),
        ("select x.id from t", "the name x.id"),
        ("select t.id from t join t on true", "two sources with the name t"),
        ("select id from t sort by id limit 3", "which rows come first"),
        ("select collect_list(id) from (select id from t distribute by id) q", "which rows come first"),
        ("select id from t tablesample(1 rows)", "in FROM"),
        ("select * from t version as of 3", "TABLE with"),
        ("select * from t join u using (id)", "several types"),
        ("select * from t join other.w using (id)", "* of a join USING columns"),
        ("select id from t join other.w using (id)", "ambiguous"),
        ("select id from t natural join u", "NATURAL"),
        ("select id from t group by 1", "which may stand for a column's place"),
        ("select id from t order by 1 limit 1", "which may stand for a column's place"),
        (f"select id from t order by {LONG} limit 1", "which may stand for a column's place"),
        (f"select id from t group by {LONG}", "which may stand for a column's place"),
        (f"select id from t limit {LONG}", "LIMIT that is not a constant"),
        (f"select id + {LONG} from t", "a number that is too large"),
        (f"select sum(id) over (order by id rows {LONG} preceding) from t", "a frame by values"),
        (f"select date '2026-01-01' + interval '{LONG}' day from t", "an interval of"),
        ("select s from t group by rollup(upper(s))", "other things than columns"),
        ("select s from t union all select f from t", "values of string and double"),
        ("select id from t union all select id, s from t", "different width"),
        ("select x from t lateral view json_tuple(s, 'a') j as x, y", "a lateral view of json_tuple with 2 names"),
        ("select x from t lateral view json_tuple(s, 'a.b') j as x", "json_tuple with other names than of letters"),
        ("select x from t lateral view json_tuple(s, v) j as x", "a name in json_tuple that is not a constant"),
        ("select x from t lateral view parse_url_tuple(s, 'FILE') j as x", "the function parse_url for 'FILE'"),
        ("select x from t lateral view stack(2, null, s) j as x", "stack with a NULL in its first row"),
        ("select explode(arr) from t", "the function explode"),
        ("select explode(arr) as x, id from t", "the function explode"),
        ("select id from t where id in (select name from u)", "int IN a query of string"),
        ("select (select id, s from t)", "several columns as a value"),
        ("select t.id from t left semi join u on t.b = u.id right join other.w on w.id = t.id", "beside an outer join"),
        ("select u.name from t left semi join u on t.b = u.id", "the name u.name"),
        ("with recursive q as (select 1) select * from q", "RECURSIVE"),
        ("select id from t limit 5 offset 2", "the clause OFFSET"),
        ("select sum(id) over (w rows 1 preceding) from t window w as (order by id)", "a name and more"),
        ("select transform(id) using 'cat' from t", "QUERYTRANSFORM"),
    ],
)
def test_a_query_that_is_refused_says_why(hive: str, reason: str) -> None:
    assert reason in refusal(hive)


def test_a_query_that_is_nested_too_deeply_is_refused() -> None:
    assert "cannot be read" in refusal("select " + "(" * 5000 + "1" + ")" * 5000)


def test_a_query_whose_translation_would_grow_without_end_is_refused() -> None:
    nested = "s"
    for _ in range(40):
        nested = f"regexp_extract({nested}, 'a', 0)"
    assert refusal(f"select {nested} from t") == "a query that gets too long"
    many = ", ".join("'x'" for _ in range(9000))
    assert refusal(f"select concat(s, s, s, s, s, s, s, s) in ({many}) from t") == "a query that gets too long"


@pytest.mark.parametrize(
    "hive",
    [
        "select upper(s) s, count(*) from t group by s having s = 'A'",
        "select -id id from t order by abs(id) limit 1",
    ],
)
def test_an_alias_that_is_also_a_column_is_refused_where_engines_choose_differently(hive: str) -> None:
    assert "which is a column and another one's alias" in refusal(hive)


def test_a_query_that_is_too_long_is_refused() -> None:
    assert refusal("select '" + "x" * 400_000 + "'") == "the query is too long"


@pytest.mark.parametrize(
    ("hive", "trino"),
    [
        # u has a column t, and t is a source, too
        ("select t.id from t join u on t.b = u.id", 'ON (b = "u"."id")'),
        ("select b.id from t join u b on t.b = b.id", 'SELECT "b"."id" AS "id"'),
        ("select u.t from t join u on t.b = u.id", 'SELECT "u"."t" AS "t"'),
        ("select id from t where exists (select 1 from u where u.id = t.b)", '("u"."id" = b)'),
        ("select x.st.x from t x", '"x"."st"."x"'),
    ],
)
def test_the_name_of_a_source_counts_more_than_that_of_a_column(hive: str, trino: str) -> None:
    assert trino in sql_of(hive)


def test_a_name_of_a_source_and_of_a_struct_is_refused() -> None:
    assert "both a source and a struct" in refusal("select st.id from t, other.w st")


@pytest.mark.parametrize(
    "query",
    [
        "select d / b from t where b = 7",
        "select d / b from t where (7 <=> b) and ok",
        "select d / b from t where b in (7)",
        "select d / b from t where b between 7 and 7",
        "select d / b from t where (b = 7 and ok) or (b = 7 and id = 1)",
        "select t.d / t.b from t join u on t.b = u.id where u.id = 3 + 4",
        "select q from (select d / b as q, b as n from t) x where n = 7",
        "select q from (select d / b as q, b as n from t union all select d, id from t) x where n = 7",
        "select d / n from (select d, 7 as n from t) x",
        "with x as (select d, cast(7 as bigint) as n from t) select d / n from x",
        "select d % 3 from t where d = 1.5",
        "select 0 * f from t where f = 1.5",
        "select c = v from t where c = 'abcde'",
        "select d / b from t where not b <> 7",
    ],
)
def test_a_result_of_a_column_that_a_condition_fixes_is_refused(query: str) -> None:
    for version in VERSIONS:
        assert "a condition fixes, of which Hive makes a constant" in refusal(query, version)


def test_a_char_that_a_condition_fixes_may_have_no_blanks() -> None:
    for query in ("select id from t where c = 'a'", "select concat(x, '|') from (select c x from t) y where x = 'a'"):
        assert "filled up with blanks" in refusal(query, "2.3")
        assert "filled up with blanks" in refusal(query, "3.1")


@pytest.mark.parametrize(
    "query",
    [
        "select d / b from t where b = 7 or b = 8",
        "select d / b, case when b = 7 then 1 else 0 end from t where b <> 0 and b in (7, 8)",
        "select d * b, d + b, b / 2 from t where b = 7",
        "select concat(c, '|'), c in ('abcde', 'fghij') from t where c = 'abcde'",
        "select d / b from t where b = id",
        "select d / n from (select max(d) as d, count(*) as n from t) x",
        "select d / b, 7 as b from t",
    ],
)
def test_what_no_condition_fixes_is_divided(query: str) -> None:
    for version in VERSIONS:
        assert sql_of(query, version)


@pytest.mark.parametrize("hint", ["MAPJOIN(u)", "STREAMTABLE(t)"])
def test_the_text_that_hive_writes_of_a_hint_is_known_for_what_it_is(hint: str) -> None:
    text = f"select  {hint}  `t`.`id` from `db`.`t` join `db`.`u` on `t`.`b` = `u`.`id`"
    assert "is a hint that lost its comment; Hive cannot read this view either" in refusal(text)
