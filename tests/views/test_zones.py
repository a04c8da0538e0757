"""Views in the time zones of sessions: rows by the Hive whose view it is, rows by Trino at the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.views import zones
from tests.views.report import tell
from tests.views.world import SETTINGS, Outcome, World

OTHER_TIME = "Hive may have another time (see odd-time of views_accept): "


@pytest.mark.parametrize("zone", zones.ZONES)
@pytest.mark.parametrize("judge", SETTINGS)
def test_views_in_a_zone_give_the_same_rows_or_are_refused(judge: str, zone: str, tmp_path: Path) -> None:
    with World(judge, tmp_path, zone=zone) as world:
        world.create_database("shop")
        (tmp_path / "z").mkdir()
        (tmp_path / "z" / "z.txt").write_text("".join(f"{line}\n" for line in zones.lines(zone)))
        for name, statement in zones.TABLES.items():
            world.make_table("shop", name, statement.format(files=tmp_path / "z"))
        views = [
            (f"view_{subject}_{number}", query)
            for subject, queries in zones.VIEWS.items()
            for number, query in enumerate(queries, 1)
        ]
        views += [(f"view_far_{number}", it) for number, it in enumerate(far(judge, zone), 1)]
        failing = {it: world.try_view("shop", f"failing_{at}", it) for at, it in enumerate(zones.FAILING)}
        odd = [it for it in failing if failing[it].kind != "refused"]
        tried = (world.try_accepted("shop", f"odd_{at}", it, "odd-time") for at, it in enumerate(odd))
        accepted = tell(f"in {zone}, with odd-time, by {judge}", tried)
        outcomes = (said(judge, world.try_view("shop", *it)) for it in views)
        counts = tell(f"in {zone}, by {judge}", outcomes)
    assert counts["wrong"] == 0
    assert accepted["equal"] == len(odd)
    assert [it for it in failing.values() if it.kind == "wrong" and OTHER_TIME not in it.reason] == []


def far(judge: str, zone: str) -> Sequence[str]:
    """Views of times before 1900 whose offsets are known."""
    of_zone = {"UTC": zones.IN_UTC, "Europe/Berlin": zones.IN_BERLIN}.get(zone, ())
    return [*of_zone, *(zones.OF_JAVA_TIME if judge != "hive-2.3.10" else ())]


def said(judge: str, outcome: Outcome) -> Outcome:
    """Where UTC and the zone differ, a view of Hive 3.1 fails, and says so, and so does one that reads a zone.

    That is as good as a refusal.
    """
    is_known = judge == "hive-3.1.3" or (judge == "hive-4.2.0" and outcome.name.startswith("view_casts"))
    is_said = is_known and outcome.kind == "wrong" and OTHER_TIME in outcome.reason
    return replace(outcome, kind="refused") if is_said else outcome
