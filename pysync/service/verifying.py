"""Verifying: comparisons with the targets of a configuration; in the sidecar by itself, every so often.

There lag must not be taken for drift. A target is compared once it has caught up with a source whose listeners have
nothing left to tell; what differs then is looked at again some seconds later, when it has caught up again. Only what
differs in the same way is drift: whatever was under way at the first look has come by the second.
"""

from __future__ import annotations

import json
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import structlog

from pysync.capture.overlaps import CLOSE_SECONDS
from pysync.config import Config
from pysync.errors import PysyncError, UsageError
from pysync.metastore.client import Metastore
from pysync.queue import EventQueue, QueueClosed
from pysync.replay.drain import Drain
from pysync.replay.progress import State
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings
from pysync.verify.compare import Compared, Comparison, Selection
from pysync.verify.found import MORE

MOST_NAMES = 20
"""How many drifted objects the status names."""

_LOOK_SECONDS = 1.0
_STOP_SECONDS = 1.0
_RETRY_SECONDS = 60.0
_CATCH_UP_SECONDS = 600.0

log = structlog.get_logger(__name__)


class _Ended(Exception):
    """The sidecar stops in the middle of a comparison."""


def comparison(config: Config, settings: TargetSettings, **options: Any) -> Comparison:
    """Of the configuration's source with one of its targets; `options` are Comparison's. Raises UsageError."""
    access = config.source.access()
    if access is None:
        raise UsageError("the source's address is not known", "set [source] metastore")
    opened = partial(target_kind(settings.kind).open, settings)
    return Comparison(partial(Metastore, access), opened, settings, config.source.name, **options)


class Verifier:
    """The thread that compares each target with the source, if `[verify] every` says so.

    `is_settled` tells whether no listener has anything left to tell. What it found last is kept in the queue's file.
    """

    def __init__(
        self, config: Config, queue: EventQueue, drains: Sequence[Drain], is_settled: Callable[[], bool]
    ) -> None:
        self._config = config
        self._queue = queue
        self._drains = drains
        self._is_settled = is_settled
        self._stop = threading.Event()
        self._retry_at = dict.fromkeys((drain.name for drain in drains), 0.0)
        self._thread = threading.Thread(target=self._run, name="verifier", daemon=True)

    def start(self) -> None:
        """Begin, where the settings say so; waits for nothing."""
        if self._config.verify.seconds is not None and self._config.source.metastore is not None:
            self._thread.start()

    def stop(self) -> None:
        """End, in the middle of a comparison if need be: it is begun anew after the next start."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(_STOP_SECONDS)

    def status(self, target: str) -> dict[str, Any] | None:
        """What was found last, as in `pysync status --json`; None if nothing was compared yet."""
        found: dict[str, Any] | None = json.loads(self._queue.noted(f"verify:{target}") or "null")
        return found

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            for drain in self._drains:
                try:
                    self._turn(drain)
                except (QueueClosed, _Ended):
                    return
                except PysyncError as error:
                    self._put_off(drain)
                    log.error("verification_delayed", target=drain.name, reason=str(error))
                except Exception:  # noqa: BLE001 - the thread must not die silently
                    self._put_off(drain)
                    log.error("verification_failed", target=drain.name, traceback=traceback.format_exc())

    def _put_off(self, drain: Drain) -> None:
        self._retry_at[drain.name] = time.monotonic() + _RETRY_SECONDS

    def _turn(self, drain: Drain) -> None:
        last = self.status(drain.name)
        due = (last["began_at"] if last else 0.0) + (self._config.verify.seconds or 0.0)
        if time.time() < due or time.monotonic() < self._retry_at[drain.name] or not self._is_at_rest(drain):
            return
        began = time.time()
        first = list(self._compared(drain, None))
        again = self._look_again(drain, [item for item in first if item.drift])
        drift = persisting(first, again)
        names = [f"{item.kind} {item.name}" for item in drift]
        found = {"began_at": began, "ended_at": time.time(), "objects": len(first)}
        self._queue.note(
            f"verify:{drain.name}", json.dumps({**found, "drift": len(drift), "names": names[:MOST_NAMES]})
        )
        tell = log.warning if drift else log.info
        tell("verified", target=drain.name, objects=len(first), drift=len(drift), names=names[:MOST_NAMES])

    def _compared(self, drain: Drain, selection: Selection | None) -> Sequence[Compared]:
        return list(comparison(self._config, drain.settings, threads=1, keep_pace=self._keep_pace).run(selection))

    def _look_again(self, drain: Drain, drift: Sequence[Compared]) -> Sequence[Compared]:
        """Some seconds later, as a callback may lag behind its commit. Raises PysyncError if it takes too long."""
        if not drift:
            return []
        self._wait(CLOSE_SECONDS)
        until = time.monotonic() + _CATCH_UP_SECONDS
        while not self._is_at_rest(drain):
            if time.monotonic() > until:
                raise PysyncError(f"target {drain.name!r} does not catch up: what is lag and what drift is not known")
            self._wait(_LOOK_SECONDS)
        return self._compared(drain, Selection.of(drift))

    def _is_at_rest(self, drain: Drain) -> bool:
        """Whether the target has everything that the source has told, and the source has told everything."""
        running = drain.progress.state is State.RUNNING and drain.paused() is None
        behind = self._queue.depth(drain.name).queued or any(gap.upto is None for gap in self._queue.open_gaps())
        return running and not behind and self._is_settled()

    def _keep_pace(self) -> None:
        self._wait(1 / self._config.verify.tables_per_second)

    def _wait(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise _Ended


def persisting(first: Sequence[Compared], again: Sequence[Compared]) -> list[Compared]:
    """What has drifted at both looks in the same way: missing or extra both times, or with a difference in common."""
    before = {(item.kind, item.name): item for item in first if item.drift}
    pairs = [(before.get((item.kind, item.name)), item) for item in again if item.drift]
    return [item for old, item in pairs if old is not None and _is_same_drift(old, item)]


def _is_same_drift(old: Compared, new: Compared) -> bool:
    common = {field for field in old.fields if not field.startswith(MORE)} & set(new.fields)
    return old.result == new.result and (not new.fields or bool(common))
