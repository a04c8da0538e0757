"""Somebody else on the bridge's port, or in between: it learns no secret, swallows nothing, and adds nothing."""

from __future__ import annotations

import os
import socket
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from pysync.lab import free_port
from tests.listener.driver import Place
from tests.listener.stand import TOKEN, database_in
from tests.support import wait_for_items, wait_until

HEAD = 36
"""Bytes of a record before what it seals: its length (i32) and MAC."""
NAMES = [f"d{number}" for number in range(6)]


class Squatter(socketserver.ThreadingTCPServer):
    """Says yes to everything, in the words of both handshakes."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int) -> None:
        self.heard: list[bytes] = []
        super().__init__(("127.0.0.1", port), _SaysYes)


class _SaysYes(socketserver.StreamRequestHandler):
    server: Squatter

    def handle(self) -> None:
        lines: list[bytes] = []
        with suppress(ConnectionError):
            for line in self.rfile:
                self.server.heard.append(line)
                lines.append(line)
                if line.startswith(b"PYSYNC-"):
                    self.wfile.write(line.rstrip(b"\n") + b" " + b"0" * 64 + b"\n")
                if line == b"e\n":
                    self.wfile.write(_yes_to(lines))
                    lines.clear()


def _yes_to(lines: list[bytes]) -> bytes:
    if lines[0] == b"A\n":
        return b"!yv\n"
    return {b"ping\n": b"!yspysync 1\n", b"report\n": b"!ysok\n"}.get(lines[2], b"!ysqueued\n")


@contextmanager
def serving(server: socketserver.ThreadingTCPServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def names(place: Place) -> list[str]:
    return [database_in(event) for event in place.bridge.events]


def test_a_squatter_learns_neither_token_nor_event_and_swallows_nothing(place: Place) -> None:
    squatter = Squatter(place.bridge.port)
    with serving(squatter):
        driver = place.driver()
        for name in NAMES:
            driver.create(name)
        heard = b"".join(wait_for_items(lambda: squatter.heard, 5, seconds=30, what="some attempts"))
    assert TOKEN.encode() not in heard
    assert b"append" not in heard
    assert {len(line) for line in squatter.heard} == {len("PYSYNC-2 ") + 64 + 1}, "more than a greeting was said"
    assert place.log_lines(f"does not know the token in {place.token}")
    place.bridge.start()
    place.wait_for_count(len(NAMES))
    assert names(place) == NAMES


# --- in between

Tamper = Callable[[bool, int, bytes], list[tuple[bool, bytes]]]
"""Of a record (whether the listener sent it, its number, its bytes): what is sent instead, whether to the sidecar."""


class Between(socketserver.ThreadingTCPServer):
    """Executor the greeting on as it is, and the records as `tamper` says."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int, sidecar: int, tamper: Tamper) -> None:
        self.sidecar, self.tamper = sidecar, tamper
        super().__init__(("127.0.0.1", port), _HandsOn)


class _HandsOn(socketserver.BaseRequestHandler):
    server: Between

    def handle(self) -> None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.server.sidecar)) as sidecar:
            ends = {False: self.request, True: sidecar}
            back = threading.Thread(target=self._hand_on, args=(ends, False, 1), daemon=True)
            back.start()
            self._hand_on(ends, True, 2)
            back.join()

    def _hand_on(self, ends: dict[bool, socket.socket], onwards: bool, greetings: int) -> None:
        with suppress(OSError), ends[not onwards].makefile("rb") as stream:
            for _ in range(greetings):
                ends[onwards].sendall(stream.readline())
            number = 0
            while head := stream.read(HEAD):
                record = head + stream.read(struct.unpack_from(">I", head)[0])
                for to, data in self.server.tamper(onwards, number, record):
                    ends[to].sendall(data)
                number += 1
        for end in ends.values():
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def is_append(record: bytes) -> bool:
    return b"\nappend\n" in record


def _flips(onwards: bool, _number: int, record: bytes) -> list[tuple[bool, bytes]]:
    changed = record[:-12] + bytes([record[-12] ^ 1]) + record[-11:]
    return [(onwards, changed if onwards and is_append(record) else record)]


def _repeats(onwards: bool, _number: int, record: bytes) -> list[tuple[bool, bytes]]:
    return [(onwards, record)] * (2 if onwards and is_append(record) else 1)


class _AnswersItself:
    """Keeps the events from the sidecar, and answers with what the sidecar said to the call before."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    def __call__(self, onwards: bool, _number: int, record: bytes) -> list[tuple[bool, bytes]]:
        if not onwards:
            self.heard.append(record)
        if onwards and is_append(record) and self.heard:
            return [(False, self.heard[-1])]
        return [(onwards, record)]


def _answers_queued(onwards: bool, _number: int, record: bytes) -> list[tuple[bool, bytes]]:
    forged = struct.pack(">I", 10) + bytes(32) + b"!ysqueued\n"
    return [(False, forged)] if onwards and is_append(record) else [(onwards, record)]


def _sends_back(onwards: bool, _number: int, record: bytes) -> list[tuple[bool, bytes]]:
    return [(not onwards if is_append(record) else onwards, record)]


def _leaves_out(onwards: bool, number: int, record: bytes) -> list[tuple[bool, bytes]]:
    """The ping is left out: the append comes in its place."""
    return [] if onwards and number == 0 else [(onwards, record)]


@pytest.mark.parametrize(
    "tamper",
    [_flips, _AnswersItself(), _answers_queued, _sends_back, _leaves_out],
    ids=["flips", "answers with an old answer", "answers queued", "sends back", "leaves out"],
)
def test_who_is_in_between_changes_and_answers_nothing(place: Place, tamper: Tamper) -> None:
    place.bridge.start()
    port = free_port()
    with serving(Between(port, place.bridge.port, tamper)):
        driver = place.driver(bridge_port=str(port))
        for name in NAMES:
            driver.create(name)
        wait_until(lambda: bool(place.log_lines("does not take events")), seconds=30, what="the trouble")
        assert place.bridge.calls == [], "something was taken"
    with serving(Between(port, place.bridge.port, lambda onwards, _, record: [(onwards, record)])):
        place.wait_for_count(len(NAMES))
        assert names(place) == NAMES
        assert [event.sequence for event in place.bridge.events] == [1, 2, 3, 4, 5, 6]


def test_a_call_that_is_repeated_on_its_way_is_heard_once(place: Place) -> None:
    place.bridge.start()
    port = free_port()
    with serving(Between(port, place.bridge.port, _repeats)):
        driver = place.driver(bridge_port=str(port))
        for name in NAMES:
            driver.create(name)
        place.wait_for_count(len(NAMES))
        wait_until(lambda: place.bridge.refused() > 0, what="the refusal of what was repeated")
    assert names(place) == NAMES
    assert sum(place.bridge.calls) == len(NAMES), "something was heard twice"


# --- the token's file


def _readable(place: Place) -> Path:
    place.token.chmod(0o640)
    return place.token


def _in_an_open_directory(place: Place) -> Path:
    place.token.parent.chmod(0o777)
    return place.token.parent


def _below_an_open_directory(place: Place) -> Path:
    place.token.parent.parent.chmod(0o770)
    return place.token.parent.parent


def _anothers(place: Place) -> Path:
    """Only root can give files away; of anybody else the listener's own user has the file."""
    os.chown(place.token, OTHER, OTHER)
    return place.token


def _in_anothers_directory(place: Place) -> Path:
    os.chown(place.token.parent, OTHER, OTHER)
    return place.token.parent


OTHER = 4711
_REACHED = [
    (_readable, "can be read by others: chmod 600"),
    (_in_an_open_directory, "others can replace the token file"),
    (_below_an_open_directory, "others can replace the token file"),
]
if os.geteuid() == 0:
    _REACHED += [
        (_anothers, "belongs to another user: chown it"),
        (_in_anothers_directory, "others can replace the token file"),
    ]


@pytest.mark.parametrize(("reach", "words"), _REACHED)
def test_a_token_in_the_reach_of_others_is_not_used(place: Place, reach: Callable[[Place], Path], words: str) -> None:
    place.token = place.token.rename(new_directory(place.directory / "outer" / "inner") / "token")
    reached = reach(place)
    place.bridge.start()
    driver = place.driver()
    driver.create(NAMES[0])
    wait_until(lambda: any(str(reached) in line for line in place.log_lines(words)), seconds=30, what="the line")
    assert names(place) == []
    os.chown(reached, os.geteuid(), -1)
    reached.chmod(0o1777 if reached.is_dir() else 0o600)  # as /tmp is: nobody replaces there what is not theirs
    place.wait_for_count(1)
    assert names(place) == NAMES[:1]
    assert len(place.log_lines(words)) == 1


def new_directory(path: Path) -> Path:
    path.mkdir(parents=True)
    return path
