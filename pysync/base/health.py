"""The verdict: whether all is as it should be, and what is not, made of the status. Pure.

Where there is a problem `pysync status` ends with 1, `/health` answers 503, and `pysync_well` is 0: they cannot differ.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from pysync.base.errors import PysyncError
from pysync.base.text import count, duration, size

REFUSED_SECONDS = 60.0
"""A listener that is locked out tries every other second; a refusal that is older is over. A metastore that refuses to
read its notification log for so long is not merely starting, or without its database for a moment."""

DISABLED = "disabled"
"""The state of a target that pysync.toml has disabled."""

_LOW = 2
"""Less than so many times what the queue leaves free is little, as for the alert PysyncDiskLow."""

LATE_SECONDS = 600.0
"""A target with more lag than this is behind, as for the alert PysyncTargetBehind."""

_TICKET_SECONDS = 3600.0
_CERTIFICATE_SECONDS = 14 * 86400.0
"""What ends sooner is to be renewed, as for the alert PysyncCertificateEnding."""

_OTHER_QUEUE_SECONDS = 3600.0
_STALE_SECONDS = 600.0
_MIB = 1024 * 1024
_ILL = frozenset({"failing", "stopped"})
_WORKERS_OF_TARGETS = (
    "drain-",
    "last-ids-",
    "resync-",
    "trash-",
    "verify-",
    "versions-",
)
_LOG = "notification-log"
"""The name of the worker that reads the notification log."""
_RECEIVERS = "notify-"
"""How the names of workers begin that serve receivers of webhooks: no target needs them."""
_OF_WORKERS = frozenset({"worker_failing", "worker_waiting"})

Status = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that somebody has to look at. Its codes are a promise: docs/status.md lists them.

    `target` is the target that it is about, or empty; `hint` a command that helps or shows more, or empty; `about` the
    worker, listener or gap, where there may be several problems with this code, or empty. The severity is that of the
    alert for it: conf/monitoring.
    """

    code: str
    severity: Literal["critical", "warning"]
    text: str
    target: str = ""
    hint: str = ""
    about: str = ""

    @property
    def key(self) -> str:
        """The same for as long as the problem lasts, while its words change; no other problem of a moment has it."""
        return " ".join((self.code, self.target, self.about))

    def __str__(self) -> str:
        return f"{self.text} ({self.hint})" if self.hint else self.text

    def concerns(self, target: str) -> bool:
        """Whether this target has the problem: its own problems, and those of workers that serve all targets."""
        serves_all = self.code in _OF_WORKERS and not self.about.startswith(_RECEIVERS)
        return self.target == target or (not self.target and serves_all)

    def as_json(self) -> dict[str, str]:
        """As it stands in the status; `read` takes it back."""
        return {it.name: getattr(self, it.name) for it in fields(self)}

    @classmethod
    def read(cls, status: Status) -> list[Problem]:
        """The problems of a status that a sidecar has sent."""
        names = [it.name for it in fields(cls)]
        return [cls(**{name: problem[name] for name in names}) for problem in status["problems"]]


def hold(target: Status) -> str:
    """What the brake of a target holds, as `pysync status` names it; empty if it holds nothing."""
    brake = target["brake"]
    return f"target {target['name']} holds the drop of {brake['summary']}: {brake['reason']}" if brake else ""


def refused_events(target: Status) -> int:
    """How many parked events a target has refused, or that wait behind these: not those that the brake holds."""
    return int(target["parked"] - (target.get("parked_by_brake") or 0))


def decide(target: str) -> str:
    """The ways out of a hold of a target's drops: the one that harms least comes first."""
    return f"look at pysync held list {target}; {hold_decisions(target)}"


def hold_decisions(target: str) -> str:
    """The decisions about a hold, for whoever has seen what is held."""
    return f"to keep the objects: pysync held keep {target}; to drop them: pysync held drop {target}"


def problems(status: Status, grace: float, now: float | None = None) -> list[Problem]:
    """What somebody has to look at, at the time `now` in seconds since 1970 (not given: now). None: all is well.

    Critical problems come first. `grace` is how many seconds a target or listener may wait for what comes back by
    itself.
    """
    now = time.time() if now is None else now
    unsorted = [
        *failing(status),
        *_wrong_file(status["config"]),
        *_full(status["queue"]),
        *_ending(status["credentials"], now),
        *_waiting_workers(status, grace, now),
        *listening(status, grace, now),
        *_gaps(status),
        *_targets(status),
        *_disorder(status["targets"], now),
        *_waiting_targets(status["targets"], grace, now),
        *_late_targets(status["targets"]),
    ]
    return sorted(unsorted, key=lambda it: it.severity != "critical")


def without_status(error: PysyncError) -> Problem:
    """The problem of a sidecar that cannot make its status: the disk of the queue does not answer."""
    return Problem("status_failed", "critical", f"the sidecar cannot make its status: {error}")


def failing(status: Status) -> list[Problem]:
    """The workers that fail again and again, or have ended: a new start may help, and nothing else here does."""
    return [
        Problem(
            "worker_failing",
            "critical",
            f"worker {it['name']} is {it['state']}{_why(it)}",
            target=target_of(it["name"]),
            hint="journalctl -u pysync",
            about=it["name"],
        )
        for it in status["workers"]
        if it["state"] in _ILL
    ]


def target_of(worker: str) -> str:
    """The target that a worker works for, by its name: `drain-dr`, `last-ids-dr`; empty for one that serves all."""
    return next((worker[len(it) :] for it in _WORKERS_OF_TARGETS if worker.startswith(it)), "")


def _wrong_file(config: Status | None) -> Iterator[Problem]:
    """A file with which the sidecar would not start again; None: a job that reads no file."""
    if config and config["problem"]:
        first, *more = config["problem"].splitlines()
        rest = f", and {count(len(more), 'more problem')}" if more else ""
        text = f"the configuration file is wrong, so no reload and no start would succeed: {first}{rest}"
        yield Problem("config_wrong", "warning", text, hint="pysync check")


def _full(queue: Status) -> Iterator[Problem]:
    left, floor = queue["free_bytes"] // _MIB, queue["min_free_bytes"] // _MIB
    free = f"{left} MiB are free on its disk, [queue] min_free_mb is {floor}"
    if is_full(queue):
        yield Problem("queue_full", "critical", f"the queue takes no events: {free}", hint="df -h")
    elif queue["free_bytes"] < _LOW * queue["min_free_bytes"]:
        yield Problem("disk_low", "warning", f"the queue soon takes no events: {free}", hint="df -h")


def _ending(credentials: Sequence[Status], now: float) -> Iterator[Problem]:
    for it in credentials:
        left = math.inf if it["expires_at"] is None else it["expires_at"] - now
        if left < (_TICKET_SECONDS if it["kind"] == "ticket" else _CERTIFICATE_SECONDS):
            name, when = (
                f"the {it['kind']} for the {it['used_for']}",
                f"ends in {duration(left)}" if left > 0 else "has ended",
            )
            target = it["used_for"].removeprefix("target ") if it["used_for"].startswith("target ") else ""
            text = f"{name} {when}: renew its file, which pysync reads again"
            yield Problem("credential_ending", "warning", text, target=target, about=f"{it['used_for']} {it['kind']}")


def is_full(queue: Status) -> bool:
    """Whether the queue takes no events, for lack of space on its disk."""
    return bool(queue["free_bytes"] <= queue["min_free_bytes"])


def _waiting_workers(status: Status, grace: float, now: float) -> Iterator[Problem]:
    """The workers that wait, without the drains of targets that wait so long themselves: that is reported once."""
    reported = {f"drain-{it['name']}" for it in status["targets"] if _is_late(it, grace, now)}
    if any(_refused_log(status, grace, now)):
        reported.add(_LOG)
    for it in status["workers"]:
        if it["name"] not in reported and _is_late(it, grace, now):
            text = f"worker {it['name']} {waits_text(it, now)}"
            yield Problem("worker_waiting", "warning", text, target=target_of(it["name"]), about=it["name"])


def listening(status: Status, grace: float, now: float | None = None) -> list[Problem]:
    """What keeps changes of the source from coming in."""
    now = time.time() if now is None else now
    problems = [problem for it in status["listeners"] for problem in _listener(it, status["source"], grace, now)]
    # Without a bridge the notification log is polled, and no listener is expected.
    how = _refused_log if status["bridge"] is None else _bridge
    return [*problems, *how(status, grace, now)]


def _refused_log(status: Status, grace: float, now: float) -> Iterator[Problem]:
    """That passes by itself only if the metastore, or its database, has just begun."""
    log = status["notification_log"]
    if log and log["refused_since"] is not None and now - log["refused_since"] > min(grace, REFUSED_SECONDS):
        text = f"no change of the source is read{_why(log)}"
        yield Problem("log_refused", "critical", text, hint="pysync check")


def _bridge(status: Status, grace: float, now: float) -> Iterator[Problem]:
    bridge, since = status["bridge"], status["no_listener_since"]
    if since is not None and now - since > grace:
        text = f"no listener has reported for {duration(now - since)}: is it in hive-site.xml?"
        yield Problem("no_listener", "critical", text, hint="pysync hive-site")
    refused_at = bridge["refused_last_at"] or 0
    if now - refused_at < REFUSED_SECONDS:
        # A listener's call may have been too late, because its host or the sidecar stood still: then it calls again.
        heard_since = [(it["heard_at"] or 0) > refused_at for it in status["listeners"]]
        meaning = (
            "; every listener has reported since"
            if heard_since and all(heard_since)
            else ": if it is a listener, it has another token than this sidecar"
        )
        text = f"the bridge refuses a caller, {count(bridge['refused_connections'], 'time')} so far{meaning}"
        yield Problem("bridge_refuses", "warning", text, hint="pysync check")


def _listener(listener: Status, source: str, grace: float, now: float) -> Iterator[Problem]:
    name, since = f"listener {listener['instance']} of {listener['source']}", listener["waiting_since"]
    if listener["state"] == "heard" and listener["source"] != source:
        text = (
            f"{name} does not have the name of this source, {source}: targets take its tables for those of another; "
            "set pysync.source.name in its hive-site.xml and [source] name to the same"
        )
        yield Problem("listener_source", "critical", text, hint="pysync hive-site", about=listener["instance"])
    if listener["state"] == "silent":
        at = listener["heard_at"]
        silence = "since the sidecar started" if at is None else f"for {duration(now - at)}"
        text = (
            f"{name} is lost: it has not reported {silence}, and its metastore did not report a shutdown; if the "
            "metastore is gone for good, remove the listener"
        )
        instance = listener["instance"]
        yield Problem("listener_lost", "warning", text, hint=f"pysync listener remove {instance}", about=instance)
    elif since is not None and now - since > grace:
        waiting = size(listener["waiting_bytes"])
        text = f"{name} cannot deliver: {waiting} waiting for {duration(now - since)}"
        hint = "journalctl -u pysync"
        yield Problem("listener_undelivered", "warning", text, hint=hint, about=listener["instance"])


def _gaps(status: Status) -> list[Problem]:
    """A problem for each gap whose refreshes are not queued yet. One that is closing needs nobody."""
    return [
        Problem(
            "gap_open", "warning", f"a gap is open: {gap['reason']}", target=gap["target"] or "", about=gap["reason"]
        )
        for gap in status["gaps"]
        if gap["state"] == "open"
    ]


def _targets(status: Status) -> Iterator[Problem]:
    for it in status["targets"]:
        name = it["name"]
        if it["state"] == DISABLED:
            continue  # on purpose, for as long as somebody wants; what is parked is retried when it is enabled
        if text := hold(it):
            yield Problem("drops_held", "critical", text, target=name, hint=f"pysync held list {name}")
        if it["paused"]:
            text = f"target {name} is paused: {it['paused']['reason']}"
            yield Problem("target_paused", "warning", text, target=name, hint=f"pysync resume {name}")
        if refused := refused_events(it):
            text = f"target {name} has {count(refused, 'parked event')}"
            yield Problem("events_parked", "warning", text, target=name, hint=f"pysync parked list {name}")
        if it["verify"] and it["verify"]["drift"]:
            # No names: visitors of the page who are not signed in see problems, too.
            text = f"target {name} has drifted: {count(it['verify']['drift'], 'object')} not as at the source"
            yield Problem("drift", "warning", text, target=name, hint=f"pysync verify --target {name}")


def _disorder(targets: Sequence[Status], now: float) -> Iterator[Problem]:
    """The targets whose state does not come from this queue alone."""
    for it in targets:
        name, other = it["name"], it["other_queue"]
        if other is not None and now - other["at"] < _OTHER_QUEUE_SECONDS:
            text = (
                f"another sidecar writes to target {name} for the same source, the last time to {other['table']}; "
                "run one sidecar for each source"
            )
            yield Problem("other_queue", "warning", text, target=name, hint=f"pysync actions --table {other['table']}")
        if it["stale_since"] is not None and now - it["stale_since"] < _STALE_SECONDS:
            text = f"target {name} has newer state than many new events of the source"
            yield Problem("events_stale", "warning", text, target=name, hint=f"pysync verify --target {name}")


def _waiting_targets(targets: Sequence[Status], grace: float, now: float) -> Iterator[Problem]:
    for it in targets:
        if _is_late(it, grace, now):
            text = f"target {it['name']} {waits_text(it, now)}"
            yield Problem("target_waiting", "critical", text, target=it["name"], hint="pysync check")


def _late_targets(targets: Sequence[Status]) -> Iterator[Problem]:
    """The targets at work that are behind. What is parked, paused or away is another problem."""
    for it in targets:
        is_at_work = it["state"] not in {"paused", "waiting", DISABLED} and not it["parked"]
        if is_at_work and it["queued"] and (it["lag_seconds"] or 0) > LATE_SECONDS:
            text = (
                f"target {it['name']} is {duration(it['lag_seconds'])} behind: {count(it['queued'], 'event')} to apply"
            )
            yield Problem("target_behind", "warning", text, target=it["name"], hint=f"pysync status {it['name']}")


def waits_text(part: Status, now: float) -> str:
    """For how long a target or worker that waits has done so, and why."""
    return f"has been waiting for {duration(now - part['waiting_since'])}{_why(part)}"


def _is_late(part: Status, grace: float, now: float) -> bool:
    return part["waiting_since"] is not None and now - part["waiting_since"] > grace


def _why(part: Status) -> str:
    error = part.get("last_error")
    return f": {error['reason']}" if error else ""
