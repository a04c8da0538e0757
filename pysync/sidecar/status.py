"""Status: what the sidecar reports of itself. Its form is a promise: docs/status.md."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from pysync import __version__
from pysync.base.health import problems
from pysync.capture.clocks import Clocks
from pysync.capture.roll import Roll
from pysync.config import Config
from pysync.journal import Journal
from pysync.model.event import SIDECAR
from pysync.queue import EventQueue, Gap, History, Instance
from pysync.replay.drain import Drain
from pysync.sidecar.held import brake_status
from pysync.sidecar.lag import Lags
from pysync.worker import Worker

_AT_WORK = frozenset({"running", "shadow"})


def sidecar_status(
    config: Config,
    started: float,
    queue: EventQueue,
    capture: Mapping[str, Any],
    drains: Sequence[Drain],
    *,
    roll: Roll,
    clocks: Clocks,
    lags: Lags,
    workers: Sequence[Worker],
    credentials: Sequence[Mapping[str, Any]],
    journal: Journal,
    file: Mapping[str, Any] | None,
    of_targets: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """The whole status as JSON values; times are seconds since 1970.

    `capture` says how events come in, of bootstraps, copies and receivers of webhooks. `file` says how
    pysync.toml differs from what runs, None for a one-off job; `of_targets` what others know of each target: the last
    change of its scope, the last comparison, the last resync of each trigger, how old its snapshots are.
    """
    now = time.time()
    disabled = [drain.name for drain in drains if not drain.settings.enabled]
    instances = queue.intake.instances()
    offsets = clocks.offset
    listeners = [{**it, "clock_offset_seconds": _rounded(offsets(it["instance"]))} for it in roll.status(instances)]
    # What waits in a spool is missing at every target, whatever the queue says.
    spooled = min((it["waiting_since"] for it in listeners if it["waiting_since"] is not None), default=now)
    status = {
        "version": __version__,
        "source": config.source.name,
        "pid": os.getpid(),
        "started_at": started,
        "config": None if file is None else dict(file),
        **capture,
        "listeners": listeners,
        "no_listener_since": roll.empty_since(),
        "credentials": list(credentials),
        "queue": _queue(config, queue),
        "journal": journal.status(),
        "workers": [worker.status() for worker in workers],
        "acts": [_act(act) for act in queue.notes.acts()],
        "gaps": [_gap(gap, disabled) for gap in queue.gaps.latest()],
        "instances": [_instance(it) for it in instances if it.instance != SIDECAR],
        "targets": [
            {
                **_target(drain, queue),
                "lag_seconds": round(max(lags.seconds(drain.name, now), now - spooled), 3),
                **of_targets[drain.name],
            }
            for drain in drains
        ],
    }
    wrong = problems(status, config.status_grace, now)
    return {"well": not wrong, "problems": [it.as_json() for it in wrong], **status}


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def _queue(config: Config, queue: EventQueue) -> dict[str, Any]:
    return {
        "directory": str(config.queue.directory),
        "epoch": queue.epoch,
        "events": queue.size,
        "history": _history(config, queue.history()),
        "free_bytes": queue.room.free_bytes(),
        "min_free_bytes": queue.room.min_free_bytes,
        "unreadable": len(queue.intake.unreadable()),
    }


def _history(config: Config, history: History) -> dict[str, Any]:
    return {
        "retain_seconds": config.queue.retain,
        "max_bytes": config.queue.retain_mb * 1024 * 1024,
        "events": history.events,
        "bytes": history.size,
        "oldest_at": None if history.oldest_ms is None else history.oldest_ms / 1000,
    }


def _instance(instance: Instance) -> dict[str, Any]:
    return {
        "instance": instance.instance,
        "source": instance.source,
        "received": instance.received,
        "highest": instance.highest,
        "missing": [list(interval) for interval in instance.missing],
        "last_at": instance.last_at_ms / 1000,
    }


def _gap(gap: Gap, disabled: Sequence[str]) -> dict[str, Any]:
    """`open`: not all is queued that makes it good; `closing`: the targets are not done with that; `closed`.

    One that concerns only a `disabled` target waits for that target.
    """
    waits = gap.upto or gap.target in disabled
    state = "closed" if gap.closed_at_ms else "closing" if waits else "open"
    closed_at = gap.closed_at_ms / 1000 if gap.closed_at_ms else None
    return {
        "reason": gap.reason,
        "target": gap.target,
        "state": state,
        "upto": gap.upto,
        "found_at": gap.found_at_ms / 1000,
        "closed_at": closed_at,
    }


def _act(act: Mapping[str, Any]) -> dict[str, Any]:
    """What was done to a target by hand: all that was put on record, with its time in seconds."""
    return {**{key: value for key, value in act.items() if key != "at_ms"}, "at": act["at_ms"] / 1000}


def _target(drain: Drain, queue: EventQueue) -> dict[str, Any]:
    target = queue.target(drain.name)
    progress, parked = drain.progress.status(), target.parked.count()
    error, pause = progress["last_error"], drain.paused()
    return {
        **progress,
        "last_error": error and {**error, "over": progress["state"] in _AT_WORK and not parked},
        "paused": pause and {"reason": pause.reason, "at": pause.at_ms / 1000},
        "brake": brake_status(drain),
        "kept": len(drain.brake.kept()),
        "position": target.position(),
        "queued": target.depth().queued,
        "parked": parked,
        "parked_by_brake": target.parked.held(),
        "pinned": drain.pins.databases(),
    }
