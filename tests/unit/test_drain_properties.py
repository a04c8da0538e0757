"""Drain: whatever happens, in whatever order, every event is applied or parked."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pysync.model.event import Event
from pysync.model.operation import DropDatabase, RenameTable
from pysync.model.wire import encode_event
from pysync.replay.window.translate import Translator
from tests.support import wait_until
from tests.support.drains import Bench, create, drop_database, rename, shorten_waits
from tests.support.events import append
from tests.support.queues import stand_between
from tests.support.targets import FakeTarget


@pytest.fixture(autouse=True)
def no_long_waits(monkeypatch):
    shorten_waits(monkeypatch)


class Moody(FakeTarget):
    """A target whose answer to each position is written down beforehand: moods are used up one by one."""

    def __init__(self, moods: dict[int, list[str]]) -> None:
        super().__init__()
        self.moods = moods

    def apply(self, operation):
        mood = (self.moods.get(operation.mark.position) or ["well"]).pop(0)
        self.unavailable = int(mood == "unavailable")
        self.unknown = int(mood == "unknown")
        self.rejects = {operation.key} if mood == "rejects" else set()
        self.bugs = {operation.key: 1} if mood == "bug" else {}
        return super().apply(operation)


NAMES = st.sampled_from(["db.a", "db.b", "db.c"])
MAKERS = st.lists(
    NAMES.map(create) | st.builds(rename, NAMES, NAMES) | st.just(drop_database("db")), min_size=1, max_size=8
)
MOODS = st.lists(st.sampled_from(["well", "unavailable", "unknown", "rejects", "bug"]), max_size=5)


class Witness:
    """Stands between drain and queue, and checks each move of the position, and what is finished behind it."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.keys: dict[int, frozenset[str]] = {}
        self.complaints: list[str] = []
        stand_between(bench.queue, bench.name, self)

    def expect(self, *events: Event) -> None:
        translator = Translator.of(self._bench.settings)
        for position, item in enumerate(events, 1):
            found = translator.translate(encode_event(item), position)
            assert found is not None
            self.keys[position] = found.keys

    def missing(self, upto: int) -> list[int]:
        """Of the positions, those of which nothing that was applied since can be the outcome."""
        highest: dict[str, int] = {}
        for operation in list(self._bench.target.applied):
            names = {operation.key, f"{operation.key}.*"}
            if isinstance(operation, RenameTable):
                names.add(str(operation.new_name))
            for name in names:
                highest[name] = max(operation.mark.position, highest.get(name, 0))
        found = []
        for position in range(1, upto + 1):
            outcomes = [highest.get(key, 0) for key in (*self.keys[position], "db.*")]
            if max(outcomes) < position:
                found.append(position)
        return found

    def __call__(self, advance, position, parks=(), finished=()):
        kept = {item.position for item in [*self._bench.queue.target(self._bench.name).parked.events(), *parks]}
        missing = {it for it in self.missing(len(self.keys)) if it <= position or it in finished} - kept
        if missing:
            self.complaints.append(f"at {position}, neither applied nor parked: {sorted(missing)}")
        advance(position, parks, finished)


@hypothesis_settings(max_examples=60, deadline=None)
@given(makers=MAKERS, moods=st.dictionaries(st.integers(1, 8), MOODS, max_size=6), restarts=st.integers(0, 2))
def test_every_event_is_applied_or_parked_in_the_order_of_its_table_whatever_happens(makers, moods, restarts):
    with tempfile.TemporaryDirectory() as directory:
        moody = Moody({position: list(answers) for position, answers in moods.items()})
        bench = Bench(Path(directory), moody, window=3)
        witness = Witness(bench)
        events = [make(at) for at, make in enumerate(makers, 1)]
        witness.expect(*events)
        append(bench.queue, *events)
        for _ in range(restarts):
            bench.restart()
        bench.run()
        bench.target.moods = {}
        bench.restart()
        wait_until(lambda: bench.parked() == [], what="the retry of what was parked")
        bench.finish()
        bench.close()
    assert witness.complaints == []
    assert witness.missing(len(makers)) == []
    assert out_of_order(bench.target.applied) == []


def out_of_order(applied) -> list[str]:
    """Per name, positions may come again but never go back; a rename has two names, a dropped database all."""
    highest: dict[str, int] = {}
    complaints = []
    for operation in applied:
        position, names = operation.mark.position, {operation.key}
        if isinstance(operation, RenameTable):
            names.add(str(operation.new_name))
        if isinstance(operation, DropDatabase):
            names = {"db.a", "db.b", "db.c"}
        complaints += [f"{name}: {position} after {highest[name]}" for name in names if position < highest.get(name, 0)]
        highest |= dict.fromkeys(names, position)
    return complaints
