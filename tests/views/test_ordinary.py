"""Ordinary views, with what pysync finds by itself and a time zone: rows by Hive, rows by Trino at the target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.views.ordinary.tables import STAGING, WAREHOUSE, lines
from tests.views.ordinary.views import VIEWS
from tests.views.report import tell
from tests.views.world import SETTINGS, World

_MOST_REFUSED = 0.1


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC"])
@pytest.mark.parametrize("judge", SETTINGS)
def test_few_ordinary_views_are_refused_and_none_is_wrong(judge: str, zone: str, tmp_path: Path) -> None:
    counts: dict[str, Counter[str]] = {}
    with World(judge, tmp_path, zone=zone) as world:
        world.create_database("dw")
        make_tables(world, tmp_path)
        for category, queries in VIEWS.items():
            names = (
                f"{category.replace(' ', '_').replace('-', '_')}_{number}" for number in range(1, 1 + len(queries))
            )
            outcomes = (world.try_view("dw", *it) for it in zip(names, queries, strict=True))
            counts[category] = tell(category, outcomes)
    print_table(f"ordinary, in {zone}, by {judge}", counts)
    total = sum(counts.values(), Counter())
    assert total["wrong"] == 0
    assert total["refused"] <= _MOST_REFUSED * (total["refused"] + total["equal"])


def make_tables(world: World, directory: Path) -> None:
    """Those of the staging area as text, those of the warehouse as ORC."""
    for name, columns in {**STAGING, **WAREHOUSE}.items():
        files = directory / f"lines_{name}"
        files.mkdir()
        (files / "lines").write_text(lines(name))
        text = name if name in STAGING else f"lines_{name}"
        world.make_table("dw", text, _of_text(text, columns, files))
        if name in WAREHOUSE:
            world.make_table("dw", name, f"create table {name} stored as orc as select * from {text}")


def _of_text(name: str, columns: str, files: Path) -> str:
    return (
        f"create external table {name} ({columns}) row format delimited fields terminated by '|' "
        f"collection items terminated by ',' map keys terminated by ':' location 'file:{files}'"
    )


def print_table(title: str, counts: Mapping[str, Counter[str]]) -> None:
    """A line for each category, and the sum."""
    kinds = ("equal", "refused", "wrong", "unread")
    print(f"{title}:\n  {'':16}{''.join(f'{it:>9}' for it in kinds)}")
    rows: Iterable[tuple[str, Counter[str]]] = [*counts.items(), ("all", sum(counts.values(), Counter()))]
    for category, found in rows:
        print(f"  {category:16}{''.join(f'{found[it]:>9}' for it in kinds)}", flush=True)
