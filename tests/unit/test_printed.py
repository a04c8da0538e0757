"""What the commands print for people: plural forms, durations, and no riddles."""

from __future__ import annotations

from pathlib import Path

import pytest

from pysync.base.errors import UsageError
from pysync.base.text import count, duration, span
from pysync.cli.copy import _copying

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
        (0, "0.0 s"),
        (12.44, "12.4 s"),
        (61, "1m 1s"),
        (3600, "1h"),
        (7500, "2h 5m"),
        (9 * 86400 + 4 * 3600 + 59, "9d 4h"),
        (95408113.873, "3y 9d"),
    ],
)
def test_a_duration_is_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text


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
