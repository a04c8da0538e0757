"""Metrics, made of the status: the same words, and nothing that `pysync status` does not say. Pure.

Names are a promise as the status is: docs/metrics.md. Needs the extra `web`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from pysync.replay.progress import State
from pysync.worker import WorkerState

GAPS = ("open", "closing", "closed")

_TARGET_GAUGES = {
    "position": "The last event that is applied or parked.",
    "queued": "Events after the position.",
    "parked": "Events set aside, those that wait behind them included.",
    "lag_seconds": "Since the oldest change was committed that it does not have.",
}
_EVENTS = {
    "skipped": "Events that do not concern the target: out of scope, or of a kind that it leaves out.",
    "parked": "Events that were set aside, each counted once.",
}
_LISTENER = ["instance", "source"]
_COPIED = {"files": "Files copied.", "bytes": "Bytes copied.", "removed": "Files removed."}
_LEFT = {"files_left": "Files to copy now.", "bytes_left": "Bytes to copy now."}


def families(status: Mapping[str, Any]) -> Iterator[Metric]:
    """All metrics of an answer to `pysync status --json`."""
    yield _gauge("pysync_info", "Always 1.", {"version": status["version"], "source": status["source"]}, 1)
    yield _gauge("pysync_started_at_seconds", "Start of the sidecar, since 1970.", {}, status["started_at"])
    yield _gauge("pysync_well", "1 if `pysync status` would end with 0.", {}, status["well"])
    yield _workers(status["workers"])
    yield from _capture(status)
    yield from _listeners(status["listeners"])
    yield from _queue(status["queue"])
    yield from _targets(status["targets"])
    yield from _copies(status["copy"])


def _workers(workers: Sequence[Mapping[str, Any]]) -> Metric:
    states = GaugeMetricFamily("pysync_worker_state", "1 for the state it is in.", labels=["worker", "state"])
    for it in workers:
        for state in WorkerState:
            states.add_metric([it["name"], str(state)], it["state"] == state)
    return states


def _capture(status: Mapping[str, Any]) -> Iterator[Metric]:
    bridge = status["bridge"]
    if bridge is not None:
        yield _gauge("pysync_bridge_connections", "Connections of listeners, open now.", {}, bridge["connections"])
        refused = CounterMetricFamily(
            "pysync_bridge_refused_connections", "Callers turned away: no proof of the token."
        )
        refused.add_metric([], bridge["refused_connections"])
        yield refused
        answers = CounterMetricFamily("pysync_bridge_answers", "Answers to listeners.", labels=["answer"])
        for answer, count in sorted(bridge["answers"].items()):
            answers.add_metric([answer], count)
        yield answers
        differing = CounterMetricFamily("pysync_bridge_differing", "Events that came again with other bytes.")
        differing.add_metric([], bridge["differing"])
        yield differing
    gaps = GaugeMetricFamily("pysync_gaps", "Where changes may have been missed (the last 100).", labels=["state"])
    for state in GAPS:
        gaps.add_metric([state], sum(gap["state"] == state for gap in status["gaps"]))
    yield gaps
    missing = sum(last - first + 1 for it in status["instances"] for first, last in it["missing"])
    yield _gauge("pysync_missing_events", "Events that listeners numbered and that have not come (yet).", {}, missing)
    received = CounterMetricFamily("pysync_received_events", "Events that came in, each counted once.")
    received.add_metric([], sum(it["received"] for it in status["instances"]))
    yield received


def _listeners(listeners: Sequence[Mapping[str, Any]]) -> Iterator[Metric]:
    """Labelled by instance: a metastore that is started anew is another listener."""
    lost = CounterMetricFamily("pysync_listener_lost_events", "Events that it knows to be lost.", labels=_LISTENER)
    silent = GaugeMetricFamily("pysync_listener_silent", "1 if it is missed.", labels=_LISTENER)
    heard = GaugeMetricFamily("pysync_listener_heard_at_seconds", "When it was heard last.", labels=_LISTENER)
    size = GaugeMetricFamily("pysync_listener_waiting_bytes", "Not delivered yet, when heard last.", labels=_LISTENER)
    events = GaugeMetricFamily("pysync_listener_waiting_events", "Of these, its own events.", labels=_LISTENER)
    for it in listeners:
        labels = [it["instance"], it["source"]]
        lost.add_metric(labels, it["lost"])
        silent.add_metric(labels, it["state"] == "silent")
        size.add_metric(labels, it["waiting_bytes"])
        events.add_metric(labels, it["waiting_events"])
        # No sample where it was never heard: 0 would mean 1970.
        if it["heard_at"] is not None:
            heard.add_metric(labels, it["heard_at"])
    yield from (lost, silent, heard, size, events)


def _queue(queue: Mapping[str, Any]) -> Iterator[Metric]:
    yield _gauge("pysync_queue_events", "Events kept in the file.", {}, queue["events"])
    history = queue["history"]
    yield _gauge("pysync_queue_history_events", "Of these, those that every target has.", {}, history["events"])
    yield _gauge("pysync_queue_history_bytes", "About what they take of the file.", {}, history["bytes"])
    yield _gauge("pysync_queue_free_bytes", "Left on the disk of the queue.", {}, queue["free_bytes"])
    yield _gauge("pysync_queue_unreadable", "What came and was no event (at most 100).", {}, queue["unreadable"])


def _targets(targets: Sequence[Mapping[str, Any]]) -> Iterator[Metric]:
    for key, text in _TARGET_GAUGES.items():
        family = GaugeMetricFamily(f"pysync_target_{key}", text, labels=["target"])
        for it in targets:
            family.add_metric([it["name"]], it[key])
        yield family
    states = GaugeMetricFamily("pysync_target_state", "1 for the state it is in.", labels=["target", "state"])
    operations = CounterMetricFamily(
        "pysync_target_operations", "What became of operations.", labels=["target", "result"]
    )
    events = {
        result: CounterMetricFamily(f"pysync_target_{result}_events", text, labels=["target"])
        for result, text in _EVENTS.items()
    }
    conflicts = CounterMetricFamily("pysync_target_conflicts", "Changes of both ends that met.", labels=["target"])
    drift = GaugeMetricFamily("pysync_target_drift", "Objects that [verify] last found to differ.", labels=["target"])
    for it in targets:
        for state in State:
            states.add_metric([it["name"], str(state)], it["state"] == state)
        for result, count in sorted(it["counts"].items()):
            # Skipped and parked are events, not operations.
            if result not in events:
                operations.add_metric([it["name"], result], count)
        for result, counter in events.items():
            counter.add_metric([it["name"]], it["counts"].get(result, 0))
        conflicts.add_metric([it["name"]], it["counts"].get("conflict", 0))
        # No sample before the first comparison: 0 would mean that nothing differs.
        if it["verify"] is not None:
            drift.add_metric([it["name"]], it["verify"]["drift"])
    yield from (states, operations, *events.values(), conflicts, drift)


def _copies(copies: Mapping[str, Mapping[str, Any]]) -> Iterator[Metric]:
    for kind, keys in ((CounterMetricFamily, _COPIED), (GaugeMetricFamily, _LEFT)):
        for key, text in keys.items():
            family = kind(f"pysync_copy_{key}", text, labels=["target"])
            for target, tally in sorted(copies.items()):
                family.add_metric([target], tally[key])
            yield family


def _gauge(name: str, text: str, labels: Mapping[str, str], value: float) -> Metric:
    family = GaugeMetricFamily(name, text, labels=list(labels))
    family.add_metric(list(labels.values()), value)
    return family
