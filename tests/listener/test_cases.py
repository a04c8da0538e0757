"""The jar does what the model of it does by which the simulator goes: the same cases, see tests/simulation."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from tests.listener.driver import Driver, Place
from tests.listener.stand import Event, database_in
from tests.simulation.listener_cases import Case, Seen, cases
from tests.support import wait_until

pytestmark = pytest.mark.crash

_TRIES = 3


class Run:
    """One case, in real processes."""

    def __init__(self, place: Place) -> None:
        self._place, self._bridge = place, place.bridge
        self._names: dict[str, int] = {}
        self._came: list[str] = []
        self._full = self._mute = False
        self._bridge.answer = self._answer
        self._driver = self._begun()

    def steps(self, case: Case) -> None:
        for step in case.steps:
            word, *rest = step.split()
            getattr(self, f"_{word}")(*rest)

    def seen(self, case: Case) -> Case:
        """What has been seen by now."""
        seen = Seen(list(self._came), list(self._bridge.calls))
        for reported in map(json.loads, list(self._bridge.reports)):
            seen.report(reported, self._names[reported["instance"]])
        seen.spooled = [self._named(event) for event in self._place.spooled()]
        return seen.as_asked(case)

    def _begun(self) -> Driver:
        before = set(self._place.markers())
        driver = self._place.driver()
        (instance,) = set(self._place.markers()) - before
        self._names[instance] = len(self._names) + 1
        return driver

    def _answer(self, event: Event) -> str:
        if self._full:
            return "full"
        self._came.append(self._named(event))
        if self._mute:
            raise ConnectionError("the answer gets lost")
        return "queued"

    def _named(self, event: Event) -> str:
        return f"{self._names[event.instance]}/{event.sequence} {database_in(event)}"

    def _create(self, name: str, padding: str = "0") -> None:
        self._driver.create(name, int(padding))

    def _back(self) -> None:
        self._bridge.start()

    def _gone(self) -> None:
        self._bridge.stop()

    def _no_room(self) -> None:
        self._full = True

    def _room(self) -> None:
        self._full = False

    def _unheard(self) -> None:
        self._mute = True

    def _heard(self) -> None:
        self._mute = False

    def _kill(self) -> None:
        self._driver.kill()
        self._driver = self._begun()

    def _quiet(self) -> None:
        wait_until(lambda: self._place.files() == [], what="the spool's delivery")

    def _noticed(self) -> None:
        wait_until(lambda: "takes events;" not in self._place.log_lines()[-1], what="trouble")

    def _refused(self) -> None:
        calls = len(self._bridge.calls)
        wait_until(lambda: len(self._bridge.calls) >= calls + _TRIES, what="some tries")


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.case)
def test_a_case(place: Place, case: Case) -> None:
    run = Run(place)
    run.steps(case)
    with suppress(AssertionError):  # the last line says more
        wait_until(lambda: run.seen(case) == case, seconds=20)
    assert run.seen(case) == case
