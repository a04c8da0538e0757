"""Texts that are hard to quote, in every place of a table that holds text; and the values of partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.support.corpus.case import Case, Make, Play, Step

NASTY = [
    "it's", "''", "'", "\\", "\\'", "a\\", "\\n", "\\\\", "tab\there", "two\nlines", "\r\n", "\b", "\x1a",
    "\x0012", "\x00", ";", "a; DROP DATABASE x; --", "-- c", "/* c */", "${hiveconf:x}", "${env:HOME}", "${", "$", "%",
    "\\%", "\\_", "%s", '"', "`", "{0}", "ünïcødé", "日本", "😀", "\\u0041", "\\101", "a" * 4000, " ", "\u2028", "\x7f",
    "[]()<>,:=", "e\u0301", "\u202eright to left", "\ufeff", "?", ":x", "\\x41", "NULL", "$${x}", "\\\\'", "#{x}",
]  # fmt: skip
"""Texts as values of properties."""

KEPT = {
    "string": ["plain", "07", " a ", "it's", "back\\slash", "a/b=c%2F", "😀", "${x}", "x;--", "UPPER", "null"],
    "varchar(5)": ["abc", "a  b", "it's"],
    "int": ["7", "-7", "0", "2147483647"],
    "bigint": ["9223372036854775807"],
    "date": ["2020-01-02", "2024-02-29"],
    "timestamp": ["2020-01-02 03:04:05.0", "2020-01-02 03:04:05.25"],
    "decimal(6,2)": ["1.5", "-12.25", "0", "7"],
}
"""Partition values that stay as they are in a column of the type."""

CHANGED = [
    ("int", "07"), ("int", "+7"), ("bigint", "00"), ("tinyint", "-0"), ("date", "2020-1-2"), ("date", "20200102"),
    ("decimal(6,2)", "1.50"), ("decimal(6,2)", "01"), ("timestamp", "2020-01-02 03:04:05"), ("char(3)", "ab"),
    ("double", "1.0"), ("boolean", "TRUE"), ("int", "seven"), ("date", "__HIVE_DEFAULT_PARTITION__"),
    ("string", "__HIVE_DEFAULT_PARTITION__"), ("int", "99999999999"), ("varchar(2)", "abc"),
]  # fmt: skip
"""Partition values that Hive would write otherwise, or not take: only the Glue API adds them as they are."""


def cases() -> Iterator[Case]:
    for text in NASTY:
        yield Case(f"the text {text[:20]!r}", _everywhere(text), (("k", "string"),), _partitioned(text))
    for kind, values in KEPT.items():
        yield Case(f"values of {kind}", keys=(("k", kind),), steps=(_adding(*values), _dropping(values[0])))
    for kind, value in CHANGED:
        yield Case(f"{value!r} as {kind}", keys=(("k", kind),), steps=(_adding(value),), said=False)


def _everywhere(text: str) -> Make:
    def make(table: Any) -> None:
        table.parameters |= {"p": text, "comment": text}
        table.sd.serdeInfo.parameters["s"] = text
        if len(text) < 250:
            table.sd.cols[0].comment = f"<{text}>"
            table.partitionKeys[0].comment = f"<{text}>"
            table.parameters[f"key {text}" if text.isprintable() else "key"] = ""

    return make


def _partitioned(text: str) -> tuple[Step, ...]:
    """As a partition's value and in its place, and in a property that changes; blank ones, and controls, are none."""

    def change(play: Play) -> None:
        play.alter(lambda table: table.parameters.update(p=f"{text}{text}", comment=f"2{text}"))

    usable = len(text) < 200 and text.strip() and text.isprintable()
    return (_adding(text), change) if usable else (change,)


def _adding(*values: str) -> Step:
    return lambda play: play.add(*([value] for value in values))


def _dropping(value: str) -> Step:
    return lambda play: play.drop_partition([value])
