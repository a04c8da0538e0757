"""Draft: what a run of queued events means for one target, before anything is applied. Pure."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pysync.base.errors import PysyncError
from pysync.base.masking import masked
from pysync.model.change import Change
from pysync.model.event import USER, Kind
from pysync.model.mark import Writer
from pysync.model.operation import Operation, PutConstraint, RenameTable
from pysync.model.reread import REQUEST_NAME
from pysync.model.wire import decode_event
from pysync.queue import Queued
from pysync.replay.window.fold import fold
from pysync.replay.window.order import EVERYTHING, database_of, holds_back
from pysync.replay.window.plan import Work, plan
from pysync.replay.window.translate import Translator

# Blocks: which events wait behind those that a target refused, and which refused events a refresh makes good.


Covers = Callable[[int, Set[str]], bool]
"""Whether a refresh makes good a refused event at that position, with these keys."""

_LONGEST_REASON = 2000


@dataclass(frozen=True, slots=True)
class Refusal:
    """An event that cannot be applied now.

    `kind` is "rejected", "held" (by the brake), "bug", or "waits" (behind another).
    """

    event: Queued
    keys: frozenset[str]
    kind: str
    reason: str

    @classmethod
    def of(cls, event: Queued, keys: frozenset[str], kind: str, reason: str) -> Refusal:
        """The refusal with a reason of at most 2,000 characters, which shows no secret."""
        reason = masked(reason)
        half = _LONGEST_REASON // 2
        # The end of a traceback says the most.
        short = reason if len(reason) <= _LONGEST_REASON else f"{reason[: half - 1]}…{reason[-half:]}"
        return cls(event, keys, kind, short)

    @classmethod
    def waiting(cls, event: Queued, keys: frozenset[str]) -> Refusal:
        """The refusal of an event that waits behind another one."""
        return cls(event, keys, "waits", "waits behind a parked event")


@dataclass(slots=True)
class Blocks:
    """The keys that refused events block, but for those that a refresh under way makes good.

    `stored` are the keys of the parked events that block, and `parked` reads the keys of every parked event, by
    position. `refused` events are to be parked, and `healing` says what each refresh under way makes good, both by
    position. Without `heals` refreshes make nothing good. In memory only: a draft works on a copy.
    """

    parked: Callable[[], Mapping[int, Set[str]]] = dict
    heals: bool = False
    stored: Set[str] = frozenset()
    refused: dict[int, Set[str]] = field(default_factory=dict)
    healing: dict[int, Covers] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)

    def copy(self) -> Blocks:
        """Blocks that know the same and change alone."""
        refused, healing = dict(self.refused), dict(self.healing)
        return Blocks(self.parked, self.heals, self.stored, refused, healing, set(self.keys))

    def recall(self, stored: Set[str]) -> None:
        """Block the keys of parked events, `stored`, and of refused ones, except what is made good."""
        self.stored = stored
        self.keys = set(stored).union(*self.refused.values())
        self._heal()

    def refuse(self, position: int, keys: Set[str]) -> None:
        """Block the keys of an event. If it is a refresh, it makes nothing good."""
        self.refused[position] = keys
        if self.healing.pop(position, None) is not None:
            self.recall(self.stored)
        elif not is_covered(position, keys, self.healing):
            self.keys |= keys

    def heal(self, position: int, covers: Covers) -> None:
        """The refresh at `position` will make good earlier events that it covers: they block no longer."""
        if self.heals:
            self.healing[position] = covers
            self._heal()

    def holds(self, change: Change) -> bool:
        """Whether the change, which is newer than all refused events, waits behind one of them."""
        if not self.keys:
            return False
        if change.comes_alone:
            return change.database + EVERYTHING in self.keys
        return holds_back(self.keys, change.keys)

    def holds_at(self, position: int, keys: Collection[str]) -> bool:
        """Whether a work of these keys, whose last event is at `position`, waits behind an earlier event."""
        # Windows overlap: later events may have been refused already, and later refreshes make good what they cover
        # for what comes after them only.
        before = {at: refused_keys for at, refused_keys in self.refused.items() if at < position}
        blocked = set(self.stored).union(*before.values())
        healing = {at: covers for at, covers in self.healing.items() if at <= position}
        if not healing or not holds_back(blocked, keys):
            return holds_back(blocked, keys)
        return holds_back(blocked & self._uncovered(before, healing), keys)

    def settle(self, done: int) -> None:
        """All events up to there are applied or stored. What was refused of them is parked now, but for what a refresh
        up to there has made good.
        """
        refused = {at: keys for at, keys in self.refused.items() if at <= done}
        healing = {at: covers for at, covers in self.healing.items() if at <= done}
        stored = set(self.stored).union(*refused.values())
        self.stored = stored & self._uncovered(refused, healing) if healing and stored else stored
        self.refused = {at: keys for at, keys in self.refused.items() if at > done}
        self.healing = {at: covers for at, covers in self.healing.items() if at > done}

    def _heal(self) -> None:
        if self.keys and self.healing:
            self.keys &= self._uncovered(self.refused, self.healing)

    def _uncovered(self, refused: Mapping[int, Set[str]], healing: Mapping[int, Covers]) -> Set[str]:
        """The keys of parked and refused events that are not made good; a key stays while any such event has it."""
        events = [*self.parked().items(), *refused.items()]
        return set[str]().union(*(keys for at, keys in events if not is_covered(at, keys, healing)))


def is_covered(at: int, keys: Set[str], healing: Mapping[int, Covers]) -> bool:
    """Whether one of the later refreshes in `healing` makes good the event at `at`."""
    return any(at < upto and covers(at, keys) for upto, covers in healing.items())


# Run: queued events as they are for one target, in order, up to the first that has to wait for the others. Pure.


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


# Draft: what a run of queued events means for one target, before anything is applied. Pure.
#
# Each step makes a value for the next: events, a run of translated ones, those that wait for nothing, works.


@dataclass(frozen=True, slots=True)
class Draft:
    """`works` are to be applied in order; `refused` events are to be parked without a try.

    `changes` are those of all other events that concern the target, by position; `skipped` counts the rest. `heals`
    has, by the position of each refresh, the parked events that it makes good.
    """

    events: Sequence[Queued]
    works: Sequence[Work]
    changes: Mapping[int, tuple[Queued, Change]]
    refused: Sequence[Refusal]
    skipped: int
    heals: Mapping[int, Covers]

    @property
    def drops(self) -> int:
        """How many databases, tables and partitions the works name that they drop; the tables of a dropped database,
        and what a refresh will drop, are not among them.
        """
        return sum(operation.drops for work in self.works for operation in work.operations)


def draft(
    events: Sequence[Queued],
    translator: Translator,
    writer: Writer,
    blocks: Blocks,
    finished: Set[int] = frozenset(),
) -> Draft:
    """Translate, fold and plan. What cannot be translated or planned, or is held by `blocks`, is refused.

    The draft may end before the last event (see `run_of`). Events at the positions `finished` were applied before a
    crash or a pause: they come along for the position alone. Nothing that is given is changed.
    """
    run = run_of(events, translator, finished)
    cascade = translator.policy.cascade
    while True:
        sifted = _sift(run, blocks.copy())
        try:
            works = plan(fold(sifted.flow, cascade=cascade), writer)
        except Exception:  # noqa: BLE001 - no other try would end differently, and the other events must not wait for it
            run = _without(run, _culprit(sifted.flow, writer, cascade), traceback.format_exc())
        else:
            return _draft(run, sifted, works, finished)


@dataclass(frozen=True, slots=True)
class _Sifted:
    """A run without what is refused: the `taken` events, and all their changes in order, the `flow`."""

    taken: Sequence[Translated]
    flow: Sequence[Change]
    refused: Sequence[Refusal]


def _sift(run: Iterable[Translated], blocks: Blocks) -> _Sifted:
    """Refuse what is not translated, and what is held by `blocks`, which change on the way."""
    taken, refused = list[Translated](), list[Refusal]()
    for each in run:
        refusal = _refusal(each, blocks)
        if refusal is not None:
            refused.append(refusal)
            blocks.refuse(refusal.event.position, refusal.keys)
        elif each.translation is not None:
            taken.append(each)
    return _Sifted(taken, [change for each in taken for change in each.changes], refused)


def _refusal(each: Translated, blocks: Blocks) -> Refusal | None:
    if each.translation is None or isinstance(each.translation, Refusal):
        return each.translation
    # Before the check: what the refresh makes good must not block the refresh.
    if each.covers is not None:
        blocks.heal(each.event.position, each.covers)
    return Refusal.waiting(each.event, each.translation.keys) if blocks.holds(each.translation) else None


def _culprit(flow: Sequence[Change], writer: Writer, cascade: bool) -> int:
    """The position of a change that cannot be planned with those before it, which can be planned."""
    # By halves: each try folds all changes before it, and a window has thousands.
    good, bad = 0, len(flow)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            plan(fold(flow[:middle], cascade=cascade), writer)
        except Exception:  # noqa: BLE001 - it is looked for
            bad = middle
        else:
            good = middle
    return flow[bad - 1].position


def _without(run: Sequence[Translated], position: int, reason: str) -> list[Translated]:
    """The run with the event at `position` refused; events that wait for it are refused when the run is sifted."""
    return [
        replace(it, translation=Refusal.of(it.event, it.translation.keys, "bug", reason), changes=(), covers=None)
        if it.event.position == position and it.translation is not None
        else it
        for it in run
    ]


def _draft(run: Sequence[Translated], sifted: _Sifted, works: Sequence[Work], finished: Set[int]) -> Draft:
    changes = {
        it.event.position: (it.event, it.translation) for it in sifted.taken if isinstance(it.translation, Change)
    }
    heals = {it.event.position: it.covers for it in sifted.taken if it.covers is not None}
    skipped = sum(it.event.position not in finished for it in run) - len(changes) - len(sifted.refused)
    return Draft([it.event for it in run], works, changes, sifted.refused, skipped, heals)
