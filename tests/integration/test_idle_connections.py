"""Idle connections: whoever holds more of them open than the sidecar may have descriptors gets nothing by it."""

from __future__ import annotations

import resource
import socket
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest

from pysync.control.client import ask
from tests.support import wait_until
from tests.support.callers import Caller
from tests.support.drains import create
from tests.support.sidecars import TOKEN, FaultyPlace, Sidecar, send, sidecar, unused_port

ALLOWED = 1024
CROWD = 1100
LINES = 30
HELD_SECONDS = 12.0
"""Longer than anybody may keep silent, and than the sidecar lived when silent connections to its web port ended it."""


pytestmark = pytest.mark.crash


@contextmanager
def descriptors(most: int) -> Iterator[None]:
    """What is started meanwhile may open so many files, as after `ulimit -n`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Sidecar]:
    place = FaultyPlace(tmp_path)
    place.write(more=f"[web]\nport = {unused_port()}\n")
    with ExitStack() as stack:
        with descriptors(ALLOWED):
            started = stack.enter_context(sidecar(place))
        yield started


def web_port(running: Sidecar) -> int:
    return int(running.place.file.read_text().rpartition("port = ")[2])


@contextmanager
def crowd(port: int, says: bytes = b"") -> Iterator[None]:
    """Connections that say nothing more; new ones in the place of those that were ended, until the block ends."""
    with ExitStack() as held:
        for _ in range(CROWD):
            with suppress(OSError):
                one = held.enter_context(closing(socket.create_connection(("127.0.0.1", port), timeout=10)))
                one.sendall(says)
        yield


def open_files(running: Sidecar) -> int:
    return len(list(Path(f"/proc/{running.process.pid}/fd").iterdir()))


def live(running: Sidecar) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{web_port(running)}/live", timeout=30) as answer:
        return str(answer.read().decode())


def assert_well(running: Sidecar, events: int) -> None:
    """The listener is heard, the queue is written, whoever asks is answered, and the log is no flood."""
    send(running, create(f"db.t{events}"), first=events)
    assert ask(running.place.queue, "status")["queue"]["events"] >= 0
    assert running.process.poll() is None
    assert running.log().count("Traceback") == 0, running.log()[:3000]
    assert running.log().count("\n") < LINES


@pytest.mark.parametrize("says", [b"", b"GET /health HTTP/1.1\r\nHost: lo"], ids=["silent", "half a request"])
def test_idle_connections_to_the_web_port_leave_the_sidecar_well(running: Sidecar, says: bytes) -> None:
    until = time.monotonic() + HELD_SECONDS
    with crowd(web_port(running), says):
        while time.monotonic() < until:
            assert running.process.poll() is None, running.log()[-2000:]
            time.sleep(0.2)
        assert open_files(running) < ALLOWED // 2
        assert_well(running, events=1)
    wait_until(lambda: live(running) == "ok\n", what="an answer to a good caller")


def test_idle_connections_to_the_bridge_leave_the_listener_heard(running: Sidecar) -> None:
    port = running.status()["bridge"]["port"]
    until = time.monotonic() + HELD_SECONDS
    sequence = 0
    with crowd(port):
        while time.monotonic() < until:
            sequence += 1
            assert running.process.poll() is None, running.log()[-2000:]
            assert open_files(running) < ALLOWED // 2
            assert_well(running, events=sequence)
            time.sleep(1)


def test_who_has_greeted_the_bridge_keeps_his_connection_in_a_crowd(running: Sidecar) -> None:
    port = running.status()["bridge"]["port"]
    with closing(Caller(port, TOKEN)) as caller, crowd(port):
        assert caller.call("ping").startswith("!ys")
