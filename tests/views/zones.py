"""Views whose rows depend on the time zone of the session; times at which clocks are put forward or back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

ZONES: Mapping[str, Sequence[datetime]] = {
    "Europe/Berlin": (datetime(2020, 3, 29, 1), datetime(2020, 10, 25, 1)),
    "America/Sao_Paulo": (datetime(2018, 11, 4, 3), datetime(2019, 2, 17, 2)),  # at midnight
    "Australia/Lord_Howe": (datetime(2020, 4, 4, 15), datetime(2020, 10, 3, 15, 30)),  # by half an hour
    "UTC": (),
}
"""When clocks are put forward and back, in UTC."""

TABLES: Mapping[str, str] = {
    "z": "create external table z (id int, n bigint, i int, ts timestamp, dt date, s string, day string, "
    "digits string, log string) row format delimited fields terminated by ',' location 'file:{files}'",
    "orc": "create table orc stored as orc as select * from z",
    "parquet": "create table parquet stored as parquet as select * from z",
}
"""How Hive makes the tables; `files` is where their rows are."""

VIEWS: Mapping[str, Sequence[str]] = {
    "from_unixtime": (
        "select id, from_unixtime(n) from z",
        "select id, from_unixtime(i) from z",
        "select id, from_unixtime(n, 'yyyy-MM-dd') from z",
        "select id, from_unixtime(n, 'yyyyMMdd'), from_unixtime(n, 'HH:mm') from z",
        "select id, from_unixtime(n, 'dd/MMM/yyyy:HH:mm:ss') from z",
        "select id, from_unixtime(n, 'EEEE'), from_unixtime(n, 'EEE, d MMM') from z",
        "select id, from_unixtime(n, 'EEEE, dd MMMM yyyy') from z",
        "select id, to_date(from_unixtime(n)) from z",
        "select from_unixtime(n, 'yyyy-MM-dd'), count(*) from z group by from_unixtime(n, 'yyyy-MM-dd')",
        "select id, from_unixtime(n - 86400), from_unixtime(0), from_unixtime(1600000000) from z",
    ),
    "unix_timestamp": (
        "select id, unix_timestamp(ts) from z",
        "select id, to_unix_timestamp(ts) from z",
        "select id, unix_timestamp(dt), to_unix_timestamp(dt) from z",
        "select id, from_unixtime(unix_timestamp(ts)) from z",
        "select id, from_unixtime(unix_timestamp(dt), 'yyyyMMdd') from z",
        "select id, unix_timestamp(ts) - unix_timestamp(dt) from z",
        "select id, unix_timestamp(cast('9999-12-31 23:59:59' as timestamp)) from z",
    ),
    "texts": (
        "select id, unix_timestamp(s) from z",
        "select id, unix_timestamp(s, 'yyyy-MM-dd HH:mm:ss'), to_unix_timestamp(s) from z",
        "select id, unix_timestamp(day, 'yyyy-MM-dd') from z",
        "select id, unix_timestamp(digits, 'yyyyMMdd') from z",
        "select id, unix_timestamp(log, 'dd/MMM/yyyy:HH:mm:ss') from z",
        "select id, from_unixtime(unix_timestamp(digits, 'yyyyMMdd'), 'yyyy-MM-dd') from z",
        "select id, to_date(from_unixtime(unix_timestamp(log, 'dd/MMM/yyyy:HH:mm:ss'))) from z",
        "select id, to_unix_timestamp(digits, 'yyyyMMdd') from z",
        "select id, unix_timestamp(concat('x', digits), 'yyyyMMdd'), unix_timestamp(s, 'yyyyMMdd') from z",
        "select id, unix_timestamp(concat(s, ' x'), 'yyyy-MM-dd HH:mm:ss'), unix_timestamp(s, 'yyyy-MM-dd') from z",
        "select id, unix_timestamp(concat(substr(s, 1, 4), '-02-30'), 'yyyy-MM-dd') from z",
        "select id, unix_timestamp(lower(log), 'dd/MMM/yyyy:HH:mm:ss') from z",
        "select id, unix_timestamp(concat(day, ' 24:00:00'), 'yyyy-MM-dd HH:mm:ss') from z",
    ),
    "read_and_written": (
        "select id, from_unixtime(unix_timestamp(digits, 'yyyyMMdd'), 'dd.MM.yyyy') from z where month(dt) in (1, 6)",
        "select id, from_unixtime(unix_timestamp(log, 'dd/MMM/yyyy:HH:mm:ss')) from z where month(dt) in (1, 6, 7, 12)",
        "select id, from_unixtime(unix_timestamp(ts), 'yyyyMM') from z where month(dt) in (1, 6, 7, 12) or dt is null",
    ),
    "of_utc": (
        "select id, from_utc_timestamp(ts, 'Europe/Berlin') from z",
        "select id, from_utc_timestamp(ts, 'America/Sao_Paulo'), from_utc_timestamp(ts, 'UTC') from z",
        "select id, from_utc_timestamp(ts, 'Australia/Lord_Howe') from z",
        "select id, to_utc_timestamp(ts, 'Europe/Berlin') from z",
        "select id, to_utc_timestamp(ts, 'America/Sao_Paulo'), to_utc_timestamp(ts, 'UTC') from z",
        "select id, to_utc_timestamp(ts, 'Australia/Lord_Howe') from z",
        "select id, from_utc_timestamp(dt, 'Asia/Tokyo'), to_utc_timestamp(dt, 'Asia/Tokyo') from z",
        "select id, to_date(from_utc_timestamp(ts, 'Europe/Berlin')) from z",
    ),
    "names": (
        "select id, date_format(ts, 'EEEE'), date_format(dt, 'EEE'), date_format(dt, 'E') from z",
        "select id, date_format(ts, 'yyyyMMdd'), date_format(dt, 'dd MMM yyyy'), date_format(dt, 'MMMM') from z",
        "select id, date_format(dt, 'u'), date_format(ts, 'u') from z",
    ),
    "intervals": (
        "select id, ts + interval 1 day, ts - interval 3 hour, ts + interval 90 minute from z",
        "select id, ts - interval 5000 second, ts - interval 400 day from z",
        "select id, ts + interval 1 month, ts - interval 13 month, ts + interval 1 year from z",
        "select id, dt + interval 1 day, dt - interval 36 hour from z",
        "select id from z where ts - interval 1 day >= dt",
        "select id, unix_timestamp(ts + interval 1 day) - unix_timestamp(ts) from z",
    ),
    "casts": (
        "select id, cast(s as timestamp), cast(day as timestamp), cast(digits as timestamp) from z",
        "select id, cast(concat(s, '.125') as timestamp), cast(log as timestamp) from z",
        "select id, to_date(cast(s as timestamp)), hour(cast(s as timestamp)), cast('2020-03-29' as timestamp) from z",
        "select id, unix_timestamp(cast(s as timestamp)) from z",
        "select id, cast(concat(s, ' x') as timestamp) from z",
        "select id, cast(concat(substr(s, 1, 4), '-02-30') as timestamp) from z where s rlike '^2'",
        "select id, cast(concat(s, 'Z') as timestamp), cast(concat(day, 'T10:20:30') as timestamp) from z",
        "select id, cast(concat(s, ' Europe/Oslo') as timestamp), cast(concat(s, '+02:00') as timestamp) from z",
        "select id, cast(concat(s, '.1250000000000') as timestamp), cast(concat(' ', day, ' ') as timestamp) from z",
        "select id, cast(concat(day, ' 7:5:3') as timestamp), cast(concat(day, ' 10:20') as timestamp) from z "
        "where day <> ''",
        "select id, cast(concat(day, ' 99:99:99') as timestamp), cast('0000-00-00' as timestamp) from z",
    ),
    "files": (
        "select id, ts from orc",
        "select id, unix_timestamp(ts) from orc",
        "select id, ts from parquet",
        "select id, unix_timestamp(ts) from parquet",
        "select id, from_unixtime(n), dt from parquet",
    ),
    "now": (
        "select datediff(current_date, '2020-01-01') from z",
        "select current_date = to_date(current_timestamp) from z",
        "select unix_timestamp() > 1700000000 from z",
        "select abs(unix_timestamp() - unix_timestamp(current_timestamp)) < 100 from z",
        "select count(*) from z where ts < current_timestamp and dt < current_date",
    ),
}

IN_UTC: Sequence[str] = (
    "select id, from_unixtime(n - 12219292800), from_unixtime(253402300799), from_unixtime(-6847804800) from z "
    "where n >= 0",
    "select id, unix_timestamp(cast('9999-12-31 23:59:59' as timestamp)), unix_timestamp('1753-01-01 00:00:00') from z",
    "select id, to_utc_timestamp(cast('9999-12-31 23:59:59' as timestamp), 'UTC') from z",
    "select id, from_utc_timestamp(cast('1753-01-01' as timestamp), 'GMT') from z",
)
"""Times that are known in UTC alone."""
IN_BERLIN: Sequence[str] = (
    "select id, from_unixtime(-2208992400), from_unixtime(-2209118400), from_unixtime(-2208992401) from z",
    "select id, unix_timestamp(cast('1900-01-01' as timestamp)), unix_timestamp('1899-12-30 12:00:00') from z",
    "select id, from_utc_timestamp(cast('1900-01-01' as timestamp), 'America/New_York') from z",
    "select id, to_utc_timestamp(cast('1899-12-31' as timestamp), 'Asia/Tokyo') from z",
)
"""Times before 1900 that are known where clocks were as they are in winter today."""
OF_JAVA_TIME: Sequence[str] = (
    "select id, from_unixtime(n - 7000000000) from z",
    "select id, unix_timestamp(ts - interval 80000 day), unix_timestamp(ts - interval 40000 day) from z",
    "select id, from_utc_timestamp(ts - interval 80000 day, 'America/Sao_Paulo') from z",
    "select id, from_utc_timestamp(ts - interval 45000 day, 'Europe/Berlin') from z",
    "select id, to_utc_timestamp(ts - interval 80000 day, 'Australia/Lord_Howe') from z",
    "select id, to_utc_timestamp(ts - interval 45000 day, 'Europe/Berlin') from z",
    "select id, to_utc_timestamp(cast('1753-01-01' as timestamp), 'America/New_York') from z",
)
"""Times before 1900 that are known of java.time in all zones."""
FAILING: Sequence[str] = (
    "select from_unixtime(n - 21000000000) from z",
    "select from_unixtime(n + 300000000000) from z",
    "select unix_timestamp(cast(date_sub(dt, 200000) as timestamp)) from z",
    "select unix_timestamp(concat('2E3', substr(s, 5)), 'yyyy-MM-dd HH:mm:ss') from z",
)
"""What Hive reads in some way of its own, and Trino not at all."""


def lines(zone: str) -> Iterator[str]:
    """Rows as a text file has them: around each change of the zone's clocks, and far from any."""
    seconds = sorted({*_near(zone), *_FAR})
    clocks = sorted({*_clocks(zone, seconds)})
    for place in range(max(len(seconds), len(clocks))):
        n, ts = seconds[place % len(seconds)], clocks[place % len(clocks)]
        i = n if abs(n) < 2**31 else 0
        texts = (f"{ts:%Y-%m-%d %H:%M:%S}", f"{ts:%Y-%m-%d}", f"{ts:%Y%m%d}", f"{ts:%d/%b/%Y:%H:%M:%S}")
        yield ",".join(map(str, (place, n, i, ts.isoformat(" ", "milliseconds"), ts.date(), *texts)))
    yield ",".join(["-1", *["\\N"] * 8])
    yield ",".join(["-2", *["\\N"] * 4, *[""] * 4])
    yield ",".join(["-3", *["\\N"] * 4, *["no time"] * 4])


_FAR = (0, -1, -86_400, -1_577_923_200, 1_593_000_000, 2_147_483_647, 2_147_483_648, 4_102_444_800, 7_258_118_400)
_AROUND = (-7200, -5400, -3601, -3600, -1801, -1800, -1, 0, 1, 1799, 1800, 3599, 3600, 5400, 7199, 7200)


def _near(zone: str) -> Iterator[int]:
    for change in ZONES[zone]:
        at = int(change.replace(tzinfo=timezone.utc).timestamp())
        yield from (at + it for it in _AROUND)


def _clocks(zone: str, seconds: Sequence[int]) -> Iterator[datetime]:
    """What clocks show then, in that zone and in UTC; also what no clock shows, and parts of seconds."""
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    for it in seconds:
        at = epoch + timedelta(seconds=it)
        yield at.replace(tzinfo=None)
        yield at.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        yield at.replace(tzinfo=None) + timedelta(milliseconds=999)
    for change in ZONES[zone]:
        before = (change.replace(tzinfo=timezone.utc) - timedelta(seconds=1)).astimezone(ZoneInfo(zone))
        yield from (before.replace(tzinfo=None) + timedelta(minutes=it) for it in (1, 20, 31, 59, 61, 90))
