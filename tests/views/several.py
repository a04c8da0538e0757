"""Many expressions over the table of hard values: in one view; those at fault are looked for, and tried alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tests.views import hard
from tests.views.world import Outcome, World, write_rows

_DATABASE = "hard"
_NAMED = re.compile(r"\bcolumn c([0-9]+)\b")
"""A column of such a view, as a refusal names it."""


def make_hard_table(world: World, directory: Path) -> None:
    """The table, everywhere, in a database of its own that is made the first time."""
    if world.has_hard_table:
        return
    world.create_database(_DATABASE)
    write_rows(world.spark.session, hard.COLUMNS, tuple(hard.hard_rows()), directory / "h")
    world.create_table(_DATABASE, "h", hard.COLUMNS, directory / "h")
    world.has_hard_table = True


def outcomes_of(world: World, batch: Sequence[str], condition: str, accepted: str = "") -> list[Outcome]:
    """One for each expression; those that are not equal are tried in a view of their own.

    `accepted` is the id of a difference that all of them have, or none; equal but for that is `accepted`.
    """
    query, name = _query(batch, condition), f"view_{world.next_number()}"
    tried = world.try_accepted(_DATABASE, name, query, accepted) if accepted else world.try_view(_DATABASE, name, query)
    if tried.kind == "equal":
        kind, reason = ("accepted", accepted) if accepted else ("equal", "")
        return [replace(tried, name=it, kind=kind, reason=reason) for it in batch]
    if len(batch) == 1:
        return [replace(tried, name=batch[0])]
    at_fault = _at_fault(world, batch, condition, tried)
    if tried.kind == "unread":  # each of them has been read alone
        alone = [replace(tried, name=it) for it in at_fault]
    else:
        alone = [it for one in at_fault for it in outcomes_of(world, [one], condition, accepted)]
    if tried.kind == "wrong":
        alone = [
            replace(tried, name=f"{it.name}, beside others") if it.kind in {"equal", "accepted"} else it for it in alone
        ]
    rest = [it for it in batch if it not in at_fault]
    return [*alone, *(outcomes_of(world, rest, condition, accepted) if rest else ())]


def _query(batch: Sequence[str], condition: str) -> str:
    items = ", ".join(f"{it} as c{place}" for place, it in enumerate(batch))
    return f"select id, {items} from h where {condition}"


def _at_fault(world: World, batch: Sequence[str], condition: str, tried: Outcome) -> Sequence[str]:
    """Those for which the view that has them all is not equal, at least one; all if that is not known.

    Those that the judge does not read, it does not read alone.
    """
    if tried.kind == "refused":
        places: Sequence[int] = [int(it) for it in _NAMED.findall(tried.reason)]
    elif tried.kind == "unread":
        places = _unread(
            range(len(batch)), lambda some: world.reads(_DATABASE, _query([batch[it] for it in some], condition))
        )
    else:
        places = tried.columns or _unread(
            range(len(batch)), lambda some: world.answers(_DATABASE, tried.name, [f"c{it}" for it in some])
        )
    return [batch[it] for it in places] or batch


def _unread(places: Sequence[int], is_read: Callable[[Sequence[int]], bool]) -> Sequence[int]:
    """Those because of which all are not read."""
    if is_read(places):
        return ()
    if len(places) == 1:
        return places
    middle = len(places) // 2
    return [*_unread(places[:middle], is_read), *_unread(places[middle:], is_read)]
