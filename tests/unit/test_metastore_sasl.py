"""SASL as thrift frames it, against peers that follow a script; real servers are in tests/versions/test_kerberos.py."""

from __future__ import annotations

import socket
import struct
import sys
from collections import deque
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.metastore.access import MetastoreAccess
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreUnavailable
from pysync.metastore.sasl import SaslChannel, Status
from pysync.metastore.settings import KerberosSettings

WHERE = "thrift://hms:9083"


def message(status: int, data: bytes = b"") -> bytes:
    return struct.pack("!BI", status, len(data)) + data


def frame(data: bytes) -> bytes:
    return struct.pack("!I", len(data)) + data


class Peer:
    """A channel whose other end says these bytes, a few at a time, whatever it is told."""

    def __init__(self, *text: bytes, at_a_time: int = 3) -> None:
        self.heard = b""
        self._said = deque(b"".join(text))
        self._at_a_time = at_a_time

    def send(self, data: bytes) -> None:
        self.heard += data

    def receive(self, size: int) -> bytes:
        if not self._said:
            raise EOFError("gone")
        return bytes(self._said.popleft() for _ in range(min(size, self._at_a_time, len(self._said))))

    def is_idle(self) -> bool:
        return not self._said

    def close(self) -> None:
        self._said.clear()


class Mechanism:
    """In place of Kerberos: agrees after two answers, and turns every byte of data round."""

    mechanism, first = b"GSSAPI", b"first"
    name, hint = "Kerberos login", "see the log of the metastore"

    def __init__(self, *, lifetime: float = 1000.0, longest: int = 4) -> None:
        self.challenges: list[bytes] = []
        self.lifetime = lifetime
        self._longest = longest

    @property
    def agreed(self) -> bool:
        return len(self.challenges) == 2

    def answer(self, challenge: bytes) -> bytes:
        self.challenges.append(challenge)
        return b"answer%d" % len(self.challenges)

    def frames(self, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), self._longest):
            yield turned(data[start : start + self._longest])

    def opened(self, data: bytes) -> bytes:
        return turned(data)


def turned(data: bytes) -> bytes:
    return bytes(byte ^ 0xFF for byte in data)


AGREED = message(Status.OK, b"one") + message(Status.OK, b"two") + message(Status.COMPLETE)


def test_the_negotiation_is_thrifts() -> None:
    peer, mechanism = Peer(AGREED), Mechanism()
    SaslChannel(peer, mechanism, WHERE)
    assert mechanism.challenges == [b"one", b"two"]
    assert peer.heard == (
        message(Status.START, b"GSSAPI")
        + message(Status.OK, b"first")
        + message(Status.OK, b"answer1")
        + message(Status.COMPLETE, b"answer2")
    )


@given(st.binary(min_size=1, max_size=60), st.lists(st.integers(1, 9), min_size=1), st.integers(1, 7))
def test_data_goes_in_frames_and_comes_back_whole(data: bytes, cuts: list[int], longest: int) -> None:
    pieces, rest = [], data
    for cut in cuts:
        pieces.append(rest[:cut])  # frames may be empty
        rest = rest[cut:]
    text = b"".join(frame(turned(piece)) for piece in [*pieces, rest])
    peer = Peer(AGREED, text)
    channel = SaslChannel(peer, Mechanism(longest=longest), WHERE)
    found = b""
    while len(found) < len(data):
        found += channel.receive(5)
    assert found == data
    peer.heard = b""
    channel.send(data)
    echo = SaslChannel(Peer(AGREED, peer.heard), Mechanism(), WHERE)
    found = b""
    while len(found) < len(data):
        found += echo.receive(1000)
    assert found == data


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (message(Status.BAD, b"GSS initiate failed"), "refuses the Kerberos login: GSS initiate failed"),
        (message(Status.OK, b"one") + message(Status.ERROR, b"no \xff"), "refuses the Kerberos login: no"),
        (message(Status.COMPLETE), "its answer does not follow the SASL protocol"),  # before it has shown who it is
        (message(Status.OK, b"one") + message(Status.COMPLETE, b"two"), "its answer does not follow the SASL protocol"),
        (message(Status.START, b"GSSAPI"), "its answer does not follow the SASL protocol"),
        (
            message(Status.OK, b"one") + message(Status.OK, b"two") + message(Status.OK, b"three"),
            "its answer does not follow the SASL protocol",
        ),
        (b"\x80\x01\x00\x02\x00\x00\x00\x11get_all", "does not speak SASL"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak SASL"),
        (struct.pack("!BI", Status.OK, 2**31), "does not speak SASL"),
    ],
)
def test_a_peer_that_refuses_or_is_something_else(text: bytes, words: str) -> None:
    with pytest.raises(MetastoreUnavailable) as refused:
        SaslChannel(Peer(text), Mechanism(), WHERE)
    assert words in refused.value.message
    assert WHERE in refused.value.message


def test_a_peer_that_never_comes_to_an_end() -> None:
    class Endless(Mechanism):
        agreed = False

    with pytest.raises(MetastoreUnavailable, match="its answer does not follow the SASL protocol"):
        SaslChannel(Peer(message(Status.OK) * 100), Endless(), WHERE)


def test_a_frame_that_cannot_be_is_no_reason_to_take_all_memory() -> None:
    channel = SaslChannel(Peer(AGREED, b"\xff\xff\xff\xff"), Mechanism(), WHERE)
    with pytest.raises(ValueError, match="a frame has an invalid length"):
        channel.receive(1)


def test_it_carries_no_call_when_its_tickets_have_ended() -> None:
    assert SaslChannel(Peer(AGREED), Mechanism(), WHERE).is_idle()
    assert not SaslChannel(Peer(AGREED), Mechanism(lifetime=0), WHERE).is_idle()
    assert not SaslChannel(Peer(AGREED, b"more"), Mechanism(), WHERE).is_idle()


def test_the_package_that_it_needs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    needed = pytest.raises(MetastoreUnavailable, match=r"pip install .*\[kerberos\]")
    with socket.create_server(("127.0.0.1", 0)) as server:
        kerberos = KerberosSettings(service_principal="hive/_HOST@EXAMPLE.COM")
        access = MetastoreAccess.of(f"thrift://127.0.0.1:{server.getsockname()[1]}", kerberos=kerberos)
        with Metastore(access) as metastore, needed:
            metastore.databases()
