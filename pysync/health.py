"""The verdict: whether all is as it should be, and what is not, a line each, made of the status. Pure.

`pysync status` ends with 1 where there is a line, `/health` answers 503, and `pysync_well` is 0: they cannot differ.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pysync.text import count, duration

REFUSED_SECONDS = 60.0
"""A listener that is locked out tries every other second; a refusal that is older is over."""

_MIB = 1024 * 1024
_ILL = frozenset({"failing", "stopped"})

Status = Mapping[str, Any]


def problems(status: Status, grace: float, now: float | None = None) -> list[str]:
    """What somebody has to look at, at the time `now` in seconds since 1970 (not given: now). None: all is well.

    `grace` is how many seconds a target or listener may wait for what comes back by itself.
    """
    now = time.time() if now is None else now
    return [
        *failing(status),
        *_full(status["queue"]),
        *_waiting("worker", _not_told_of_targets(status, grace, now), grace, now),
        *listening(status, grace, now),
        *_gaps(status),
        *_targets(status),
        *_waiting("target", status["targets"], grace, now),
    ]


def of_target(problems: Sequence[str], name: str) -> list[str]:
    """Return those of the `problems` that are about one target, or about its workers."""
    workers = tuple(f"worker {part}-{name} " for part in ("drain", "scope", "verify"))
    return [line for line in problems if line.startswith((f"target {name} ", *workers))]


def failing(status: Status) -> list[str]:
    """The workers that fail again and again, or have ended: a new start may help, and nothing else here does."""
    return [f"worker {it['name']} is {it['state']}{_why(it)}" for it in status["workers"] if it["state"] in _ILL]


def _full(queue: Status) -> Iterator[str]:
    if queue["free_bytes"] <= queue["min_free_bytes"]:
        left, floor = queue["free_bytes"] // _MIB, queue["min_free_bytes"] // _MIB
        yield f"the queue takes no events: {left} MiB are free on its disk, [queue] min_free_mb is {floor}"


def _not_told_of_targets(status: Status, grace: float, now: float) -> list[Status]:
    """The workers without the drains of targets that wait so long themselves: that is told once."""
    told = {f"drain-{it['name']}" for it in status["targets"] if _is_late(it, grace, now)}
    return [it for it in status["workers"] if it["name"] not in told]


def listening(status: Status, grace: float, now: float | None = None) -> list[str]:
    """What keeps changes of the source from coming in."""
    now = time.time() if now is None else now
    bridge, since = status["bridge"], status["no_listener_since"]
    found = [line for it in status["listeners"] if (line := _listener(it, grace, now))]
    # Without a bridge the notification log is polled, and no listener is expected.
    if bridge is not None and since is not None and now - since > grace:
        found.append(
            f"no listener has reported for {duration(now - since)}: is it in hive-site.xml (pysync hive-site)?"
        )
    if bridge is not None and now - (bridge["refused_last_at"] or 0) < REFUSED_SECONDS:
        found.append(
            f"the bridge refuses a caller, {count(bridge['refused_connections'], 'time')} so far: if it is a listener, "
            "it has another token than this sidecar"
        )
    return found


def _listener(listener: Status, grace: float, now: float) -> str:
    name = f"listener {listener['instance']} of {listener['source']}"
    if listener["state"] == "silent":
        at = listener["heard_at"]
        heard = "since the sidecar started" if at is None else f"for {duration(now - at)}"
        return (
            f"{name} is lost: it has not reported {heard}, and its metastore did not report a shutdown; if the "
            f"metastore is gone for good: pysync listener remove {listener['instance']}"
        )
    since = listener["waiting_since"]
    if since is not None and now - since > grace:
        size = count(listener["waiting_bytes"], "byte")
        return f"{name} cannot deliver: {size} waiting for {duration(now - since)}"
    return ""


def _gaps(status: Status) -> list[str]:
    """A line for each gap whose refreshes are not queued yet. One that is closing needs nobody."""
    return [f"a gap is open: {gap['reason']}" for gap in status["gaps"] if gap["state"] == "open"]


def _targets(status: Status) -> Iterator[str]:
    for it in status["targets"]:
        name = f"target {it['name']}"
        if it["paused"]:
            yield f"{name} is paused: {it['paused']['reason']}"
        if it["parked"]:
            yield f"{name} has {count(it['parked'], 'parked event')}; see: pysync parked list {it['name']}"


def _waiting(what: str, parts: Sequence[Status], grace: float, now: float) -> Iterator[str]:
    for it in parts:
        if _is_late(it, grace, now):
            yield f"{what} {it['name']} has been waiting for {duration(now - it['waiting_since'])}{_why(it)}"


def _is_late(part: Status, grace: float, now: float) -> bool:
    return part["waiting_since"] is not None and now - part["waiting_since"] > grace


def _why(part: Status) -> str:
    error = part.get("last_error")
    return f": {error['reason']}" if error else ""
