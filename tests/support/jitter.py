"""Jitter: seeded delays where threads meet, so that races in pysync and in its tests show (docs/testing.md).

Threads that a test starts wait now and then before and after a commit to SQLite, an operation of an Event, a
Condition, a SimpleQueue or a lock of pysync, and before they begin. A queue.Queue is made of Conditions.
"""

from __future__ import annotations

import queue
import random
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import pytest

_LONG_SECONDS = 0.05
_SHORT_SECONDS = 0.003
_LONG, _SHORT = 0.02, 0.3
"""How often a delay is a long one, or up to a short one; else there is none."""

_METHODS = (
    (threading.Event, ("set", "wait")),
    (threading.Condition, ("__enter__", "wait", "notify")),
)


class Jitter:
    """The delays of one seed. A thread's depend on nothing else but its name and the test that runs as it begins."""

    def __init__(self, seed: int, sleep: Callable[[float], object] = time.sleep) -> None:
        self.test = ""
        self._seed, self._sleep = seed, sleep
        self._undelayed: set[int | None] = set()
        self._local = threading.local()

    def delay(self) -> None:
        """Make the calling thread wait, or not; never one that was there before."""
        # Not current_thread, which would register a thread that just begins under another name.
        thread = threading._active.get(threading.get_ident())  # type: ignore[attr-defined]
        if thread is not None and thread.ident not in self._undelayed and (seconds := self._next(thread.name)):
            self._sleep(seconds)

    def _next(self, name: str) -> float:
        if not hasattr(self._local, "numbers"):
            self._local.numbers = random.Random(f"{self._seed} {self.test} {name}")
        numbers = self._local.numbers
        chance, share = numbers.random(), numbers.random()
        return _LONG_SECONDS if chance < _LONG else share * _SHORT_SECONDS if chance < _LONG + _SHORT else 0.0

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Within this block threads are delayed: at locks, queues and connections that were made in it, too."""
        self._undelayed = {thread.ident for thread in threading.enumerate()}
        with pytest.MonkeyPatch.context() as patch:
            for owner, names in _METHODS:
                for name in names:
                    patch.setattr(owner, name, self._around(getattr(owner, name)))
            run = threading.Thread.run
            patch.setattr(threading.Thread, "run", lambda thread: (self.delay(), run(thread))[1])
            for name in ("Lock", "RLock"):
                patch.setattr(threading, name, self._locks(getattr(threading, name)))
            for module in [queue, *(it for name, it in sys.modules.items() if name.startswith("pysync."))]:
                if hasattr(module, "SimpleQueue"):
                    patch.setattr(module, "SimpleQueue", self._simple_queue())
            patch.setattr(sqlite3, "connect", self._connect(sqlite3.connect))
            yield

    def _around(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def delayed(*args: Any, **more: Any) -> Any:
            self.delay()
            try:
                return method(*args, **more)
            finally:
                self.delay()

        return delayed

    def _locks(self, make: Callable[[], Any]) -> Callable[[], Any]:
        def made() -> Any:
            of_pysync = sys._getframe(1).f_globals["__name__"].startswith("pysync.")
            return _Lock(make(), self.delay) if of_pysync else make()  # others are many, and say nothing about pysync

        return made

    def _simple_queue(self) -> type:
        methods = {name: self._around(getattr(queue.SimpleQueue, name)) for name in ("put", "get")}
        return type("SimpleQueue", (queue.SimpleQueue,), methods)

    def _connect(self, connect: Callable[..., Any]) -> Callable[..., Any]:
        execute = self._around(sqlite3.Connection.execute)

        class Connection(sqlite3.Connection):
            def execute(self, sql: str, *more: Any) -> Any:
                return execute(self, sql, *more) if sql == "COMMIT" else super().execute(sql, *more)

        return lambda *args, **more: connect(*args, **{"factory": Connection, **more})

    # --- as a plugin of pytest

    def pytest_report_header(self) -> str:
        return f"jitter: seed {self._seed}"

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.test = nodeid

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Iterator[None]:
        with self.installed():
            return (yield)


class _Lock:
    """A lock, with a delay before it is taken and after it is free again."""

    def __init__(self, lock: Any, delay: Callable[[], None]) -> None:
        self._lock, self._delay = lock, delay

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        self._delay()
        return self._lock.acquire(blocking, timeout)

    def release(self) -> None:
        self._lock.release()
        self._delay()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)
