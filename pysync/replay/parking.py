"""Parking: what a refusal becomes: rows of parked events, lines of the log, and what a retry must try together."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import structlog

from pysync.model.change import Change
from pysync.model.event import Kind
from pysync.model.operation import DropDatabase
from pysync.queue import Park
from pysync.replay.batch import Job
from pysync.replay.progress import Progress
from pysync.replay.window.blocks import Refusal
from pysync.replay.window.order import holds_back

_OF_NO_ERROR = frozenset({"waits", "held"})
"""Kinds of refusals that say nothing of the event; the brake logs what it holds."""

log = structlog.get_logger(__name__)


def parks_of(target: str, refused: Iterable[Refusal]) -> list[Park]:
    """The rows to park: an event has one for each of its keys."""
    now = int(time.time() * 1000)
    return [
        Park(target, it.event.position, key, it.event.data, it.reason, it.kind, 1, now, now)
        for it in refused
        # An event whose table is unknown needs a row, too, or it would be lost. It blocks nothing.
        for key in sorted(it.keys or {""})
    ]


def report_parked(target: str, progress: Progress, refused: Sequence[Refusal]) -> None:
    """Count parked events, and log those that do not only wait. Called once for each, not when it is refused again."""
    progress.count("parked", len(refused))
    note(progress, refused)
    for refusal in refused:
        if refusal.kind not in _OF_NO_ERROR:
            keys, position = sorted(refusal.keys), refusal.event.position
            log.error("event_parked", target=target, position=position, keys=keys, reason=refusal.reason)


def note(progress: Progress, refused: Iterable[Refusal]) -> None:
    """Let the progress remember the reasons of events that do not only wait."""
    for refusal in refused:
        if refusal.kind not in _OF_NO_ERROR:
            progress.refused(refusal.reason)


def keys_left(job: Job, change: Change, held: frozenset[str]) -> frozenset[str]:
    """The keys of what is left to do of a change, where the brake holds these of its work.

    Of a comparison, or the drop of a database, all is done but what is held.
    """
    if change.kind is Kind.REFRESH:
        return held
    if not any(isinstance(it, DropDatabase) and it.may_come_late for it in job.work.operations):
        return change.keys
    return held if change.kind is Kind.DROP_DATABASE else change.keys & held


def related(keys: Iterable[str], groups: Iterable[Iterable[str]]) -> frozenset[str]:
    """All keys that must be retried together with `keys`; `groups` are the keys of every parked event. Pure."""
    together = frozenset(keys)
    left = {frozenset(group) for group in groups}
    while near := {group for group in left if holds_back(together, group)}:
        together = together.union(*near)
        left -= near
    return together
