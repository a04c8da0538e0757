"""Schemas of Avro, as Hudi keeps them, as columns of Hive."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.targets.aws.delta_schema import NoSchema
from pysync.targets.aws.hudi_schema import as_registered, columns_of
from tests.support import storage
from tests.support.hudi import schema


def types(*columns: tuple[str, Any]) -> list[tuple[str, str]]:
    return [(it.name, it.type) for it in columns_of(schema(*columns))]


def record(*fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": [{"name": name, "type": kind} for name, kind in fields]}


@pytest.mark.parametrize(
    ("avro", "hive"),
    [
        ("boolean", "boolean"),
        ("int", "int"),
        ("long", "bigint"),
        ("float", "float"),
        ("double", "double"),
        ("string", "string"),
        ("bytes", "binary"),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, "string"),
        ({"type": "fixed", "name": "f", "size": 16}, "binary"),
        ({"type": "string"}, "string"),
        ({"type": "int", "logicalType": "date"}, "date"),
        ({"type": "long", "logicalType": "timestamp-micros"}, "timestamp"),
        ({"type": "long", "logicalType": "local-timestamp-millis"}, "timestamp"),
        ({"type": "long", "logicalType": "something-new"}, "bigint"),
        ({"type": "string", "logicalType": "uuid"}, "string"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}, "decimal(10,2)"),
        ({"type": "fixed", "name": "d", "size": 5, "logicalType": "decimal", "precision": 9}, "decimal(9,0)"),
        ({"type": "array", "items": ["null", "int"]}, "array<int>"),
        ({"type": "map", "values": {"type": "array", "items": "string"}}, "map<string,array<string>>"),
        (record(("X", "int"), ("y", ["null", record(("z", "long"))])), "struct<x:int,y:struct<z:bigint>>"),
    ],
)
def test_each_type_has_one_of_hive(avro: Any, hive: str) -> None:
    assert types(("Col", avro)) == [("col", hive)]


def test_a_comment_stays_and_hudis_own_columns_are_left_to_the_table() -> None:
    fields = [{"name": "_hoodie_commit_time", "type": "string"}, {"name": "a", "type": "int", "doc": "what it is"}]
    (found,) = columns_of(json.dumps({"type": "record", "name": "t", "fields": fields}))
    assert (found.name, found.type, found.comment) == ("a", "int", "what it is")


@pytest.mark.parametrize("kind", [["int", "string"], "null", "int96", record(("a:b", "int")), ["null"]])
def test_what_hive_has_no_type_for_is_refused(kind: Any) -> None:
    with pytest.raises(NoSchema):
        columns_of(json.dumps(record(("a", kind))))


@given(st.text(max_size=30) | st.recursive(st.none() | st.booleans() | st.text(max_size=5), st.lists).map(json.dumps))
def test_garbage_is_no_schema(text: str) -> None:
    with pytest.raises(NoSchema):
        columns_of(text)


# --- what the writer registers


def columns(*named: tuple[str, str]) -> list[Any]:
    found: list[Any] = storage(named).cols
    return found


def column_pairs(found: list[tuple[str, str]], registered: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(it.name, it.type) for it in as_registered(columns(*found), columns(*registered))]


def test_hudis_own_columns_stay_first_where_they_are_registered() -> None:
    own = [("_hoodie_commit_time", "string"), ("_hoodie_file_name", "string")]
    assert column_pairs([("a", "int"), ("b", "int")], [*own, ("a", "int")]) == [*own, ("a", "int"), ("b", "int")]
    assert column_pairs([("a", "int")], [("a", "int")]) == [("a", "int")]


def test_timestamps_are_numbers_where_the_writer_registers_numbers() -> None:
    found = [("at", "timestamp"), ("then", "timestamp"), ("n", "bigint")]
    assert column_pairs(found, [("at", "bigint")]) == [("at", "bigint"), ("then", "bigint"), ("n", "bigint")]
    assert column_pairs(found, [("at", "timestamp"), ("n", "bigint")]) == found
    assert column_pairs(found, []) == found
