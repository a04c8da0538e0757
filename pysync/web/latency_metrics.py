"""Metrics of latency and tries, made of the status. Pure. Needs the extra `web`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

_TEXT = "Seconds from the commit of a change at the source until the target had it"
_PARTS = ("spool", "queue", "target")

Targets = Sequence[Mapping[str, Any]]


def latencies(targets: Targets) -> Iterator[Metric]:
    """How long changes took, and where they were meanwhile: since the start of the sidecar."""
    visible = HistogramMetricFamily("pysync_target_visible_seconds", f"{_TEXT}.", labels=["target"])
    parts = HistogramMetricFamily("pysync_target_visible_part_seconds", f"{_TEXT}, by part.", labels=["target", "part"])
    for it in targets:
        latency = it["latency"]["since_start"]
        visible.add_metric([it["name"]], _buckets(latency["visible"]), latency["visible"]["sum"])
        for part in _PARTS:
            parts.add_metric([it["name"], part], _buckets(latency[part]), latency[part]["sum"])
    yield from (visible, parts)


def tries(targets: Targets) -> Iterator[Metric]:
    """What it took to apply operations. The series of a call begins with its first one, all others at the start."""
    calls = CounterMetricFamily("pysync_target_calls", "Calls to the target by name.", labels=["target", "call"])
    errors = CounterMetricFamily("pysync_target_errors", "Failed tries of operations.", labels=["target", "kind"])
    retries = CounterMetricFamily("pysync_target_retries", "Operations to be tried again.", labels=["target"])
    backoff = CounterMetricFamily("pysync_target_backoff_seconds", "Waits before new tries.", labels=["target"])
    for it in targets:
        for call, count in it["calls"].items():
            calls.add_metric([it["name"], call], count)
        for kind, count in it["errors"].items():
            errors.add_metric([it["name"], kind], count)
        retries.add_metric([it["name"]], it["retries"])
        backoff.add_metric([it["name"]], it["backoff_seconds"])
    yield from (calls, errors, retries, backoff, *_throttle(targets))


def _throttle(targets: Targets) -> Iterator[Metric]:
    limit = GaugeMetricFamily("pysync_target_calls_limit", "Calls a second that are allowed now.", labels=["target"])
    waited = CounterMetricFamily("pysync_target_throttled_seconds", "Waits for that limit.", labels=["target"])
    for it in targets:
        limit.add_metric([it["name"]], it["throttle"]["limit"] or 0)
        waited.add_metric([it["name"]], it["throttle"]["seconds"])
    yield from (limit, waited)


def _buckets(latency: Mapping[str, Any]) -> list[tuple[str, float]]:
    return [*((str(bound), count) for bound, count in latency["buckets"]), ("+Inf", latency["count"])]
