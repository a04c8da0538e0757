"""Expressions by machine over values that hurt: each has the rows that Hive gives, or is refused."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.views import hard
from tests.views.generated import expressions
from tests.views.report import tell
from tests.views.world import JUDGES, Outcome, World, write_rows

_COUNT = int(os.environ.get("PYSYNC_VIEW_EXPRESSIONS", "300"))
_SEED = int(os.environ.get("PYSYNC_VIEW_SEED", "1"))
_AT_ONCE = 16
# Days before 15 October 1582 are other days (docs/aws.md).
_IN_OUR_CALENDAR = " and ".join(f"not coalesce({it}, '') rlike '^([0-9]{{1,2}}-|000|1582|9999|10000)'" for it in "st")


@pytest.mark.parametrize("world", JUDGES, indirect=True)
def test_generated_expressions_give_the_same_rows_or_are_refused(world: World, tmp_path: Path) -> None:
    world.create_database("generated")
    write_rows(world.spark.session, hard.COLUMNS, tuple(hard.hard_rows()), tmp_path / "h")
    world.create_table("generated", "h", hard.COLUMNS, tmp_path / "h")
    chosen = expressions(_SEED, _COUNT, world.rules)
    batches = [chosen[start : start + _AT_ONCE] for start in range(0, len(chosen), _AT_ONCE)]
    counts = tell(f"generated, by {world.judge}", (it for batch in batches for it in _outcomes(world, batch)))
    assert counts["wrong"] == 0
    assert counts["equal"] >= _COUNT * 4 // 5


def _outcomes(world: World, batch: Sequence[str]) -> list[Outcome]:
    """One for each expression: in halves, until those that are not equal are alone in their view."""
    items = ", ".join(f"{it} as c{place}" for place, it in enumerate(batch))
    outcome = world.try_view(
        "generated", f"view_{world.next_number()}", f"select id, {items} from h where {_IN_OUR_CALENDAR}"
    )
    if outcome.kind == "equal":
        return [Outcome(it, "equal") for it in batch]
    if len(batch) == 1:
        return [Outcome(batch[0], outcome.kind, outcome.reason, outcome.text)]
    middle = len(batch) // 2
    return [*_outcomes(world, batch[:middle]), *_outcomes(world, batch[middle:])]
