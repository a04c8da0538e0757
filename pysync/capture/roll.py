"""The roll of listeners: which there are, what they have reported, and how far their clocks are off."""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from pysync.model.event import Event, Kind
from pysync.queue import EventQueue, Instance

# --- Clocks: how far the clock of each listener's host is from ours, by what its reports say.
#
# A report says when it was sent, by the listener's clock. What is missing to the time at which it came is the offset
# of the clocks and the time on the way. The time on the way is never negative, so of the last reports the one that
# was fastest is the nearest to the truth: the offset is wrong by no more than that one took, mostly under a
# millisecond.


_REPORTS = 30  # a minute of them: a clock that is set is followed within that
_MOST = 1000  # listeners; whoever has the token can make names up


class Clocks:
    """The offsets by the listeners' instances, from any thread. `clock` returns seconds since 1970."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, deque[float]] = OrderedDict()
        self._offsets: dict[str, float] = {}

    def add_report(self, instance: str, sent_ms: int) -> None:
        """A report has come that was sent at `sent_ms`, in milliseconds since 1970 by the listener's clock."""
        offset = sent_ms / 1000 - self._clock()
        with self._lock:
            seen = self._seen.setdefault(instance, deque(maxlen=_REPORTS))
            seen.append(offset)
            self._seen.move_to_end(instance)
            self._offsets[instance] = max(seen)
            if len(self._seen) > _MOST:
                del self._offsets[self._seen.popitem(last=False)[0]]

    def offset(self, instance: str) -> float | None:
        """How many seconds the listener's clock is ahead of ours; None if it has not reported it."""
        return self._offsets.get(instance)  # without the lock: it is asked for every event


# --- Roll calls: whether every listener has reported since a moment, and so whether its earlier changes have come.
#
# The answer to a listener's report names the newest roll call, and the listener's next report says which one it has
# heard. It asks for that before it asks how many events there are. So a report that has heard of a roll call counts
# every event whose callback had ended when the roll call began, whatever the clocks say and however long reports
# take.

_HEARD = re.compile(r"([0-9a-f]{8})-([0-9]{1,15})")
# listeners; whoever has the token can make names up


@dataclass(frozen=True, slots=True)
class Answered:
    """The newest roll call that a listener has heard, and the last number that it had given to an event since then."""

    call: int
    sequence: int


@dataclass(slots=True)
class RollCalls:
    """The roll calls of this process, from any thread. Listeners that heard one of another process have heard none."""

    _process: str = field(default_factory=lambda: secrets.token_hex(4))
    _newest: int = 0
    _answers: dict[str, Answered] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> int:
        """Begin a roll call; returns its number. It is over for a listener whose `answered` has that number or more."""
        with self._lock:
            self._newest += 1
            return self._newest

    def answer_report(self, instance: str, sequence: int, report: Mapping[str, Any]) -> str:
        """Note a report of a listener; returns what to answer.

        `ok`, and to a report of every two seconds the newest roll call, with `soon` if the listener did not know it.
        """
        answer = report.get("heard")
        # A report with events still waiting was sent before them: it says nothing of what has come.
        if report.get("waiting") != 0 or not isinstance(answer, str):
            return "ok"
        call = self._number_of(answer)
        with self._lock:
            if len(self._answers) < _MOST or instance in self._answers:
                self._answers[instance] = Answered(call, sequence)
            newest = self._newest
        return f"ok {self._process}-{newest}" + (" soon" if call < newest else "")

    def answered(self, instance: str) -> Answered | None:
        """What a listener has answered last; None if it has not reported to this process."""
        with self._lock:
            return self._answers.get(instance)

    def _number_of(self, text: str) -> int:
        """The number of a roll call of this process; 0 for any other text."""
        match = _HEARD.fullmatch(text)
        return int(match[2]) if match and match[1] == self._process else 0


# --- The roll: the listeners that are expected to report, and the last report of each.
#
# A listener is on the roll from when it is first heard until its metastore has ended: it sent its goodbye, the next one
# on its spool reports its end, a new one of the same source has come since it fell silent, or a person strikes it
# off. So one that is cut off or locked out is missed until it comes back, even by the next sidecar.

_NOTE = "listeners"
# whoever has the token can make names up

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Entry:
    source: str
    is_new: bool = False  # no sidecar has heard of it before
    first: float | None = None  # heard in this process, by the clock; None: it has not been
    last: float | None = None
    heard_at: float | None = None  # seconds since 1970
    given: int = 0  # the last number that it says it has given to an event
    waiting: int = 0  # bytes
    lost: int = 0
    behind_ms: int | None = None  # when the oldest change that has not come happened, as far as known
    lost_logged: bool = False  # its silence is in the log, and no sign of life since


@dataclass(slots=True)
class Roll:
    """What is known of the listeners, from any thread; `save` alone writes. `clock` gives seconds that only grow."""

    queue: EventQueue
    silence_seconds: float
    clock: Callable[[], float] = time.monotonic
    _entries: dict[str, _Entry] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)
    _known: frozenset[str] = frozenset()
    _saved: str = "{}"
    _began: float = 0.0
    _empty_since: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Recall the roll of the last sidecar."""
        self._saved = self.queue.notes.get(_NOTE) or "{}"
        self._known = frozenset(it.instance for it in self.queue.intake.instances())
        self._entries = {name: _Entry(source) for name, source in json.loads(self._saved).items()}
        self._began = self.clock()
        self._empty_since = None if self._entries else time.time()

    def note_report(self, instance: str, source: str, *, given: int, waiting: int, lost: int) -> None:
        """Note a listener's report: the last number that it gave, the bytes that wait there, the events lost.

        One that has ended may do so once more: that does not count.
        """
        with self._lock:
            if instance in self._ended:
                return
            entry = self._seen(instance, source)
            entry.given, entry.waiting, entry.lost = given, waiting, lost
            if waiting == 0:
                entry.behind_ms = None
            elif entry.behind_ms is None:
                entry.behind_ms = int(time.time() * 1000)

    def taken(self, event: Event) -> None:
        """An event of a listener has been queued."""
        if event.kind is Kind.GOODBYE:
            self.strike(event.instance)
            return
        with self._lock:
            # It was struck off, and yet it delivers: it lives.
            self._ended.discard(event.instance)
            entry = self._seen(event.instance, event.source)
            entry.behind_ms = event.time_ms if entry.waiting else None

    def refused(self, events: Iterable[Event]) -> None:
        """Events have come and could not be queued: they wait where they came from."""
        with self._lock:
            for event in events:
                entry = self._seen(event.instance, event.source)
                entry.behind_ms = min(event.time_ms, entry.behind_ms or event.time_ms)

    def strike(self, instance: str) -> bool:
        """Strike off a listener that has ended; False if it was not on the roll. Durable with the next `save`."""
        with self._lock:
            self._ended.add(instance)
        return self.forget(instance)

    def forget(self, instance: str) -> bool:
        """The same for one of which nobody knows that it has ended: it is back as soon as it is heard."""
        with self._lock:
            dropped = self._drop(instance)
        if dropped:
            log.info("listener_ended", instance=instance)
        return dropped

    def save(self) -> None:
        """Keep for the next sidecar who is on the roll, if that has changed. Raises QueueFull and QueueFailed."""
        with self._lock:
            for name in [name for name in self._entries if self._is_replaced(name)]:
                log.info("listener_replaced", instance=name)
                self._ended.add(name)
                self._drop(name)
            self._log_lost()
            text = json.dumps({name: entry.source for name, entry in self._entries.items()})
        if text != self._saved:
            self.queue.notes.put(_NOTE, text)
            self._saved = text

    def status(self, instances: Collection[Instance]) -> list[dict[str, Any]]:
        """As in `pysync status --json`; `instances` are those that the queue has events of."""
        known = {it.instance: it for it in instances}
        with self._lock:
            return [self._status_of(name, entry, known) for name, entry in self._entries.items()]

    def empty_since(self) -> float | None:
        """Since when no listener is on the roll, in seconds since 1970; None while one is."""
        with self._lock:
            return self._empty_since

    def _seen(self, instance: str, source: str) -> _Entry:
        """The entry of a listener that has just given a sign of life."""
        entry = self._entries.get(instance)
        if entry is None:
            entry = _Entry(source, is_new=instance not in self._known)
            # One too many gets an entry that nobody keeps: it is heard, but not missed.
            if len(self._entries) < _MOST:
                self._entries[instance] = entry
            self._empty_since = None
        if (entry.last is None or entry.lost_logged) and instance in self._entries:
            log.info("listener_connected", instance=instance, source=entry.source)
        entry.lost_logged = False
        entry.last = self.clock()
        entry.first = entry.last if entry.first is None else entry.first
        entry.heard_at = time.time()
        return entry

    def _drop(self, instance: str) -> bool:
        if self._entries.pop(instance, None) is None:
            return False
        if not self._entries:
            self._empty_since = time.time()
        return True

    def _silence(self, entry: _Entry) -> float:
        return self.clock() - (self._began if entry.last is None else entry.last)

    def _is_silent(self, entry: _Entry) -> bool:
        return self._silence(entry) > self.silence_seconds

    def _log_lost(self) -> None:
        for name, entry in self._entries.items():
            if self._is_silent(entry) and not entry.lost_logged:
                seconds = round(self._silence(entry), 1)
                log.warning("listener_lost", instance=name, source=entry.source, seconds=seconds)
                entry.lost_logged = True

    def _is_replaced(self, name: str) -> bool:
        entry = self._entries[name]
        return self._is_silent(entry) and any(
            it.is_new and it.source == entry.source and it.first is not None and it.first > (entry.last or 0.0)
            for it in self._entries.values()
        )

    def _status_of(self, name: str, entry: _Entry, known: Mapping[str, Instance]) -> dict[str, Any]:
        silent = self._is_silent(entry)
        there = known.get(name)
        come = there.received if there else 0
        return {
            "instance": name,
            "source": entry.source,
            "state": "silent" if silent else "expected" if entry.last is None else "heard",
            "heard_at": entry.heard_at,
            "waiting_bytes": entry.waiting,
            "waiting_events": max(0, entry.given - come - entry.lost) if entry.waiting else 0,
            "waiting_since": None if entry.behind_ms is None else entry.behind_ms / 1000,
            "lost": entry.lost,
        }
