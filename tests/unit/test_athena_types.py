"""Types go into statements without quotes: so only what is a type goes in. And which partition values stay."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pysync.model.names import DEFAULT_PARTITION
from pysync.targets.athena.hive_types import hive_type, is_readable_as, keeps, same_type
from pysync.targets.athena.quoting import InexpressibleError

PRIMITIVES = ["tinyint", "smallint", "int", "bigint", "boolean", "float", "double", "string", "binary", "timestamp"]
PRIMITIVES += ["date", "char(3)", "varchar(65535)", "decimal(10,2)", "decimal(38,0)"]


def nested(inner):
    names = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True)
    fields = st.lists(st.tuples(names, inner), min_size=1, max_size=3)
    return st.one_of(
        inner.map(lambda it: f"array<{it}>"),
        st.tuples(inner, inner).map(lambda it: f"map<{it[0]},{it[1]}>"),
        fields.map(lambda it: f"struct<{','.join(f'{name}:{kind}' for name, kind in it)}>"),
    )


TYPES = st.recursive(st.sampled_from(PRIMITIVES), nested, max_leaves=6)


@given(TYPES)
def test_a_type_stays_itself_but_for_the_quotes_of_its_fields(text):
    assert hive_type(text).replace("`", "") == text


@given(TYPES)
def test_white_space_and_case_are_no_matter(text):
    spaced = re.sub(r"([<>,:])", r" \1 ", text).upper()
    assert hive_type(spaced).replace("`", "").lower() == text
    assert same_type(spaced, text)


def test_reserved_words_are_fields():
    assert hive_type("struct<date:int,order:array<struct<user:string>>>") == (
        "struct<`date`:int,`order`:array<struct<`user`:string>>>"
    )


def test_what_decimal_leaves_out():
    assert hive_type("decimal") == "decimal(10,0)"
    assert hive_type("map<string,decimal(5)>") == "map<string,decimal(5,0)>"
    assert same_type("decimal", "decimal(10,0)")
    assert not same_type("decimal", "decimal(10,1)")


@given(st.one_of(st.text(max_size=30), st.text(alphabet="intarymp<>,:()'` \n;-0", max_size=30)))
@example("int) LOCATION 's3://elsewhere'")
@example("int COMMENT 'x'")
@example("struct<a b:int>")
@example("struct<a`b:int>")
@example("array<int")
@example("array<int,int>")
@example("map<int>")
@example("int>")
@example("int,int")
@example("")
@example("uniontype<int,string>")
@example("interval_year_month")
@example("timestamp with local time zone")
def test_what_is_no_type_is_refused(text):
    try:
        written = hive_type(text)
    except InexpressibleError:
        return
    assert re.fullmatch(r"[\w<>,:()`]+", written)
    assert same_type(written.replace("`", ""), re.sub(r"decimal\(\s*(\d+)\s*\)", r"decimal(\1,0)", text.lower()))


@pytest.mark.parametrize(
    ("old", "new"),
    [("int", "bigint"), ("tinyint", "int"), ("int", "string"), ("date", "string"), ("varchar(3)", "string")],
)
def test_readable(old, new):
    assert is_readable_as(old, new)
    assert is_readable_as(old, old)
    assert not is_readable_as(new, old)


@pytest.mark.parametrize(
    ("kind", "kept", "changed"),
    [
        ("string", ["a", "07", " x ", "it's", "😀", "%2F"], ["", DEFAULT_PARTITION]),
        ("varchar(3)", ["abc", "a  "], ["abcd", ""]),
        ("char(3)", [], ["abc", "a"]),
        ("int", ["0", "7", "-7", "2147483647", "-2147483648"], ["07", "-0", "+7", " 7", "7.0", "2147483648", "x", "٣"]),
        ("tinyint", ["127", "-128"], ["128", "-129"]),
        ("bigint", ["9223372036854775807"], ["9223372036854775808"]),
        ("date", ["2020-01-02", "2024-02-29"], ["2020-1-2", "20200102", "2023-02-29", "2020-W01-1", "2020-01-02 0"]),
        ("timestamp", ["2020-01-02 03:04:05.0", "2020-01-02 03:04:05.25"], ["2020-01-02 03:04:05"]),
        ("timestamp", [], ["2020-01-02 03:04:05.50", "2020-01-02 3:04:05.0", "2020-01-02"]),
        ("decimal(4,2)", ["0", "1.5", "-12.25", "99"], ["1.50", "01", "1.", ".5", "-0", "1.234", "100", "1e1"]),
        ("decimal", ["7", "9999999999"], ["1.5", "10000000000"]),
        ("double", [], ["1", "1.0"]),
        ("boolean", [], ["true", "1"]),
        ("binary", [], ["x"]),
        ("array<int>", [], ["1"]),
    ],
)  # fmt: skip
def test_partition_values(kind, kept, changed):
    for value in kept:
        assert keeps(kind, value), f"{value!r} stays itself in a {kind}"
    for value in changed:
        assert not keeps(kind, value), f"{value!r} would become another in a {kind}, or none"


def test_a_type_that_is_nested_without_end_is_refused():
    with pytest.raises(InexpressibleError, match="is nested too deeply"):
        hive_type("array<" * 9_000 + "int" + ">" * 9_000)
