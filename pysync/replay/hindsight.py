"""Hindsight: what later events have removed already, for earlier events that come again.

Windows overlap: when a process dies, works far behind the position may be done although one right after it is not. All
events after the position come again. The place of an early one may be gone, because a later one has dropped or renamed
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pysync.errors import PysyncError
from pysync.model.change import Change
from pysync.model.event import Kind
from pysync.model.wire import decode_event
from pysync.queue import EventQueue, Queued
from pysync.replay.order import EVERYTHING
from pysync.replay.translate import Translator


@dataclass(frozen=True, slots=True)
class Hindsight:
    """Which event removed what, in event order."""

    removed: tuple[tuple[int, str], ...] = ()

    @classmethod
    def of(cls, events: Iterable[Queued], translator: Translator) -> Hindsight:
        """The hindsight of events that may have been applied. An unreadable event cannot have been applied."""
        found = []
        for event in events:
            change = _translated(event, translator)
            while change is not None:
                found += [(event.position, name) for name in _removed(change)]
                change = change.then
        return cls(tuple(found))

    @classmethod
    def joined(cls, found: Iterable[Hindsight]) -> Hindsight:
        """The hindsight of several runs of events, in order."""
        return cls(tuple(each for it in found for each in it.removed))

    def after(self, position: int) -> frozenset[str]:
        """The names of the tables and databases that were removed behind that position."""
        return frozenset(name for at, name in self.removed if at > position)


NONE = Hindsight()
_REMOVES = frozenset({Kind.DROP_DATABASE, Kind.DROP_TABLE, Kind.ALTER_TABLE, Kind.REFRESH})
_EVENTS = 1000
_BYTES = 16 * 1024 * 1024


class Lookout:
    """Finds the hindsight for one target's windows. It reads the events once, for the first of the windows.

    `reach` is how many events after the target's position may have been applied when the process died.
    """

    def __init__(self, queue: EventQueue, translator: Translator, reach: int) -> None:
        self.reach = reach
        self._queue = queue
        self._translator = translator
        self._begun: int | None = None  # the position up to which events may have been applied; None: not known
        self._found: Hindsight | None = None

    def after(self, position: int) -> Hindsight:
        """The hindsight for a window that begins after this position."""
        if self._begun is None:
            self._begun = min(position + self.reach, self._queue.last)
        # Nothing behind it was ever begun: the usual case after the first windows, which costs no reading.
        if position >= self._begun:
            return NONE
        if self._found is None:
            self._found = Hindsight.joined(self._removed(position, self._begun))
        return self._found

    def begin(self, position: int) -> None:
        """Note that events up to that position may be applied from now on."""
        self._begun = max(position, self._begun or 0)

    def forget(self) -> None:
        """Read the events again the next time: what was under way was given up, and comes again."""
        self._found = None

    def _removed(self, after: int, upto: int) -> Iterator[Hindsight]:
        while after < upto:
            events = self._queue.events(after, min(_EVENTS, upto - after), _BYTES)
            yield Hindsight.of(events, self._translator)
            after = events[-1].position


def _translated(event: Queued, translator: Translator) -> Change | None:
    try:
        if decode_event(event.data).kind not in _REMOVES:
            return None
        return translator.translate(event.data, event.position)
    except PysyncError:
        return None
    except Exception:  # noqa: BLE001 - whoever replays it tells of it
        return None


def _removed(change: Change) -> list[str]:
    """The names that a change removes, or may find gone at the source.

    Tables (`db.table`) that it drops, renames or refreshes; databases (`db`) that it drops; `db.*` for the refresh of a
    database, which may drop any table in it.
    """
    if change.kind is Kind.DROP_DATABASE:
        return [change.database]
    if change.kind is Kind.REFRESH and change.table_name is None:
        return [change.database + EVERYTHING]
    renamed = change.kind is Kind.ALTER_TABLE and change.table_name != change.new_table_name
    removes = renamed or change.kind in {Kind.DROP_TABLE, Kind.REFRESH}
    return [str(change.table_name)] if removes else []
