"""Hindsight: what events that may have been applied already took away, for those before them that come again.

Windows overlap: when a process dies, works far behind the position may be done though one right after it is not. All of
them come again from there, and the place of an early one may be gone, because a later one has dropped or renamed it.
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
    """What was removed by which event, in the order of the events."""

    removed: tuple[tuple[int, str], ...] = ()

    @classmethod
    def of(cls, events: Iterable[Queued], translator: Translator) -> Hindsight:
        """That of events which may have been applied already. What cannot be read has not been."""
        found = []
        for event in events:
            change = _translated(event, translator)
            while change is not None:
                found += [(event.position, name) for name in _removed(change)]
                change = change.then
        return cls(tuple(found))

    @classmethod
    def joined(cls, found: Iterable[Hindsight]) -> Hindsight:
        """That of one run of events after the other."""
        return cls(tuple(each for it in found for each in it.removed))

    def after(self, position: int) -> frozenset[str]:
        """The names of what was removed behind that position: tables, and databases."""
        return frozenset(name for at, name in self.removed if at > position)


NONE = Hindsight()
_REMOVES = frozenset({Kind.DROP_DATABASE, Kind.DROP_TABLE, Kind.ALTER_TABLE, Kind.REFRESH})
_EVENTS = 1000
_BYTES = 16 * 1024 * 1024


class Lookout:
    """Finds the hindsight of one target's windows; reads the events for it once, when the first of them is taken.

    `reach` is how many events after the target's position may have been applied when the process died.
    """

    def __init__(self, queue: EventQueue, translator: Translator, reach: int) -> None:
        self.reach = reach
        self._queue = queue
        self._translator = translator
        self._begun: int | None = None  # the position up to which anything may have been applied; None: nobody knows
        self._found: Hindsight | None = None

    def after(self, position: int) -> Hindsight:
        """That of a window which begins after this position."""
        if self._begun is None:
            self._begun = min(position + self.reach, self._queue.last)
        if position >= self._begun:
            return NONE
        if self._found is None:
            self._found = Hindsight.joined(self._removed(position, self._begun))
        return self._found

    def begin(self, position: int) -> None:
        """Note that all events up to there may be applied from now on."""
        self._begun = max(position, self._begun or 0)

    def forget(self) -> None:
        """Look anew: what is under way is given up, and comes again."""
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
    """Tables (`db.table`) that it drops, renames, or may find gone at the source; databases (`db`) that it drops; and
    the database (`db.*`) of which it may find any table gone.
    """
    if change.kind is Kind.DROP_DATABASE:
        return [change.database]
    if change.kind is Kind.REFRESH and change.table_name is None:
        return [change.database + EVERYTHING]
    renamed = change.kind is Kind.ALTER_TABLE and change.table_name != change.new_table_name
    removes = renamed or change.kind in {Kind.DROP_TABLE, Kind.REFRESH}
    return [str(change.table_name)] if removes else []
