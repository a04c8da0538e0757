"""Verifying: comparisons with the targets of a configuration; in the sidecar by itself, every so often.

In the sidecar lag must not be taken for drift. A target is compared once it has caught up and no listener has anything
left to deliver. What differs then is looked at again some seconds later, once the target has caught up again. Only what
still differs in the same way is drift: whatever was under way at the first look has come by the second.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from pysync.base.errors import PysyncError
from pysync.base.text import shortened
from pysync.capture.overlaps import CLOSE_SECONDS
from pysync.config import Config
from pysync.metastore.client import Metastore
from pysync.metastore.source import known
from pysync.queue import EventQueue, note_of
from pysync.replay.drain import Drain
from pysync.replay.progress import DrainState
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings
from pysync.verify.compare import ComparedObject, Comparison, Selection
from pysync.verify.findings import MORE
from pysync.verify.report import by_database, difference, numbers_of
from pysync.worker import Finished, Worker

MOST_NAMES = 20
"""How many drifted objects the status names."""
MOST_KEPT = 200
"""Of how many objects that differ the fields are kept, for the page."""
MOST_DATABASES = 2000
"""Of how many databases it is kept how many objects were compared."""

_LONGEST_FIELD = 300  # characters of a line about one

_EVERY_SECONDS = 1.0
_RETRY_SECONDS = 60.0
_CATCH_UP_SECONDS = 600.0
_FIRST_SECONDS = 3600.0
"""A target is compared for the first time after so long at most: a new one has just been compared."""

log = structlog.get_logger(__name__)


def comparison(config: Config, settings: TargetSettings, **options: Any) -> Comparison:
    """The Comparison of the configuration's source with a target; `options` are its own. Raises UsageError."""
    access = known(config.source_access())
    opened = partial(target_kind(settings.kind).open, settings)
    return Comparison(partial(Metastore, access), opened, settings, config.source.name, **options)


@dataclass(frozen=True, slots=True)
class ComparisonSummary:
    """A comparison of a whole target: when, in seconds since 1970, the `numbers` of objects by database, and which were
    `unequal`, by their names at the source.
    """

    began_at: float
    ended_at: float
    numbers: Mapping[str, int]
    unequal: Sequence[str]


class Verifier:
    """The worker that compares one target with the source, if `[verify] every` says so.

    `tables_per_second` is its pace; `is_settled` says whether no listener has anything left to send. What it found
    last is kept in the queue's file. `ask` has it compare once, whatever the settings say; `compare_again`
    has it look again at what a comparison by the command line found unequal, and keep the result as its own.
    """

    def __init__(
        self,
        config: Config,
        queue: EventQueue,
        drain: Drain,
        is_settled: Callable[[], bool],
        *,
        tables_per_second: float,
    ) -> None:
        self._config = config
        self._queue = queue
        self._drain = drain
        self._is_settled = is_settled
        self._pace = 1 / tables_per_second
        self._note_key = note_of(drain.name, "verify")
        self._note = note_of(drain.name, "verified")
        self._lock = threading.Lock()
        self._requests = 0  # how often somebody has asked for a comparison
        self._answered = 0  # how many of these are done
        self._reported: ComparisonSummary | None = None  # by the command line, until that is compared again
        self._first_at = time.monotonic() + min(config.verify.every, _FIRST_SECONDS)
        self.worker = Worker(f"verify-{drain.name}", self._turn, every=_EVERY_SECONDS, retry=_RETRY_SECONDS)

    def start(self) -> None:
        """Begin, where the settings say so; waits for nothing."""
        if self._config.verify.every and self._config.source.metastore is not None:
            self._begin()

    def ask(self) -> None:
        """Have it compare as soon as the target is at rest. Raises PysyncError where the source is not known."""
        known(self._config.source.metastore)
        with self._lock:
            self._requests += 1
        self._begin()

    def compare_again(self, summary: ComparisonSummary) -> None:
        """Have it look again at what was not equal, as soon as the target is at rest. Raises PysyncError as `ask`."""
        known(self._config.source.metastore)
        with self._lock:
            self._reported = summary
        self._begin()

    def last_result(self) -> dict[str, Any]:
        """What was found last, with counts by database and the differences, as far as they are kept; docs/verify.md."""
        stored = self._queue.notes.get(self._note)
        return {"target": self._drain.name, **(self.status() or {}), **json.loads(stored or "{}")}

    def status(self) -> dict[str, Any] | None:
        """What was found last, as in `pysync status --json`; None if nothing was compared yet."""
        result: dict[str, Any] | None = json.loads(self._queue.notes.get(self._note_key) or "null")
        return result

    def _begin(self) -> None:
        with self._lock:
            if not self.worker.started:
                self.worker.start()

    def _turn(self) -> None:
        if self._is_due() and self._is_at_rest():
            requested, reported = self._requests, self._reported  # who asks from now on wants another look
            if reported is not None and requested == self._answered:
                self._store(reported, self._compared(Selection.named(reported.unequal)) if reported.unequal else [])
            else:
                began, compared = time.time(), self._compared(None)
                self._store(ComparisonSummary(began, time.time(), numbers_of(compared), ()), compared)
            self._answered = requested
            with self._lock:
                self._reported = None if self._reported is reported else self._reported
            self.worker.succeeded()

    def _is_due(self) -> bool:
        every = self._config.verify.every
        is_wanted = self._requests > self._answered or self._reported is not None
        if is_wanted or not every:
            return is_wanted
        last = self.status()
        if last is None:
            return time.monotonic() >= self._first_at
        # By the wall clock, as it may have been before a restart; what lies ahead was before the clock was set back.
        return not 0 <= time.time() - last["began_at"] < every

    def _store(self, summary: ComparisonSummary, first: Sequence[ComparedObject]) -> None:
        """Look again at what differs in `first`, and keep what has been found."""
        again = self._compare_again([item for item in first if item.drift])
        drift = persisting(first, again)
        names = [f"{item.kind} {item.name}" for item in drift][:MOST_NAMES]
        objects = sum(summary.numbers.values())
        result = {
            "began_at": summary.began_at,
            "ended_at": summary.ended_at,
            "objects": objects,
            "drift": len(drift),
            "names": names,
        }
        # The details first: a crash in between leaves counts that are older than the details, and no other mix.
        self._queue.notes.put(self._note, json.dumps(stored_result(summary.numbers, first, drift)))
        self._queue.notes.put(self._note_key, json.dumps(result))
        if drift:
            log.warning("drift_found", target=self._drain.name, objects=objects, drift=len(drift), names=names)
        else:
            log.info("target_verified", target=self._drain.name, objects=objects)

    def _compared(self, selection: Selection | None) -> Sequence[ComparedObject]:
        paced = comparison(self._config, self._drain.settings, threads=1, keep_pace=partial(self._wait, self._pace))
        return list(paced.run(selection))

    def _compare_again(self, drift: Sequence[ComparedObject]) -> Sequence[ComparedObject]:
        """Compare what differs once more, some seconds later, as a callback may lag behind its commit.

        Raises PysyncError if the target takes too long to catch up.
        """
        if not drift:
            return []
        self._wait(CLOSE_SECONDS)
        until = time.monotonic() + _CATCH_UP_SECONDS
        while not self._is_at_rest():
            if time.monotonic() > until:
                raise PysyncError(f"target {self._drain.name!r} does not catch up, so what differs may be only late")
            self._wait(_EVERY_SECONDS)
        return self._compared(Selection.of(drift))

    def _is_at_rest(self) -> bool:
        """Whether the target has everything that the source has sent, and the source has sent everything."""
        drain = self._drain
        running = drain.progress.state is DrainState.RUNNING and drain.paused() is None
        # An open gap: changes may be missing for which there is no event.
        behind = self._queue.target(drain.name).depth().queued or any(
            gap.upto is None and gap.target in {None, drain.name} for gap in self._queue.gaps.unclosed()
        )
        return running and not behind and self._is_settled()

    def _wait(self, seconds: float) -> None:
        if self.worker.stopping.wait(seconds):
            raise Finished


def stored_result(
    numbers: Mapping[str, int], compared: Sequence[ComparedObject], drift: Sequence[ComparedObject]
) -> dict[str, Any]:
    """What is kept beside the status: `databases` and `differences`, both bounded; what is in `drift` has drifted."""
    databases = sorted(by_database(numbers, drift), key=lambda it: -it["drift"])
    notes = [item for item in compared if item.excuse]
    differences = [difference(item) for item in [*drift, *notes][:MOST_KEPT]]
    for it in differences:
        it["fields"] = [shortened(line, _LONGEST_FIELD) for line in it["fields"]]
    return {"databases": databases[:MOST_DATABASES], "differences": differences}


def persisting(first: Sequence[ComparedObject], again: Sequence[ComparedObject]) -> list[ComparedObject]:
    """What has drifted at both looks in the same way: missing or extra both times, or with a difference in common."""
    before = {(item.kind, item.name): item for item in first if item.drift}
    pairs = [(before.get((item.kind, item.name)), item) for item in again if item.drift]
    return [item for old, item in pairs if old is not None and _is_same_drift(old, item)]


def _is_same_drift(old: ComparedObject, new: ComparedObject) -> bool:
    # The line that counts further differences is no difference itself.
    common = {field for field in old.fields if not field.startswith(MORE)} & set(new.fields)
    return old.result == new.result and (not new.fields or bool(common))
