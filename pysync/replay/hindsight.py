"""Hindsight: what events that may have been applied already took away, for those before them that come again.

Windows overlap: when a process dies, works far behind the position may be done though one right after it is not. All of
them come again from there, and the place of an early one may be gone, because a later one has dropped or renamed it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pysync.errors import PysyncError
from pysync.model.change import Change
from pysync.model.event import Kind
from pysync.model.wire import decode_event
from pysync.queue import Queued
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
