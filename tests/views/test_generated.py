"""Expressions by machine over values that hurt: each has the rows that Hive gives, or is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.views.generated import batches
from tests.views.report import tell
from tests.views.several import make_hard_table, outcomes_of
from tests.views.world import JUDGES, SETTINGS, World

_COUNT = int(os.environ.get("PYSYNC_VIEW_EXPRESSIONS", "300"))
_SEED = int(os.environ.get("PYSYNC_VIEW_SEED", "1"))
_AT_ONCE = 50
# Days before 15 October 1582 are other days (docs/aws.md).
_IN_OUR_CALENDAR = " and ".join(f"not coalesce({it}, '') rlike '^([0-9]{{1,2}}-|000|1582|9999|10000)'" for it in "st")


@pytest.mark.parametrize("judge", JUDGES)
def test_generated_expressions_give_the_same_rows_or_are_refused(judge: str, tmp_path: Path) -> None:
    with World(judge, tmp_path, zone="UTC" if judge in SETTINGS else None) as world:
        make_hard_table(world, tmp_path)
        outcomes = (
            it
            for accepted, some in batches(_SEED, _COUNT, world.rules, _AT_ONCE).items()
            for batch in some
            for it in outcomes_of(world, batch, _IN_OUR_CALENDAR, accepted)
        )
        counts = tell(f"generated, by {world.judge}", outcomes)
    assert counts["wrong"] == 0
    assert counts["equal"] >= _COUNT * 4 // 5
