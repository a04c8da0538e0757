"""Lanes without threads: works are applied in any order that lanes might choose."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from pysync.replay.batch import Job
from pysync.replay.lanes import Apply, Ended, Lane
from pysync.replay.replayer import Replayer
from tests.support.model.target import Crash


class OneLane:
    """All lanes, in the thread of whoever asks what has ended: each time, one of the works begun is applied."""

    def __init__(self, replayer: Replayer, target: Any, order: random.Random, count: int = 100) -> None:
        self.count = count
        self._apply: Apply = replayer._applier.apply
        self._lane, self._order = Lane(lambda: target), order
        self._begun: list[Job] = []

    def __enter__(self) -> OneLane:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin(self, job: Job) -> None:
        self._begun.append(job)

    def ended(self) -> list[Ended]:
        if not self._begun:
            return []
        job = self._begun.pop(self._order.randrange(len(self._begun)))
        try:
            self._apply(self._lane, job)
        except Crash:  # that is no error of a work
            raise
        except Exception as error:
            return [(job, error)]
        return [(job, None)]


def finish(replayer: Replayer, lanes: OneLane) -> None:
    """Until nothing is under way."""
    while replayer.busy:
        replayer.step(lanes, takes=False)


def fly(
    replayer: Replayer,
    lanes: OneLane,
    order: random.Random,
    more: Callable[[], bool],
    before: Callable[[], object] = lambda: None,
) -> None:
    """Take windows while there are `more`, after a call of `before`, and go on with what is under way; in any order."""
    while more():
        before()
        replayer.step(lanes, takes=order.random() < 0.5)
