"""Views of our own: rows by the engine whose view it is, rows by Trino at the target."""

from __future__ import annotations

from pathlib import Path

from tests.views import hard
from tests.views.corpus import ROWS, TABLES, VIEWS
from tests.views.report import tell
from tests.views.world import World, write_rows


def test_own_views_give_the_same_rows_or_are_refused(world: World, tmp_path: Path) -> None:
    world.create_database("shop")
    rows = {**ROWS, "h": tuple(hard.hard_rows())}
    for name, columns in {**TABLES, "h": hard.COLUMNS}.items():
        write_rows(world.spark, columns, tuple(rows[name]), tmp_path / name)
        world.create_table("shop", name, columns, tmp_path / name)
    views = [
        (f"view_{subject.replace(' ', '_')}_{number}", query)
        for subject, queries in {**VIEWS, **hard.VIEWS}.items()
        for number, query in enumerate(queries, 1)
    ]
    of_hive = tell("own, by Hive", (world.try_view_of_hive("shop", *it) for it in views))
    of_spark = tell("own, by Spark", (world.try_view_of_spark("shop", *it) for it in views))
    print(f"Trino {world.trino.version()}, Spark {world.spark.version}")
    assert of_hive["wrong"] == 0
    assert of_spark["wrong"] == 0
    assert of_hive["equal"] >= 357
    assert of_spark["equal"] >= 315
