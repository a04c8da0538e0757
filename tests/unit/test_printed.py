"""What commands and page show to people: plural forms, numbers, sizes, durations, and no riddles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.errors import UsageError
from pysync.base.text import ago, count, duration, number, size, span
from pysync.cli.copy import _copying

NOW = 1_700_000_000.0
FILE = Path("pysync.toml")


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (0, ("event",), "0 events"),
        (1, ("event",), "1 event"),
        (1200, ("partition",), "1,200 partitions"),
        (1, ("directory", "directories"), "1 directory"),
        (2, ("directory", "directories"), "2 directories"),
    ],
)
def test_a_number_goes_with_its_word(number: int, words: tuple[str, ...], text: str) -> None:
    assert count(number, *words) == text


def test_one_event_is_no_range_of_events() -> None:
    assert (span("event", 2, 2), span("event", 2, 4)) == ("event 2", "events 2 to 4")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "not known"),
        (-3, "0 s"),
        (0, "0 s"),
        (0.0123, "12 ms"),
        (0.9996, "1.0 s"),
        (12.44, "12.4 s"),
        (59.96, "1m"),
        (61, "1m 1s"),
        (3600, "1h"),
        (7500, "2h 5m"),
        (9 * 86400 + 4 * 3600 + 59, "9d 4h"),
        (95408113.873, "3y 9d"),
    ],
)
def test_a_duration_is_short(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


_NUMBERS = [
    (None, "not known"),
    (0, "0"),
    (5.0, "5"),
    (5.25, "5.2"),
    (99.96, "100"),
    (1234, "1,234"),
    (1234.5, "1,234"),
]


@pytest.mark.parametrize(("value", "text"), _NUMBERS)
def test_a_number(value: float | None, text: str) -> None:
    assert number(value) == text


_SIZES = [
    (None, "not known"),
    (0, "0 B"),
    (1023, "1,023 B"),
    (1536, "1.5 KiB"),
    (10 * 1024 - 1, "10 KiB"),
    (2**20 - 1, "1.0 MiB"),
    (81 * 2**30, "81 GiB"),
    (5000 * 2**40, "5,000 TiB"),
]


@pytest.mark.parametrize(("bytes_", "text"), _SIZES)
def test_a_size(bytes_: int | None, text: str) -> None:
    assert size(bytes_) == text


_TIMES = [
    (0.2, "just now"),
    (-1.4, "just now"),
    (12, "12 s ago"),
    (59.7, "1m ago"),
    (7500, "2h 5m ago"),
    (-180, "in 3m"),
]


@pytest.mark.parametrize(("before", "text"), _TIMES)
def test_how_long_ago(before: float, text: str) -> None:
    assert ago(NOW - before, NOW) == text


def test_without_a_time_it_is_not_known_how_long_ago() -> None:
    assert ago(None, NOW) == "not known"


_IN_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "y": 31536000}
_BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


@given(st.floats(0.01, 1e9))
def test_a_duration_that_is_read_back_is_what_it_was_to_five_percent(seconds: float) -> None:
    parts = re.findall(r"([\d.]+) ?([a-z]+)", duration(seconds))
    total = sum(float(value) * _IN_SECONDS[unit] for value, unit in parts)
    assert total == pytest.approx(seconds, rel=0.05)


@given(st.integers(0, 2**60))
def test_a_size_that_is_read_back_is_what_it_was_to_six_percent(bytes_: int) -> None:
    value, unit = size(bytes_).replace(",", "").split()
    assert float(value) * _BYTES[unit] == pytest.approx(bytes_, rel=0.06)
    assert float(value) < 1024 or unit == "TiB"


@pytest.mark.parametrize(
    ("copying", "target", "message"),
    [
        ([], None, "no target in pysync.toml has copy = true; set copy = true in a [[targets]] table"),
        ([], "a", "no target in pysync.toml has copy = true; set copy = true in a [[targets]] table"),
        (["a", "b"], None, "several targets in pysync.toml copy files: a, b; choose one with --target"),
        (["a"], "b", "pysync.toml has no target 'b' that copies files; these targets do: a"),
    ],
)
def test_which_target_to_copy_to(copying: list[str], target: str | None, message: str) -> None:
    with pytest.raises(UsageError) as error:
        _copying(FILE, copying, target)
    assert str(error.value) == message


@pytest.mark.parametrize(("copying", "target"), [(["a"], None), (["a", "b"], "a")])
def test_the_target_to_copy_to_is_the_only_one_or_the_named_one(copying: list[str], target: str | None) -> None:
    assert _copying(FILE, copying, target) == "a"
