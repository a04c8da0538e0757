"""Lanes: threads that apply the works of a window, different tables at once, one table in order.

A work that cannot be done takes with it those that had to wait behind it; the others go on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue

from pysync.replay.order import dependencies, holds_back
from pysync.replay.plan import Work
from pysync.targets.base import Target, Unavailable


class Stopped(Exception):
    """A work was left undone, through no fault of its own; so is what waits behind it."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A work that was not done, and why; `error` is None for one that only waits behind another that was refused."""

    work: Work
    error: Exception | None


class Lane:
    """What one thread applies works with: a target of its own, opened when it is first wanted."""

    def __init__(self, open_target: Callable[[], Target]) -> None:
        self._open_target = open_target
        self._target: Target | None = None

    @property
    def target(self) -> Target:
        """The lane's target. Raises Unavailable when it cannot be opened: no operation is to blame for that."""
        if self._target is None:
            try:
                self._target = self._open_target()
            except Unavailable:
                raise
            except Exception as error:
                raise Unavailable(f"the target cannot be opened: {type(error).__name__}: {error}") from error
        return self._target

    def close(self) -> None:
        """Close the target, if it was ever opened."""
        if self._target is not None:
            with suppress(Exception):
                self._target.close()


Apply = Callable[[Lane, Work], None]


class Lanes:
    """`count` threads; a context manager. They are daemons: a target that hangs for ever must not keep us from ending.

    `apply` applies one work with a lane, and raises if it cannot; it is called in several threads at once.
    """

    def __init__(self, count: int, open_target: Callable[[], Target], apply: Apply) -> None:
        self._apply = apply
        self._asked: SimpleQueue[tuple[int, Work] | None] = SimpleQueue()
        self._ended: SimpleQueue[tuple[int, Exception | None]] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, args=(Lane(open_target),), name=f"lane-{number}", daemon=True)
            for number in range(count)
        ]

    def __enter__(self) -> Lanes:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for _thread in self._threads:
            self._asked.put(None)

    def run(self, works: Sequence[Work]) -> list[Failed]:
        """Apply all works; returns those that failed and those that had to wait behind them, in order."""
        schedule = _Schedule(works)
        for index in schedule.ready():
            self._asked.put((index, works[index]))
        while schedule.running:
            for index in schedule.end(*self._ended.get()):
                self._asked.put((index, works[index]))
        return [Failed(works[index], schedule.failed[index]) for index in sorted(schedule.failed)]

    def _run(self, lane: Lane) -> None:
        while (asked := self._asked.get()) is not None:
            index, work = asked
            try:
                self._apply(lane, work)
            except Exception as error:  # noqa: BLE001 - whoever asked decides what it means
                self._ended.put((index, error))
            else:
                self._ended.put((index, None))
        lane.close()


class _Schedule:
    """Which works may begin, as others end."""

    def __init__(self, works: Sequence[Work]) -> None:
        self._works = works
        self._before = dependencies([work.keys for work in works])
        self._after: list[list[int]] = [[] for _ in works]
        for index, earlier in enumerate(self._before):
            for other in earlier:
                self._after[other].append(index)
        self.failed: dict[int, Exception | None] = {}
        self._refused: set[str] = set()  # the keys of those that failed, or that wait behind them
        self._stopped: set[str] = set()  # the keys of those that were stopped, and of those behind them
        self.running = 0

    def ready(self) -> list[int]:
        """The works that wait for nothing."""
        found = [index for index, earlier in enumerate(self._before) if not earlier]
        self.running += len(found)
        return found

    def end(self, index: int, error: Exception | None) -> list[int]:
        """Note that a work has ended; returns those that may begin now."""
        self.running -= 1
        if error is not None:
            self._fail(index, error)
        ready: list[int] = []
        ended = [index]
        while ended:
            for later in self._release(ended.pop()):
                (ended if later in self.failed else ready).append(later)
        self.running += len(ready)
        return ready

    def _release(self, index: int) -> list[int]:
        """The works that nothing else has to come before now; those that must wait behind a failed one fail with it.

        That may be one far before them: those between need not have failed.
        """
        freed = []
        for later in self._after[index]:
            self._before[later].discard(index)
            if not self._before[later]:
                freed.append(later)
                if self._holds_back(self._stopped, later):
                    self._fail(later, Stopped())
                elif self._holds_back(self._refused, later):
                    self._fail(later, None)
        return freed

    def _fail(self, index: int, error: Exception | None) -> None:
        self.failed[index] = error
        keys = self._stopped if isinstance(error, Stopped) else self._refused
        keys |= self._works[index].keys

    def _holds_back(self, keys: set[str], later: int) -> bool:
        """Whether the work must wait; also if it could not tell a database that was not made from one gone since."""
        work = self._works[later]
        return bool(keys) and (holds_back(keys, work.keys) or not work.fleeting.isdisjoint(keys))
