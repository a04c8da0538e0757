"""A target: its curves, latency, plan, gaps, resyncs and comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pysync.base.health import refused_events
from pysync.base.resync_text import resync_so_far
from pysync.base.text import ago, count, duration, number
from pysync.web.views.charts import Chart, lag_chart, rate_chart
from pysync.web.views.hold import DatabaseOnHold, held_databases
from pysync.web.views.overview import state_of
from pysync.web.views.tones import BAD, tone_of_state, tone_of_target
from pysync.web.words import segment

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
class PlanView:
    """The next window in words; `lines` are its first operations."""

    summary: str
    lines: tuple[str, ...]
    more: int


@dataclass(frozen=True, slots=True)
class ResyncView:
    """A resync in words, and when it began; `trigger` is what may be shown to anybody: the words have names."""

    trigger: str
    tone: str
    state: str
    text: str
    began_at: float


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
    held: tuple[DatabaseOnHold, ...]
    kept_objects: int
    figures: tuple[Figure, ...]
    charts: tuple[Chart, ...]
    latency: tuple[tuple[str, tuple[str, ...]], ...]
    worst: tuple[Mapping[str, Any], ...]
    calls: tuple[tuple[str, str], ...]
    counts: tuple[tuple[str, int], ...]
    failures: tuple[tuple[str, str], ...]
    last_error: Mapping[str, Any] | None
    plan: PlanView | None
    gaps: tuple[Mapping[str, Any], ...]
    resyncs: tuple[ResyncView, ...]
    verify: Mapping[str, Any] | None


def target_view(
    target: Mapping[str, Any],
    gaps: Sequence[Mapping[str, Any]],
    history: Mapping[str, Any] | None,
    plan: Mapping[str, Any] | None,
    now: float,
    *,
    hours: int = 24,
    held: Mapping[str, Any] | None = None,
) -> TargetView:
    """What the page of a target shows: its part of the status, those of the gaps that concern it, `history`, `plan`.

    The curves show the last `hours`; `held` is an answer of `held list`.
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
        held=held_databases(target["brake"], held) if target.get("brake") else (),
        kept_objects=target.get("kept") or 0,
        figures=figures(target, now),
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
        resyncs=tuple(map(resync_view, target.get("resyncs") or ())),
        verify=target.get("verify"),
    )


def figures(target: Mapping[str, Any], now: float) -> tuple[Figure, ...]:
    """The numbers at the head of the page."""
    parked = f"/targets/{segment(target['name'])}/parked" if target["parked"] else ""
    return (
        Figure("behind", duration(target.get("lag_seconds"))),
        Figure("queued", number(target["queued"])),
        Figure("parked", number(refused_events(target)), parked),
        Figure("position", number(target["position"])),
        Figure("operations a second", number(target.get("rate"))),
        Figure("last contact", ago(target.get("last_contact"), now)),
    )


def resync_view(resync: Mapping[str, Any]) -> ResyncView:
    """A row of the status, for the page."""
    tone = BAD if resync["state"] == "failed" else tone_of_state(resync["state"])
    trigger = resync["trigger"].replace("_", " ")
    return ResyncView(trigger, tone, resync["state"], resync_so_far(resync), resync["began_at"])


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
        rows.append(("waited for them", duration(target.get("backoff_seconds"))))
    return tuple(rows)


def plan_view(plan: Mapping[str, Any]) -> PlanView:
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
    return PlanView("; ".join(parts), tuple(lines[:MOST_OPERATIONS]), max(0, len(lines) - MOST_OPERATIONS))


def _quantile(quantiles: Mapping[str, Any], key: str) -> str:
    return "-" if quantiles.get(key) is None else duration(quantiles[key])
