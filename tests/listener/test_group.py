"""One call at a time, for all that threads have to say; where they wait for it, never longer than the deadline."""

from __future__ import annotations

import io
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import cast

import pytest

from pysync.capture.handshake import SidecarSide
from pysync.capture.seal import SealedInput, Sealer
from tests.listener.driver import MIB, Place
from tests.listener.stand import DEADLINE, TOKEN, Event, database_in

SLACK = 1.5
APART = 0.05
"""Seconds between two calls of a listener for which nobody waits."""
_THREADS, _STEPS = 8, 40


def test_what_comes_during_a_call_goes_together_in_the_next(place: Place) -> None:
    def slowly(_event: Event) -> str:
        time.sleep(0.002)
        return "queued"

    place.bridge.answer = slowly
    place.bridge.start()
    driver = place.driver(synchronous="true")
    place.wait_for_direct()
    driver.storm(_THREADS, _STEPS, "t")
    names = [database_in(event) for event in place.bridge.events]
    assert sum(place.bridge.calls) == len(names) == _THREADS * _STEPS
    assert len(place.bridge.calls) <= len(names) / 2, "eight threads at once, and hardly ever two in one call"
    for thread in range(_THREADS):
        assert [name for name in names if name.startswith(f"t{thread}_")] == [f"t{thread}_{at}" for at in range(_STEPS)]


def test_what_comes_within_a_moment_goes_together(place: Place) -> None:
    """Nobody waits for the sidecar, so that it may be asked less often."""
    place.bridge.start()
    driver = place.driver()
    place.wait_for_direct()
    began = time.monotonic()
    longest = max(driver.storm(1, 400, "t"))
    took = time.monotonic() - began
    place.wait_for_count(400)
    assert [database_in(event) for event in place.bridge.events] == [f"t0_{at}" for at in range(400)]
    assert len(place.bridge.calls) <= took / APART + 400 / 256 + 2
    assert longest < DEADLINE


def test_a_call_that_is_refused_puts_all_of_it_into_the_spool_in_order(place: Place) -> None:
    began, refuse = threading.Event(), threading.Event()

    def answer(_event: Event) -> str:
        began.set()
        refuse.wait(DEADLINE / 2)
        return "full" if refuse.is_set() else "queued"

    place.bridge.start()
    driver = place.driver(synchronous="true")
    place.wait_for_direct()
    place.bridge.answer = answer
    driver.tell("storm", _THREADS, 2, "t", 0)
    assert began.wait(30)
    refuse.set()
    driver.storm_over()
    waiting = [event.sequence for event in place.spooled()]
    assert len(waiting) == _THREADS * 2
    assert len(place.log_lines("does not take events: its disk is full")) == 1
    place.bridge.answer = lambda _event: "queued"
    place.wait_for_direct()
    assert [event.sequence for event in place.bridge.events] == waiting


def test_an_event_longer_than_what_the_kernel_takes_costs_the_deadline(place: Place) -> None:
    """Nobody reads: Java would write for ever."""
    stub = place.stub()
    driver = place.driver(synchronous="true")
    place.wait_for_direct()
    driver.create("warm")
    stub.hang()
    assert DEADLINE <= driver.create("long", 16 * MIB // 2) < DEADLINE + SLACK
    assert driver.create("next") < DEADLINE
    stub.go_on()
    place.wait_for_direct()
    assert stub.names() == ["warm", "long", "next"]


@pytest.mark.crash
def test_an_answer_that_drips_in_costs_the_deadline(place: Place) -> None:
    """Java's own timeout counts anew for each byte."""
    with _dripping(place.bridge.port) as dripped:
        driver = place.driver(synchronous="true")
        place.wait_for_direct()
        assert DEADLINE <= driver.create("one") < DEADLINE + SLACK
        assert dripped.dripped, "no answer was waited for"
    place.bridge.start()
    place.wait_for_direct()
    assert [database_in(event) for event in place.bridge.events] == ["one"]


class _Dripping(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    dripped = 0


class _Drips(socketserver.StreamRequestHandler):
    """Greets, and answers a ping, as the sidecar does; the rest byte by byte."""

    def handle(self) -> None:
        answer, keys = SidecarSide(TOKEN.encode()).answer(self.rfile.readline().decode().rstrip("\n"))
        self.wfile.write(f"{answer}\n".encode())
        self.rfile.readline()
        calls = io.BufferedReader(SealedInput(self.rfile, keys.from_listener()))
        sealer = Sealer(keys.from_sidecar())
        while command := self._command(calls):
            if command[2] == b"ping\n":
                self.wfile.write(sealer.seal(b"!yspysync 1\n"))
            else:
                self._drip(sealer.seal(b"!ysqueued" + b" " * 100))

    def _command(self, calls: io.BufferedIOBase) -> list[bytes]:
        lines = []
        while (line := calls.readline()) not in {b"e\n", b""}:
            lines.append(line)
        return lines

    def _drip(self, answer: bytes) -> None:
        with suppress(ConnectionError):  # it has hung up
            for byte in answer:
                time.sleep(DEADLINE / 5)
                self.wfile.write(bytes([byte]))
                cast(_Dripping, self.server).dripped += 1


@contextmanager
def _dripping(port: int) -> Iterator[_Dripping]:
    with _Dripping(("127.0.0.1", port), _Drips) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
