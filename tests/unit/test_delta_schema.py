"""Columns of Hive from a Delta schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.targets.aws.delta_schema import NoSchema, columns_of

_NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,10}", fullmatch=True)
_PLAIN = st.sampled_from(
    [
        ("string", "string"),
        ("long", "bigint"),
        ("integer", "int"),
        ("short", "smallint"),
        ("byte", "tinyint"),
        ("timestamp_ntz", "timestamp"),
        ("decimal(10,2)", "decimal(10,2)"),
    ]
)


def _nested(types: st.SearchStrategy) -> st.SearchStrategy:
    """Pairs of a Delta type and Hive's."""
    arrays = types.map(lambda it: ({"type": "array", "elementType": it[0], "containsNull": True}, f"array<{it[1]}>"))
    maps = st.tuples(types, types).map(
        lambda it: ({"type": "map", "keyType": it[0][0], "valueType": it[1][0]}, f"map<{it[0][1]},{it[1][1]}>")
    )
    return arrays | maps | st.dictionaries(_NAMES, types, min_size=1, max_size=3).map(_struct)


def _struct(fields: dict[str, tuple[Any, str]]) -> tuple[Any, str]:
    delta = {"type": "struct", "fields": [{"name": name, "type": kind} for name, (kind, _) in fields.items()]}
    return delta, f"struct<{','.join(f'{name}:{kind}' for name, (_, kind) in fields.items())}>"


def _schema(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "struct", "fields": fields})


def _one(kind: Any, **metadata: str) -> Any:
    (column,) = columns_of(_schema({"name": "a", "type": kind, "nullable": True, "metadata": metadata}))
    return column


@given(kind=st.recursive(_PLAIN, _nested, max_leaves=8))
def test_every_type_becomes_hives(kind: tuple[Any, str]) -> None:
    assert _one(kind[0]).type == kind[1]


def test_columns_keep_their_order_and_comments_and_get_small_letters() -> None:
    found = columns_of(
        _schema({"name": "Id", "type": "long"}, {"name": "b", "type": "date", "metadata": {"comment": "c"}})
    )
    assert [(it.name, it.type, it.comment) for it in found] == [("id", "bigint", None), ("b", "date", "c")]


@pytest.mark.parametrize("declared", ["varchar(10)", "char(3)"])
def test_a_declared_length_of_text_is_kept(declared: str) -> None:
    assert _one("string", __CHAR_VARCHAR_TYPE_STRING=declared).type == declared


def test_what_is_no_declared_type_is_not_taken_for_one() -> None:
    assert _one("string", __CHAR_VARCHAR_TYPE_STRING="varchar(10), b int").type == "string"


def test_decimals_have_no_blanks() -> None:
    assert _one("decimal(10, 2)").type == "decimal(10,2)"


@pytest.mark.parametrize("kind", ["variant", "decimal(x)", {"type": "udt"}, "interval day"])
def test_a_type_that_hive_lacks_is_told(kind: Any) -> None:
    with pytest.raises(NoSchema, match="Hive has no type"):
        _one(kind)


def test_a_field_of_a_struct_that_hives_types_cannot_name_is_told() -> None:
    with pytest.raises(NoSchema, match="no struct with a field 'a:b'"):
        _one({"type": "struct", "fields": [{"name": "a:b", "type": "long"}]})


@given(garbage=st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_garbage_is_no_schema(garbage: str) -> None:
    with pytest.raises(NoSchema):
        columns_of(garbage)


def test_a_schema_that_is_nested_without_end_is_none() -> None:
    with pytest.raises(NoSchema):
        columns_of('{"fields": [{"name": "a", "type": ' + '{"type": "array", "elementType": ' * 100_000)
