"""The queries of TPC-H and TPC-DS as views, on small tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.views.report import tell
from tests.views.tpc import make_tables, queries
from tests.views.world import World


@pytest.mark.parametrize("world", ["hive-2.3.10"], indirect=True)
@pytest.mark.parametrize(("suite", "least"), [("tpch", 22), ("tpcds", 103)])
def test_tpc_queries_give_the_same_rows_or_are_refused(world: World, tmp_path: Path, suite: str, least: int) -> None:
    world.create_database(suite)
    for name, columns in make_tables(world.home, suite, "0.01", tmp_path).items():
        world.create_table(suite, name, columns, tmp_path / name)
    outcomes = [world.try_view_of_both(suite, name, query) for name, query in queries(world.home, suite)]
    counts = tell(f"{suite}, by {world.judge}", outcomes)
    print(f"  {sum(it.of_spark for it in outcomes)} of them as views of Spark")
    assert counts["wrong"] == 0
    assert counts["unread"] == 0
    assert counts["equal"] >= least
