"""Lanes: threads that apply works, each with a target of its own. The scheduler decides which work may begin."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Protocol

from pysync.model.difference import Difference
from pysync.replay.batch import Job
from pysync.targets.base import Target, Unavailable


class Stopped(Exception):
    """A work was not finished because the drain stops; the work is not at fault."""


class Again(Exception):
    """A work is to be tried again after `seconds`; no lane waits for it.

    `forbidden`: the target may deny access to this work only.
    """

    def __init__(self, seconds: float, *, forbidden: bool = False) -> None:
        super().__init__(seconds)
        self.seconds = seconds
        self.forbidden = forbidden


class Lane:
    """What one thread applies works with: its own target, opened when it is first needed."""

    def __init__(self, open_target: Callable[[], Target]) -> None:
        self._open_target = open_target
        self._target: Target | None = None
        self._take: Callable[[], Sequence[Difference]] = tuple

    @property
    def target(self) -> Target:
        """The lane's target. Raises Unavailable if it cannot be opened: no operation is at fault for that."""
        if self._target is None:
            try:
                self._target = self._open_target()
                # A kind need not report them (see ReportsChanges).
                self._take = getattr(self._target, "take_differences", tuple)
            except Unavailable:
                raise
            except Exception as error:
                raise Unavailable(f"cannot open the target: {type(error).__name__}: {error}") from error
        return self._target

    def changes(self) -> Sequence[Difference]:
        """What operations have changed at the target since the last call, as far as its kind shows."""
        return self._take()

    def close(self) -> None:
        """Close the target, if it was ever opened."""
        if self._target is not None:
            with suppress(Exception):
                self._target.close()


Apply = Callable[[Lane, Job], None]
"""Applies one work with a lane, and raises if it cannot; it is called in several threads at once."""
Ended = tuple[Job, Exception | None]


class Lanes(Protocol):
    """Where works are applied; a context manager."""

    count: int

    def begin(self, job: Job) -> None:
        """Have a work applied when a lane is free."""

    def ended(self) -> list[Ended]:
        """The works that have ended since the last call, with what they raised; does not wait."""

    def __enter__(self) -> Lanes: ...

    def __exit__(self, *_: object) -> None: ...


OpenLanes = Callable[[int, Callable[[], Target], Apply, Callable[[], object]], Lanes]
"""Lanes, given their number, how to open a target, how to apply a work, and what to call whenever one has ended."""


class Threads:
    """Lanes that are threads. They are daemons: a target that hangs for ever must not keep the process alive."""

    def __init__(
        self, count: int, open_target: Callable[[], Target], apply: Apply, wake: Callable[[], object] = lambda: None
    ) -> None:
        self.count = count
        self._apply = apply
        self._wake = wake
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._ended: SimpleQueue[Ended] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, args=(Lane(open_target),), name=f"lane-{number}", daemon=True)
            for number in range(count)
        ]

    def __enter__(self) -> Threads:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Not joined, for the same reason: a lane may hang in its target.
        for _thread in self._threads:
            self._jobs.put(None)

    def begin(self, job: Job) -> None:
        """Have a work applied when a lane is free."""
        self._jobs.put(job)

    def ended(self) -> list[Ended]:
        """The works that have ended since the last call, with what they raised; does not wait."""
        ended: list[Ended] = []
        with suppress(Empty):
            while True:
                ended.append(self._ended.get_nowait())
        return ended

    def _run(self, lane: Lane) -> None:
        while (job := self._jobs.get()) is not None:
            error: Exception | None = None
            try:
                self._apply(lane, job)
            except Exception as caught:  # noqa: BLE001 - whoever asked decides what it means
                error = caught
            self._ended.put((job, error))
            self._wake()
        lane.close()
