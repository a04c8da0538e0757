"""Ordinary views, with what pysync finds by itself and a time zone: rows by Hive, rows by Trino at the target."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.views.ordinary.tables import tables
from tests.views.ordinary.views import VIEWS, named
from tests.views.ordinary_table import ZONES, note
from tests.views.report import tell
from tests.views.world import SETTINGS, World

_MOST_REFUSED = 0.1


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("judge", SETTINGS)
def test_few_ordinary_views_are_refused_and_none_is_wrong(judge: str, zone: str, tmp_path: Path) -> None:
    counts: dict[str, Counter[str]] = {}
    with World(judge, tmp_path, zone=zone) as world:
        world.create_database("dw")
        for name, statement in tables(tmp_path):
            world.make_table("dw", name, statement)
        for category in VIEWS:
            outcomes = (world.try_accepting("dw", world.try_view("dw", *it)) for it in named(category))
            counts[category] = tell(category, outcomes)
    note(judge, zone, counts)
    total = sum(counts.values(), Counter())
    refused = total["refused"] + total["accepted"]
    assert total["wrong"] == 0
    assert refused <= _MOST_REFUSED * (refused + total["equal"])
