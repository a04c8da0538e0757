"""Many expressions over the table of hard values: in one view, and in smaller ones if it is not equal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.views import hard
from tests.views.world import Outcome, World, write_rows

_DATABASE = "hard"


def make_hard_table(world: World, directory: Path) -> None:
    """The table, everywhere, in a database of its own that is made the first time."""
    if world.has_hard_table:
        return
    world.create_database(_DATABASE)
    write_rows(world.spark.session, hard.COLUMNS, tuple(hard.hard_rows()), directory / "h")
    world.create_table(_DATABASE, "h", hard.COLUMNS, directory / "h")
    world.has_hard_table = True


def outcomes_of(world: World, batch: Sequence[str], condition: str) -> list[Outcome]:
    """One for each expression: in halves, until those that are not equal are alone in their view."""
    items = ", ".join(f"{it} as c{place}" for place, it in enumerate(batch))
    outcome = world.try_view(_DATABASE, f"view_{world.next_number()}", f"select id, {items} from h where {condition}")
    if outcome.kind == "equal":
        return [Outcome(it, "equal") for it in batch]
    if len(batch) == 1:
        return [Outcome(batch[0], outcome.kind, outcome.reason, outcome.text)]
    middle = len(batch) // 2
    return [*outcomes_of(world, batch[:middle], condition), *outcomes_of(world, batch[middle:], condition)]
