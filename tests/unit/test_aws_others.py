"""Properties that others set at Glue: which they are, and that an update repeats them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.model.definition import STATISTICS, WRITTEN_PARAMETERS_KEY
from pysync.targets.glue.others import columns_with_others, recorded, with_others, without_others

ALL = ("*",)
KEYS = st.sampled_from(["comment", "classification", "projection.enabled", "x", "é", "*", "numRows", "EXTERNAL"])
PARAMETERS = st.dictionaries(KEYS, st.sampled_from(["", "1", "2"]), max_size=6)


def item(parameters: dict[str, str], storage: dict[str, str] | None = None) -> dict[str, Any]:
    return {"Parameters": parameters, "StorageDescriptor": {"Parameters": storage or {}}}


def parts(fields: Any) -> tuple[dict[str, str], dict[str, str]]:
    """The parameters of an object and of its storage, without the record."""
    found = {key: value for key, value in fields.get("Parameters", {}).items() if key != WRITTEN_PARAMETERS_KEY}
    return found, dict(fields.get("StorageDescriptor", {}).get("Parameters", {}))


def written(fields: dict[str, Any], there: Any, keep: tuple[str, ...] = ALL) -> dict[str, Any]:
    """What is there after an update; `there` is None for a create."""
    return with_others(recorded(fields), there or {}, keep)


@given(st.lists(st.tuples(st.booleans(), PARAMETERS, PARAMETERS), min_size=1, max_size=6))
def test_what_the_source_has_counts_and_what_others_set_stays(steps):
    """A model: the source's state is what it last had; others' properties stay until the source has one of the name."""
    there: dict[str, Any] | None = None
    mine: tuple[dict[str, str], dict[str, str]] = ({}, {})
    others: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for by_source, parameters, storage in steps:
        if by_source or there is None:
            there = written(item(parameters, storage), there)
            mine = (parameters, storage)
            others = tuple({k: v for k, v in o.items() if k not in m} for o, m in zip(others, mine, strict=True))
        else:
            added = tuple(
                {k: v for k, v in a.items() if k not in m and k not in {*STATISTICS, "EXTERNAL"}}
                for a, m in zip((parameters, storage), mine, strict=True)
            )
            others = tuple({**o, **a} for o, a in zip(others, added, strict=True))
            place = there["StorageDescriptor"]
            there = {
                **there,
                "Parameters": {**there["Parameters"], **added[0]},
                "StorageDescriptor": {**place, "Parameters": {**place.get("Parameters", {}), **added[1]}},
            }
    assert parts(there) == tuple({**o, **m} for o, m in zip(others, mine, strict=True))
    assert parts(without_others(there, ALL)) == mine


@given(PARAMETERS, PARAMETERS, PARAMETERS)
def test_an_update_that_comes_again_changes_nothing(before, wanted, others):
    there = written(item(before), None)
    there["Parameters"] = {**others, **there["Parameters"]}
    once = written(item(wanted), there)
    assert written(item(wanted), once) == once


@pytest.mark.parametrize(
    ("keep", "stays"),
    [
        (ALL, {"projection.enabled", "projection.dt.type", "classification"}),
        (("projection.*",), {"projection.enabled", "projection.dt.type"}),
        (("classification", "x?"), {"classification"}),
        ((), set()),
    ],
)
def test_patterns_say_what_stays(keep, stays):
    there = item({"projection.enabled": "true", "projection.dt.type": "date", "classification": "csv"})
    assert parts(written(item({"a": "1"}), there, keep))[0].keys() == {"a", *stays}
    assert parts(without_others(there, keep))[0].keys() == there["Parameters"].keys() - stays


@pytest.mark.parametrize(
    "record",
    ["", "{", "[]", "7", "null", '{"parameters":false}', '{"parameters":7}', '{"parameters":[7,null]}', "[" * 100_000],
)
def test_a_record_that_cannot_be_read_is_none(record):
    there = item({"x": "1", WRITTEN_PARAMETERS_KEY: record})
    assert parts(without_others(there, ALL))[0] == {}
    assert parts(written(item({"y": "2"}), there))[0] == {"x": "1", "y": "2"}


def test_names_that_do_not_fit_into_a_record_make_all_the_sources():
    many = {f"{number:0254d}": "" for number in range(3000)}
    there = written(item(many), None)
    assert len(there["Parameters"][WRITTEN_PARAMETERS_KEY]) < 100
    assert parts(without_others(there, ALL))[0] == many
    assert parts(written(item({}), there))[0] == {}


def test_what_pysync_and_hive_keep_is_in_no_record():
    ours = {"pysync.source": "a", "pysync.renaming": "b", "numRows": "1", "EXTERNAL": "TRUE", "table_type": "ICEBERG"}
    assert recorded(item(ours))["Parameters"] == ours
    assert parts(without_others(item(ours), ALL))[0] == ours


def test_a_record_that_the_source_has_is_not_taken_for_one():
    """The source may itself be a place that a pysync writes."""
    found = recorded(item({WRITTEN_PARAMETERS_KEY: '{"parameters":["projection.enabled"]}'}))
    assert found["Parameters"] == {}


def test_an_object_without_parameters_gets_none():
    assert recorded({"FunctionName": "f"}) == {"FunctionName": "f"}
    assert with_others({"Name": "t"}, {}, ALL) == {"Name": "t"}


def test_columns_keep_what_others_set_by_their_names():
    there = [{"Name": "A", "Type": "int", "Parameters": {"pii": "yes"}}, {"Name": "gone", "Parameters": {"x": "1"}}]
    wanted = [{"Name": "b", "Type": "int"}, {"Name": "a", "Type": "bigint"}]
    found = [{"Name": "b", "Type": "int"}, {"Name": "a", "Type": "bigint", "Parameters": {"pii": "yes"}}]
    assert columns_with_others(wanted, there, ALL) == found
    assert columns_with_others(wanted, there, ("other",)) == wanted
    assert columns_with_others(wanted, None, ALL) == wanted
