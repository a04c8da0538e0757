"""Texts that are times, or nearly: what people and programs write, and what a parser takes for one or does not."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

COLUMNS = "id int, s string"

KNOWN: Sequence[str | None] = (
    *("2020-01-31", "2020-01-31 10:20:30", "2020-01-31 10:20:30.5", "2020-01-31 10:20:30.123456789", "2020-02-30"),
    *("2020-01-31T10:20:30", "2020-01-31T10:20:30Z", "2020-01-31T10:20:30.125Z", "2020-01-31T10:20:30+02:00"),
    *("2020-01-31 10:20:30 Europe/Oslo", "2020-01-31 10:20:30 UTC", "2020-01-31 10:20:30+02:00", "2020-01-31T10:20"),
    *("2020-01-31 10:20", "2020-01-31 10", "2020-1-1", "2020-1-1 1:2:3", "20200131", "20200131102030", "31.01.2020"),
    *("01/31/2020", "2020/01/31", "0000-00-00", "0000-00-00 00:00:00", "0001-01-01", "1582-10-20", "9999-12-31"),
    *("9999-12-31 23:59:59", "9999-12-31 23:59:59.999", "1900-01-01", "10000-01-01", "2020-13-01", "2020-00-10"),
    *("2020-02-29", "2019-02-29", "2020-04-31", "2020-01-32", "2020-01-31 24:00:00", "2020-01-31 23:60:00"),
    *("2020-01-31 23:59:60", "10:20:30", "10:20", "1580460030", "1580460030.5", "-5", "now", "", " ", "-", "--", None),
    *("2020-01-31 ", " 2020-01-31", "2020-01-31\t10:20:30", "2020-01-31  10:20:30", "2020-01-31 10:20:30.", "NULL"),
    *("2020-01-31 10:20:30 PM", "Jan 31, 2020", "2020-01", "2020", "-2020-01-31", "+2020-01-31", "2020-01-31x"),
    *("2020-01-31-05:00", "2020-01-31Z", "2020-01-31+02:00", "2020-01-31 10:20:30 x", "2020-01-31 10:20:30.5 x"),
    *("2020-01-31 10:20:30.1234567890123", "2020-01-31 -1:00:00", "2020-01-31 1:-2:3", "12020-01-31", "202-01-31"),
    *("\u0662\u0660\u0662\u0660-01-31", "2020\u201301\u201331", "2020-01-31\u00a010:20:30", "2020-01-31T10:20:30z"),
)

_DATES = ("2020-01-31", "2020-02-30", "2019-02-29", "1999-12-31", "2020-1-1", "2020-01-1", "0001-01-01", "1970-01-01")
_DATES += ("2020-10-25", "0000-00-00", "9999-12-31", "202-01-01", "12020-01-31", "2020-13-01", "2020-0-1", "2020-1-0")
_BETWEEN = (" ", " ", " ", "T", "", "  ", "t", "\t", "-", "x", "_")
_TIMES = ("10:20:30", "10:20:30", "00:00:00", "23:59:59", "1:2:3", "10:20", "24:00:00", "10", "10:20:3", "1:20:30")
_TIMES += ("10:60:00", "10:20:60", "99:99:99", "-1:00:00", "10:20:30:40", "010:20:30", "", "")
_FRACTIONS = ("", "", "", ".5", ".125", ".1239", ".000001", ".123456789", ".1234567891", ".12345678912345", ".", ".x")
_ZONES = ("", "", "", "", "Z", "z", " Z", "+02:00", " +02:00", "-05:30", "+2:00", "+0200", "+02", " UTC", "UTC", " GMT")
_ZONES += (" Europe/Oslo", "Europe/Oslo", " Europe/Nowhere", " CET", " PST", " x", "x", " 1", "Europe/Berlin")
_ENDS = ("", "", "", "", " ", "\n", "x", "\u3000")
_MARKS = "0123456789-: .TZ+/"


def texts(seed: int, count: int) -> Iterator[str | None]:
    """Those that are known, and so many more by chance."""
    yield from KNOWN
    chance = random.Random(seed)
    for _ in range(count):
        parts = (chance.choice(it) for it in (_ENDS, _DATES, _BETWEEN, _TIMES, _FRACTIONS, _ZONES, _ENDS))
        yield _changed("".join(parts), chance)


BY_PATTERN: Mapping[str, tuple[str, ...]] = {
    "yyyy-MM-dd HH:mm:ss": ("year", "-", "month", "-", "day", "blank", "hour", ":", "minute", ":", "minute"),
    "yyyy-MM-dd": ("year", "-", "month", "-", "day"),
    "yyyyMMdd": ("year", "month", "day"),
    "dd/MMM/yyyy:HH:mm:ss": ("day", "/", "name", "/", "year", ":", "hour", ":", "minute", ":", "minute"),
}
"""The patterns of `unix_timestamp` that are known, and what texts by them consist of."""
_PARTS: Mapping[str, Sequence[str]] = {
    "year": ("2020", "2020", "2020", "1999", "2019", "1970", "2038", " 2020", "202", "20", "-2020", "+2020", "12020"),
    "month": ("01", "02", "12", "06", "1", "2", "12", " 1", "00", "13", "-1", "-0", "99", "012", "1 ", "x"),
    "day": ("01", "31", "29", "30", "28", "1", "9", " 9", "00", "32", "-1", "-0", "031", "400", "1x", "x", ""),
    "blank": (" ", " ", " ", "  ", "\t", "T", "", " \t"),
    "hour": ("00", "10", "23", "24", "25", "7", " 7", "-1", "007", "x", "99"),
    "minute": ("00", "30", "59", "60", "61", "5", "-5", "500", "x", "00"),
    "name": ("Jan", "Feb", "Dec", "may", "MAR", "january", "Sept", "September", "Janu", "1", "Mai", " Jun", "J\u0410N"),
}


def by_pattern(pattern: str | None, seed: int, count: int) -> Iterator[str | None]:
    """So many texts that the pattern of Java may read, and those of `texts` but for digits of another script.

    Without a pattern they are all of `texts`.
    """
    others = count if pattern is None else 0
    yield from (it for it in texts(seed, others) if "\u0662" not in (it or ""))
    chance = random.Random(seed)
    for _ in range(count if pattern is not None else 0):
        parts = BY_PATTERN[pattern or ""]
        chosen = [chance.choice(_PARTS[it][: chance.choice((3, 99))]) if it in _PARTS else it for it in parts]
        yield _changed("".join([*chosen, chance.choice(_ENDS)]), chance)


def _changed(text: str, chance: random.Random) -> str:
    """The text; one time in four with a character more, less, or another one."""
    if chance.random() < 0.75 or not text:
        return text
    place = chance.randrange(len(text))
    return text[:place] + chance.choice(("", *_MARKS)) + text[place + chance.randint(0, 1) :]
