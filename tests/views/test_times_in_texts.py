"""Strings as timestamps and dates: what each Hive reads in many texts, and the same rows in Trino, or an error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pysync.views.date_strings import ODD_3, ODD_4
from pysync.views.time_strings import MAYBE_3, MAYBE_4
from tests.views.hard import literal
from tests.views.report import tell
from tests.views.times_in_texts import BY_PATTERN, COLUMNS, by_pattern, texts
from tests.views.world import SETTINGS, World, write_rows

_SEED, _COUNT = 1, 8000
_ERRORS: Mapping[str, str] = {"hive-3.1.3": f"{MAYBE_3}|{ODD_3}", "hive-4.2.0": f"{MAYBE_4}|{ODD_4}"}
"""What matches is an error in Athena."""
_OTHER = re.compile(r"\s*(?:[-+0]|[0-9]{1,3}-|[0-9]{5}|1[0-5])|.*9999|[^.]*\.[0-9]{3,8}[1-9]", re.DOTALL)
"""Days before 1583 and after 9999, and microseconds (docs/aws.md)."""
VIEWS = (
    "select id, cast(s as timestamp) from known",
    "select id, cast(cast(s as varchar(30)) as timestamp) from known",
    "select cast(s as timestamp), count(*) from known group by cast(s as timestamp)",
    "select id, cast(s as date) from known",
    "select id, to_date(s), year(s), month(s), day(s), quarter(s), weekofyear(s), dayofweek(s) from known",
    "select id, datediff(s, '2020-01-01'), date_add(s, 1), date_sub(s, 40), last_day(s), trunc(s, 'MM') from known",
    "select id, next_day(s, 'MO') from known",
)


@pytest.mark.parametrize("judge", SETTINGS)
def test_a_text_is_the_time_that_hive_reads_in_it(judge: str, tmp_path: Path) -> None:
    is_error = re.compile(_ERRORS.get(judge, r"(?!)").replace(r"\z", r"\Z"))
    found = [it for it in texts(_SEED, _COUNT) if not _OTHER.match(it or "")]
    rows = {"found": found, "known": [it for it in found if it is None or not is_error.search(it)]}
    with World(judge, tmp_path, zone="UTC") as world:
        world.create_database("times")
        for name, some in rows.items():
            lines = tuple(f"{place}, {literal(it)}" for place, it in enumerate(some, 1))
            write_rows(world.spark.session, COLUMNS, lines, tmp_path / name)
            world.create_table("times", name, COLUMNS, tmp_path / name)
        outcomes = (world.try_view("times", f"view_{number}", it) for number, it in enumerate(VIEWS))
        counts = tell(f"times in {len(rows['known'])} of {len(found)} texts, by {judge}", outcomes)
        all_ = world.try_view("times", "all_texts", "select id, cast(s as timestamp) from found")
    assert counts["equal"] == len(VIEWS)
    assert all_.kind == ("wrong" if judge in _ERRORS else "equal")
    assert ("odd-time of views_accept" in all_.reason) == (judge in _ERRORS)


_BEFORE_1900, _AFTER_9999 = -2_208_902_400, 253_402_214_400


def is_far(one: Any, other: Any) -> bool:
    """Whether Hive's seconds are those of a year before 1900 or after 9999, and Trino has none."""
    return other is None and isinstance(one, int) and not _BEFORE_1900 <= one <= _AFTER_9999


@pytest.mark.parametrize("judge", SETTINGS)
def test_a_pattern_reads_the_time_in_a_text_that_hive_reads(judge: str, tmp_path: Path) -> None:
    """In UTC of Hive 3.1: what it reads elsewhere is not known."""
    with World(judge, tmp_path, zone="UTC" if judge == "hive-3.1.3" else "Europe/Berlin") as world:
        world.create_database("patterns")
        outcomes = []
        for place, pattern in enumerate((None, *BY_PATTERN)):
            some = dict.fromkeys(by_pattern(pattern, _SEED, _COUNT // 4))
            lines = tuple(f"{number}, {literal(it)}" for number, it in enumerate(some, 1))
            write_rows(world.spark.session, COLUMNS, lines, tmp_path / f"t{place}")
            world.create_table("patterns", f"t{place}", COLUMNS, tmp_path / f"t{place}")
            arguments = "s" if pattern is None else f"s, '{pattern}'"
            query = f"select id, unix_timestamp({arguments}) from t{place}"
            outcomes.append(world.try_accepted("patterns", f"view_{place}", query, "odd-time", is_far))
            print(f"{pattern}: {len(some)} texts", flush=True)
        counts = tell(f"times by patterns, by {judge}", outcomes)
    assert counts["equal"] == len(outcomes)
