"""Types of Hive and their names in Trino; patterns of Java; the encoding of Presto."""

from __future__ import annotations

import base64
import json
import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.hiveql.refusal import CannotTranslate
from pysync.views.patterns import translated_pattern
from pysync.views.translation import Translation, encoded, is_presto
from pysync.views.types import HiveType, parse_type
from tests.support.presto_views import decoded


@pytest.mark.parametrize(
    ("hive", "trino"),
    [
        ("int", "integer"),
        ("STRING", "varchar"),
        ("float", "real"),
        ("binary", "varbinary"),
        ("timestamp", "timestamp(3)"),
        ("decimal", "decimal(10,0)"),
        ("decimal(5)", "decimal(5,0)"),
        ("decimal(10, 2)", "decimal(10,2)"),
        ("varchar(20)", "varchar(20)"),
        ("char(3)", "char(3)"),
        ("array<map<string,int>>", "array(map(varchar, integer))"),
        ("struct<a:int,b:array<string>>", 'row("a" integer, "b" array(varchar))'),
        ("struct<`odd name`:int>", None),
    ],
)
def test_a_type_in_trino(hive: str, trino: str | None) -> None:
    if trino is None:
        with pytest.raises(CannotTranslate):
            parse_type(hive)
    else:
        assert parse_type(hive).trino == trino


@pytest.mark.parametrize(
    "hive", ["", "uniontype<int,string>", "interval_day_time", "array<int", "map<int>", "int int", "decimal(a)", "x"]
)
def test_a_type_that_trino_does_not_have_is_refused(hive: str) -> None:
    with pytest.raises(CannotTranslate, match="the type"):
        parse_type(hive)


plain = st.sampled_from(["int", "string", "date", "decimal(7,2)", "char(4)", "double"])
types = st.recursive(
    plain,
    lambda inner: (
        inner.map("array<{}>".format)
        | st.tuples(plain, inner).map(lambda it: f"map<{it[0]},{it[1]}>")
        | st.lists(inner, min_size=1, max_size=3).map(
            lambda its: f"struct<{','.join(f'f{place}:{it}' for place, it in enumerate(its))}>"
        )
    ),
    max_leaves=6,
)


@given(types)
def test_a_type_is_written_as_it_was_read(text: str) -> None:
    assert str(parse_type(text)) == text


@given(st.text("intsruca<>(),:1 `", max_size=30))
def test_garbage_is_no_type(text: str) -> None:
    with suppress(CannotTranslate):
        assert isinstance(parse_type(text), HiveType)


@pytest.mark.parametrize(
    ("java", "trino"),
    [
        ("^a+", "^a+"),
        ("a$", r"a(?=(?:\r\n|(?<!\r)\n|[\r\u0085\u2028\u2029])?(?![\s\S]))"),
        (r"\d{2,}\.\w*", r"[0-9]{2,}\.[a-zA-Z_0-9]*"),
        (r"[\d,]+", "[0-9,]+"),
        (r"\D", "[^0-9]"),
        ("a.b", "a[^\n\r\u0085\u2028\u2029]b"),
        ("(a|b)(?:c)??", "(a|b)(?:c)??"),
        (r"[^\s]", r"[^ \t\n\x0B\f\r]"),
    ],
)
def test_a_pattern_of_java(java: str, trino: str) -> None:
    assert translated_pattern(java) == trino


@pytest.mark.parametrize(
    "java",
    ["", "(?i)a", "a++", "$*", "(?<=a)b", r"\bword", r"\p{L}", "[a&&b]", "[[a]]", "a{,3}", "(", "é", r"\1", "[]a]"],
)
def test_a_pattern_that_may_mean_something_else_is_refused(java: str) -> None:
    with pytest.raises(CannotTranslate, match="the pattern"):
        translated_pattern(java)


@given(st.text(r"ab.[]()\dw{}+*?|^$,1", max_size=12), st.text("ab1. ", max_size=6))
def test_a_pattern_finds_what_it_found(java: str, text: str) -> None:
    try:
        trino = translated_pattern(java)
    except CannotTranslate:
        return
    assert bool(re.search(java, text, re.ASCII)) == bool(re.search(trino, text))


def test_a_view_is_encoded_as_athena_does() -> None:
    text = encoded(Translation('SELECT 1 AS "é"', [("é", HiveType("int"))]), "db")
    assert text.startswith("/* Presto View: ")
    assert text.endswith(" */")
    assert json.loads(base64.b64decode(text[16:-3])) == {
        "originalSql": 'SELECT 1 AS "é"',
        "catalog": "awsdatacatalog",
        "schema": "db",
        "columns": [{"name": "é", "type": "integer"}],
    }


@given(st.text(), st.text(min_size=1), st.none() | st.text(min_size=1))
def test_what_was_encoded_can_be_read(sql: str, database: str, comment: str | None) -> None:
    text = encoded(Translation(sql, []), database, comment)
    found = decoded(text)
    assert is_presto(text)
    assert found is not None
    assert (found["originalSql"], found["schema"], found.get("comment")) == (sql, database, comment)
