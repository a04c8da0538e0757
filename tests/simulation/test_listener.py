"""The model of the listener does what the jar does: the same cases, see listener_cases."""

from __future__ import annotations

import base64
import json

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.memory import Notice
from pysync.model.event import Kind
from pysync.model.wire import decode, decode_event
from tests.simulation.listener import Listener, Unanswered
from tests.simulation.listener_cases import Case, Seen, cases

_SPOOL_BYTES = 16 << 20  # as in tests/listener
_TRIES = 3


class Sidecar:
    """Does what the steps say, and notes what it gets."""

    def __init__(self, listener: Listener) -> None:
        self.seen = Seen()
        self._listener = listener
        self._names = {listener.instance: 1}
        self._away, self._full, self._mute = True, False, False

    def append(self, payload: str, *more: str) -> str:
        self._reached()
        self.seen.calls.append(1 + len(more))
        if self._full:
            return "full"
        self.seen.came += [self._named(base64.b64decode(it)) for it in (payload, *more)]
        if self._mute:
            raise Unanswered
        return "queued"

    def report(self, payload: str) -> str:
        self._reached()
        reported = json.loads(payload)
        self.seen.report(reported, self._names[reported["instance"]])
        return "ok"

    def run(self, case: Case) -> Case:
        for step in case.steps:
            word, *rest = step.split()
            getattr(self, f"_{word}")(*rest)
        self.seen.spooled = [self._named(event) for event in self._listener.spool]
        return self.seen.as_asked(case)

    def _reached(self) -> None:
        if self._away:
            raise Unanswered

    def _named(self, data: bytes) -> str:
        event = decode_event(data)
        return f"{self._names[event.instance]}/{event.sequence} {decode(hive.Database, event.after[0]).name}"

    def _create(self, name: str, padding: str = "0") -> None:
        self._listener.hear(Notice(Kind.CREATE_DATABASE, "", after=[hive.Database(name, "-" * int(padding))]))
        if self._listener.flowing:  # then the shipper waits for just this
            self._listener.ship(self)

    def _back(self) -> None:
        self._away = False

    def _gone(self) -> None:
        self._away = True

    def _room(self) -> None:
        self._full = False

    def _no_room(self) -> None:
        self._full = True

    def _heard(self) -> None:
        self._mute = False

    def _unheard(self) -> None:
        self._mute = True

    def _kill(self) -> None:
        self._listener.die()
        self._names[self._listener.instance] = self._listener.processes

    def _quiet(self) -> None:
        while self._listener.spool:
            self._listener.ship(self)
        self._listener.report(self)

    def _noticed(self) -> None:
        assert not self._listener.flowing

    def _refused(self) -> None:
        for _ in range(_TRIES):
            self._listener.ship(self)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.case)
def test_a_case(case: Case) -> None:
    assert Sidecar(Listener("onprem", lambda: 1.7e9, room=_SPOOL_BYTES)).run(case) == case
