"""Systemd: what the service manager receives (sd_notify(3)): ready, alive, stopping. Nothing without systemd."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping

_MICRO = 1_000_000


class Systemd:
    """The service manager that started this process, if one did and wants to know.

    `environment` is the process's; `clock` returns seconds that only grow. Nothing raises: a service manager that does
    not listen is no reason to end.
    """

    def __init__(
        self, environment: Mapping[str, str] = os.environ, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        self._every = _watchdog_seconds(environment) / 2
        self._clock = clock
        self._due = 0.0

    def ready(self) -> None:
        """The sidecar takes events."""
        self._notify("READY=1")

    def alive(self) -> None:
        """The main thread does its work. Cheap: call it often; it notifies systemd twice in a WatchdogSec."""
        if self._every and self._clock() >= self._due:
            self._due = self._clock() + self._every
            self._notify("WATCHDOG=1")

    def reloading(self) -> None:
        """The process restarts; it is `ready` again after that."""
        self._notify(f"RELOADING=1\nMONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def stopping(self) -> None:
        """The end was asked for, and is under way."""
        self._notify("STOPPING=1")

    def _notify(self, state: str) -> None:
        if not self._address:
            return
        # An address that begins with @ is one of Linux's abstract ones.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.setblocking(False)
                sender.sendto(state.encode(), address)
        except OSError:
            return


def _watchdog_seconds(environment: Mapping[str, str]) -> float:
    """How long systemd waits for a sign of life; 0 if it does not, or waits for another process than this one."""
    if environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return 0.0
    text = environment.get("WATCHDOG_USEC", "")
    return int(text) / _MICRO if text.isdecimal() else 0.0
