"""Run: queued events as they are for one target, in order, up to the first that has to wait for the others. Pure."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace

from pysync.base.errors import PysyncError
from pysync.model.change import Change
from pysync.model.event import USER, Kind
from pysync.model.operation import Operation, PutConstraint, RenameTable
from pysync.model.reread import REQUEST_NAME
from pysync.model.wire import decode_event
from pysync.queue import Queued
from pysync.replay.window.blocks import Covers, Refusal
from pysync.replay.window.order import database_of
from pysync.replay.window.translate import Translator


@dataclass(frozen=True, slots=True)
class Translated:
    """What an event is for the target: a change, nothing (None), or a refusal of what cannot be translated.

    `changes` are those that follow from it, in order. `covers` says which refused events a refresh makes good.
    """

    event: Queued
    translation: Change | Refusal | None = None
    changes: Sequence[Change] = ()
    covers: Covers | None = None

    @property
    def comes_alone(self) -> bool:
        """Whether it must be a run of its own."""
        return isinstance(self.translation, Change) and self.translation.comes_alone

    def refreshes(self, keys: Set[str]) -> bool:
        """Whether it is a refresh of one of these objects."""
        return self.covers is not None and any(not keys.isdisjoint(change.keys) for change in self.changes)


def run_of(events: Sequence[Queued], translator: Translator, finished: Set[int] = frozenset()) -> list[Translated]:
    """Translate the events, from the first on; those at the positions `finished` mean nothing more.

    A refresh of a database, or of all of them, is a run of its own. A refresh of a table begins a new run after other
    events of that table, so that it can make good what is refused of those.
    """
    translated: list[Translated] = []
    keys: set[str] = set()
    unread: list[Change] = []  # their keys are not in `keys` yet: only a refresh asks for those
    for each in _translations(events, translator, finished):
        if each.covers is not None:
            keys.update(*(change.keys for change in unread))
            unread.clear()
        alone = each.comes_alone
        if translated and (alone or each.refreshes(keys)):
            break
        translated.append(each)
        if alone:
            break
        unread += each.changes
    return translated


def refreshes_all(event: Queued) -> bool:
    """Whether the event asks to compare the lists of databases: nothing else may be under way then."""
    try:
        decoded = decode_event(event.data)
    except PysyncError:
        return False
    return decoded.kind is Kind.REFRESH and not decoded.attributes.get("database")


_REMOVES = frozenset({Kind.DROP_DATABASE, Kind.DROP_TABLE, Kind.ALTER_TABLE, Kind.REFRESH})


def removals(events: Iterable[Queued], translator: Translator) -> Iterator[Change]:
    """The changes among these events that may remove an object; what cannot be translated is left out."""
    for event in events:
        with suppress(Exception):  # it is reported when the event is replayed
            change = decode_event(event.data).kind in _REMOVES and translator.translate(event.data, event.position)
            if change:
                yield change


def removes(change: Change, operation: Operation, keys: Collection[str]) -> bool:
    """Whether a later change removes the place of an operation, whose work has these keys.

    Of a constraint that is any of its tables. Of anything else it is the database: a missing table is read whole.
    """
    if change.kind is Kind.DROP_DATABASE:
        name = operation.new_name.database if isinstance(operation, RenameTable) else database_of(operation.key)
        return change.database in {name, *map(database_of, keys if isinstance(operation, PutConstraint) else ())}
    renamed = change.kind is Kind.ALTER_TABLE and change.table_name != change.new_table_name
    is_gone = renamed or change.kind in {Kind.DROP_TABLE, Kind.REFRESH}
    return is_gone and isinstance(operation, PutConstraint) and str(change.table_name) in keys


def _translations(events: Sequence[Queued], translator: Translator, finished: Set[int]) -> Iterator[Translated]:
    repeated = _repeated_requests(events) if translator.policy.direction.skips_repeated_requests else frozenset[int]()
    for at, event in enumerate(events):
        is_over = at in repeated or event.position in finished
        yield Translated(event) if is_over else _translated_or_error(event, translator)


def _translated_or_error(event: Queued, translator: Translator) -> Translated:
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


def _repeated_requests(events: Sequence[Queued]) -> Set[int]:
    """The indexes of the re-read requests (pysync.model.reread) that are repeated later among the events.

    A request has its object read when it is replayed, so the last one is enough. A backlog after many conflicts is full
    of repeated requests.
    """
    last: dict[tuple[bytes, str | None], int] = {}
    repeated: set[int] = set()
    for at, event in enumerate(events):
        request = _request(event)
        if request is not None:
            repeated |= {last[request]} if request in last else set()
            last[request] = at
    return repeated


def _request(event: Queued) -> tuple[bytes, str | None] | None:
    """The name of the re-read request that an event carries, and the user who sent it; None for any other event."""
    # A search in the bytes first: decoding every event twice would cost more than the requests.
    match = REQUEST_NAME.search(event.data)
    if match is None:
        return None
    try:
        decoded = decode_event(event.data)
    except PysyncError:
        return None
    return (match[0], decoded.attributes.get(USER)) if decoded.kind is Kind.CREATE_FUNCTION else None
