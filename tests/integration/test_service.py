"""A real `pysync run` under something that stands for systemd: it hears of the start, of life, and of the end."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support import wait_for_items, wait_until
from tests.support.drains import create
from tests.support.sidecars import Place, send, sidecar


class Manager:
    """Systemd's socket: what came, with its time."""

    def __init__(self, address: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(address))
        self._socket.setblocking(False)
        self.told: list[tuple[str, float]] = []

    def states(self) -> list[str]:
        try:
            while True:
                self.told.append((self._socket.recv(1000).decode(), time.monotonic()))
        except BlockingIOError:
            return [state for state, _ in self.told]

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    with closing(Manager(tmp_path / "notify")) as found:
        yield found


def test_systemd_hears_when_events_are_taken_that_it_lives_and_when_it_ends(
    manager: Manager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    monkeypatch.setenv("WATCHDOG_USEC", "1000000")
    place = Place(tmp_path)
    place.write()
    with sidecar(place) as running:
        wait_until(lambda: "READY=1" in manager.states(), what="the start")
        send(running, create("db.t"))  # it takes events now
        wait_for_items(lambda: [it for it in manager.states() if it == "WATCHDOG=1"], 3, what="signs of life")
        # A main thread that hangs shows none.
        os.kill(running.process.pid, signal.SIGSTOP)
        manager.states()
        before = len(manager.told)
        time.sleep(1.5)
        assert len(manager.states()) == before
        os.kill(running.process.pid, signal.SIGCONT)
        assert running.stop() == 0
    assert manager.states()[-1] == "STOPPING=1"
