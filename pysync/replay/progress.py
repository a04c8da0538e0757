"""Progress: what a drain reports for status and metrics. Written by its thread, read by others."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from enum import Enum
from typing import Any

import structlog

from pysync.base.counts import Counts, Rate
from pysync.base.latency import Latency
from pysync.base.masking import masked
from pysync.base.throttle import Throttle
from pysync.targets.base import ERRORS

_MANY_STALE = 100
_OTHERS_KEPT = 1000  # tables of which the mark of another queue is remembered

log = structlog.get_logger(__name__)


class DrainState(str, Enum):
    """What a drain is doing."""

    STARTING = "starting"
    RUNNING = "running"  # applying, or idle because the target has everything
    WAITING = "waiting"  # the target, or the queue's disk, is unavailable: it tries again, with backoff
    SHADOW = "shadow"  # as running, but nothing is written
    PAUSED = "paused"  # by a person, until `pysync resume`; what the brake holds pauses nothing
    DISABLED = "disabled"  # by pysync.toml: it does not run, and its events wait in the queue
    FAILING = "failing"  # a bug of ours: it restarts every few seconds
    STOPPED = "stopped"

    def __str__(self) -> str:
        return self.value


class _Outage:
    """An outage as the log reports it: its 1st, 2nd, 4th, 8th … attempt and its end, once for all operations."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: float | None = None
        self._logged_attempt = 0

    def is_logged(self, attempt: int) -> bool:
        """Whether an operation that met the outage at this attempt of its own is the first that did so."""
        with self._lock:
            if attempt <= self._logged_attempt or attempt & (attempt - 1):
                return False
            self._logged_attempt, self._since = attempt, self._since or time.time()
            return True

    def end(self) -> float | None:
        """End the outage, if there is one: how many seconds it took."""
        with self._lock:
            since, self._since, self._logged_attempt = self._since, None, 0
        return None if since is None else round(time.time() - since, 1)


class Progress:
    """The state, the counts, the latency and the last error of one drain since its start.

    `calls` are those that its targets make, and `throttle` limits them; `errors` are those of operations by their kind,
    `operations` how many are done.
    """

    def __init__(self, name: str, kind: str, calls: Counts | None = None, throttle: Throttle | None = None) -> None:
        self.name = name
        self.kind = kind
        self.state = DrainState.STARTING
        self.latency = Latency()
        self.calls = calls or Counts()
        self.throttle = throttle or Throttle()
        self.errors = Counts(ERRORS)
        self.operations = Rate()
        self._retries = 0
        self._backoff_seconds = 0.0
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}
        self._stale_at: deque[float] = deque(maxlen=_MANY_STALE)
        self._marks_of_others: dict[str, str] = {}
        self._other_queue: dict[str, Any] | None = None
        self._last_error: dict[str, Any] | None = None
        self._last_done: dict[str, Any] | None = None
        self.last_contact = -math.inf
        """When the target has answered last, by `time.monotonic`, which no setting of the clock moves."""
        self._waiting_since: float | None = None
        self._target_outage = _Outage()
        self._source_outage = _Outage()

    def count(self, what: str, number: int = 1) -> None:
        """Count outcomes, or skipped or parked events."""
        with self._lock:
            if number:
                self._counts[what] = self._counts.get(what, 0) + number

    def finds_newer(self) -> None:
        """An event that the target had not had before was older than the target's state."""
        with self._lock:
            self._stale_at.append(time.time())

    def finds_mark_of_other(self, key: str, mark: str) -> None:
        """A table has the mark of an event that this queue does not know.

        Once is no reason to worry: a dump was loaded, or an older queue wrote it. A second mark on the same table was
        written meanwhile.
        """
        with self._lock:
            before = self._marks_of_others.pop(key, mark)
            self._marks_of_others[key] = mark
            if len(self._marks_of_others) > _OTHERS_KEPT:
                del self._marks_of_others[next(iter(self._marks_of_others))]
            if before != mark:
                self._other_queue = {"table": key, "at": time.time()}

    def retries_in(self, seconds: float) -> None:
        """An operation is to be tried again after so many seconds."""
        with self._lock:
            self._retries += 1
            self._backoff_seconds += seconds

    @property
    def applied(self) -> int:
        """How many operations have changed something at the target."""
        with self._lock:
            return self._counts.get("applied", 0)

    def advanced(self, position: int, at_ms: int) -> None:
        """The target is done up to `position`, an event that came into the queue at `at_ms`."""
        now = time.time()
        self._waiting_since = None
        with self._lock:
            self._last_done = {"position": position, "at": now, "seconds_after": now - at_ms / 1000}

    def waits(self, error: BaseException, attempt: int = 1) -> None:
        """The target is unavailable for an operation, at this attempt of the operation's."""
        self.failed(DrainState.WAITING, str(error))
        if self._target_outage.is_logged(attempt):
            log.warning("target_unavailable", target=self.name, attempt=attempt, reason=str(error))

    def waits_for_source(self, error: BaseException, attempt: int) -> None:
        """The source is unavailable for a refresh, at this attempt of the refresh's."""
        self.failed(DrainState.WAITING, str(error))
        if self._source_outage.is_logged(attempt):
            log.warning("source_unavailable", target=self.name, attempt=attempt, reason=str(error))

    def succeeds(self, *, read_source: bool = False) -> None:
        """The target has answered: it is available, and so is the source if it was read."""
        self.last_contact = time.monotonic()
        self.state = DrainState.RUNNING
        self._waiting_since = None
        if (seconds := self._target_outage.end()) is not None:
            log.info("target_available", target=self.name, seconds=seconds)
        if read_source and (seconds := self._source_outage.end()) is not None:
            log.info("source_available", target=self.name, seconds=seconds)

    def failed(self, state: DrainState, reason: str) -> None:
        """Nothing goes on; `state` is waiting or failing. Whoever sees it sees the reason."""
        self.refused(reason)
        with self._lock:
            self._waiting_since = self._waiting_since or time.time()
            self.state = state

    def refused(self, reason: str) -> None:
        """Remember the last error."""
        with self._lock:
            last = (masked(reason).strip().splitlines() or [""])[-1]
            self._last_error = {"reason": last, "at": time.time()}

    def _contact_time(self) -> float | None:
        """The last contact in seconds since 1970; None: there was none since the start."""
        age = time.monotonic() - self.last_contact
        return None if math.isinf(age) else round(time.time() - age, 3)

    def status(self) -> dict[str, Any]:
        """As in `pysync status --json`."""
        measured = {
            "latency": self.latency.status(time.time()),
            "calls": self.calls.status(),
            "throttle": self.throttle.status(),
            "errors": self.errors.status(),
            "rate": round(self.operations.per_second(), 3),
        }
        with self._lock:
            return {
                "name": self.name,
                "kind": self.kind,
                "state": str(self.state),
                "waiting_since": self._waiting_since if self.state is DrainState.WAITING else None,
                "counts": dict(sorted(self._counts.items())),
                "last_done": self._last_done,
                "last_contact": self._contact_time(),
                "stale_since": self._stale_at[0] if len(self._stale_at) == _MANY_STALE else None,
                "other_queue": self._other_queue,
                "last_error": self._last_error,
                "retries": self._retries,
                "backoff_seconds": round(self._backoff_seconds, 3),
                **measured,
            }
