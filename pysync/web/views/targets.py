"""Views of the whole: the overview with what needs attention first, and one target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pysync.base.health import Problem
from pysync.base.text import count
from pysync.web.site import UNKNOWN, ago, number, segment, size, span
from pysync.web.views.charts import (
    BAD,
    GOOD,
    IDLE,
    WARN,
    Chart,
    lag_chart,
    rate_chart,
    tone_of_state,
    tone_of_target,
    worst_tone,
)

# --- The overview: the way of a change as a picture, a verdict, and what needs attention first

Status = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Need:
    """A problem, where to look at it, and the command that helps, if one does."""

    text: str
    tone: str
    link: str = ""
    label: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class Stage:
    """A box of the picture: one figure that matters, and the facts below it."""

    title: str
    tone: str
    state: str
    figure: str
    unit: str
    facts: tuple[tuple[str, str], ...]
    link: str = ""


@dataclass(frozen=True, slots=True)
class Overview:
    """The page's content."""

    tone: str
    verdict: str
    needs: tuple[Need, ...]
    stages: tuple[Stage, ...]  # source, spool, queue
    targets: tuple[Stage, ...]


_TONES = {"critical": BAD, "warning": WARN}
_PLACES = {
    "events_parked": ("/targets/{target}/parked", "look at what is parked"),
    "drops_held": ("/targets/{target}", "look at what is held"),
    "target_paused": ("/targets/{target}", "look at its plan"),
    "drift": ("/verify", "look at what differs"),
}
"""Where to look at problems of these codes. The others of a target lead to its own page."""


def overview(status: Status, now: float) -> Overview:
    """What `/` shows of the status at the time `now`, in seconds since 1970."""
    problems = Problem.read(status)
    needs = sorted(map(need, problems), key=lambda it: it.tone != BAD)
    attention = f"{count(len(needs), 'problem')} need{'s' if len(needs) == 1 else ''} attention"
    return Overview(
        tone=worst_tone(it.tone for it in needs),
        verdict=attention if needs else "All is well",
        needs=tuple(needs),
        stages=(source_stage(status, now), spool_stage(status, now), queue_stage(status)),
        targets=tuple(target_stage(it, _gaps(status, it["name"]), problems) for it in status.get("targets") or ()),
    )


def need(problem: Problem) -> Need:
    """A problem of the status with the page that shows it, and the command that helps."""
    link, label = _PLACES.get(problem.code, ("/targets/{target}", "look at it")) if problem.target else ("", "")
    link = link.format(target=segment(problem.target))
    return Need(problem.text, _TONES[problem.severity], link, label, problem.hint)


def source_stage(status: Status, now: float) -> Stage:
    """What comes from the source, and when something came last."""
    instances = status.get("instances") or ()
    last = max((it["last_at"] for it in instances), default=None)
    facts = [
        ("last change", "none yet" if last is None else ago(last, now)),
        ("changes received", number(sum(it["received"] for it in instances))),
    ]
    log = status.get("notification_log")
    if log:
        facts.append(("captured by", "notification log"))
        return Stage(_title(status), tone_of_state(log["state"]), log["state"], "1", "log is read", tuple(facts))
    listeners = status.get("listeners") or ()
    silent = sum(it["state"] == "silent" for it in listeners)
    reporting = len(listeners) - silent
    if silent:
        facts.append(("lost listeners", number(silent)))
    tone, state = (WARN, "lost") if silent else (GOOD, "heard") if reporting else (WARN, "nobody reports")
    return Stage(
        _title(status), tone, state, number(reporting), "listener" if reporting == 1 else "listeners", tuple(facts)
    )


def spool_stage(status: Status, now: float) -> Stage:
    """What waits at the listeners, and since when."""
    listeners = status.get("listeners") or ()
    waiting = sum(it.get("waiting_events") or 0 for it in listeners)
    held = sum(it.get("waiting_bytes") or 0 for it in listeners)
    since = min((it["waiting_since"] for it in listeners if it.get("waiting_since") is not None), default=None)
    lost = sum(it.get("lost") or 0 for it in listeners)
    facts = [("oldest", "none" if since is None else ago(since, now)), ("size", size(held))]
    if lost:
        facts.append(("lost events", number(lost)))
    if status.get("notification_log"):
        return Stage("Spool", IDLE, "not used", "-", "", (("why", "the log is polled"),))
    tone, state = (WARN, "delivering") if held else (GOOD, "empty")
    return Stage("Spool", BAD if lost else tone, state, number(waiting), "waiting", tuple(facts))


def queue_stage(status: Status) -> Stage:
    """What waits for the slowest target, and the room on the disk."""
    queue = status["queue"]
    waiting = max((it["queued"] for it in status.get("targets") or ()), default=0)
    missing = sum(last - first + 1 for it in status.get("instances") or () for first, last in it["missing"])
    gaps = _gaps(status, None)
    is_full = queue["free_bytes"] <= queue["min_free_bytes"]
    facts = [("kept", count(queue["events"], "event")), ("free on disk", size(queue["free_bytes"]))]
    if missing:
        facts.append(("missing", count(missing, "event")))
    if gaps:
        facts.append(("gaps", ", ".join(sorted({it["state"] for it in gaps}))))
    tone, state = (BAD, "full") if is_full else (WARN, "gap") if gaps else (GOOD, "takes events")
    return Stage("Queue", tone, state, number(waiting), "for the slowest target", tuple(facts))


def _gaps(status: Status, target: str | None) -> list[Status]:
    """The gaps that are not closed and concern this target alone; None: all targets."""
    return [it for it in status.get("gaps") or () if it["state"] != "closed" and it.get("target") == target]


def target_stage(target: Status, gaps: Sequence[Status] = (), problems: Sequence[Problem] = ()) -> Stage:
    """A target: how far it is behind, what waits and what is parked; `gaps` are those that concern it alone.

    It has the tone of the worst of its `problems`, too.
    """
    verified = target.get("verify")
    drift = "not compared" if not verified else count(verified["drift"], "object") if verified["drift"] else "none"
    recent = (target.get("latency") or {}).get("recent") or {}
    facts = [("queued", number(target["queued"])), ("parked", number(target["parked"])), ("drift", drift)]
    if recent.get("p99") is not None:
        facts.append(("latency p99", span(recent["p99"])))
    if gaps:
        facts.append(("gaps", ", ".join(sorted({it["state"] for it in gaps}))))
    link = f"/targets/{segment(target['name'])}"
    tones = [_TONES[it.severity] for it in problems if it.target == target["name"]]
    return Stage(
        target["name"],
        worst_tone([tone_of_target(target), *tones, *(WARN for _ in gaps[:1])]),
        state_of(target),
        span(target.get("lag_seconds")),
        "behind",
        tuple(facts),
        link,
    )


def state_of(target: Status) -> str:
    """The state in words; of one that runs also what is wrong with it."""
    if target.get("paused") and target["state"] != "disabled":
        return "paused"
    if target.get("brake") and target["state"] == "running":
        return "running, drops held"
    if target["state"] != "running":
        return str(target["state"])
    wrong = (
        "some parked" if target.get("parked") else "has drifted" if (target.get("verify") or {}).get("drift") else ""
    )
    return f"running, {wrong}" if wrong else "running"


def _title(status: Status) -> str:
    return str(status["source"])


# --- A target: its curves, latency, plan, gaps and comparison

MOST_OPERATIONS = 12
"""How many operations of the plan are shown."""

_PARTS = (("spool", "in the spool"), ("queue", "in the queue"), ("target", "at the target"))
_PERIODS = (("recent", "last 10 minutes"), ("day", "last 24 hours"))


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its name."""

    name: str
    value: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """The next window in words; `lines` are its first operations."""

    summary: str
    lines: tuple[str, ...]
    more: int


@dataclass(frozen=True, slots=True)
class TargetView:
    """The page's content."""

    name: str
    kind: str
    tone: str
    state: str
    is_paused: bool
    pause: Mapping[str, Any] | None
    brake: Mapping[str, Any] | None
    figures: tuple[Figure, ...]
    charts: tuple[Chart, ...]
    latency: tuple[tuple[str, tuple[str, ...]], ...]
    worst: tuple[Mapping[str, Any], ...]
    calls: tuple[tuple[str, str], ...]
    counts: tuple[tuple[str, int], ...]
    failures: tuple[tuple[str, str], ...]
    last_error: Mapping[str, Any] | None
    plan: Plan | None
    gaps: tuple[Mapping[str, Any], ...]
    verify: Mapping[str, Any] | None


def target_view(
    target: Mapping[str, Any],
    gaps: Sequence[Mapping[str, Any]],
    history: Mapping[str, Any] | None,
    plan: Mapping[str, Any] | None,
    now: float,
    *,
    hours: int = 24,
) -> TargetView:
    """What the page of a target shows: its part of the status, those of the gaps that concern it, `history`, `plan`.

    The curves show the last `hours`.
    """
    pause = target.get("paused")
    latency = target.get("latency") or {}
    return TargetView(
        name=target["name"],
        kind=target["kind"],
        tone=tone_of_target(target),
        state=state_of(target),
        is_paused=pause is not None,
        pause=pause,
        brake=target.get("brake"),
        figures=figures(target),
        charts=(
            lag_chart(history or {}, now, hours, latest=target.get("lag_seconds")),
            rate_chart(history or {}, now, hours),
        ),
        latency=tuple(latency_rows(latency)),
        worst=tuple(latency.get("worst") or ()),
        calls=calls(target),
        counts=tuple((target.get("counts") or {}).items()),
        failures=failures(target),
        last_error=target.get("last_error"),
        plan=None if plan is None else plan_view(plan),
        gaps=tuple(it for it in gaps if it["state"] != "closed" and it.get("target") in {None, target["name"]}),
        verify=target.get("verify"),
    )


def figures(target: Mapping[str, Any]) -> tuple[Figure, ...]:
    """The numbers at the head of the page."""
    rate = target.get("rate")
    parked = f"/targets/{segment(target['name'])}/parked" if target["parked"] else ""
    return (
        Figure("behind", span(target.get("lag_seconds"))),
        Figure("queued", number(target["queued"])),
        Figure("parked", number(target["parked"]), parked),
        Figure("position", number(target["position"])),
        Figure("operations a second", UNKNOWN if rate is None else number(float(rate))),
    )


def latency_rows(latency: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    """From the commit until a change is visible, and the parts of that: p50, p90, p99 and how many were measured."""
    rows = []
    for key, name in _PERIODS:
        quantiles = latency.get(key)
        if quantiles is not None:
            numbers = number(quantiles.get("count"))
            rows.append((name, (*(_quantile(quantiles, it) for it in ("p50", "p90", "p99")), numbers)))
    for key, name in _PARTS:
        quantiles = (latency.get("parts") or {}).get(key)
        if quantiles is not None:
            rows.append((name, (_quantile(quantiles, "p50"), "", _quantile(quantiles, "p99"), "")))
    return rows


def calls(target: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """How often each call was made, the most frequent first."""
    made = target.get("calls") or {}
    return tuple((kind, number(made[kind])) for kind in sorted(made, key=lambda it: (-made[it], it)))


def failures(target: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Errors by their kind, retries, and how long operations waited for these; nothing of what there was not."""
    errors = target.get("errors") or {}
    rows = [(f"errors: {kind.replace('_', ' ')}", number(times)) for kind, times in errors.items() if times]
    if target.get("retries"):
        rows.append(("retries", number(target["retries"])))
        rows.append(("waited for them", span(target.get("backoff_seconds"))))
    return tuple(rows)


def plan_view(plan: Mapping[str, Any]) -> Plan:
    """The plan of the next window; the target is the only one in the answer."""
    target_plan = plan["targets"][0]
    lines = [it["text"] for work in target_plan["works"] for it in work["operations"]]
    events, operations = target_plan["events"], target_plan["operations"]
    become = "becomes" if events == 1 else "become"
    parts = [
        f"{count(events, 'event')} {become} {count(operations, 'operation') if operations else 'nothing to apply'}"
    ]
    if target_plan["drops"]:
        limit = target_plan["max_drops_per_window"] or "no limit"
        parts.append(f"{number(target_plan['drops'])} of them drops (limit: {limit})")
    if target_plan["refused"]:
        parts.append(f"{count(len(target_plan['refused']), 'event')} will be parked")
    if target_plan["queued"] > events:
        more = target_plan["queued"] - events
        parts.append(f"{count(more, 'more event')} {'waits' if more == 1 else 'wait'}")
    if not target_plan["events"]:
        parts = ["Nothing is to be done."]
    return Plan("; ".join(parts), tuple(lines[:MOST_OPERATIONS]), max(0, len(lines) - MOST_OPERATIONS))


def _quantile(quantiles: Mapping[str, Any], key: str) -> str:
    return "-" if quantiles.get(key) is None else span(quantiles[key])
