"""The listener's report: what it says, that it comes, and that nothing depends on it."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from tests.listener.driver import Place
from tests.support import wait_for_items, wait_until

PERIOD = 2.0
_HANG = 20.0


def reports(place: Place) -> list[dict[str, Any]]:
    return [json.loads(text) for text in list(place.bridge.reports)]


def wait_for_report(place: Place, seconds: float = 10.0, **wanted: int) -> dict[str, Any]:
    def last() -> bool:
        came = reports(place)
        return bool(came) and all(came[-1][key] == value for key, value in wanted.items())

    wait_until(last, seconds=seconds, what=f"a report with {wanted} (came: {place.bridge.reports[-3:]})")
    return reports(place)[-1]


def test_what_it_says(place: Place) -> None:
    place.bridge.start()
    driver = place.driver()
    place.wait_for_direct()
    assert wait_for_report(place, sequence=0)["source"] == "onprem"
    driver.create("one")
    driver.create("two")
    report = wait_for_report(place, sequence=2)
    assert 0 <= time.time() * 1000 - report.pop("now") < 60_000
    assert report == {
        "instance": place.bridge.events[0].instance,
        "source": "onprem",
        "sequence": 2,
        "lost": 0,
        "waiting": 0,
        "hive": "2.3.10",
        "heard": "",
    }


def test_it_tells_what_it_has_heard_and_soon_if_somebody_waits(place: Place) -> None:
    place.bridge.answer_report = lambda text: "ok" if '"call-1"' in text else "ok call-1 soon"
    place.bridge.start()
    place.driver()
    first, second = wait_for_items(lambda: reports(place), 2, what="the second report")[:2]
    assert (first["heard"], second["heard"]) == ("", "call-1")
    assert second["now"] - first["now"] < PERIOD * 1000, "it came soon"
    third = wait_for_items(lambda: reports(place), 3, what="the third report")[2]
    assert third["heard"] == "", "only what the last answer said"


@pytest.mark.parametrize("answer", ["ok " + "x" * 65, "ok ", "", "no ticket of ours"])
def test_an_answer_of_another_kind_is_not_heard(place: Place, answer: str) -> None:
    place.bridge.answer_report = lambda _: answer
    place.bridge.start()
    place.driver()
    second = wait_for_items(lambda: reports(place), 2, what="the second report")[1]
    assert second["heard"] in {"", "ticket"}


def test_it_tells_of_what_was_lost(place: Place) -> None:
    place.spool.parent.mkdir()
    place.spool.write_text("no directory")
    driver = place.driver()
    for number in range(3):
        driver.create(f"lost{number}")
    assert place.bridge.reports == []
    place.bridge.start()
    wait_for_report(place, sequence=3, lost=3)


def test_any_source_name_is_json(place: Place) -> None:
    name = 'a"b\\c\\n\té\u2028🚀/ü'
    place.bridge.start()
    place.driver(source_name=name)
    text = wait_for_items(lambda: place.bridge.reports, 1, what="a report")[0]
    (source,) = {report["source"] for report in reports(place)}
    assert source == name
    assert text.isascii()


def test_it_comes_every_two_seconds(place: Place) -> None:
    place.driver()
    place.bridge.start()
    wait_until(lambda: len(place.bridge.reports) == 1, what="the first report")
    first = time.monotonic()
    wait_until(lambda: len(place.bridge.reports) == 3, what="the third report")
    assert 2 * PERIOD - 0.5 < time.monotonic() - first < 2 * PERIOD + 15


def test_it_tells_of_what_waits_while_the_sidecar_refuses_it(place: Place) -> None:
    """So that a sidecar whose disk is full does not take the listener for dead."""
    place.bridge.start()
    driver = place.driver()
    wait_for_report(place, sequence=0)
    place.bridge.answer = lambda _event: "full"
    driver.create("waits")
    size = (place.spool / place.files()[0]).stat().st_size
    wait_for_report(place, sequence=1, waiting=size)
    known, pings = len(place.bridge.reports), place.bridge.pings
    wait_until(lambda: place.bridge.pings >= pings + 3, seconds=60, what="some probes")
    assert known + 2 <= len(place.bridge.reports) <= known + 4, "one with each probe, and no others"
    assert {report["waiting"] for report in reports(place)[known:]} == {size}
    place.bridge.answer = lambda _event: "queued"
    wait_for_report(place, sequence=1, waiting=0)


@pytest.mark.crash
def test_a_report_that_fails_or_hangs(place: Place) -> None:
    go_on = threading.Event()
    answered: list[str] = []

    def fail_then_hang(text: str) -> str:
        answered.append(text)
        if len(answered) == 1:
            raise ValueError("of the test")
        go_on.wait(_HANG)
        return "ok"

    place.bridge.answer_report = fail_then_hang
    place.bridge.start()
    driver = place.driver()
    try:
        wait_until(lambda: len(answered) == 2, seconds=30, what="the second report")
        lines = len(place.log_lines())
        assert max(driver.create(f"d{number}") for number in range(20)) < _HANG
        wait_until(lambda: len(answered) == 4, seconds=30, what="the fourth report")
        assert max(driver.create(f"e{number}") for number in range(20)) < _HANG
        place.wait_for_count(40)
        assert [event.sequence for event in place.bridge.events] == list(range(1, 41))
        wait_until(lambda: place.files() == [], what="the end of the spool")
        assert len(place.log_lines()) == lines, "a call that had to wait would be in the log"
    finally:
        go_on.set()
