"""Shutdown: how a process is told to stop."""

from __future__ import annotations

import signal
import time
from queue import SimpleQueue

_EVERY_SECONDS = 0.25  # a signal may reach another thread than the one that waits, and does not wake it then


class Shutdown:
    """Asked for by a signal, or from any thread; seen within a quarter of a second."""

    def __init__(self) -> None:
        self._stop_requests: SimpleQueue[str | None] = (
            SimpleQueue()
        )  # its put is safe in a signal handler, Event's set is not

    def on_signals(self) -> None:
        """Let SIGTERM and SIGINT ask for it; call this in the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.ask())

    def ask(self, failure: str | None = None) -> None:
        """Ask for the end; `failure` says what went wrong, if anything did."""
        self._stop_requests.put(failure)

    def is_requested(self) -> bool:
        """Wait a moment; True once the end was asked for."""
        if self._stop_requests.empty():
            time.sleep(_EVERY_SECONDS)
        return not self._stop_requests.empty()

    def failure(self) -> str | None:
        """Why the end was asked for; None if nothing failed. Call it once, after `is_requested` was True."""
        return self._stop_requests.get()
