"""Which times Java and Trino show alike in a time zone, by the tz database of this machine.

java.util has the offset of today, without daylight saving, for all times before 1900. Before 15 October 1582 its
calendar is another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from functools import cache
from zoneinfo import ZoneInfo

UTC_NAMES = frozenset({"UTC", "GMT"})
"""The zones whose clocks never change."""

_EPOCH, _FIRST, _BEFORE_1900 = date(1970, 1, 1), date(1582, 10, 15), date(1899, 12, 30)
_SECONDS_OF_DAY, _LAST_SECOND, _NONE = 86_400, 253_402_300_799, timedelta()
_LAST_TIME, _LAST_DAY = "timestamp '9999-12-31 23:59:59.999'", "timestamp '9999-12-31 00:00:00'"
_FIRST_CHANGES, _LAST_CHANGES = (datetime(year, 1, 1, tzinfo=timezone.utc) for year in (1900, 2040))
"""Years in which clocks may be put forward and back; what they do later is the same each year."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The times that Hive and Trino show alike in some zones: from the beginning of `first` to the end of 9999.

    Or to the beginning of that year's last day.
    """

    first: date
    has_last_day: bool

    @property
    def seconds(self) -> tuple[int, int]:
        """Since 1970."""
        last = _LAST_SECOND if self.has_last_day else _LAST_SECOND + 1 - _SECONDS_OF_DAY
        return (self.first - _EPOCH).days * _SECONDS_OF_DAY, last

    @property
    def times(self) -> tuple[str, str]:
        """As timestamps of Trino."""
        return f"timestamp '{self.first} 00:00:00'", _LAST_TIME if self.has_last_day else _LAST_DAY

    @property
    def to_the_end(self) -> Bounds:
        """The same to the end of 9999: of times of which only the seconds since 1970 count."""
        return Bounds(self.first, has_last_day=True)


def bounds_in(*zones: str, is_java_util: bool) -> Bounds:
    """Those of times that are shown in all of these zones; `is_java_util`: by java.util, not by java.time."""
    if UTC_NAMES.issuperset(zones):
        return Bounds(_FIRST, has_last_day=True)
    if not is_java_util:
        return Bounds(_FIRST + timedelta(days=2), has_last_day=False)
    has_one_offset = all(map(_had_the_offset_of_today, zones))
    return Bounds(_BEFORE_1900 if has_one_offset else date(1900, 1, 2), has_last_day=False)


def _had_the_offset_of_today(zone: str) -> bool:
    """Whether the zone's clocks were in 1900 as they are without daylight saving: java.util says so of all before."""
    info = ZoneInfo(zone)
    now = (datetime(2025, month, 15, tzinfo=info) for month in (1, 7))
    of_today = {(it.utcoffset() or _NONE) - (it.dst() or _NONE) for it in now}
    then = {datetime(*day, tzinfo=info).utcoffset() for day in ((1899, 12, 28), (1900, 1, 3))}
    return len(of_today) == 1 and of_today == then


@cache
def days_without_midnight(zone: str) -> Sequence[date]:
    """The days whose midnight Hive 2.3 does not find: it takes the offset at midnight of UTC for that at midnight."""
    info, count = ZoneInfo(zone), (_LAST_CHANGES - _FIRST_CHANGES).days
    found = []
    for midnight in (_FIRST_CHANGES + timedelta(days=it) for it in range(count)):
        offset = midnight.astimezone(info).utcoffset() or _NONE
        if (midnight - offset).astimezone(info).utcoffset() != offset:
            found.append(midnight.date())
    return found
