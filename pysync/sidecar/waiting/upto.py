"""Upto: waits until a target has all that the source had at a moment, and looks whether it is there.

1. Everything that the source had when this was made, or up to an event id, arrives in the queue.
2. The target is done with it.
3. Both ends are asked. What the source has and the target does not may be newer: what is in the queue since tells. If
   nothing is, twice in a row, somebody removed it at the target, or it never got there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from pysync.queue import EventQueue
from pysync.replay.drain import Drain
from pysync.replay.window.concerns import concerns
from pysync.sidecar.waiting.absence import MOST, Absence, AbsenceLook
from pysync.sidecar.waiting.capture import Arrival, Capture
from pysync.sidecar.waiting.reaching import Objects, Reaching
from pysync.sidecar.waiting.verdict import THERE, WaitVerdict, cannot, waits
from pysync.sidecar.waiting.witness import Witness
from pysync.sidecar.why.ends import EndsReader

_LOOKS = 2
_AGAIN_SECONDS = 1.0


class Upto:
    """A wait of that kind, for a database or table of the source. For one thread at a time."""

    def __init__(
        self,
        drain: Drain,
        queue: EventQueue,
        capture: Capture,
        ends: EndsReader,
        *,
        name: str,
        event_id: int | None = None,
    ) -> None:
        objects = Objects.of(name, drain.translator.mapping)
        self._drain, self._queue, self._capture, self._name = drain, queue, capture, name
        self._reaching = Reaching(drain, queue, objects)
        self._arrival: Arrival | None = Arrival(capture, drain.name, concerns({name}), event_id)
        self._upto = 0
        self._presence = _Presence(ends, drain, name)

    def verdict(self) -> WaitVerdict:
        """What it has come to."""
        hindered = self._reaching.hindered()
        if hindered is not None:
            return hindered
        if self._arrival is not None:
            arrived = self._arrival.verdict()
            if isinstance(arrived, WaitVerdict):
                return arrived
            self._reached(arrived)
        return self._reaching.verdict(self._upto) or self._looked()

    def end(self) -> bool:
        """Nothing is pinned."""
        return False

    def _reached(self, position: int) -> None:
        """All up to the position has come: what is absent is on its way if an event of it is behind the last one."""
        self._arrival = None
        if self._presence.absent and self._changed(self._presence.absent):
            self._presence.begin_again()
        self._upto = position

    def _changed(self, names: Sequence[str]) -> bool:
        mapping, clocks = self._drain.translator.mapping, self._capture.watch.clocks
        objects = [Objects.of(it, mapping) for it in names]
        changes = Witness(self._queue, mapping, self._reaching.objects, clocks).after(self._upto)
        return any(it.concerned(change.keys) for change in changes for it in objects)

    def _looked(self) -> WaitVerdict:
        """Whether it is there, once the target has all changes of it."""
        target, position = self._drain.name, self._upto
        absence = self._presence.look()
        if absence is None:
            return waits("target_away", f"{target} has not said yet what it has", "pysync status", position)
        if error := absence.silent.get("target"):
            return waits("target_away", f"what {target} has is not known: {error}", "pysync status", position)
        if not absence.names:
            return self._there(absence)
        if self._presence.looks < _LOOKS:
            self._arrival = Arrival(self._capture, target, concerns({self._name}))
            return waits("replay", f"{absence.text(target)}; changes of it may be on their way", position=position)
        more = {"missing": list(absence.names), "not_looked_at": []}
        return cannot("missing", absence.text(target), absence.hint(target), position, **more)

    def _there(self, absence: Absence) -> WaitVerdict:
        text = f"{self._drain.name} has all changes of {self._name} up to event {self._upto}"
        if absence.silent:
            text += "; whether it lacks something that the source has is not known, as the source could not be asked"
        more = {"missing": [], "not_looked_at": list(absence.silent)}
        return WaitVerdict(THERE, "there", text, None, self._upto, more)


class _Presence:
    """Looks at both ends, again and again while the target does not answer or lacks something."""

    def __init__(self, ends: EndsReader, drain: Drain, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._ends, self._drain, self._name, self._clock = ends, drain, name, clock
        self._under_way: AbsenceLook | None = None
        self._not_before = 0.0
        self.looks = 0
        """How often in a row something was absent, with nothing of it on its way."""
        self.absent: Sequence[str] = ()

    def begin_again(self) -> None:
        """Count anew: something of what was absent has come. What is absent only later is newer, and not looked for."""
        self.looks = 0
        if len(self.absent) >= MOST:
            self.absent = ()  # there may be more

    def look(self) -> Absence | None:
        """What is absent; None while the ends have not answered."""
        if self._under_way is None and self._clock() >= self._not_before:
            self._under_way = AbsenceLook(self._ends, self._drain.settings, self._name, self.absent or None)
        if self._under_way is None or not self._under_way.is_over:
            return None
        absence, self._under_way = self._under_way.absence(), None
        self._not_before = self._clock() + _AGAIN_SECONDS
        if absence.names:
            self.looks += 1
            self.absent = absence.names
        return absence
