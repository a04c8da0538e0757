"""Curves: lag and throughput of each target over time, in the journal."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.latency import Worst
from pysync.base.text import meant, quoted, shortened, shown
from pysync.journal import DAY_HOURS, MONTH_HOURS, Journal, Reader, Sample, step_of
from pysync.replay.drain import Drain

SAMPLE_SECONDS = 60


class Curves:
    """Samples the targets of `drains` once a minute, and answers with what was sampled.

    `status` answers as `pysync status --json` does.
    """

    def __init__(
        self,
        drains: Mapping[str, Drain],
        status: Callable[[], Mapping[str, Any]],
        journal: Journal,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._drains, self._status, self._clock = drains, status, clock
        self._journal, self._reader = journal, Reader(journal.file)
        self._applied = dict.fromkeys(drains, 0)  # since the start, at the last sample
        self._last: float | None = None

    def sample(self, now: float) -> None:
        """Add a point to each curve if a minute has passed; `now` is seconds since 1970. For one thread."""
        if self._last is None:
            self._last = now
            self._recall()
        # A clock that was set back must not stop the curves.
        if 0 <= now - self._last < SAMPLE_SECONDS:
            return
        self._last = now
        # What goes wrong costs a point; the status shows why.
        with suppress(Exception):
            self._journal.sample([self._sampled(it, now) for it in self._status()["targets"]])

    def history(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The `points` of `target` in the last `hours`, the oldest first: `at`, `lag_seconds`, `applied`, `parked`.

        A point is for the `step_seconds` from `at` on: the greatest lag, and how many operations have changed the
        target. Raises PysyncError for another target or number, and where the journal cannot be read.
        """
        name, hours = str(request.get("target")), _hours(request)
        if name not in self._drains:
            raise PysyncError(f"the sidecar has no target {quoted(name)}", meant(name, self._drains, "its targets"))
        step = step_of(hours)
        points = self._reader.points(name, step, self._clock() - hours * 3600 - step)
        return {"step_seconds": step, "points": [asdict(it) for it in points]}

    def _recall(self) -> None:
        """Have the latencies know again what was slow before the start."""
        for name, drain in self._drains.items():
            with suppress(PysyncError):
                drain.progress.latency.recall(self._reader.slowest(name))

    def _sampled(self, target: Mapping[str, Any], now: float) -> Sample:
        name, applied = target["name"], target["counts"].get("applied", 0)
        before, self._applied[name] = self._applied[name], applied
        slowest = tuple(Worst(**it) for it in target["latency"]["worst"])
        return Sample(name, now, target["lag_seconds"], applied - before, target["parked"], slowest)


def _hours(request: Mapping[str, Any]) -> int:
    hours = request.get("hours", DAY_HOURS)
    if type(hours) is not int or not 1 <= hours <= MONTH_HOURS:  # not isinstance: true is an int, too
        raise PysyncError(f"hours must be a whole number from 1 to {MONTH_HOURS}, not {shortened(shown(hours), 80)}")
    return hours
