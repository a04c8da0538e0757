"""Run: queued events as they are for one target, in order, up to the first that has to wait for the others. Pure."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

from pysync.errors import PysyncError
from pysync.model.again import WORD
from pysync.model.change import Change
from pysync.model.event import USER, Kind
from pysync.model.wire import decode_event
from pysync.queue import Queued
from pysync.replay.blocks import Covers, Refusal
from pysync.replay.order import database_of
from pysync.replay.translate import Translator


@dataclass(frozen=True, slots=True)
class Translated:
    """What an event is for the target: a change, nothing (None), or a refusal of what cannot be translated.

    `changes` are those that follow from it, in order. `covers` tells which refused events a refresh makes good.
    """

    event: Queued
    found: Change | Refusal | None = None
    changes: Sequence[Change] = ()
    covers: Covers | None = None

    @property
    def comes_alone(self) -> bool:
        """Whether it must be a run of its own."""
        return isinstance(self.found, Change) and self.found.comes_alone

    def refreshes(self, keys: Set[str]) -> bool:
        """Whether it is a refresh of one of these objects."""
        return self.covers is not None and any(not keys.isdisjoint(change.keys) for change in self.changes)


def run_of(events: Sequence[Queued], translator: Translator) -> list[Translated]:
    """Translate the events, from the first on.

    A refresh of a database, or of all of them, is a run of its own. A refresh of a table begins a new run after other
    events of that table, so that it can make good what is refused of those.
    """
    found: list[Translated] = []
    keys: set[str] = set()
    unread: list[Change] = []  # their keys are not in `keys` yet: only a refresh asks for those
    for each in _translations(events, translator):
        if each.covers is not None:
            keys.update(*(change.keys for change in unread))
            unread.clear()
        alone = each.comes_alone
        if found and (alone or each.refreshes(keys)):
            break
        found.append(each)
        if alone:
            break
        unread += each.changes
    return found


def refreshes_all(event: Queued) -> bool:
    """Whether the event asks to compare the lists of databases: nothing else may be under way then."""
    try:
        found = decode_event(event.data)
    except PysyncError:
        return False
    return found.kind is Kind.REFRESH and not found.attributes.get("database")


def _translations(events: Sequence[Queued], translator: Translator) -> Iterator[Translated]:
    repeated = _repeated_words(events) if translator.policy.both_ways else frozenset[int]()
    for at, event in enumerate(events):
        yield Translated(event) if at in repeated else _translated(event, translator)


def _translated(event: Queued, translator: Translator) -> Translated:
    try:
        change = translator.translate(event.data, event.position)
        covers = _covered(change, translator) if change is not None and change.kind is Kind.REFRESH else None
    except PysyncError as error:
        return Translated(event, Refusal.of(event, translator.keys(event.data), "rejected", str(error)))
    except Exception:  # noqa: BLE001 - no other try would end differently
        return Translated(event, Refusal.of(event, translator.keys(event.data), "bug", traceback.format_exc()))
    return Translated(event, change, _changes(change) if change is not None else (), covers)


def _changes(change: Change) -> list[Change]:
    """The change, the one that follows it, and the refresh of a table whose partitions the target may not have."""
    then = [] if change.then is None else [change.then]
    return [change, *then, *_refreshed(change)]


def _refreshed(change: Change) -> list[Change]:
    """The refresh of a table whose partitions the target may not have, if the change is about one.

    Its partitions were added before it came into scope, or another refresh of it was under way while it was renamed.
    """
    source, name = change.whole, change.new_table_name
    if source is None or name is None or not change.after[0].partitionKeys:
        return []
    names = {"source_database": source.database, "source_table": source.table, "created": str(change.created)}
    attributes = {"database": name.database, "table": name.table, **names}
    event = replace(change.event, kind=Kind.REFRESH, attributes=attributes, table=None, before=(), after=())
    return [Change(event, change.position, origin=change.origin)]


def _covered(change: Change, translator: Translator) -> Covers:
    """Which parked events a refresh makes good.

    Of a table: those of that table only. Of a database: those within it, if it is `whole`. Of all databases: those of
    databases that are gone, or all if it is `whole`. `whole` means that refreshes of everything there follow.

    What is there was listed after the events up to `upto`: later events may be about newer objects.
    """
    names = change.event.attributes
    whole, upto = names.get("whole") == "true", int(names.get("upto") or change.position)
    if change.table_name is not None:
        return lambda _, keys: keys == change.keys
    if change.refreshes_all:
        there = translator.mapping.databases_of(names.get("present", "").split("\n"))
        return lambda at, keys: at <= upto and (whole or all(database_of(key) not in there for key in keys))
    return lambda at, keys: at <= upto and whole and all(database_of(key) == change.database for key in keys)


def _repeated_words(events: Sequence[Queued]) -> Set[int]:
    """The indexes of the words (pysync.model.again) that are said again later among the events.

    A word has its object read when it is replayed, so the last one is enough. A backlog after many conflicts is full of
    repeated words.
    """
    last: dict[tuple[bytes, str | None], int] = {}
    repeated: set[int] = set()
    for at, event in enumerate(events):
        word = _word(event)
        if word is not None:
            repeated |= {last[word]} if word in last else set()
            last[word] = at
    return repeated


def _word(event: Queued) -> tuple[bytes, str | None] | None:
    """The name of the word that an event says, and the user who says it; None if it says none."""
    # A search in the bytes first: decoding every event twice would cost more than the words.
    found = WORD.search(event.data)
    if found is None:
        return None
    try:
        told = decode_event(event.data)
    except PysyncError:
        return None
    return (found[0], told.attributes.get(USER)) if told.kind is Kind.CREATE_FUNCTION else None
