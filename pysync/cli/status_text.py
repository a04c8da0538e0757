"""The text of `pysync status`: the verdict, a line for each target and listener, and the sidecar. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pysync.base.health import DISABLED, LATE_SECONDS, Problem, is_full, waits_text
from pysync.base.text import UNKNOWN, ago, count, duration, local_time, size
from pysync.cli.grid import Cell, Column, Grid, Line, Part, Style
from pysync.cli.output import counts
from pysync.cli.progress import bootstrap_lines, bootstrap_so_far

_INSTANCE = 8
"""Characters that distinguish listeners; the problems have their whole names."""

Status = Mapping[str, Any]

STATES: Mapping[str, Style] = {
    "failing": "bad",
    "stopped": "bad",
    "silent": "bad",
    "paused": "bad",
    "held": "bad",
    "waiting": "warning",
    "starting": "warning",
    "expected": "warning",
}
"""The style of the states that need attention."""

_MOST_CHANGES = 3

_TARGETS = (
    Column("target", widest=24),
    Column("state"),
    Column("lag", right=True),
    Column("queued", right=True),
    Column("parked", right=True),
    Column(""),
)
_LISTENERS = (
    Column("listener"),
    Column("source", widest=16),
    Column("state"),
    Column("last report", right=True),
    Column("waiting", right=True),
    Column("lost", right=True),
    Column("clock", right=True),
)


def overview(status: Status, now: float, most: int | None = None) -> Iterator[Part]:
    """Yield the parts of `pysync status`; `now` is in seconds since 1970. At most `most` problems are named."""
    problems = Problem.read(status)
    yield from verdict(problems, most)
    yield from () if problems else _waiting(status, now)
    yield Line()
    yield Grid(_TARGETS, [_target_row(it, status["bootstrap"], now) for it in sorted(status["targets"], key=_badness)])
    if status["listeners"]:
        yield Line()
        yield Grid(_LISTENERS, [_listener_row(it, now) for it in status["listeners"]])
    yield Line()
    yield from _sidecar(status, now)


def verdict(problems: Sequence[Problem], most: int | None = None) -> Iterator[Line]:
    """Yield `OK`, or the number of problems and a line for each, at most `most`."""
    if not problems:
        yield Line("OK", "good")
        return
    yield Line(f"{count(len(problems), 'problem')}:", "bad")
    yield from (Line(str(problem), label="  ") for problem in problems[:most])
    if most is not None and len(problems) > most:
        yield Line(f"and {len(problems) - most:,} more: see pysync status", label="  ")


def _waiting(status: Status, now: float) -> Iterator[Line]:
    """Yield a line for each target and worker that waits for less than `status_grace`: OK is not all of it then."""
    drains = {f"drain-{it['name']}" for it in status["targets"]}
    targets = [(f"target {it['name']}", it) for it in status["targets"]]
    workers = [(f"worker {it['name']}", it) for it in status["workers"] if it["name"] not in drains]
    for name, it in [*targets, *workers]:
        if it["waiting_since"] is not None:
            yield Line(f"not yet a problem: {name} {waits_text(it, now)}", "warning", label="  ")


def capture(bridge: Status | None, log: Status | None) -> str:
    """Return how changes come in: by the bridge, by the notification log, or not at all."""
    if bridge:
        refused = bridge["refused_connections"]
        last = f"; refused logins: {refused}, the last at {local_time(bridge['refused_last_at'])}" if refused else ""
        return f"bridge on port {bridge['port']}: {counts(bridge['answers']) or 'no event yet'}{last}"
    if log:
        read = "no event read yet" if log["position"] is None else f"read up to event {log['position']}"
        return f"notification log: {log['state']}, {read}"
    return "no changes are captured"


def is_late(target: Status) -> bool:
    """Return whether a target's lag has to be marked."""
    return (target["lag_seconds"] or 0) > LATE_SECONDS and target["state"] != DISABLED


def state_of(target: Status) -> str:
    """Return the state of a target, `held` if the brake holds some of its drops, and it is not paused."""
    return "held" if target["brake"] and target["state"] == "running" else str(target["state"])


def _badness(target: Status) -> int:
    """The order of the targets: those that need attention first, those that are disabled last."""
    style, drifted = STATES.get(state_of(target), ""), target["verify"] and target["verify"]["drift"]
    signs = (
        style == "bad",
        style == "warning",
        target["parked"],
        drifted or is_late(target),
        target["state"] != DISABLED,
    )
    return next((rank for rank, sign in enumerate(signs) if sign), len(signs))


def _target_row(target: Status, bootstrap: Status | None, now: float) -> Sequence[Cell]:
    state, lag, parked = state_of(target), target["lag_seconds"], target["parked"]
    return (
        Cell(target["name"], "bold"),
        Cell(state, STATES.get(state, "")),
        Cell(None if lag is None else duration(lag), "warning" if is_late(target) else ""),
        Cell(f"{target['queued']:,}"),
        Cell(f"{parked:,}", "bad" if parked else ""),
        _remark(target, bootstrap, now),
    )


def _remark(target: Status, bootstrap: Status | None, now: float) -> Cell:
    """What is wrong with a target, in words, or else what it does."""
    error, verify, scope = target["last_error"], target["verify"], target["scope"]
    if target["state"] == DISABLED or target["paused"]:
        return _held_back(target)
    if error and not error["over"]:
        return Cell(error["reason"], STATES.get(target["state"], "bad"))
    if verify and verify["drift"]:
        return Cell(f"{count(verify['drift'], 'object')} drifted", "bad")
    for item in bootstrap["targets"] if bootstrap and bootstrap["state"] != "finished" else ():
        if bootstrap and item["name"] == target["name"]:
            return Cell(f"bootstrap: {bootstrap_so_far(item)}")
    if scope and not scope["done"]:
        return Cell("moving to a new scope")
    return Cell(f"no drift {ago(verify['ended_at'], now)}" if verify else None, "faint")


def _held_back(target: Status) -> Cell:
    if target["state"] == DISABLED:
        return Cell(f"gets nothing until: pysync target enable {target['name']}", "faint")
    return Cell(target["paused"]["reason"], "bad")


def _listener_row(listener: Status, now: float) -> Sequence[Cell]:
    reported_at, waiting = listener["heard_at"], listener["waiting_bytes"]
    return (
        Cell(listener["instance"][:_INSTANCE]),
        Cell(listener["source"]),
        Cell(listener["state"], STATES.get(listener["state"], "")),
        Cell("none yet" if reported_at is None else ago(reported_at, now)),
        Cell(size(waiting) if waiting else "nothing", "warning" if waiting else ""),
        Cell(f"{listener['lost']:,}", "bad" if listener["lost"] else ""),
        Cell(_offset(listener.get("clock_offset_seconds"))),
    )


def _offset(seconds: float | None) -> str:
    if seconds is None:
        return UNKNOWN
    return f"{round(seconds, 2) + 0.0:+.2f} s"  # + 0.0: no -0.00


def _sidecar(status: Status, now: float) -> Iterator[Line]:
    queue = status["queue"]
    version = f"pysync {status['version']}, pid {status['pid']}, up {duration(now - status['started_at'])}"
    yield Line(f"source {status['source']}: {version}")
    if status["source_last_contact"] is not None:
        yield Line(f"source's metastore: last contact {ago(status['source_last_contact'], now)}")
    for it in status["receivers"]:
        contact = "no contact yet" if it["last_contact"] is None else f"last contact {ago(it['last_contact'], now)}"
        yield Line(f"receiver {it['name']}: {contact}, {it['behind']:,} not sent yet")
    yield from _configuration(status["config"])
    bridge = status["bridge"]
    yield Line(capture(bridge, status["notification_log"]))
    if bridge and not status["listeners"]:
        yield Line("no listener reports", "warning")
    history = f"queue: {count(queue['events'], 'event')} kept{_history(queue['history'], now)}"
    yield Line(f"{history}, {size(queue['free_bytes'])} free", "bad" if is_full(queue) else "")
    for gap in status["gaps"]:
        if gap["state"] == "closing":  # an open one is a problem, and named as such
            yield Line(f"a gap is closing: {gap['reason']}", "warning")
    if status["bootstrap"]:
        yield from (Line(line) for line in bootstrap_lines(status["bootstrap"]))


def _configuration(config: Status | None) -> Iterator[Line]:
    """What pysync.toml says otherwise than what runs."""
    if config and config["changes"]:
        changes, more = config["changes"], len(config["changes"]) - _MOST_CHANGES
        named = ", ".join(changes[:_MOST_CHANGES]) + (f" and {more} more" if more > 0 else "")
        yield Line(f"the file has changed: {named}; to take it: pysync reload", "warning")


def _history(history: Status, now: float) -> str:
    """What is kept only because of [queue] retain."""
    if not history["retain_seconds"] or not history["events"]:
        return ""
    since = duration(now - history["oldest_at"])
    return f" (history: {history['events']:,} of {since}, {size(history['bytes'])})"
