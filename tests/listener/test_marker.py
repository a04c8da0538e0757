"""A process leaves a marker, and the next one tells of those that are dead: also of one that no event tells of."""

from __future__ import annotations

import json
from typing import Any

from tests.listener.driver import MARKER, Driver, Place
from tests.listener.stand import Event
from tests.support import wait_until


def ended(place: Place) -> list[dict[str, Any]]:
    """What was reported of the dead."""
    return [report for report in map(json.loads, list(place.bridge.reports)) if report.get("ended")]


def marked(place: Place) -> tuple[Driver, str]:
    """A process that has just begun, and its instance."""
    before = set(place.markers())
    driver = place.driver()
    (instance,) = set(place.markers()) - before
    return driver, instance


def test_a_goodbye_that_is_delivered_takes_the_marker_away(place: Place) -> None:
    place.bridge.start()
    driver, instance = marked(place)
    place.wait_for_direct()
    (file,) = place.spool.glob(f"*{MARKER}")
    assert (file.name, file.stat().st_mode & 0o777) == (f"onprem~{instance}{MARKER}", 0o600)
    assert file.read_bytes() == b"PYSYNC-INSTANCE 1\n"
    driver.create("one")
    place.wait_for_count(1)
    assert place.markers() == [place.bridge.events[0].instance] == [instance]
    driver.terminate()
    assert place.markers() == []


def test_a_goodbye_that_is_spooled_takes_the_marker_away(place: Place) -> None:
    driver, _ = marked(place)
    driver.terminate()
    assert (place.markers(), [event.kind for event in place.spooled()]) == ([], ["GOODBYE"])


def test_the_next_process_tells_of_a_killed_one_after_its_events_until_it_is_noted(place: Place) -> None:
    """After the events that it had spooled, and again until its end is noted."""
    came: list[list[Event]] = []

    def refuse_once(text: str) -> str:
        if '"ended": true' in text:
            came.append(list(place.bridge.events))
        return "failed" if len(came) == 1 else "ok"

    place.bridge.answer_report = refuse_once
    driver, killed = marked(place)
    driver.create("one")
    driver.create("two")
    driver.kill()
    _, alive = marked(place)
    assert sorted(place.markers()) == sorted([killed, alive])
    place.bridge.start()
    wait_until(lambda: place.markers() == [alive], seconds=30, what="the marker gone")
    reported = {"instance": killed, "source": "onprem", "sequence": 0, "lost": 0, "waiting": 0, "ended": True}
    assert [{key: value for key, value in it.items() if key != "now"} for it in ended(place)] == [reported, reported]
    for events in (*came, place.bridge.events):
        assert [(event.instance, event.sequence) for event in events] == [(killed, 1), (killed, 2)]


def test_a_killed_process_that_left_nothing_is_told_of_once_and_others_never(place: Place) -> None:
    """Others: the living, those of other sources, and one whose marker is of a newer version."""
    place.bridge.start()
    driver, killed = marked(place)
    driver.kill()
    _, first = marked(place)
    other = place.spool / f"onprem2~{first}{MARKER}"
    newer = place.spool / f"onprem~newer{MARKER}"
    other.write_bytes(b"PYSYNC-INSTANCE 1\n")
    newer.write_bytes(b"PYSYNC-INSTANCE 2\n")
    wait_until(lambda: killed not in place.markers(), seconds=30, what="the report of the first")
    _, second = marked(place)

    def reporting() -> bool:
        reports = [json.loads(text)["instance"] for text in list(place.bridge.reports)]
        return reports.count(second) >= 2

    wait_until(reporting, seconds=30, what="two reports of the second")
    assert [report["instance"] for report in ended(place)] == [killed]
    assert {first, second, "newer"} <= set(place.markers())
    assert other.exists()
    assert place.bridge.events == [], "the report took a number"
    assert place.log_lines("is not a marker of version 1")
