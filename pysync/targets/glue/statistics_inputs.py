"""Column statistics: from the metastore's structs to Glue's, and back. Pure.

Glue knows seven types. It has no histograms and no statistics of timestamps, and takes no negative counts: HMS has -1
where nothing is known. What it cannot hold is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

_DAY = 86400
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_DAYS = (-719_162, 2_932_896)
"""Year 1 to 9999: what boto can send."""


@dataclass(frozen=True, slots=True)
class _Type:
    """One type of statistics: its names at both ends, its fields, and how its lowest and highest value travel."""

    name: str
    field: str
    struct: Callable[..., Any]
    counts: Mapping[str, str]
    to_glue: Callable[[Any], Any] | None = None
    from_glue: Callable[[Any], Any] = lambda value: value

    @property
    def member(self) -> str:
        """The member of Glue's structure."""
        return f"{self.name.capitalize()}ColumnStatisticsData"


_RANGE = {"lowValue": "MinimumValue", "highValue": "MaximumValue"}
_NULLS = {"numNulls": "NumberOfNulls"}
_DISTINCT = {**_NULLS, "numDVs": "NumberOfDistinctValues"}
_LENGTHS = {"maxColLen": "MaximumLength", "avgColLen": "AverageLength"}


def _of_date(date: Any) -> Any:
    days = date.daysSinceEpoch
    return _EPOCH + timedelta(days=days) if _DAYS[0] <= days <= _DAYS[1] else None


def _of_decimal(decimal: Any) -> dict[str, Any]:
    return {"UnscaledValue": decimal.unscaled, "Scale": decimal.scale}


_TYPES = (
    _Type(
        *("BOOLEAN", "booleanStats", hive.BooleanColumnStatsData),
        {"numTrues": "NumberOfTrues", "numFalses": "NumberOfFalses", **_NULLS},
    ),
    _Type("LONG", "longStats", hive.LongColumnStatsData, _DISTINCT, lambda value: value),
    _Type(
        *("DOUBLE", "doubleStats", hive.DoubleColumnStatsData, _DISTINCT),
        lambda value: value if math.isfinite(value) else None,
    ),
    _Type("STRING", "stringStats", hive.StringColumnStatsData, {**_LENGTHS, **_DISTINCT}),
    _Type("BINARY", "binaryStats", hive.BinaryColumnStatsData, {**_LENGTHS, **_NULLS}),
    _Type(
        *("DECIMAL", "decimalStats", hive.DecimalColumnStatsData, _DISTINCT, _of_decimal),
        lambda value: hive.Decimal(unscaled=bytes(value["UnscaledValue"]), scale=value["Scale"]),
    ),
    _Type(
        *("DATE", "dateStats", hive.DateColumnStatsData, _DISTINCT, _of_date),
        lambda value: hive.Date((value - _EPOCH) // timedelta(days=1)),
    ),
)


def statistics_input(item: Any, analyzed: datetime) -> dict[str, Any] | None:
    """The ColumnStatistics of Glue's for a ColumnStatisticsObj; None if Glue cannot hold it."""
    kind = next((it for it in _TYPES if getattr(item.statsData, it.field, None) is not None), None)
    data = _data(kind, getattr(item.statsData, kind.field)) if kind is not None else None
    if kind is None or data is None:
        return None
    return {
        "ColumnName": item.colName.lower(),
        "ColumnType": item.colType,
        "AnalyzedTime": analyzed,
        "StatisticsData": {"Type": kind.name, kind.member: data},
    }


def statistics_of(answer: Mapping[str, Any]) -> Any | None:
    """The ColumnStatisticsObj of Glue's; None for a type that nobody here knows."""
    values = answer["StatisticsData"]
    kind = next((it for it in _TYPES if it.name == values["Type"] and it.member in values), None)
    if kind is None:
        return None
    data = values[kind.member]
    fields = {hive_name: data[glue_name] for hive_name, glue_name in kind.counts.items() if glue_name in data}
    fields |= {
        hive_name: kind.from_glue(data[glue_name]) for hive_name, glue_name in _RANGE.items() if glue_name in data
    }
    stats = hive.ColumnStatisticsData(**{kind.field: kind.struct(**fields)})
    return hive.ColumnStatisticsObj(answer["ColumnName"], answer.get("ColumnType", ""), stats)


def _data(kind: _Type, values: Any) -> dict[str, Any] | None:
    counts = {glue_name: getattr(values, hive_name) for hive_name, glue_name in kind.counts.items()}
    if any(it is None or not math.isfinite(it) or it < 0 for it in counts.values()):
        return None
    ends = (
        {glue_name: getattr(values, hive_name) for hive_name, glue_name in _RANGE.items()}
        if kind.to_glue is not None
        else {}
    )
    sent = {name: kind.to_glue(it) for name, it in ends.items() if it is not None} if kind.to_glue else {}
    return {**counts, **{name: it for name, it in sent.items() if it is not None}}
