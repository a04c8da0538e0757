"""Metrics, made of the status: the same words, and nothing that `pysync status` does not say. Pure.

Names are a promise as the status is: docs/monitoring.md. Needs the extra `web`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from pysync.capture.bridge import ANSWERS
from pysync.replay.progress import DrainState
from pysync.targets.base import Outcome
from pysync.web.latency_metrics import latencies, tries
from pysync.worker import WorkerState

GAPS = ("open", "closing", "closed")
LISTENERS = ("heard", "expected", "silent")
RESULTS = (*map(str, Outcome), "shadowed")

_TARGET_GAUGES = {
    "position": "The last event that is applied or parked.",
    "queued": "Events that wait in the queue for the target.",
    "parked": "Parked events, including those that wait behind them.",
    "lag_seconds": "Seconds since the commit of the oldest change that the target does not have.",
}
_EVENTS = {
    "skipped": "Events that are not for the target: out of scope, or of an excluded kind.",
    "parked": "Events that were parked, each counted once.",
}
_RECEIVER_COUNTERS = {
    "delivered": ("delivered_events", "Events that the receiver has taken."),
    "failed": ("failed_requests", "Requests that the receiver refused or did not answer."),
    "skipped": ("skipped_events", "Events that were given up, as the receiver refused them."),
}
_LISTENER = ["listener", "source"]  # not `instance`: Prometheus gives that label to what it scrapes
_COPIED = {"files": "Files copied.", "bytes": "Bytes copied.", "removed": "Files removed."}
_LEFT = {"files_left": "Files that are still to be copied.", "bytes_left": "Bytes that are still to be copied."}


def families(status: Mapping[str, Any]) -> Iterator[Metric]:
    """All metrics of an answer to `pysync status --json`."""
    yield _gauge("pysync_info", "Always 1.", {"version": status["version"], "source": status["source"]}, 1)
    yield _gauge(
        "pysync_started_at_seconds", "Start time of the sidecar, in seconds since 1970.", {}, status["started_at"]
    )
    yield _gauge("pysync_well", "1 if `pysync status` shows no problem.", {}, status["well"])
    if status["source_last_contact"] is not None:
        text = "When the source's metastore has answered last, in seconds since 1970."
        yield _gauge("pysync_source_last_contact_timestamp_seconds", text, {}, status["source_last_contact"])
    yield _workers(status["workers"])
    yield from _capture(status)
    yield from _listeners(status["listeners"])
    yield _credentials(status["credentials"])
    yield from _queue(status["queue"])
    yield _dropped(status["journal"])
    yield from _receivers(status["receivers"])
    yield from _targets(status["targets"])
    yield from latencies(status["targets"])
    yield from tries(status["targets"])
    yield from _copies(status["copy"])


def _workers(workers: Sequence[Mapping[str, Any]]) -> Metric:
    states = GaugeMetricFamily("pysync_worker_state", "1 for the current state.", labels=["worker", "state"])
    for it in workers:
        for state in WorkerState:
            states.add_metric([it["name"], str(state)], it["state"] == state)
    return states


def _capture(status: Mapping[str, Any]) -> Iterator[Metric]:
    bridge = status["bridge"]
    if bridge is not None:
        yield _gauge("pysync_bridge_connections", "Open connections of listeners.", {}, bridge["connections"])
        refused = CounterMetricFamily(
            "pysync_bridge_refused_connections", "Refused callers, which did not prove that they have the token."
        )
        refused.add_metric([], bridge["refused_connections"])
        yield refused
        answers = CounterMetricFamily("pysync_bridge_answers", "Answers to listeners.", labels=["answer"])
        for answer in ANSWERS:
            answers.add_metric([answer], bridge["answers"].get(answer, 0))
        yield answers
        differing = CounterMetricFamily("pysync_bridge_differing", "Events that arrived again with different content.")
        differing.add_metric([], bridge["differing"])
        yield differing
    gaps = GaugeMetricFamily(
        "pysync_gaps", "Gaps, in which changes may have been missed (the last 100).", labels=["state"]
    )
    for state in GAPS:
        gaps.add_metric([state], sum(gap["state"] == state for gap in status["gaps"]))
    yield gaps
    missing = sum(last - first + 1 for it in status["instances"] for first, last in it["missing"])
    yield _gauge(
        "pysync_missing_events", "Events that listeners have numbered, and that have not arrived (yet).", {}, missing
    )
    received = CounterMetricFamily("pysync_received_events", "Events that arrived, each counted once.")
    received.add_metric([], sum(it["received"] for it in status["instances"]))
    yield received


def _listeners(listeners: Sequence[Mapping[str, Any]]) -> Iterator[Metric]:
    """Labelled by the listener's instance: a metastore that is started again is another listener."""
    states = GaugeMetricFamily("pysync_listeners", "Listeners that are expected to report.", labels=["state"])
    for state in LISTENERS:
        states.add_metric([state], sum(it["state"] == state for it in listeners))
    yield states
    lost = CounterMetricFamily(
        "pysync_listener_lost_events", "Events that the listener reports as lost.", labels=_LISTENER
    )
    silent = GaugeMetricFamily("pysync_listener_silent", "1 if the listener is lost.", labels=_LISTENER)
    family = GaugeMetricFamily(
        "pysync_listener_heard_at_seconds", "Time of the last report, in seconds since 1970.", labels=_LISTENER
    )
    size = GaugeMetricFamily(
        "pysync_listener_waiting_bytes", "Bytes that were not delivered at the last report.", labels=_LISTENER
    )
    events = GaugeMetricFamily(
        "pysync_listener_waiting_events",
        "The listener's own events that were not delivered at the last report.",
        labels=_LISTENER,
    )
    clock = GaugeMetricFamily(
        "pysync_listener_clock_offset_seconds",
        "How far the listener's clock is ahead of the sidecar's.",
        labels=_LISTENER,
    )
    for it in listeners:
        labels = [it["instance"], it["source"]]
        lost.add_metric(labels, it["lost"])
        silent.add_metric(labels, it["state"] == "silent")
        size.add_metric(labels, it["waiting_bytes"])
        events.add_metric(labels, it["waiting_events"])
        # No sample where it was never heard: 0 would mean 1970.
        if it["heard_at"] is not None:
            family.add_metric(labels, it["heard_at"])
        if it["clock_offset_seconds"] is not None:
            clock.add_metric(labels, it["clock_offset_seconds"])
    yield from (lost, silent, family, size, events, clock)


def _credentials(credentials: Sequence[Mapping[str, Any]]) -> Metric:
    ends = GaugeMetricFamily(
        "pysync_credential_expiry_timestamp_seconds",
        "When a certificate or ticket ends, in seconds since 1970.",
        labels=["used_for", "kind"],
    )
    for it in credentials:
        if it["expires_at"] is not None:
            ends.add_metric([it["used_for"], it["kind"]], it["expires_at"])
    return ends


def _queue(queue: Mapping[str, Any]) -> Iterator[Metric]:
    yield _gauge("pysync_queue_events", "Events kept in the file.", {}, queue["events"])
    history = queue["history"]
    yield _gauge("pysync_queue_history_events", "Events kept in the file that every target has.", {}, history["events"])
    yield _gauge(
        "pysync_queue_history_bytes", "Approximate size of the events that every target has.", {}, history["bytes"]
    )
    yield _gauge("pysync_queue_free_bytes", "Free space on the disk of the queue.", {}, queue["free_bytes"])
    yield _gauge(
        "pysync_queue_min_free_bytes", "Free space below which the queue takes no events.", {}, queue["min_free_bytes"]
    )
    yield _gauge(
        "pysync_queue_unreadable", "Messages that were not valid events (at most 100).", {}, queue["unreadable"]
    )


def _dropped(journal: Mapping[str, Any]) -> Metric:
    dropped = CounterMetricFamily("pysync_journal_dropped_records", "Records that the journal could not write.")
    dropped.add_metric([], journal["dropped"])
    return dropped


def _receivers(receivers: Sequence[Mapping[str, Any]]) -> Iterator[Metric]:
    """What the receivers of webhooks were sent."""
    for key, (name, text) in _RECEIVER_COUNTERS.items():
        counter = CounterMetricFamily(f"pysync_notify_{name}", text, labels=["receiver"])
        for it in receivers:
            counter.add_metric([it["name"]], it[key])
        yield counter
    behind = GaugeMetricFamily(
        "pysync_notify_behind", "Records and problems that the receiver was not sent yet.", labels=["receiver"]
    )
    for it in receivers:
        behind.add_metric([it["name"]], it["behind"])
    yield behind
    contacts = GaugeMetricFamily(
        "pysync_notify_last_contact_timestamp_seconds",
        "When the receiver's server has answered last, in seconds since 1970.",
        labels=["receiver"],
    )
    for it in receivers:
        if it["last_contact"] is not None:
            contacts.add_metric([it["name"]], it["last_contact"])
    yield contacts


def _targets(targets: Sequence[Mapping[str, Any]]) -> Iterator[Metric]:
    for key, text in _TARGET_GAUGES.items():
        family = GaugeMetricFamily(f"pysync_target_{key}", text, labels=["target"])
        for it in targets:
            family.add_metric([it["name"]], it[key])
        yield family
    contacts = GaugeMetricFamily(
        "pysync_target_last_contact_timestamp_seconds",
        "When the target has answered last, in seconds since 1970.",
        labels=["target"],
    )
    for it in targets:
        if it["last_contact"] is not None:
            contacts.add_metric([it["name"]], it["last_contact"])
    yield contacts
    behind = GaugeMetricFamily(
        "pysync_target_snapshots_behind",
        "Transactional tables at the source with commits whose rows the target does not have.",
        labels=["target"],
    )
    for it in targets:
        if it["snapshots"] is not None:
            behind.add_metric([it["name"]], it["snapshots"]["behind"])
    yield behind
    held = GaugeMetricFamily(
        "pysync_target_held_drops", "Drops that the brake holds until a person decides.", labels=["target"]
    )
    states = GaugeMetricFamily("pysync_target_state", "1 for the current state.", labels=["target", "state"])
    operations = CounterMetricFamily("pysync_target_operations", "Operations by result.", labels=["target", "result"])
    events = {
        result: CounterMetricFamily(f"pysync_target_{result}_events", text, labels=["target"])
        for result, text in _EVENTS.items()
    }
    conflicts = CounterMetricFamily(
        "pysync_target_conflicts", "Conflicts between changes at source and target.", labels=["target"]
    )
    drift = GaugeMetricFamily(
        "pysync_target_drift", "Objects that differed at the last comparison ([verify]).", labels=["target"]
    )
    for it in targets:
        held.add_metric([it["name"]], it["brake"]["drops"] if it["brake"] else 0)
        for state in DrainState:
            states.add_metric([it["name"], str(state)], it["state"] == state)
        for result in RESULTS:
            operations.add_metric([it["name"], result], it["counts"].get(result, 0))
        for result, counter in events.items():
            counter.add_metric([it["name"]], it["counts"].get(result, 0))
        conflicts.add_metric([it["name"]], it["counts"].get("conflict", 0))
        # No sample before the first comparison: 0 would mean that nothing differs.
        if it["verify"] is not None:
            drift.add_metric([it["name"]], it["verify"]["drift"])
    yield from (held, states, operations, *events.values(), conflicts, drift)


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
