"""Strings as timestamps: what each Hive reads in many texts, and the same rows in Trino."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.views.hard import literal
from tests.views.report import tell
from tests.views.times_in_texts import COLUMNS, texts
from tests.views.world import SETTINGS, World, write_rows

_SEED, _COUNT = 1, 4000
VIEWS = (
    "select id, cast(s as timestamp) from texts",
    "select id, cast(cast(s as varchar(30)) as timestamp) from texts",
    "select cast(s as timestamp), count(*) from texts group by cast(s as timestamp)",
)


@pytest.mark.parametrize("judge", SETTINGS)
def test_a_text_is_the_time_that_hive_reads_in_it(judge: str, tmp_path: Path) -> None:
    with World(judge, tmp_path, zone="UTC") as world:
        world.create_database("times")
        rows = tuple(f"{place}, {literal(it)}" for place, it in enumerate(texts(_SEED, _COUNT), 1))
        write_rows(world.spark.session, COLUMNS, rows, tmp_path / "texts")
        world.create_table("times", "texts", COLUMNS, tmp_path / "texts")
        counts = tell(
            f"times in texts, by {judge}", (world.try_view("times", f"v{n}", it) for n, it in enumerate(VIEWS))
        )
    assert counts["equal"] == len(VIEWS)
