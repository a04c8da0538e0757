"""Notifier: reads the journal and compares problems for one receiver, in a thread of its own.

How far the receiver is stands in the queue's notes. It is written after what it says was sent, so a crash has events
sent again, and none left out.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import structlog
from pydantic import BaseModel

from pysync.base.errors import PysyncError
from pysync.base.health import Problem
from pysync.journal import Query, Reader, Record
from pysync.notify.events import CloudEvent, change_event, gap_event, is_visible, problem_event
from pysync.notify.notes import ReceiverNotes
from pysync.notify.receiver import EventsRefused, Receiver
from pysync.sections import NotifyConfig
from pysync.worker import Worker

MOST = 100
"""Events in one request."""
MOST_WAITING = 200
"""Gaps, beginnings and ends of problems that wait for a receiver that is away."""
REFUSED_SECONDS = 300.0
"""For how long an event that the receiver refuses is sent again."""
CONTACT_SECONDS = 30.0
"""After so long without an answer an idle receiver is asked for one, as idle targets are."""

_EVERY_SECONDS = 1.0
_COMPARE_SECONDS = 5.0
_SAVE_SECONDS = 1.0
_LONGEST_WAIT = 60.0
_BY_TIME = frozenset(
    {
        *("target_waiting", "worker_waiting", "worker_failing", "no_listener"),
        *("listener_lost", "listener_undelivered", "bridge_refuses", "log_refused"),
    }
)
"""Problems of what does not answer for long: a sidecar that has just started cannot know whether they are over."""
_KILLED = "the sidecar did not end in order: changes of its last second may be missing"
_DROPPED = "the journal could not be written for long: changes are missing"
_TRIMMED = "the journal no longer has these changes"
_OTHER = "the journal was begun anew: changes may be missing"
_TOO_MANY = "too much happened while the receiver was away"

log = structlog.get_logger(__name__)


class ReceiverProgress(BaseModel):
    """How far a receiver is: the last record of the journal that it is done with, and the problems that it knows."""

    record: int
    at: float  # of that record: it distinguishes one journal from another
    problems: dict[str, Problem] = {}
    waiting: list[dict[str, Any]] = []  # events that are no records
    running: bool = False  # a sidecar that ends in order takes it back


@dataclass(slots=True)
class _Trouble:
    """What the last answers of the receiver were."""

    failures: int = 0  # in a row
    due: float = 0.0  # when it is tried again
    refused_since: float | None = None
    singly: int = 0  # so many events go one by one, as one of them was refused


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a receiver wants of records and problems."""

    settings: NotifyConfig
    own: str  # the worker that serves it

    def takes(self, record: Record) -> bool:
        """Whether it is a change that a target has, of a database and a target that are asked for."""
        database = record.source_object.partition(".")[0].lower()
        patterns = self.settings.databases
        is_named = not patterns or any(fnmatchcase(database, it.lower()) for it in patterns)
        return is_visible(record) and is_named and self._target(record.target)

    def concerns(self, problem: Problem) -> bool:
        """Whether it is to be sent. Not that this receiver is away: it would arrive when that is no longer true."""
        return problem.about != self.own and (not problem.target or self._target(problem.target))

    def _target(self, name: str) -> bool:
        return not self.settings.targets or name in self.settings.targets


class Notifier:
    """Serves the receiver of these settings; `source` is the name in events.

    `problems` gives those of now; those by time are known `grace` seconds after the start. `newest` gives the id of the
    journal's last record, and `dropped` counts records that it could not keep. `clock` counts seconds and only grows,
    `now` gives seconds since 1970.
    """

    def __init__(
        self,
        settings: NotifyConfig,
        source: str,
        notes: ReceiverNotes,
        journal: Reader,
        problems: Callable[[], Sequence[Problem]],
        *,
        grace: float,
        newest: Callable[[], int],
        dropped: Callable[[], int] = lambda: 0,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._settings, self._source, self._notes, self._journal = settings, source, notes, journal
        self._problems, self._clock, self._now, self._newest = problems, clock, now, newest
        self._dropped, self._dropped_before = dropped, dropped()
        self._receiver = Receiver(settings, now)
        self.worker = Worker(f"notify-{settings.name}", self.turn, every=_EVERY_SECONDS, retry=_EVERY_SECONDS)
        self._wanted = _Wanted(settings, self.worker.name)
        self._known: ReceiverProgress | None = None
        self._saved, self._saved_at, self._compared_at = "", 0.0, -_COMPARE_SECONDS
        self._counts = dict.fromkeys(("delivered", "failed", "skipped"), 0)
        self._trouble, self._grace_ends_at = _Trouble(), clock() + grace + _COMPARE_SECONDS
        self._answered_at = -math.inf  # by `clock`

    def status(self) -> dict[str, Any]:
        """As in `pysync status --json`."""
        known, behind = self._known, 0
        if known is not None:
            behind = len(known.waiting)
            behind += max(0, self._newest() - known.record) if "changes" in self._settings.events else 0
        age = self._clock() - self._answered_at
        contact = None if math.isinf(age) else round(self._now() - age, 3)
        return {"name": self._settings.name, **self._counts, "behind": behind, "last_contact": contact}

    def close(self, *, complete: bool) -> None:
        """After the worker has ended: note that nothing is missing, if the journal is `complete`."""
        if complete and self._known is not None:
            self._known.running = False
            with suppress(PysyncError):
                self._save(self._known)

    def turn(self) -> None:
        """Compare the problems, and send what there is; ask an idle receiver whether it is there.

        Raises PysyncError where disk, journal or receiver do not answer.
        """
        progress = self._progress()
        self._compare_problems(progress)
        if (dropped := self._dropped()) > self._dropped_before:
            self._note_gap(progress, _DROPPED, self._now())
            self._dropped_before = dropped
        if self._clock() < self._trouble.due:
            return
        try:
            while not self.worker.stopping.is_set() and self._send_some(progress):
                self._trouble.failures = 0
                if self._clock() - self._saved_at > _SAVE_SECONDS:
                    self._save(progress)
            if self._clock() - self._answered_at >= CONTACT_SECONDS:
                self._receiver.probe()
                self._answered_at, self._trouble.failures = self._clock(), 0
        except PysyncError:
            self._trouble.failures += 1
            self._trouble.due = self._clock() + min(_LONGEST_WAIT, 2.0 ** min(self._trouble.failures, 10))
            self._save(progress)
            raise
        self._save(progress)
        self.worker.succeeded()

    # --- how far the receiver is

    def _progress(self) -> ReceiverProgress:
        if self._known is not None:
            return self._known
        text = self._notes.get(self._settings.name)
        if text is not None:
            progress = ReceiverProgress.model_validate_json(text)
            if progress.running:
                self._note_gap(progress, _KILLED, self._now())
        else:
            # A new receiver begins now: what was before is not news.
            newest = self._journal.records(Query(), 1)
            progress = (
                ReceiverProgress(record=newest[0].id, at=newest[0].at) if newest else ReceiverProgress(record=0, at=0.0)
            )
        progress.running = True
        self._save(progress)
        self._known = progress
        return progress

    def _save(self, progress: ReceiverProgress) -> None:
        text = progress.model_dump_json()
        if text != self._saved:
            self._notes.put(self._settings.name, text)
            self._saved = text
        self._saved_at = self._clock()

    def _note_gap(self, progress: ReceiverProgress, reason: str, until: float) -> None:
        if "changes" in self._settings.events:
            self._add(progress, [gap_event(self._source, reason, progress.at or None, until)])
            log.warning("webhook_gap", receiver=self._settings.name, reason=reason)

    def _add(self, progress: ReceiverProgress, events: Sequence[CloudEvent]) -> None:
        """Have events that are no records wait for the receiver. Too many become one gap."""
        progress.waiting += map(dict, events)
        if len(progress.waiting) > MOST_WAITING:
            # A tenth more than needed, so that this is not done each time.
            del progress.waiting[: -MOST_WAITING * 9 // 10]
            progress.waiting.insert(0, dict(gap_event(self._source, _TOO_MANY, None, self._now())))

    # --- problems

    def _compare_problems(self, progress: ReceiverProgress) -> None:
        """Have what began and what ended since the last comparison wait for the receiver, on disk."""
        if "problems" not in self._settings.events or self._clock() - self._compared_at < _COMPARE_SECONDS:
            return
        current = {it.key: it for it in self._problems() if self._wanted.concerns(it)}
        known, at = progress.problems, self._now()
        if self._clock() < self._grace_ends_at:
            current = {key: it for key, it in known.items() if it.code in _BY_TIME} | current
        changes = [("ended", it) for key, it in known.items() if key not in current]
        changes += [("begun", it) for key, it in current.items() if key not in known]
        self._add(progress, [problem_event(self._source, change, it, at) for change, it in changes])
        # The words of a problem change as it lasts; it ends with those that were sent when it began.
        progress.problems = {key: known.get(key, it) for key, it in current.items()}
        if changes:
            self._save(progress)
        self._compared_at = self._clock()

    # --- sending

    def _send_some(self, progress: ReceiverProgress) -> bool:
        """Send one request's worth; False when there is nothing left."""
        most = 1 if self._trouble.singly else MOST
        if waiting := progress.waiting[:most]:
            self._send(waiting)
            del progress.waiting[: len(waiting)]
            return True
        if "changes" not in self._settings.events:
            return False
        records = self._following(progress)
        wanted = [it for it in records if self._wanted.takes(it)][:most]
        if wanted:
            self._send([change_event(self._source, it) for it in wanted])
        if records:
            last = wanted[-1] if len(wanted) == most else records[-1]
            progress.record, progress.at = last.id, last.at
        return bool(records or progress.waiting)

    def _following(self, progress: ReceiverProgress) -> list[Record]:
        """The next records. None, and a gap that waits to be sent, where the journal does not go on from there."""
        after = progress.record
        # With the last one that was read, which says whether it is the same journal. Numbers have no holes.
        records = self._journal.records(Query(after=after - 1, before=after + MOST + 1), MOST + 1)[::-1]
        if records and records[0].id == after and records[0].at == progress.at:
            return records[1:]
        if records and records[0].id == after + 1:
            return records
        if (oldest := self._journal.oldest()) is not None:
            self._note_gap(progress, _TRIMMED if oldest.id > after else _OTHER, oldest.at)
            progress.record, progress.at = oldest.id - 1, 0.0
        return []

    def _send(self, events: Sequence[CloudEvent]) -> None:
        """Return when the receiver has these events, or has refused a single one for long."""
        trouble = self._trouble
        try:
            self._receiver.send(events)
            self._answered_at = self._clock()
            self._counts["delivered"] += len(events)
        except EventsRefused as error:
            self._answered_at = self._clock()
            self._counts["failed"] += 1
            if trouble.refused_since is None:
                trouble.refused_since = self._clock()
            if len(events) > 1:
                trouble.singly = len(events)
            if len(events) > 1 or self._clock() - trouble.refused_since < REFUSED_SECONDS:
                raise
            self._counts["skipped"] += 1
            name, it = self._settings.name, events[0]
            log.error("webhook_event_skipped", receiver=name, id=it["id"], type=it["type"], reason=str(error))
        except PysyncError:
            self._counts["failed"] += 1
            trouble.refused_since = None  # an outage says nothing of the event
            raise
        trouble.refused_since = None
        trouble.singly = max(0, trouble.singly - 1)
