"""Functions whose result depends on the time zone of Hive's session, with that zone written into Trino's text.

What is not known to be the same is an error in Trino when the view is read, with the value in its message, unless a
person accepts `odd-time`: times before October 1582 and after 9999; of java.util, in zones other than UTC, also those
before 1900, for which it has the offset of today where Trino has that of then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pysync.base.zones import time_zones
from pysync.hiveql.differences import accepts, fails_without
from pysync.hiveql.refusal import CannotTranslate
from pysync.views.casts import as_date, as_string, cast
from pysync.views.known_times import UTC_NAMES, Bounds, bounds_in, days_without_midnight
from pysync.views.moments import formatted
from pysync.views.time_patterns import Reader, lenient
from pysync.views.typed_expressions import Typed, named, repeated, text, written
from pysync.views.types import BIGINT, DATE, INT, STRING, TIMESTAMP, HiveType

OF_SECONDS = frozenset({"from_unixtime", "to_unix_timestamp", "unix_timestamp"})
"""The functions of seconds since 1970."""
DEPENDENT = OF_SECONDS | {"current_date", "current_timestamp", "from_utc_timestamp", "now", "to_utc_timestamp"}
"""The functions that need the zone."""
DEPENDS_ON_ZONE = "its result depends on the time zone of the session"

_SECOND = "yyyy-MM-dd HH:mm:ss"
_MOST_DAYS = 10
"""Days of a zone that are written into a query."""
_ODD, _OTHER_TIME = "odd-time", "Hive may have another time"

_SECONDS_OF = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_MONTHS_OF = {"month": 1, "year": 12}

Functions = Mapping[str, Callable[..., Typed]]


def _failing(value: str, kind: HiveType) -> str:
    """An error that names the value; NULL if the value is, or if that is accepted."""
    if accepts(_ODD):
        return f"CAST(NULL AS {kind.trino})"
    error = fails_without(_ODD, _OTHER_TIME, f"CAST({value} AS varchar)")
    return f"CAST({f'from_unixtime({error})' if kind == TIMESTAMP else error} AS {kind.trino})"


def _within(value: str, sql: str, kind: HiveType, bounds: tuple[object, object]) -> Typed:
    """`sql`, if the value is between two others; else an error, or, if that is accepted, what Trino has."""
    if accepts(_ODD):
        return Typed(f"TRY({sql})", kind)
    return Typed(f"IF({value} BETWEEN {bounds[0]} AND {bounds[1]}, {sql}, {_failing(value, kind)})", kind)


def _zone_of(value: Typed) -> str:
    """A zone that is written there, if Java and Trino mean the same by it."""
    name = written(value, "a time zone")
    if name not in UTC_NAMES and ("/" not in name or name not in time_zones()):
        raise CannotTranslate(f"the time zone {name!r}")
    return name


def _instant(time: str, zone: str, *, later: bool) -> str:
    """The instant of a wall clock; of the two that a clock put back has, the `later` one or the one before.

    What a clock put forward skips is as much later.
    """
    one = f"with_timezone({time}, {text(zone)})"
    if zone == "UTC":
        return one
    # By the offset some hours later, or before: if the clock then shows another time, there is only one.
    there, back = ("+", "-") if later else ("-", "+")
    other = f"(with_timezone({time} {there} interval '4' hour, {text(zone)}) {back} interval '4' hour)"
    return f"IF(CAST({other} AS timestamp(3)) = {time}, {other}, {one})"


def _clock(instant: str, zone: str) -> str:
    """What a clock shows at an instant."""
    return f"CAST(at_timezone({instant}, {text(zone)}) AS timestamp(3))"


@dataclass(frozen=True, slots=True)
class SessionTimes:
    """What the clocks of a session show, whose time zone may not be known."""

    zone: str | None
    is_java_util: bool

    def time(self, value: Typed, what: str) -> str:
        """A timestamp, or a date at midnight. Raises CannotTranslate, with `what` needs it."""
        if value.type == DATE and self.is_java_util:
            days = days_without_midnight(self._known_zone(f"{what} {value.type}"))
            if len(days) > _MOST_DAYS:
                raise CannotTranslate(f"{what} {value.type}, to which Hive 2.3 may give the time of the query")
            listed = ", ".join(f"date '{it}'" for it in days)
            time = cast(value, TIMESTAMP).sql
            return f"IF({value.sql} IN ({listed}), {_failing(value.sql, TIMESTAMP)}, {time})" if days else time
        if value.type not in {DATE, TIMESTAMP}:
            raise CannotTranslate(f"{what} {value.type}")
        return cast(value, TIMESTAMP).sql

    def shown(self, time: str) -> str:
        """A time of java.util is none that the clocks skip: it is as much later. Raises CannotTranslate."""
        if not self.is_java_util or self._known_zone("a time") == "UTC":
            return time
        return f"CAST(with_timezone({time}, {text(self._known_zone('a time'))}) AS timestamp(3))"

    def on_clock(self, time: Typed) -> Typed:
        """A timestamp that clocks of the session show: what they skip is later. Raises CannotTranslate."""
        return Typed(self.shown(time.sql), TIMESTAMP)

    def moved(self, value: Typed, count: int, unit: str) -> Typed:
        """A timestamp, or a date at midnight, so many units later; before java.time in seconds, or in months of UTC."""
        what = f"an interval of {count} {unit} beside"
        if unit not in _SECONDS_OF | _MONTHS_OF:
            raise CannotTranslate(f"{what} {value.type}")
        time = repeated(Typed(self.time(value, what), TIMESTAMP), 8).sql
        if not self.is_java_util or self.zone == "UTC":
            return Typed(f"date_add('{unit}', {count}, {time})", TIMESTAMP)
        zone = self._known_zone(f"a timestamp plus {unit}s")
        instant = _instant(self.shown(time), zone, later=True)
        if unit in _SECONDS_OF:
            later = f"date_add('second', {count * _SECONDS_OF[unit]}, {instant})"
        else:
            later = f"with_timezone(date_add('{unit}', {count}, {_clock(instant, 'UTC')}), 'UTC')"
        return _within(time, _clock(later, zone), TIMESTAMP, bounds_in(zone, is_java_util=True).times)

    def _known_zone(self, what: str) -> str:
        if self.zone is None:
            reason = f"{what}, which depends on the time zone of the session (source.hive_time_zone is not set)"
            raise CannotTranslate(reason, needs="hive_time_zone")
        return self.zone


@dataclass(frozen=True, slots=True)
class ZonedFunctions:
    """The functions in the time zone `zone`.

    `is_java_util`: times are those of java.util, as in Hive 2.3, not of java.time. `read` reads strings as times.
    """

    zone: str
    is_java_util: bool
    read: Reader = lenient

    def by_name(self) -> Functions:
        """Each, by its name in lower case."""
        now = _clock("current_timestamp", self.zone)
        return {
            "current_date": lambda: as_date(Typed(now, TIMESTAMP)),
            "current_timestamp": lambda: Typed(now, TIMESTAMP),
            "from_unixtime": self._from_unixtime,
            "from_utc_timestamp": self._from_utc_timestamp,
            "to_unix_timestamp": self._unix_timestamp,
            "to_utc_timestamp": self._to_utc_timestamp,
            "unix_timestamp": self._unix_timestamp,
        }

    def _from_unixtime(self, seconds: Typed, pattern: Typed | None = None) -> Typed:
        if seconds.type not in {INT, BIGINT}:
            raise CannotTranslate(f"the function from_unixtime of {seconds.type}")
        java = _SECOND if pattern is None else written(pattern, "a pattern of from_unixtime")
        time = formatted(f"from_unixtime({seconds.sql}, {text(self.zone)})", java, "from_unixtime")
        if seconds.type == INT:  # from 1901 to 2038
            return Typed(time, STRING)
        return _within(repeated(seconds, 4).sql, time, STRING, self._bounds(self.zone).seconds)

    def _unix_timestamp(self, value: Typed | None = None, pattern: Typed | None = None) -> Typed:
        if value is None:
            return Typed("CAST(floor(to_unixtime(current_timestamp)) AS bigint)", BIGINT)
        if value.type.is_text:
            return self._of_text(value, None if pattern is None else written(pattern, "a pattern of unix_timestamp"))
        if pattern is not None:
            raise CannotTranslate(f"the function unix_timestamp of {value.type} with a pattern")
        time = self._timestamp(value, "unix_timestamp")
        return _within(time, self._seconds(time), BIGINT, self._bounds(self.zone).to_the_end.times)

    def _of_text(self, value: Typed, java: str | None) -> Typed:
        """A text that is no time is NULL; one of which that is not known, or of a time out of bounds, is an error."""
        source = repeated(as_string(value), 4).sql
        read = self.read(source, java)
        if read is None or value.type.name == "char":
            raise CannotTranslate(f"the function unix_timestamp of {value.type} with {java or _SECOND!r}")
        first, last = self._bounds(self.zone).to_the_end.seconds
        seconds, is_known = "CAST(x AS bigint)", f"TRY_CAST(x AS bigint) BETWEEN {first} AND {last}"
        if self.zone != "UTC":
            seconds = self._seconds(f"CAST(from_unixtime({seconds}, 'UTC') AS timestamp(3))")
        known = f"IF(x IS NOT NULL, IF({is_known}, {seconds}, {_failing(source, BIGINT)}))"
        return Typed(named(read, "x", known), BIGINT)

    def _from_utc_timestamp(self, value: Typed, to: Typed) -> Typed:
        time = self._timestamp(value, "from_utc_timestamp")
        zone = _zone_of(to)
        clock = _clock(f"with_timezone({self._shown(time)}, 'UTC')", zone)
        return _within(time, self._shown(clock), TIMESTAMP, self._bounds(self.zone, zone).times)

    def _to_utc_timestamp(self, value: Typed, of: Typed) -> Typed:
        time = self._timestamp(value, "to_utc_timestamp")
        zone = _zone_of(of)
        clock = _clock(_instant(self._shown(time), zone, later=self.is_java_util), "UTC")
        return _within(time, self._shown(clock), TIMESTAMP, self._bounds(self.zone, zone).times)

    def _bounds(self, *zones: str) -> Bounds:
        return bounds_in(*zones, is_java_util=self.is_java_util)

    def _timestamp(self, value: Typed, what: str) -> str:
        time = SessionTimes(self.zone, self.is_java_util).time(value, f"the function {what} of")
        return repeated(Typed(time, TIMESTAMP), 8).sql

    def _seconds(self, time: str) -> str:
        whole = "truncate" if self.is_java_util else "floor"
        return f"CAST({whole}(to_unixtime({_instant(time, self.zone, later=self.is_java_util)})) AS bigint)"

    def _shown(self, time: str) -> str:
        return SessionTimes(self.zone, self.is_java_util).shown(time)


def in_both(read: Sequence[Typed], written: Sequence[Typed], zone: str) -> Typed:
    """A time that `unix_timestamp` reads and `from_unixtime` writes, in UTC and in a zone: an error where they differ.

    Raises CannotTranslate.
    """
    times = []
    for it in (ZonedFunctions("UTC", is_java_util=False), ZonedFunctions(zone, is_java_util=False)):
        functions = it.by_name()
        times.append(functions["from_unixtime"](functions["unix_timestamp"](*read), *written).sql)
    if accepts(_ODD):
        return Typed(times[0], STRING)
    same = f"IF(x[1] IS NOT DISTINCT FROM x[2], x[1], {_failing('x[1]', STRING)})"
    return repeated(Typed(named(f"ARRAY[{', '.join(times)}]", "x", same), STRING), 1)
