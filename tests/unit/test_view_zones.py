"""Functions that need the time zone of Hive's session: the zone is in the text, or the refusal says what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pysync.base.errors import UsageError
from pysync.config import load_config
from pysync.hiveql.differences import accepting
from pysync.hiveql.refusal import CannotTranslate
from pysync.model.names import TableName
from pysync.views.translation import translated_text
from pysync.views.types import Columns, parse_type

COLUMNS: Mapping[str, str] = {
    "n": "bigint",
    "i": "int",
    "ti": "tinyint",
    "ts": "timestamp",
    "dt": "date",
    "s": "string",
}
FILE = '[source]\nname = "onprem"\nhive_time_zone = "{zone}"\n[[targets]]\nname = "dr"\nkind = "glue"\n'


def columns_of(_: TableName) -> Columns:
    return [(name, parse_type(kind)) for name, kind in COLUMNS.items()]


def translated(expression: str, hive: str | None, zone: str | None) -> str:
    return translated_text(f"select {expression} as x from t", columns_of, "db", hive, zone)[0]


def refused(expression: str, hive: str | None, zone: str | None) -> str:
    with pytest.raises(CannotTranslate) as error:
        translated(expression, hive, zone)
    return str(error.value)


@pytest.mark.parametrize("hive", ["2.3", "3.1", "4", None])
@pytest.mark.parametrize(
    "expression",
    ["from_unixtime(n)", "unix_timestamp(ts)", "current_date", "current_timestamp", "to_utc_timestamp(ts, 'UTC')"],
)
def test_without_the_time_zone_the_refusal_names_the_setting(expression: str, hive: str | None) -> None:
    reason = refused(expression, hive, None)
    assert "its result depends on the time zone of the session (source.hive_time_zone is not set)" in reason


@pytest.mark.parametrize(
    ("expression", "within"),
    [
        ("from_unixtime(n)", "from_unixtime(\"t\".\"n\", 'Europe/Berlin'), '%Y-%m-%d %H:%i:%s'"),
        ("from_unixtime(n, 'EEEE')", "from_unixtime(\"t\".\"n\", 'Europe/Berlin'), '%W'"),
        ("unix_timestamp(ts)", 'with_timezone("t"."ts", \'Europe/Berlin\')'),
        ("unix_timestamp(s, 'yyyyMMdd')", "'Europe/Berlin')"),
        ("current_date", "at_timezone(current_timestamp, 'Europe/Berlin')"),
        ("from_utc_timestamp(ts, 'Asia/Tokyo')", "'Asia/Tokyo'"),
    ],
)
@pytest.mark.parametrize("hive", ["2.3", "4"])
def test_the_time_zone_is_in_the_text(expression: str, within: str, hive: str) -> None:
    assert within in translated(expression, hive, "Europe/Berlin")


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("from_unixtime(n, 'EEE, d MMM')", "the function from_unixtime with 'EEE, d MMM'"),
        ("from_unixtime(n, s)", "a pattern of from_unixtime that is not a constant"),
        ("from_unixtime(ti)", "the function from_unixtime of tinyint"),
        ("unix_timestamp(s, 'MM/dd/yyyy')", "the function unix_timestamp of string with 'MM/dd/yyyy'"),
        ("unix_timestamp(ts, 'yyyyMMdd')", "the function unix_timestamp of timestamp with a pattern"),
        ("from_utc_timestamp(ts, s)", "a time zone that is not a constant"),
        ("from_utc_timestamp(ts, 'PST')", "the time zone 'PST'"),
        ("to_utc_timestamp(ts, 'Europe/Atlantis')", "the time zone 'Europe/Atlantis'"),
        ("to_utc_timestamp(s, 'UTC')", "the function to_utc_timestamp of string"),
        ("now()", "the function now: its result depends on the time zone of the session"),
    ],
)
def test_what_is_not_known_well_is_refused_in_a_zone_too(expression: str, reason: str) -> None:
    assert refused(expression, "2.3", "Europe/Berlin") == reason


def test_hives_of_3_1_count_seconds_alike_in_utc_alone() -> None:
    assert "UTC or the session's time zone" in refused("from_unixtime(n)", "3.1", "Europe/Berlin")
    assert "'UTC'" in translated("from_unixtime(n)", "3.1", "UTC")
    assert translated("current_date", "3.1", "Europe/Berlin") == translated("current_date", "4", "Europe/Berlin")


def test_hive_3_1_reads_and_writes_a_time_where_utc_and_the_zone_agree() -> None:
    text = "from_unixtime(unix_timestamp(s, 'yyyyMMdd'), 'yyyy-MM-dd')"
    sql = translated(text, "3.1", "Europe/Berlin")
    assert "'UTC'" in sql
    assert "'Europe/Berlin'" in sql
    assert "IF(x[1] IS NOT DISTINCT FROM x[2], x[1], " in sql
    assert "IS NOT DISTINCT FROM" not in translated(text, "3.1", "UTC")
    assert "its result depends on the time zone" in refused(text, "3.1", None)


@pytest.mark.parametrize("hive", ["3.1", "4"])
def test_java_time_knows_no_zone_in_casts_and_intervals(hive: str) -> None:
    assert translated("ts + interval 2 hour", hive, None).startswith('SELECT date_add(\'hour\', 2, "t"."ts")')
    assert translated("dt - interval 1 day", hive, None).startswith('SELECT date_add(\'day\', -1, CAST("t"."dt" AS')
    assert "Hive may have another time (see odd-time" in translated("cast(s as timestamp)", hive, None)


@pytest.mark.parametrize("expression", ["cast(s as timestamp)", "ts + interval 1 month", "ts - interval 3 second"])
def test_java_util_needs_the_zone_for_casts_and_intervals(expression: str) -> None:
    assert "(source.hive_time_zone is not set)" in refused(expression, "2.3", None)
    assert "'Europe/Berlin'" in translated(expression, "2.3", "Europe/Berlin")
    assert "Berlin" not in translated(expression, "2.3", "UTC")


def test_hive_2_3_adds_months_to_a_timestamp_in_utc() -> None:
    sql = translated("ts + interval 1 month", "2.3", "Europe/Berlin")
    assert "with_timezone(date_add('month', 1, CAST(at_timezone(" in sql


def test_a_version_that_is_not_known_needs_the_same_text_of_all() -> None:
    assert translated("from_unixtime(n)", None, "UTC") == translated("from_unixtime(n)", "2.3", "UTC")
    assert "is not known: source.hive_version" in refused("unix_timestamp(ts)", None, "UTC")


def test_the_pattern_u_is_the_day_of_the_week_before_hive_4() -> None:
    assert "day_of_week" in translated("date_format(dt, 'u')", "2.3", None)
    assert refused("date_format(dt, 'u')", "4", None) == "the function date_format with 'u'"


@pytest.mark.parametrize("expression", ["unix_timestamp(dt)", "to_utc_timestamp(dt, 'UTC')", "dt + interval 3 hour"])
def test_hive_2_3_knows_midnight_where_clocks_change_far_from_it(expression: str) -> None:
    assert "IN (date" not in translated(expression, "2.3", "America/New_York")
    assert "IN (date '1945-05-24', date '1945-09-24', date '1947-06-29')" in translated(
        expression, "2.3", "Europe/Berlin"
    )
    for zone in ("America/Sao_Paulo", "Australia/Sydney"):
        assert "date, to which Hive 2.3 may give the time of the query" in refused(expression, "2.3", zone)


@pytest.mark.parametrize(("zone", "is_one"), [("Europe/Berlin", True), ("UTC", True), ("Berlin", False), ("", False)])
def test_a_time_zone_has_a_name_of_the_tz_database(zone: str, is_one: bool, tmp_path: Path) -> None:
    file = tmp_path / "pysync.toml"
    file.write_text(FILE.format(zone=zone))
    if is_one:
        assert load_config(file).targets[0].source_hive.time_zone == zone
    else:
        with pytest.raises(UsageError, match=r"source.hive_time_zone: .* is not a time zone; write Europe/Oslo"):
            load_config(file)


@pytest.mark.parametrize(("hive", "failing"), [("2.3", set()), ("3.1", {"odd-time"}), ("4", {"odd-time"})])
def test_a_string_is_a_timestamp_as_its_version_reads_it(hive: str, failing: set[str]) -> None:
    """What Hive 2.3 reads is known of each text: what is no time is NULL."""
    with accepting(()) as (_, found):
        translated("cast(s as timestamp)", hive, "UTC")
    assert found == failing
    with accepting(["odd-time"]) as (differences, found):
        assert "views_accept" not in translated("cast(s as timestamp)", hive, "UTC")
    assert (differences, found) == (failing, set())


@pytest.mark.parametrize("expression", ["to_date(s)", "year(s)", "last_day(s)", "cast(s as date)"])
def test_a_string_that_hive_may_read_as_another_date_is_an_error(expression: str) -> None:
    """Hive 4 gives a time of day the date of today. Before, it was NULL in Athena."""
    assert "Hive may have another date for " in translated(expression, "4", None)
    assert "Hive may have another date for " not in translated("date_add(s, 1)", "4", None)


def test_times_before_1900_are_known_in_utc_and_of_java_time() -> None:
    assert "BETWEEN -12219292800 AND 253402300799" in translated("from_unixtime(n)", "2.3", "UTC")
    assert "BETWEEN -12219120000 AND 253402214400" in translated("from_unixtime(n)", "4", "Europe/Berlin")
    assert "'1582-10-17 00:00:00'" in translated("from_utc_timestamp(ts, 'Asia/Tokyo')", "4", "UTC")


@pytest.mark.parametrize(
    ("zone", "first"),
    [("Europe/Berlin", "1899-12-30"), ("America/Sao_Paulo", "1900-01-02"), ("Asia/Kolkata", "1900-01-02")],
)
def test_of_java_util_they_are_where_clocks_were_as_today(zone: str, first: str) -> None:
    assert f"'{first} 00:00:00'" in translated("unix_timestamp(ts)", "2.3", zone)
    assert f"'{first} 00:00:00'" in translated(f"from_utc_timestamp(ts, '{zone}')", "2.3", "UTC")
    assert f"'{max(first, '1900-01-02')} 00:00:00'" in translated("to_utc_timestamp(ts, 'Asia/Kolkata')", "2.3", zone)


def test_seconds_of_an_int_are_never_far() -> None:
    with accepting(()) as (_, failing):
        assert "BETWEEN" not in translated("from_unixtime(i)", "2.3", "Europe/Berlin")
        assert failing == set()
        assert "BETWEEN" in translated("from_unixtime(n)", "2.3", "Europe/Berlin")
    assert failing == {"odd-time"}


@pytest.mark.parametrize("pattern", ["", ", 'yyyy-MM-dd'", ", 'yyyyMMdd'", ", 'dd/MMM/yyyy:HH:mm:ss'"])
def test_a_text_is_read_as_its_version_of_hive_does(pattern: str) -> None:
    lenient, strict = (translated(f"unix_timestamp(s{pattern})", hive, "UTC") for hive in ("2.3", "4"))
    assert lenient == translated(f"unix_timestamp(s{pattern})", "3.1", "UTC")
    assert r"[\s\S]*|[\s\S]+'" in lenient
    assert r"[\s\S]*|" not in strict
    assert len(lenient) < 1600 > len(strict)
