"""Views of our own, as a real Hive compiles them: rows by Spark at the source, rows by Trino at the target."""

from __future__ import annotations

from pathlib import Path

from tests.views.corpus import ROWS, TABLES, VIEWS
from tests.views.report import tell
from tests.views.world import World, write_rows


def test_own_views_give_the_same_rows_or_are_refused(world: World, tmp_path: Path) -> None:
    world.create_database("shop")
    for name, columns in TABLES.items():
        write_rows(world.spark, columns, tuple(ROWS[name]), tmp_path / name)
        world.create_table("shop", name, columns, tmp_path / name)
    outcomes = (
        world.try_view("shop", f"view_{subject.replace(' ', '_')}_{number}", query)
        for subject, queries in VIEWS.items()
        for number, query in enumerate(queries, 1)
    )
    counts = tell("own", outcomes)
    print(f"compiled by Hive: {world.by_hive} of {counts.total()}; Trino {world.trino.version()}")
    assert counts["wrong"] == 0
    assert counts["unread"] == 0
    assert counts["equal"] >= 200
