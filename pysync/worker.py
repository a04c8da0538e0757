"""Worker: a thread that does one thing again and again, never dies silently, and reports its state.

Every long-running thread of the sidecar is one: a drain, resync and verifier for each target, the reader of the
notification log, the healer. Status, metrics and `/health` read them all.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from typing import Any

import structlog

from pysync.base.errors import PysyncError
from pysync.base.masking import masked
from pysync.queue import QueueClosed

log = structlog.get_logger(__name__)


class WorkerState(str, Enum):
    """The state of a worker."""

    STARTING = "starting"
    RUNNING = "running"
    WAITING = "waiting"  # what it needs is away: it tries again
    FAILING = "failing"  # a bug of pysync: it restarts
    FINISHED = "finished"  # there was an end to its work
    STOPPED = "stopped"

    def __str__(self) -> str:
        return self.value


class Finished(Exception):
    """Raised by a turn whose work has come to an end, or which was asked to end in the middle."""


class Worker:
    """Takes a turn every `every` seconds, after an error in `retry`, until it is stopped or the queue is closed.

    A PysyncError means that something is away (`waiting`), any other exception a bug (`failing`). The state stays until
    a turn calls `well`. `failed` is called with the state and the reason of either, and `ended` at the end, both in the
    worker's thread. Errors are logged at the 1st, 2nd, 4th, 8th … time in a row.
    """

    def __init__(
        self,
        name: str,
        turn: Callable[[], object],
        *,
        every: float,
        retry: float,
        failed: Callable[[WorkerState, str], object] = lambda *_: None,
        ended: Callable[[], object] = lambda: None,
    ) -> None:
        self.name = name
        self._turn = turn
        self._every = every
        self._retry = retry
        self._failed = failed
        self._ended = ended
        self.stopping = threading.Event()
        """Set when it is to end: what a turn waits on."""
        self._state = WorkerState.STARTING
        self._errors = 0  # in a row
        self._waiting_since: float | None = None
        self._last_error: tuple[str, float] | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    # --- from any thread

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end after the current turn; returns at once. Idempotent, also where it was never started."""
        self.stopping.set()

    def join(self, seconds: float) -> bool:
        """Wait so long for the end; False if the current turn goes on."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def end(self, seconds: float) -> bool:
        """`stop`, and `join`."""
        self.stop()
        return self.join(seconds)

    @property
    def started(self) -> bool:
        """Whether it ever began."""
        return self._thread.ident is not None

    def status(self) -> dict[str, Any]:
        """As in `pysync status --json`."""
        state, error = self._state, self._last_error
        over = state not in {WorkerState.WAITING, WorkerState.FAILING}
        return {
            "name": self.name,
            "state": str(state),
            "waiting_since": self._waiting_since if state is WorkerState.WAITING else None,
            "last_error": error and {"reason": error[0], "at": error[1], "over": over},
        }

    # --- in its own thread

    def succeeded(self) -> None:
        """Say, within a turn, that what may fail has succeeded: an earlier error is over."""
        errors, since = self._errors, self._waiting_since
        self._state, self._errors, self._waiting_since = WorkerState.RUNNING, 0, None
        if since is not None:
            log.info("worker_recovered", worker=self.name, attempts=errors, seconds=round(time.time() - since, 1))

    def waits(self, reason: str) -> None:
        """Say, within a turn that tries again by itself, that what it needs is away."""
        if self._note(WorkerState.WAITING, reason):
            log.warning("worker_waiting", worker=self.name, reason=reason, attempt=self._errors)

    def _run(self) -> None:
        state = WorkerState.STOPPED
        try:
            with suppress(QueueClosed):  # the sidecar is ending
                while not self.stopping.is_set():
                    self.stopping.wait(self._seconds_after_turn())
        except Finished:
            state = WorkerState.FINISHED
        finally:
            self._state = state
            self._ended()

    def _seconds_after_turn(self) -> float:
        try:
            self._turn()
        except (QueueClosed, Finished):
            raise
        except PysyncError as error:
            self.waits(str(error))
            self._failed(WorkerState.WAITING, str(error))
            return self._retry
        except Exception as error:  # noqa: BLE001 - the thread must not die silently
            reason = f"{type(error).__name__}: {error}"
            if self._note(WorkerState.FAILING, reason):
                log.error("worker_failed", worker=self.name, traceback=traceback.format_exc(), attempt=self._errors)
            self._failed(WorkerState.FAILING, reason)
            return self._retry
        return self._every

    def _note(self, state: WorkerState, reason: str) -> bool:
        """Note an error; True if it is to be logged."""
        now = time.time()
        self._errors, self._waiting_since = self._errors + 1, self._waiting_since or now
        self._last_error, self._state = ((masked(reason).strip().splitlines() or [""])[-1], now), state
        return self._errors & (self._errors - 1) == 0  # 1, 2, 4, 8 …: an outage of days does not fill the log
