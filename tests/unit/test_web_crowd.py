"""Many callers who ask for what takes long: health is answered meanwhile, and nothing is done for who has left."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from pysync.base.token import write_token
from pysync.sections import WebConfig
from pysync.web.api import AT_ONCE
from pysync.web.connections import MOST
from pysync.web.server import HOST, WebServer
from tests.support import wait_for_value
from tests.support.pages import FakeSidecar, in_trouble
from tests.support.visitors import PageVisitor

CALLERS = 60


class SlowPlans:
    """A page with an API whose plans take until `ready` is set."""

    def __init__(self, token_file: Path) -> None:
        write_token(token_file)
        self.token = token_file.read_text().strip()
        self.ready = threading.Event()
        self.sidecar = FakeSidecar(in_trouble())
        self.sidecar.answers["plan"] = self._plan
        settings = WebConfig(port=0, api_token_file=token_file)
        self.web = WebServer(settings, self.sidecar.status, self.sidecar.commands())
        self.visitor = PageVisitor(self.web.port, Authorization=f"Bearer {self.token}")

    def _plan(self, _: Mapping[str, Any]) -> dict[str, Any]:
        self.ready.wait()
        return {"targets": []}

    def begun(self) -> int:
        return len(self.sidecar.asked)

    def ask(self) -> socket.socket:
        """A caller who asks for a plan, and does not read it."""
        caller = socket.create_connection((HOST, self.web.port), timeout=60)
        request = f"GET /api/v1/plan HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {self.token}\r\n\r\n"
        caller.sendall(request.encode())
        return caller


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[SlowPlans]:
    made = SlowPlans(tmp_path / "token")
    made.web.start()
    yield made
    made.ready.set()
    made.web.stop()


def come_and_leave(slow: SlowPlans) -> None:
    """In two waves: of more callers at once the oldest are let go before they have asked."""
    for _ in range(2):
        with ExitStack() as callers:
            for _ in range(CALLERS // 2):
                callers.enter_context(closing(slow.ask()))
            wait_for_value(lambda: slow.begun() >= min(AT_ONCE, CALLERS // 2), True, what="plans")


def test_health_and_the_page_are_answered_while_many_wait_for_plans(slow: SlowPlans) -> None:
    come_and_leave(slow)
    with ExitStack() as callers:
        for _ in range(CALLERS // 2):
            callers.enter_context(closing(slow.ask()))
        assert [slow.visitor.get(it).code for it in ("/live", "/health", "/metrics", "/")] == [200, 503, 200, 200]


def test_nothing_begins_for_callers_who_have_left(slow: SlowPlans) -> None:
    come_and_leave(slow)
    slow.visitor.get("/live")  # by now the server has seen that they are gone
    slow.ready.set()
    assert slow.visitor.get("/api/v1/plan").code == 200  # it came last
    assert slow.begun() == AT_ONCE + 1


def test_who_asks_about_health_gives_way_last() -> None:
    asked, ready = threading.Event(), threading.Event()

    def status() -> dict[str, Any]:
        asked.set()
        ready.wait()
        return in_trouble()

    web = WebServer(WebConfig(port=0), status)
    web.start()
    with ExitStack() as callers:
        probe = callers.enter_context(closing(socket.create_connection((HOST, web.port), timeout=60)))
        probe.sendall(f"GET /live HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        assert asked.wait(60)
        crowd = [
            callers.enter_context(closing(socket.create_connection((HOST, web.port), timeout=60)))
            for _ in range(2 * MOST)
        ]
        with suppress(ConnectionResetError):
            assert crowd[0].recv(1) == b"", "the oldest of the others"
        ready.set()
        assert probe.recv(15) == b"HTTP/1.1 200 OK"
    web.stop()
