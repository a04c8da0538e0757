"""A target: its curves, latency, plan, gaps and comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pysync.web.charts import Chart, lag_chart, rate_chart
from pysync.web.views.overview import state_of
from pysync.web.views.tones import of_target
from pysync.web.words import UNKNOWN, number, segment, span

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
) -> TargetView:
    """What the page of a target shows: its part of the status, all gaps, and the answers of `history` and `plan`."""
    pause = target.get("paused")
    latency = target.get("latency") or {}
    return TargetView(
        name=target["name"],
        kind=target["kind"],
        tone=of_target(target),
        state=state_of(target),
        is_paused=pause is not None,
        pause=pause,
        brake=target.get("brake"),
        figures=figures(target),
        charts=(lag_chart(history or {}, now), rate_chart(history or {}, now)),
        latency=tuple(latency_rows(latency)),
        worst=tuple(latency.get("worst") or ()),
        calls=calls(target),
        counts=tuple((target.get("counts") or {}).items()),
        failures=failures(target),
        last_error=target.get("last_error"),
        plan=None if plan is None else plan_view(plan),
        gaps=tuple(it for it in gaps if it["state"] != "closed"),
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
        found = latency.get(key)
        if found is not None:
            numbers = number(found.get("count"))
            rows.append((name, (*(_quantile(found, it) for it in ("p50", "p90", "p99")), numbers)))
    for key, name in _PARTS:
        found = (latency.get("parts") or {}).get(key)
        if found is not None:
            rows.append((name, (_quantile(found, "p50"), "", _quantile(found, "p99"), "")))
    return rows


def calls(target: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """How often each call was made, the most frequent first."""
    made = target.get("calls") or {}
    return tuple((kind, number(made[kind])) for kind in sorted(made, key=lambda it: (-made[it], it)))


def failures(target: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Errors by their kind, retries, and how long operations waited for these; nothing of what there was not."""
    errors = target.get("errors") or {}
    found = [(f"errors: {kind.replace('_', ' ')}", number(times)) for kind, times in errors.items() if times]
    if target.get("retries"):
        found.append(("retries", number(target["retries"])))
        found.append(("waited for them", span(target.get("backoff_seconds"))))
    return tuple(found)


def plan_view(plan: Mapping[str, Any]) -> Plan:
    """The plan of the next window; the target is the only one in the answer."""
    found = plan["targets"][0]
    lines = [it["text"] for work in found["works"] for it in work["operations"]]
    parts = [f"{number(found['events'])} events become {number(found['operations'])} operations"]
    if found["drops"]:
        limit = found["max_drops_per_window"] or "no limit"
        parts.append(f"{number(found['drops'])} of them drops (limit: {limit})")
    if found["refused"]:
        parts.append(f"{number(len(found['refused']))} events will be parked")
    if found["queued"] > found["events"]:
        parts.append(f"{number(found['queued'] - found['events'])} more events wait")
    if not found["events"]:
        parts = ["Nothing is to be done."]
    return Plan("; ".join(parts), tuple(lines[:MOST_OPERATIONS]), max(0, len(lines) - MOST_OPERATIONS))


def _quantile(found: Mapping[str, Any], key: str) -> str:
    return "-" if found.get(key) is None else span(found[key])
