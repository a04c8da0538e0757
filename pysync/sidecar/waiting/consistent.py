"""Consistent: pins a database at a target in a state that the source's database had at one moment.

0. The target has, and does not lack, what the source had when this was made (`upto`).
1. Everything that the source has then arrives in the queue.
2. The database is pinned at an event behind that: the target gets what is before, and nothing of this database that is
   behind it. Other databases go on.
3. When the target has it, once more everything that the source has then arrives. What came behind the pinned event
   shows whether the target may have got anything of it. If so, it is pinned at a later event.
"""

from __future__ import annotations

import structlog

from pysync.base.errors import UsageError
from pysync.capture.overlaps import CALM_SECONDS, CLOSE_SECONDS
from pysync.queue import EventQueue
from pysync.replay.drain import Drain
from pysync.replay.window.concerns import concerns
from pysync.replay.window.pins import Pin
from pysync.sidecar.waiting.capture import Arrival, Capture
from pysync.sidecar.waiting.proof import doubt
from pysync.sidecar.waiting.reaching import Objects, Reaching
from pysync.sidecar.waiting.upto import Upto
from pysync.sidecar.waiting.verdict import THERE, WaitVerdict, waits
from pysync.sidecar.waiting.witness import Witness
from pysync.sidecar.why.ends import EndsReader

log = structlog.get_logger(__name__)

_UNSETTLED = "the order of two changes is not known"


class Consistent:
    """A wait for a consistent point of the database `name`, pinned for `seconds` at most. For one thread at a time."""

    def __init__(
        self, drain: Drain, queue: EventQueue, capture: Capture, ends: EndsReader, *, name: str, seconds: float
    ) -> None:
        _refuse(drain, name)
        mapping = drain.translator.mapping
        self._before: Upto | None = Upto(drain, queue, capture, ends, name=name)
        self._drain, self._queue, self._capture, self._seconds = drain, queue, capture, seconds
        self._objects = Objects.of(name, mapping)
        self._reaching = Reaching(drain, queue, self._objects)
        self._witness = Witness(queue, mapping, self._objects, capture.watch.clocks)
        self._arrival: Arrival | None = self._new_arrival()
        self._since = self._arrival.begun  # what was read at the source before that is in the queue, too
        self._pin: Pin | None = None
        self._call: tuple[int, float] | None = None  # the second arrival, and when it began
        self._attempts = 0
        self._not_looked_at: list[str] = []
        self._reached: WaitVerdict | None = None

    def verdict(self) -> WaitVerdict:
        """What it has come to; once it is `there` the database stays pinned until `end`."""
        if self._reached is not None:
            return self._reached
        verdict = self._reaching.hindered() or self._step()
        if verdict.state == THERE:
            self._reached = verdict
        elif verdict.state == "cannot":
            self.end()
        return verdict

    def end(self) -> bool:
        """Let the database go on; whether it was pinned until now."""
        pin, self._pin = self._pin, None
        return pin is not None and self._drain.pins.end(pin)

    def _step(self) -> WaitVerdict:
        if self._before is not None:
            verdict = self._before.verdict()
            if verdict.state != THERE:
                return verdict
            self._before, self._not_looked_at = None, verdict.more["not_looked_at"]
        if self._arrival is not None:
            arrived = self._arrival.verdict()
            if isinstance(arrived, WaitVerdict):
                return arrived
            self._since = max(self._since, self._arrival.begun)
            self._arrival = None
            if not self._begin_pin(arrived):
                return self._retry(_UNSETTLED, after_arrival=True)
        pin = self._pin
        if pin is None or not self._drain.pins.lasts(pin):
            return self._retry(f"the target had to begin anew, or it took longer than {self._seconds:g} s")
        if self._call is None:
            behind = self._reaching.verdict(pin.upto)
            if behind is not None:
                return behind
            self._call = self._capture.begin(), self._capture.clock()
        return self._capture.missing(self._call[0]) or self._proved(pin, self._call[1])

    def _begin_pin(self, least: int) -> bool:
        """Pin the database; False if the order of two changes before the pinned event is not known."""
        clock, concerned = self._capture.clock, concerns({self._objects.source})
        # What is unsettled before may be settled by a refresh behind the pinned event; what becomes so later stays so
        # for longer than this takes.
        began, before = clock(), self._capture.is_unsettled(clock(), concerned)
        self._pin = self._drain.pins.begin(self._objects.databases, least, self._seconds)
        self._call = None
        self._attempts += 1
        return not (before or self._capture.is_unsettled(clock(), concerned)) and clock() - began < CALM_SECONDS

    def _proved(self, pin: Pin, called_at: float) -> WaitVerdict:
        """All that may have been read at the source has come: judge by what is behind the pinned event."""
        gap, upto = self._capture.gap(self._drain.name)
        if gap is not None or upto > pin.upto:
            return self._retry("changes of it may be missing", after_arrival=True)
        after = self._witness.after(pin.upto)
        before = self._witness.before(pin.upto, min(it.at for it in after)) if after else []
        doubtful = doubt(before, after, self._read())
        if doubtful is not None:
            self._since = called_at
            return self._retry(doubtful)
        return self._there(pin)

    def _read(self) -> set[str] | None:
        read = self._drain.reads.since(self._since - CLOSE_SECONDS)
        return None if read is None else {key for key in read if not key or self._objects.concerned({key})}

    def _there(self, pin: Pin) -> WaitVerdict:
        if not self._drain.pins.lasts(pin):
            return self._retry("the target had to begin anew")
        left = max(0.0, pin.until - self._capture.clock())
        text = f"{self._drain.name} shows {self._objects.source} as the source had it after event {pin.upto}"
        more = {"attempts": self._attempts, "pinned_seconds": round(left, 3), "missing": []}
        more["not_looked_at"] = self._not_looked_at
        return WaitVerdict(THERE, "consistent", text, None, pin.upto, more)

    def _retry(self, why: str, *, after_arrival: bool = False) -> WaitVerdict:
        """Let the database go on, and try a later event; `after_arrival`: first let everything arrive again."""
        self.end()
        log.info("point_doubted", target=self._drain.name, database=self._objects.source, reason=why)
        if after_arrival or not self._begin_pin(self._queue.last):
            self.end()
            self._arrival = self._new_arrival()
        return waits("again", f"no consistent point yet ({self._attempts} tried): {why}")

    def _new_arrival(self) -> Arrival:
        return Arrival(self._capture, self._drain.name, concerns({self._objects.source}))


def _refuse(drain: Drain, name: str) -> None:
    if "." in name:
        raise UsageError("a consistent point is of a database", "write db")
    if drain.settings.both_ways:
        raise UsageError(
            f"target {drain.name} has both_ways = true: it has changes of its own, so it shows no moment of the source",
            "wait without --consistent",
        )
