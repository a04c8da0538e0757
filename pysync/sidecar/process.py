"""The process of `pysync run`: what it asks of Python, its messages to systemd, and a sidecar from start to signal."""

from __future__ import annotations

import gc
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import structlog

from pysync.config import Config
from pysync.sidecar.reload import assert_needs, restart_process
from pysync.sidecar.sidecar import Sidecar

# --- Tuning: what the sidecar asks of the Python that it runs in

_YOUNG, _MIDDLE, _OLD = 400_000, 20, 50


def collect_seldom() -> None:
    """Let the garbage collector look for cycles seldom.

    A window is a hundred thousand small objects that live for a moment and hold no cycles, so they go without it, and
    two or three windows are under way. With Python's own threshold (700) half of the drain's time was spent on looking
    at them, with that of one window a fifth (bench-replay, backlog).
    """
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)


# --- Systemd: what the service manager receives (sd_notify(3)): ready, alive, stopping. Without systemd nothing
# happens

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


# --- The process of `pysync run`: a sidecar from its start to a signal, and its messages to systemd

log = structlog.get_logger(__name__)


def run(config: Config, file: Path, *, quarantine: bool = False) -> None:
    """Run the sidecar, with `config` from `file`, until SIGTERM or SIGINT. Raises PysyncError for what prevents it.

    After a reload the process restarts (pysync.sidecar.reload). Where a target hangs the process ends here: the
    interpreter would wait for the threads of a pool in which it hangs.
    """
    collect_seldom()
    assert_needs(config)
    sidecar = Sidecar(config, quarantine=quarantine, file=file)
    sidecar.ending.on_signals()
    systemd = Systemd()

    def over() -> bool:
        systemd.alive()
        return sidecar.reloads is not None and sidecar.reloads.due()

    try:
        sidecar.start()
        if sidecar.reloads:
            sidecar.reloads.on_signal()
        systemd.ready()
        sidecar.wait(over)
    except BaseException:
        _clean_up(sidecar)
        raise
    reloads = sidecar.reloads is not None and sidecar.reloads.accepted
    (systemd.reloading if reloads else systemd.stopping)()
    is_down = sidecar.stop()
    if reloads:
        restart_process()
    if not is_down:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(os.EX_OK)


def _clean_up(sidecar: Sidecar) -> None:
    """Stop a sidecar that has failed. An error here must not hide why."""
    try:
        sidecar.stop()
    except Exception as error:  # noqa: BLE001
        log.warning("stop_failed", reason=f"{type(error).__name__}: {error}")
