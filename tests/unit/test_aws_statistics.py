"""Column statistics as Glue has them, and back."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given
from hypothesis import strategies as st

from pysync.targets.glue.statistics_inputs import statistics_input, statistics_of
from tests.support.statistics import of_columns, of_timestamps, plain

NOW = datetime(2026, 1, 2, tzinfo=timezone.utc)
COUNTS = st.integers(0, 2**63 - 1)
LONGS = st.integers(-(2**63), 2**63 - 1)
DECIMALS = st.builds(lambda number, scale: hive.Decimal(unscaled=number, scale=scale), st.binary(), st.integers(0, 38))


def of(kind: str, struct: Any) -> Any:
    return hive.ColumnStatisticsObj("C", "some type", hive.ColumnStatisticsData(**{kind: struct}))


def returned(item: Any) -> Any | None:
    sent = statistics_input(item, NOW)
    return None if sent is None else statistics_of(sent)


@pytest.mark.parametrize("seed", [1, 7])
def test_each_type_comes_back_as_it_was(seed: int) -> None:
    for item in of_columns(seed):
        assert plain([returned(item)]) == plain([item])


@given(LONGS, LONGS, COUNTS, COUNTS)
def test_any_numbers_come_back(low: int, high: int, nulls: int, distinct: int) -> None:
    item = of("longStats", hive.LongColumnStatsData(low, high, nulls, distinct))
    assert returned(item).statsData == item.statsData


@given(st.floats(), st.one_of(st.none(), st.floats()), COUNTS)
def test_of_doubles_those_that_json_has_come_back(low: float, high: float | None, count: int) -> None:
    found = returned(of("doubleStats", hive.DoubleColumnStatsData(low, high, count, count))).statsData.doubleStats
    assert found.lowValue == (low if abs(low) < float("inf") else None)
    assert found.highValue == (high if high is not None and abs(high) < float("inf") else None)
    assert (found.numNulls, found.numDVs) == (count, count)


@given(DECIMALS, DECIMALS)
def test_decimals_come_back(low: Any, high: Any) -> None:
    found = returned(of("decimalStats", hive.DecimalColumnStatsData(low, high, 1, 2))).statsData.decimalStats
    assert (found.lowValue, found.highValue) == (low, high)


@given(st.integers(-(2**31), 2**31))
def test_of_days_those_that_have_a_date_come_back(days: int) -> None:
    found = returned(of("dateStats", hive.DateColumnStatsData(hive.Date(days), None, 1, 2))).statsData.dateStats
    assert found.lowValue == (hive.Date(days) if -719_162 <= days <= 2_932_896 else None)
    assert found.highValue is None


@pytest.mark.parametrize(
    "item",
    [
        of("longStats", hive.LongColumnStatsData(1, 2, -1, 3)),
        of("longStats", hive.LongColumnStatsData(1, 2, 3, None)),
        of("stringStats", hive.StringColumnStatsData(5, float("nan"), 1, 1)),
        of("booleanStats", hive.BooleanColumnStatsData(1, -1, 1)),
        hive.ColumnStatisticsObj("c", "int", hive.ColumnStatisticsData()),
        of_timestamps(),
    ],
)
def test_what_glue_cannot_hold_is_left_out(item: Any) -> None:
    assert statistics_input(item, NOW) is None


@pytest.mark.parametrize("data", [{"Type": "GEOMETRY"}, {"Type": "LONG"}])
def test_what_glue_may_have_one_day_is_none(data: dict[str, Any]) -> None:
    assert statistics_of({"ColumnName": "c", "StatisticsData": data}) is None


def test_names_are_in_lower_case_and_the_time_is_told() -> None:
    (item,) = of_columns(1, ["id"])
    item.colName = "ID"
    sent = statistics_input(item, NOW)
    assert sent is not None
    assert (sent["ColumnName"], sent["ColumnType"], sent["AnalyzedTime"]) == ("id", "bigint", NOW)
