"""The bridge on the real py4j wire, spoken by a raw socket: whoever calls, and however badly, nothing is lost.

The listener's own side of it is tested in tests/listener.
"""

from __future__ import annotations

import base64
import logging
import re
import socket
import threading
from contextlib import ExitStack, closing, suppress

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pysync.base import logs
from pysync.base.errors import PysyncError
from pysync.capture import connections
from pysync.capture.bridge import Bridge, Reception
from pysync.capture.connections import HOST
from pysync.capture.gaps import GapWatch
from pysync.capture.overlaps import Overlaps
from pysync.model.wire import encode_event
from pysync.queue import EventQueue
from tests.support import wait_until
from tests.support.callers import TOKEN, Caller
from tests.support.events import create_table
from tests.support.listener_side import ListenerSide

pytestmark = pytest.mark.smoke

UNLOGGED = "payload-that-must-not-be-logged"


def reception(queue: EventQueue) -> Reception:
    return Reception(queue.intake, GapWatch(queue, silence_seconds=60), Overlaps())


def payload(sequence: int = 1, **fields) -> str:
    return base64.b64encode(encode_event(create_table("db.t", sequence=sequence, **fields))).decode()


class Stand:
    """A queue with its bridge, and the connections of one test."""

    def __init__(self, directory, free_bytes=10**12) -> None:
        self.directory = directory
        self.free_bytes = free_bytes
        self.queue = EventQueue(directory, min_free_bytes=10**6, free_bytes=lambda _: self.free_bytes)
        self.stopped = threading.Event()
        self.bridge = Bridge(reception(self.queue), 0, TOKEN, self.stopped.set)
        self.port = self.bridge.start()
        self._callers = ExitStack()

    def caller(self, token: str | None = TOKEN) -> Caller:
        return self._callers.enter_context(closing(Caller(self.port, token)))

    def events(self) -> int:
        return self.queue.size

    def check_well(self, sequence: int = 1_000_000) -> None:
        """The next good caller is served, and what it brings is kept."""
        before = self.events()
        with closing(Caller(self.port)) as caller:
            assert caller.call("ping") == "!yspysync 1"
            assert caller.append(payload(sequence)) == "queued"
        assert self.events() == before + 1
        assert not self.stopped.is_set(), "the accept loop has ended"

    def close(self) -> None:
        self._callers.close()
        self.bridge.stop()
        self.queue.close()


@pytest.fixture
def stand(tmp_path):
    built = Stand(tmp_path)
    yield built
    built.close()


def test_an_event_that_is_queued_is_on_disk(stand):
    caller = stand.caller()
    assert caller.let_in
    assert caller.append(payload(1)) == "queued"
    stand.bridge.stop()
    stand.queue.close()
    with EventQueue(stand.directory, min_free_bytes=0) as again:
        again.target("dr").register()
        assert [event.data for event in again.target("dr").window(10, 10**9)] == [base64.b64decode(payload(1))]


def test_a_repeated_event_is_queued_once_and_answered_alike(stand):
    assert [stand.caller().append(payload(1)) for _ in range(3)] == ["queued"] * 3
    assert stand.events() == 1
    assert stand.bridge.status()["answers"] == {"queued": 3}


def test_several_events_in_one_call_keep_their_order(stand):
    assert stand.caller().append(*[payload(number) for number in (3, 1, 2)]) == "queued"
    stand.queue.target("dr").register()
    queued = [event.data for event in stand.queue.target("dr").window(10, 10**9)]
    assert queued == [base64.b64decode(payload(number)) for number in (3, 1, 2)]
    assert stand.bridge.status()["answers"] == {"queued": 3}


def test_of_several_events_in_one_call_the_worst_answer_is_said(stand):
    caller = stand.caller()
    assert caller.append(payload(1), "bm90IGFuIGV2ZW50", payload(2)) == "unreadable"
    assert (stand.events(), [kept.data for kept in stand.queue.intake.unreadable()]) == (2, [b"not an event"])
    stand.free_bytes = 10**6
    assert caller.append(payload(2), payload(3)) == "full"
    assert stand.events() == 2
    assert stand.bridge.status()["answers"] == {"queued": 2, "unreadable": 1, "full": 2}


def test_beside_an_event_of_a_newer_listener_nothing_is_taken(stand):
    """What comes after it may need it, and must not overtake it."""
    newer = damaged(b"CREATE_TABLE", b"CREATE_LABEL")
    assert stand.caller().append(payload(1), "no base64", newer, payload(2)) == "unsupported"
    assert (stand.events(), stand.queue.intake.unreadable()) == (0, [])


def test_many_callers_at_once_lose_nothing_and_are_all_counted(stand):
    def bring(first):
        with closing(Caller(stand.port)) as caller:
            for number in range(first, first + 25):
                assert caller.append(payload(number)) == "queued"

    threads = [threading.Thread(target=bring, args=(1 + 25 * number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stand.events() == 500
    assert stand.bridge.status()["answers"] == {"queued": 500}
    assert [instance.missing for instance in stand.queue.intake.instances()] == [()]


def test_an_event_of_a_megabyte_comes_whole(stand):
    large = payload(1, attributes={"text": "ä" * 1_000_000})
    assert stand.caller().append(large) == "queued"
    stand.queue.target("dr").register()
    assert stand.queue.target("dr").window(1, 1)[0].data == base64.b64decode(large)


# --- callers who may not


@pytest.mark.parametrize("token", ["wrong", "", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "é" * 64])
def test_a_wrong_token_is_refused_and_nothing_of_the_caller_is_heard(stand, token):
    caller = stand.caller(token)
    assert not caller.let_in
    assert caller.send(f"c\nt\nappend\ns{payload(1)}\ne\n") == ""
    assert stand.events() == 0
    wait_until(lambda: stand.bridge.status()["refused_connections"] == 1, what="counting the refusal")
    stand.check_well()


def test_without_a_token_nothing_can_be_called(stand):
    caller = stand.caller(token=None)
    assert not caller.send(f"c\nt\nappend\ns{payload(1)}\ne\n").startswith("!y")
    assert stand.events() == 0
    stand.check_well()


@pytest.mark.parametrize("token", [None, TOKEN], ids=["stranger", "with the token"])
@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
        b"\xff\xfe\xfd\n\xff\n",
        b"\n\n\n\n",
        b"c\nt\n",
        b"c\nnobody\nappend\nsx\ne\n",
        b"c\nt\nappend\nl5\ne\n",
        b"g\nt\ne\n",
        b"x\ny\nz\n",
        b"A\n",
    ],
    ids=lambda garbage: repr(garbage[:16]),
)
def test_garbage_harms_nobody_else(stand, token, garbage):
    caller = stand.caller(token)
    with suppress(OSError):  # it may have hung up already
        caller.socket.sendall(garbage)
        caller.socket.shutdown(socket.SHUT_WR)
    stand.check_well()
    assert stand.events() == 1


@hypothesis_settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=100), known=st.booleans())
def test_any_bytes_leave_the_bridge_well(stand, data, known):
    with closing(Caller(stand.port, TOKEN if known else None)) as caller, suppress(OSError):
        caller.socket.sendall(data)
    with closing(Caller(stand.port)) as caller:
        assert caller.call("ping") == "!yspysync 1"
    assert stand.events() == 0


def test_a_line_without_end_is_cut_off_before_the_token(stand):
    caller = stand.caller(token=None)
    sent = flood(caller, limit=100 * 1024 * 1024)
    assert sent < 50 * 1024 * 1024, "a stranger could fill our memory"
    stand.check_well()


def test_a_line_without_end_is_cut_off_after_the_token(stand, monkeypatch):
    monkeypatch.setattr(connections, "_LONGEST_CALL", 1024 * 1024)
    caller = stand.caller()
    caller.socket.sendall(b"c\nt\nappend\ns")
    assert flood(caller, limit=200 * 1024 * 1024) < 100 * 1024 * 1024
    assert stand.events() == 0
    stand.check_well()


def flood(caller: Caller, limit: int) -> int:
    """Send bytes without a newline until the bridge hangs up; how many it let us send."""
    chunk, sent = b"x" * 65536, 0
    with suppress(OSError):
        while sent < limit:
            caller.socket.sendall(chunk)
            sent += len(chunk)
    return sent


def test_a_caller_that_never_gives_its_token_is_let_go(stand, monkeypatch):
    """Else anyone on the host could use up our file descriptors, which ends py4j's accept loop."""
    monkeypatch.setattr(connections, "_GREETING_SECONDS", 0.1)
    assert hung_up(stand.caller(token=None))


@pytest.mark.parametrize("said", ["", f"{ListenerSide(TOKEN.encode()).hello()}\n"], ids=["nothing", "hello"])
def test_a_caller_that_takes_too_long_is_let_go_and_not_refused(stand, monkeypatch, said):
    """A listener whose JVM stands still would be suspected of another token."""
    monkeypatch.setattr(connections, "_GREETING_SECONDS", 0.1)
    caller = stand.caller(token=None)
    caller.socket.sendall(said.encode())
    assert caller.lines.read().count(b"\n") == (1 if said else 0)
    assert stand.bridge.status()["refused_connections"] == 0


def test_a_caller_that_leaves_without_a_word_is_not_refused(stand):
    """As who only looks whether the port is open."""
    caller = stand.caller(token=None)
    caller.plain.shutdown(socket.SHUT_WR)
    assert hung_up(caller)
    assert stand.bridge.status()["refused_connections"] == 0


def test_a_caller_that_leaves_in_place_of_a_proof_is_refused(stand):
    """As a listener does for which the sidecar's proof is wrong."""
    caller = stand.caller(token=None)
    caller.socket.sendall(f"{ListenerSide(TOKEN.encode()).hello()}\n".encode())
    caller.lines.readline()
    caller.plain.shutdown(socket.SHUT_WR)
    assert hung_up(caller)
    assert stand.bridge.status()["refused_connections"] == 1


def hung_up(caller: Caller) -> bool:
    """Wait until the bridge ends the connection, with or without good manners, and says nothing before."""
    try:
        return caller.lines.read() == b""
    except ConnectionResetError:
        return True


def test_a_caller_that_gave_its_token_may_be_silent(stand, monkeypatch):
    monkeypatch.setattr(connections, "_GREETING_SECONDS", 0.1)
    caller = stand.caller()
    caller.plain.settimeout(0.4)
    with pytest.raises(TimeoutError):
        caller.plain.recv(1)
    caller.close()
    stand.check_well()


def test_half_open_and_half_sent_calls_keep_nobody_waiting(stand):
    stand.caller(token=None)
    stand.caller().socket.sendall(b"c\nt\nappend\nsAAAA")
    stand.check_well()
    assert stand.events() == 1


def test_a_call_cut_off_in_its_payload_is_not_taken_for_an_event(stand):
    caller = stand.caller()
    caller.socket.sendall(f"c\nt\nappend\ns{payload(1)[:-8]}".encode())
    caller.socket.shutdown(socket.SHUT_WR)
    caller.lines.read()
    assert (stand.events(), stand.queue.intake.unreadable()) == (0, [])


# --- what can be called


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("__setattr__", ("s_queue", "snothing")),
        ("__setattr__", ("s_methods", "snothing")),
        ("__delattr__", ("s_queue",)),
        ("__init__", ("snothing",)),
        ("__class__", ("snothing",)),
        ("__getattribute__", ("s_queue",)),
        ("__reduce_ex__", ("i4",)),
        ("__init_subclass__", ()),
        ("__dir__", ()),
        ("__doc__", ()),
        ("__dict__", ()),
        ("_queue", ()),
        ("_methods", ()),
        ("_taken", (f"s{payload(1)}",)),
        ("answers", ()),
        ("ping.__globals__", ()),
        ("", ()),
    ],
)
def test_nothing_but_append_and_ping_can_be_called(stand, method, arguments):
    answer = stand.caller().call(method, *arguments)
    assert answer == "!xsno_such_method", f"{method} was called: {answer}"
    stand.check_well()
    assert stand.events() == 1


def test_the_entry_point_cannot_be_taken_away(stand):
    caller = stand.caller()
    caller.send("g\nt\ne\n")
    stand.check_well()


# --- the other answers


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("bm90IGFuIGV2ZW50", b"not an event"),
        ("!!! no base64", b"!!! no base64"),
        ("", b""),
        ("ä", "ä".encode()),
        (payload(1)[:-4], base64.b64decode(payload(1)[:-4])),
    ],
)
def test_what_is_no_event_is_left_aside(stand, sent, kept):
    assert stand.caller().append(sent) == "unreadable"
    assert [(item.data, item.size) for item in stand.queue.intake.unreadable()] == [(kept, len(kept))]
    assert stand.events() == 0


def damaged(old: bytes, new: bytes) -> str:
    data = base64.b64decode(payload(1))
    assert data.count(old) == 1
    return base64.b64encode(data.replace(old, new)).decode()


@pytest.mark.parametrize(
    "sent",
    [damaged(b"\x06\x00\x01\x00\x01", b"\x06\x00\x01\x00\x02"), damaged(b"CREATE_TABLE", b"CREATE_LABEL")],
    ids=["version 2", "unknown kind"],
)
def test_an_event_of_a_newer_listener_is_unsupported_and_left_to_it(stand, sent):
    assert stand.caller().append(sent) == "unsupported"
    assert (stand.events(), stand.queue.intake.unreadable()) == (0, [])


def test_on_a_full_disk_nothing_is_taken_until_there_is_room(stand):
    caller = stand.caller()
    stand.free_bytes = 10**6
    assert caller.append(payload(1)) == "full"
    assert caller.append("bm90IGFuIGV2ZW50") == "full", "what is no event has to be kept aside, and that needs room too"
    assert stand.events() == 0
    stand.free_bytes = 10**12
    assert caller.append(payload(1)) == "queued"


def test_a_queue_that_cannot_write_answers_failed(stand):
    caller = stand.caller()
    stand.queue.close()
    assert caller.append(payload(1)) == "failed"
    assert caller.append("no base64") == "failed"


# --- start and stop


def test_a_port_in_use_is_named_in_one_line(tmp_path):
    with closing(socket.socket()) as taken, EventQueue(tmp_path, min_free_bytes=0) as queue:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        bridge = Bridge(reception(queue), port, TOKEN, lambda: None)
        with pytest.raises(PysyncError) as refused:
            bridge.start()
        bridge.stop()
    assert str(refused.value).startswith(f"the bridge cannot listen on 127.0.0.1:{port}: Address already in use; ")
    assert "\n" not in str(refused.value)


def test_it_listens_on_loopback_only(stand):
    assert stand.bridge._server.server_socket.getsockname()[0] == "127.0.0.1"


def test_if_the_accept_loop_ends_by_itself_it_is_said(stand):
    stand.bridge._server.server_socket.shutdown(socket.SHUT_RDWR)
    assert stand.stopped.wait(60)


def test_stopping_it_is_not_taken_for_a_failure(stand):
    stand.bridge.stop()
    stand.bridge.stop()
    assert not stand.stopped.is_set()


def test_stopping_ends_open_connections_of_every_sort(stand):
    """Half-greeted ones are closed by their own thread and by the server's at once: py4j stumbles over that."""
    callers = [stand.caller(token=None) for _ in range(20)] + [stand.caller() for _ in range(20)]
    wait_until(lambda: len(stand.bridge._server.connections) == 40, what="accepting all")
    stand.bridge.stop()
    assert [caller for caller in callers if not hung_up(caller)] == []
    assert stand.bridge.status()["refused_connections"] == 0, "a stop refuses nobody"


def test_the_port_is_free_after_a_stop(stand):
    stand.caller()
    stand.bridge.stop()
    again = Bridge(reception(stand.queue), stand.port, TOKEN, lambda: None)
    assert again.start() == stand.port
    again.stop()


@pytest.mark.usefixtures("logging_restored")
def test_nothing_of_an_event_and_no_token_is_logged(stand, capfd):
    logs.configure("debug", "json")
    logging.getLogger().setLevel(logging.DEBUG)  # as no level of ours does: py4j would log whole commands then
    caller = stand.caller()
    encoded = payload(1, attributes={"a": UNLOGGED})
    caller.append(encoded)
    caller.append(base64.b64encode(UNLOGGED.encode()).decode())
    caller.append(UNLOGGED)
    caller.call("no_such_method", f"s{UNLOGGED}")
    stand.caller("wrong-" + TOKEN)
    stand.check_well()
    written = "".join(capfd.readouterr())
    assert "event_received" in written
    found = [text for text in (UNLOGGED, encoded, TOKEN, "py4j") if re.search(re.escape(text), written)]
    assert found == [], "in the logs"


def test_status_tells_port_connections_refusals_and_answers(stand):
    stand.caller().append(payload(1))
    stand.caller("wrong")
    wait_until(lambda: stand.bridge.status()["refused_connections"] == 1, what="counting the refusal")
    status = stand.bridge.status()
    assert (status["port"], status["answers"]) == (stand.port, {"queued": 1})
    assert status["connections"] >= 1
