"""Draft: what a run of queued events means for one target, before anything is applied."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from pysync.errors import PysyncError
from pysync.model.again import WORD
from pysync.model.change import Change
from pysync.model.event import USER, Kind
from pysync.model.wire import decode_event
from pysync.queue import Queued
from pysync.replay.fold import fold
from pysync.replay.hindsight import NONE, Hindsight
from pysync.replay.order import EVERYTHING, database_of, holds_back
from pysync.replay.parking import Covers, Parking, Refusal
from pysync.replay.plan import Work, plan
from pysync.replay.translate import Translator

_WAITS = "waits behind a parked event"


@dataclass(frozen=True, slots=True)
class Draft:
    """`works` are to be applied in order; `refused` events are to be parked without a try.

    `changes` are those of all other events that concern the target, by position; `skipped` counts the rest. `drops` is
    how many databases, tables and partitions the works would drop. `heals` tells, by the position of each refresh,
    which parked events it makes good.
    """

    events: Sequence[Queued]
    works: Sequence[Work]
    changes: Mapping[int, tuple[Queued, Change]]
    refused: Sequence[Refusal]
    skipped: int
    drops: int
    heals: Mapping[int, Covers]


def draft(
    events: Sequence[Queued],
    translator: Translator,
    epoch: int,
    parking: Parking,
    hindsight: Hindsight = NONE,
) -> Draft:
    """Translate, fold and plan. `parking` refuses what cannot be translated, or waits behind a parked event.

    The draft may end before the last event. A refresh of a database, or of all of them, is a draft of its own. A
    refresh of a table begins a new draft after other events of that table, so that it can make good what is refused of
    those.
    """
    run = _read(events, translator, parking)
    later = hindsight.after(run.events[-1].position) if run.events else frozenset[str]()
    works = _planned(run, epoch, later, parking)
    skipped = len(run.events) - len(run.changes) - len(run.refused)
    heals = {it.position: _covered(it, translator) for _, it in run.changes.values() if it.kind is Kind.REFRESH}
    return Draft(run.events, works, run.changes, run.refused, skipped, _drops(works, run.flow), heals)


@dataclass(slots=True)
class _Run:
    """Events while they are read: the change of each by position, all changes in order, and what is refused."""

    events: Sequence[Queued]
    changes: dict[int, tuple[Queued, Change]] = field(default_factory=dict)
    flow: list[Change] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)


def _read(events: Sequence[Queued], translator: Translator, parking: Parking) -> _Run:
    run = _Run(events)
    repeated = _repeated_words(events) if translator.policy.both_ways else frozenset[int]()
    for at, event in enumerate(events):
        if at in repeated:
            continue
        found = _translated(event, translator, parking)
        alone = isinstance(found, Change) and found.comes_alone
        if at and (alone or _refreshes(found, run.flow)):
            run.events = events[:at]
            break
        if isinstance(found, Refusal):
            run.refused.append(found)
        elif found is not None:
            run.changes[event.position] = event, found
            run.flow += [found] if found.then is None else [found, found.then]
            if found.whole is not None:
                run.flow += _refreshed(found)
        if alone:
            run.events = events[:1]
            break
    return run


def _planned(run: _Run, epoch: int, later: Collection[str], parking: Parking) -> list[Work]:
    """The works of a run. Events for which no works can be made, for whatever reason, are refused."""
    while True:
        try:
            return plan(fold(run.flow), epoch, later)
        except Exception:  # noqa: BLE001 - no other try would end differently, and the other events must not wait for it
            _take_out(run, _culprit(run.flow, epoch), traceback.format_exc(), parking)


def _culprit(flow: Sequence[Change], epoch: int) -> int:
    """The position of a change that cannot be planned with those before it, which can be planned."""
    # By halves: each try folds all changes before it, and a window has thousands.
    good, bad = 0, len(flow)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            plan(fold(flow[:middle]), epoch)
        except Exception:  # noqa: BLE001 - it is looked for
            bad = middle
        else:
            good = middle
    return flow[bad - 1].position


def _take_out(run: _Run, position: int, reason: str, parking: Parking) -> None:
    """Refuse the event at `position`, and the later events that have to wait for it."""
    event, change = run.changes.pop(position)
    run.refused.append(parking.refuse(event, change.keys, "bug", reason))
    for at, (behind, its) in sorted(run.changes.items()):
        if at > position and parking.holds(its.keys, at):
            del run.changes[at]
            run.refused.append(parking.refuse(behind, its.keys, "waits", _WAITS))
    run.refused.sort(key=lambda it: it.event.position)
    run.flow = [it for it in run.flow if it.position in run.changes]


def refreshes_all(event: Queued) -> bool:
    """Whether the event asks to compare the lists of databases: nothing else may be under way then."""
    try:
        found = decode_event(event.data)
    except PysyncError:
        return False
    return found.kind is Kind.REFRESH and not found.attributes.get("database")


def _refreshes(found: Change | Refusal | None, before: Iterable[Change]) -> bool:
    """Whether it is a refresh of an object that one of the earlier changes is about."""
    if not isinstance(found, Change) or found.kind is not Kind.REFRESH:
        return False
    return any(not found.keys.isdisjoint(change.keys) for change in before)


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
    return [Change(event, change.position)]


def _translated(event: Queued, translator: Translator, parking: Parking) -> Change | Refusal | None:
    try:
        change = translator.translate(event.data, event.position)
        covers = _covered(change, translator) if change is not None and change.kind is Kind.REFRESH else None
    except PysyncError as error:
        return parking.refuse(event, translator.keys(event.data), "rejected", str(error))
    except Exception:  # noqa: BLE001 - no other try would end differently
        return parking.refuse(event, translator.keys(event.data), "bug", traceback.format_exc())
    if change is not None and _waits(change, covers, parking):
        return parking.refuse(event, change.keys, "waits", _WAITS)
    return change


def _waits(change: Change, covers: Covers | None, parking: Parking) -> bool:
    """Whether a change waits behind parked ones. A refresh may be what those wait for: it `covers` them."""
    # Before the check: what the refresh makes good must not block the refresh.
    if covers is not None:
        parking.make_good(change.position, covers)
    if not parking.blocked:
        return False
    if change.comes_alone:
        return change.database + EVERYTHING in parking.blocked
    return holds_back(parking.blocked, change.keys)


def waits(work: Work, found: Draft, parking: Parking) -> bool:
    """Whether a work of a draft waits behind events that were parked since the draft was made."""
    first = min(work.positions)
    if first in found.heals:
        parking.make_good(first, found.heals[first])
        change = found.changes[first][1]
        if change.comes_alone:
            return change.database + EVERYTHING in parking.blocked
    return parking.holds(work.keys | work.fleeting, max(work.positions))


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


def _drops(works: Iterable[Work], changes: Iterable[Change]) -> int:
    """How many databases, tables and partitions would be dropped.

    HMS tells the tables of a cascading DROP DATABASE beforehand, one by one and uncommitted. No work has them, but they
    count. The partitions of a dropped table are not known.
    """
    told = sum(change.kind is Kind.DROP_TABLE and change.event.uncommitted for change in changes)
    return told + sum(operation.drops for work in works for operation in work.operations)
