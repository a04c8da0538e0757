"""Views of our own: rows by the engine whose view it is, rows by Trino at the target."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.views import hard
from tests.views.corpus import ROWS, TABLES, VIEWS
from tests.views.report import tell
from tests.views.world import World, write_rows

_LEAST = {"hive-2.3.10": 438, "hive-3.1.3": 455, "hive-4.2.0": 446, "spark-3.5": 328, "spark-4": 330}


@pytest.mark.parametrize("world", _LEAST, indirect=True)
def test_own_views_give_the_same_rows_or_are_refused(world: World, tmp_path: Path) -> None:
    world.create_database("shop")
    rows = {**ROWS, "h": tuple(hard.hard_rows())}
    for name, columns in {**TABLES, "h": hard.COLUMNS}.items():
        write_rows(world.spark.session, columns, tuple(rows[name]), tmp_path / name)
        world.create_table("shop", name, columns, tmp_path / name)
    views = [
        (f"view_{subject.replace(' ', '_')}_{number}", query)
        for subject, queries in {**VIEWS, **hard.VIEWS}.items()
        for number, query in enumerate(queries, 1)
    ]
    counts = tell(f"own, by {world.judge}", (world.try_view("shop", *it) for it in views))
    print(f"Trino {world.trino.version()}, Spark {world.spark.version}")
    assert counts["wrong"] == 0
    assert counts["equal"] >= _LEAST[world.judge]
