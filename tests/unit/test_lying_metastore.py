"""A metastore whose answers are no answers: it counts as unavailable, and memory for what it sends is bounded."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

import pytest
from thrift.Thrift import TApplicationException

from pysync.base.errors import PysyncError
from pysync.metastore import wire
from pysync.metastore.client import MOST_IN_CONTAINER, MOST_IN_STRING, Metastore
from pysync.targets.base import Unavailable
from pysync.targets.hms.errors import classified

_REPLY, _EXCEPTION = 2, 3
_LIST, _STRING, _I32, _STOP = b"\x0f", b"\x0b", b"\x08", b"\x00"
Answer = Callable[[bytes, bytes], bytes]
"""The bytes that answer a request, by the name of the call and its sequence number."""


def message(body: bytes, kind: int = _REPLY) -> Answer:
    return lambda name, number: struct.pack("!ii", -0x7FFF0000 | kind, len(name)) + name + number + body


def text(size: int, data: bytes = b"") -> bytes:
    return struct.pack("!i", size) + data


def strings(count: int, data: bytes = b"") -> bytes:
    """The beginning of an answer that is a list of strings."""
    return _LIST + struct.pack("!h", 0) + _STRING + text(count, data)


def refusal(kind: int) -> bytes:
    return _I32 + struct.pack("!hi", 2, kind) + _STOP


@contextmanager
def lying(answer: Answer) -> Iterator[Metastore]:
    """A connection to a server that gives each call this answer, and then closes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connected, _ = server.accept()
                    with connected, suppress(OSError):
                        request = connected.recv(65536)
                        (length,) = struct.unpack_from("!i", request, 4)
                        connected.sendall(answer(request[8 : 8 + length], request[8 + length : 12 + length]))

        thread = threading.Thread(target=serve, daemon=True, name="waits for calls")
        thread.start()
        try:
            with closing(Metastore(f"thrift://127.0.0.1:{server.getsockname()[1]}", timeout=20)) as metastore:
                yield metastore
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(20)


LIES: dict[str, Answer] = {
    "a string too long": message(strings(1, text(MOST_IN_STRING + 1))),
    "a list too long": message(strings(MOST_IN_CONTAINER + 1)),
    "a negative length": message(strings(1, text(-5))),
    "a list of a negative length": message(strings(-1)),
    "no result": message(_STOP),
    "a type that thrift does not have": message(b"\x63\x00\x00\x00"),
    "half an answer": message(strings(2, text(3, b"abc"))),
    "an error of no kind": message(refusal(4711), _EXCEPTION),
    "no thrift": lambda *_: b"once upon a time there was a metastore",
    "another protocol's version": lambda *_: b"\x81\x01\x00\x02" + bytes(40),
    "nothing": lambda *_: b"",
}


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_that_is_none_makes_the_target_unavailable(lie: str) -> None:
    with lying(LIES[lie]) as metastore, pytest.raises(PysyncError) as raised, classified("look", reading=True):
        metastore.databases()
    assert isinstance(raised.value, Unavailable), repr(raised.value)


def test_an_answer_is_not_read_beyond_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_IN_ANSWER", 1_000_000)
    answer = message(strings(30, text(100_000, b"x" * 100_000) * 30) + _STOP)
    with lying(answer) as metastore, pytest.raises(PysyncError, match="larger than 1,000,000 bytes"):
        metastore.databases()


@pytest.mark.parametrize("kind", [TApplicationException.INTERNAL_ERROR, TApplicationException.PROTOCOL_ERROR])
def test_an_error_of_the_server_is_about_the_call(kind: int) -> None:
    answer = message(refusal(kind), _EXCEPTION)
    with lying(answer) as metastore, pytest.raises(PysyncError) as raised, classified("look", reading=True):
        metastore.databases()
    assert type(raised.value) is PysyncError
