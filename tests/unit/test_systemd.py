"""What systemd is told, by a socket that stands for its own."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pysync.sidecar.systemd import Systemd

ROOT = Path(__file__).parents[2]


class Manager:
    """A service manager's socket; `address` is what it puts into NOTIFY_SOCKET."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"\0{address[1:]}" if address.startswith("@") else address)
        self._socket.setblocking(False)

    def messages(self) -> list[str]:
        found = []
        try:
            while True:
                found.append(self._socket.recv(1000).decode())
        except BlockingIOError:
            return found

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Manager]:
    found = Manager(f"@pysync-{os.getpid()}" if request.param == "abstract" else str(tmp_path / "notify"))
    yield found
    found.close()


def test_systemd_is_told_when_the_sidecar_is_ready_and_when_it_ends(manager: Manager) -> None:
    systemd = Systemd({"NOTIFY_SOCKET": manager.address})
    systemd.ready()
    systemd.alive()
    systemd.stopping()
    assert manager.messages() == ["READY=1", "STOPPING=1"]


def test_a_sign_of_life_comes_twice_in_the_time_of_the_watchdog(manager: Manager) -> None:
    now = [0.0]
    systemd = Systemd({"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "60000000"}, clock=lambda: now[0])
    for second in range(61):
        now[0] = float(second)
        systemd.alive()
    assert manager.messages() == ["WATCHDOG=1"] * 3


def test_the_watchdog_of_another_process_is_not_fed(manager: Manager) -> None:
    other = {"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid() + 1)}
    Systemd(other).alive()
    assert manager.messages() == []


@pytest.mark.parametrize("address", ["", "/nowhere/notify", "@nobody-listens"])
def test_without_systemd_nothing_happens(address: str) -> None:
    systemd = Systemd({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "x"})
    systemd.ready()
    systemd.alive()
    systemd.stopping()


def test_the_unit_waits_for_what_the_sidecar_tells() -> None:
    lines = (ROOT / "conf" / "pysync.service").read_text().splitlines()
    assert {"Type=notify", "WatchdogSec=60", "RestartPreventExitStatus=2"} <= set(lines)
