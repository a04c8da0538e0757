"""The queries of TPC-H and TPC-DS as views, on small tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.views.report import tell
from tests.views.tpc import make_tables, queries
from tests.views.world import World

_ROWS_OF_HIVE = "hive-4.2.0"


@pytest.mark.parametrize(
    ("world", "suite", "least"),
    [("hive-2.3.10", "tpch", 22), ("hive-2.3.10", "tpcds", 103), (_ROWS_OF_HIVE, "tpch", 21)],
    indirect=["world"],
)
def test_tpc_queries_give_the_same_rows_or_are_refused(world: World, tmp_path: Path, suite: str, least: int) -> None:
    world.create_database(suite)
    for name, columns in make_tables(world.home, suite, "0.01", tmp_path).items():
        world.create_table(suite, name, columns, tmp_path / name)
    counts = _counts(world, suite)
    assert counts["wrong"] == 0
    assert counts["unread"] == 0 or world.judge == _ROWS_OF_HIVE
    assert counts["equal"] >= least


def _counts(world: World, suite: str) -> Counter[str]:
    """Rows by Hive take it minutes; those of the other are Spark's, which has the views that this one cannot read."""
    if world.judge == _ROWS_OF_HIVE:
        return tell(f"{suite}, by {world.judge}", (world.try_view(suite, *it) for it in queries(world.home, suite)))
    outcomes = [world.try_view_of_both(suite, *it) for it in queries(world.home, suite)]
    counts = tell(f"{suite}, by Spark", outcomes)
    print(f"  {sum(it.of_spark for it in outcomes)} of them as views of Spark")
    return counts
