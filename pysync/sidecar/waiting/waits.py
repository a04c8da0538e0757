"""Waits: the waits that are under way, for the commands `wait` and `wait end` of the control socket."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import structlog

from pysync.base.errors import PysyncError, UsageError
from pysync.base.text import meant, quoted, shortened, shown
from pysync.model.names import normalized
from pysync.queue import EventQueue
from pysync.replay.drain import Drain
from pysync.sidecar.waiting.capture import Capture
from pysync.sidecar.waiting.consistent import Consistent
from pysync.sidecar.waiting.existence import assert_known
from pysync.sidecar.waiting.upto import Upto
from pysync.sidecar.waiting.verdict import THERE, WAITS, WaitVerdict
from pysync.sidecar.why.ends import EndsReader

ANSWER_SECONDS = 4.0
"""A request is answered after so long at the latest; whoever waits asks again."""
_EVERY_SECONDS = 0.1
_FORGET_SECONDS = 60.0
"""Nobody has asked for so long: nobody waits any more."""
_MOST = 200
_LONGEST_PIN = 3600.0
_PIN = 60.0

Request = Mapping[str, Any]

log = structlog.get_logger(__name__)


class _Looked(Protocol):
    def verdict(self) -> WaitVerdict: ...

    def end(self) -> bool: ...


@dataclass(slots=True)
class _Wait:
    of: _Looked
    target: str
    name: str
    asked_at: float
    keep: float
    lock: threading.Lock = field(default_factory=threading.Lock)


class Waits:
    """All waits of one sidecar, from any thread. `clock` returns seconds that only grow."""

    def __init__(
        self,
        queue: EventQueue,
        drains: Mapping[str, Drain],
        capture: Capture,
        ends: EndsReader,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ends = ends
        self._queue = queue
        self._drains = drains
        self._capture = capture
        self._clock = clock
        self._waits: dict[str, _Wait] = {}
        self._lock = threading.Lock()

    def ask(self, request: Request) -> dict[str, Any]:
        """Begin a wait, or go on with the one named by `wait`; answers when it is over, or after some seconds.

        `within` may ask for an answer sooner. A wait that is not known any more (the sidecar was restarted) is begun
        again: that is later, and so right.
        """
        name, wait = self._wait_of(request)
        within = request.get("within")
        until = self._clock() + (min(within, ANSWER_SECONDS) if isinstance(within, (int, float)) else ANSWER_SECONDS)
        with wait.lock:
            while (verdict := wait.of.verdict()).state == WAITS and self._clock() < until:
                time.sleep(_EVERY_SECONDS)
        wait.asked_at = self._clock()
        if verdict.state != WAITS and "pinned_seconds" not in verdict.more:
            self._drop(name)
        elif verdict.state == THERE:
            log.info("database_pinned", target=wait.target, database=wait.name, position=verdict.position)
        return {"wait": name, **verdict.as_json()}

    def end(self, request: Request) -> dict[str, Any]:
        """End a wait; `pinned` is whether its database was pinned until now."""
        return {"pinned": self._drop(str(request.get("wait")))}

    def _wait_of(self, request: Request) -> tuple[str, _Wait]:
        self._forget()
        with self._lock:
            known = self._waits.get(str(request.get("wait")))
        if known is not None:
            return str(request["wait"]), known
        name, wait = uuid.uuid4().hex, self._new(request)
        with self._lock:
            if len(self._waits) >= _MOST:
                raise PysyncError(f"{_MOST} waits are under way already", "end some of them")
            self._waits[name] = wait
        return name, wait

    def _new(self, request: Request) -> _Wait:
        target, name = str(request.get("target")), name_of(request.get("object"))
        if target not in self._drains:
            raise UsageError(f"the sidecar has no target {quoted(target)}", meant(target, self._drains, "its targets"))
        assert_known(self._ends, [self._drains[target]], name)
        parts = self._drains[target], self._queue, self._capture, self._ends
        seconds = _seconds(request.get("pin")) if request.get("consistent") else 0.0
        if seconds:
            wait: _Looked = Consistent(*parts, name=name, seconds=seconds)
        else:
            wait = Upto(*parts, name=name, event_id=_event_id(request.get("event_id")))
        return _Wait(wait, target, name, self._clock(), _FORGET_SECONDS + seconds)

    def _forget(self) -> None:
        now = self._clock()
        with self._lock:
            old = [name for name, it in self._waits.items() if now - it.asked_at > it.keep]
        for name in old:
            self._drop(name)

    def _drop(self, name: str) -> bool:
        with self._lock:
            wait = self._waits.pop(name, None)
        if wait is None:
            return False
        with wait.lock:
            pinned = wait.of.end()
        if isinstance(wait.of, Consistent):
            log.info("database_released", target=wait.target, database=wait.name, pinned=pinned)
        return pinned


def name_of(value: object) -> str:
    """The name of a database or table, as Hive stores it. Raises UsageError for anything else."""
    text = normalized(value) if isinstance(value, str) else ""
    if not text or text.count(".") > 1 or not all(text.split(".")):
        raise UsageError(
            f"{shortened(shown(value), 80)} is not the name of a database or table", "write db or db.table"
        )
    return text


def _event_id(value: object) -> int | None:
    # JSON's true is an int in Python.
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise UsageError(f"{shortened(shown(value), 80)} is not an event id", "write a whole number")
    return value


def _seconds(value: object) -> float:
    if value is None:
        return _PIN
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= _LONGEST_PIN:
        raise UsageError(f"{shortened(shown(value), 80)} is no time to pin a database", f"write 1 to {_LONGEST_PIN:g}")
    return float(value)
