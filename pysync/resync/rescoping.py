"""Rescoping: brings a target whose scope has changed in pysync.toml to what it shall hold now.

The settings of the scope are kept in the queue's file, beside the target's position. If pysync.toml has others, that is
a gap of this target only. Everything in scope is refreshed, as by a bootstrap, new databases first. Then what has left
the scope is dropped, if `out_of_scope` says so. It goes through the queue like any refresh, so that order, brakes and
parking hold, and it continues after a kill of any process.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import structlog
from pydantic import BaseModel

from pysync.metastore.reads import Reads
from pysync.metastore.source import known
from pysync.model.names import TableName
from pysync.queue import EventQueue, Gap, note_of
from pysync.queue.gaps import scope_gaps
from pysync.replay.window.scope import Extent, changes, scope_of
from pysync.replay.window.translate import Translator
from pysync.resync.feed import Feed
from pysync.resync.refreshes import Names, Refreshes, RefreshScope, everything, place, some
from pysync.targets.settings import TargetSettings
from pysync.worker import Finished, Worker

_EVERY_SECONDS = 0.5
_RETRY_SECONDS = 5.0

log = structlog.get_logger(__name__)


class StoredScope(BaseModel):
    """The scope of a target as it is kept in the queue's file; `number` counts its changes.

    `former` are earlier scopes whose objects may still be at the target, until it is brought to this one. Objects up to
    `queued_upto`, a database and a table, are queued. `changes` describe the last change for people, which was at
    `changed_at` (seconds since 1970). Of `dropping`, some of the `former`, objects go whatever out_of_scope says.
    """

    scope: dict[str, Any]
    number: int = 0
    former: tuple[dict[str, Any], ...] = ()
    dropping: tuple[dict[str, Any], ...] = ()
    queued_upto: tuple[str, str] | None = None
    changes: tuple[str, ...] = ()
    changed_at: float | None = None

    def changed_to(self, scope: dict[str, Any], *, drops: bool = False) -> StoredScope:
        """The scope to keep if pysync.toml says `scope`; this one if that is no change. `drops`: what leaves goes."""
        if scope == self.scope:
            return self
        former = tuple(it for it in (*self.former, self.scope) if it != scope)
        dropping = tuple(it for it in (*self.dropping, *([self.scope] if drops else [])) if it != scope)
        return StoredScope(
            scope=scope,
            number=self.number + 1,
            former=former,
            dropping=dropping,
            changes=changes(self.scope, scope),
            changed_at=time.time(),
        )


def stored_scope(queue: EventQueue, target: str) -> StoredScope | None:
    """The scope that the queue keeps for a target; None if there is none yet."""
    text = queue.notes.get(_note(target))
    scope = None if text is None else StoredScope.model_validate_json(text)
    if scope is None or not scope.former or _gaps(queue, target):
        return scope
    # No gap is open, so the target was brought to this one.
    return scope.model_copy(update={"former": (), "dropping": ()})


def scopes_of(settings: TargetSettings, stored: StoredScope | None) -> list[dict[str, Any]]:
    """Every scope by which the target may hold something: that of its settings, and those that are kept."""
    return [scope_of(settings), *([stored.scope, *stored.former] if stored is not None else ())]


def compare_scope(queue: EventQueue, settings: TargetSettings) -> bool:
    """Whether the target's scope differs from the kept one. If so, a gap is opened, and the new scope is kept.

    A scope that was never kept (a new target) is kept without a gap. A shadow writes
    nothing, and a disabled target gets nothing, so its kept scope stays until it applies again.
    """
    stored = stored_scope(queue, settings.name)
    if stored is None:
        _keep(queue, settings.name, StoredScope(scope=scope_of(settings)))
        return False
    if settings.mode == "shadow" or not settings.enabled:
        return False
    drops = bool(queue.notes.get(_note_of_drops(settings.name)))
    new = stored.changed_to(scope_of(settings), drops=drops)
    if new is not stored:
        _change(queue, settings, new)
    if drops:
        queue.notes.put(_note_of_drops(settings.name), "")  # last: after a kill the change is found made, or made again
    return new is not stored


def drop_what_leaves(queue: EventQueue, target: str) -> None:
    """Have the next change of the target's scope drop what leaves it, whatever out_of_scope says. Idempotent."""
    queue.notes.put(_note_of_drops(target), "drop")


def _change(queue: EventQueue, settings: TargetSettings, new: StoredScope) -> None:
    changes = "; ".join(new.changes)
    # The gap first: a kill after it finds the scope changed again. The other way round nobody would bring the target
    # on.
    queue.gaps.open(
        f"{scope_gaps(settings.name)}{queue.epoch}:{new.number}", f"the scope of {settings.name} has changed: {changes}"
    )
    _keep(queue, settings.name, new)
    out_of_scope = _out_of_scope(settings, new)
    log.warning("scope_changed", target=settings.name, changes=list(new.changes), out_of_scope=out_of_scope)


class Rescoper:
    """The thread that brings one target to its scope. It ends as soon as no gap of the scope is open.

    `tables_per_second` is the budget, as for any comparison.
    """

    def __init__(
        self,
        queue: EventQueue,
        refreshes: Refreshes,
        settings: TargetSettings,
        translator: Translator,
        *,
        source: Callable[[], AbstractContextManager[Reads]] | None,
        tables_per_second: float,
    ) -> None:
        self._queue = queue
        self._refreshes = refreshes
        self._settings = settings
        self._target = settings.name
        self._now = Extent(translator.policy, translator.mapping)
        self._source = source
        name = f"scope-{settings.name}"
        self.worker = Worker(name, self._checked_turn, every=_EVERY_SECONDS, retry=_RETRY_SECONDS)
        self._feed = Feed(refreshes, self.worker.stopping, self._done, tables_per_second)

    def start(self) -> None:
        """Begin if there is anything to do; does not wait."""
        if _gaps(self._queue, self._target):
            self.worker.start()

    def heals(self, gap: Gap) -> bool:
        """Whether the gap is one of this target's scope."""
        return gap.key.startswith(scope_gaps(self._target))

    def status(self) -> dict[str, Any] | None:
        """The last change of the scope, as JSON values (docs/status.md); None if there never was one."""
        scope = stored_scope(self._queue, self._target)
        if scope is None or scope.changed_at is None:
            return None
        fields = {"changed_at": scope.changed_at, "changes": list(scope.changes)}
        return {
            **fields,
            "out_of_scope": _out_of_scope(self._settings, scope),
            "done": not _gaps(self._queue, self._target),
        }

    def _checked_turn(self) -> None:
        if not self._turn():
            raise Finished
        self.worker.succeeded()

    def _turn(self) -> bool:
        """Bring the target on; False if nothing is left to do."""
        gaps = _gaps(self._queue, self._target)
        if any(gap.upto is None for gap in gaps):
            self._bring()
        return bool(gaps)

    def _bring(self) -> None:
        """Queue what is not queued yet; afterwards the gaps wait only for the target."""
        scope = stored_scope(self._queue, self._target) or StoredScope(scope=scope_of(self._settings))
        with known(self._source)() as source:
            wanted = (self._of_target(it) for it in self._wanted(source, scope))
            if not self._feed.queue(wanted, queued=partial(self._note_queued, scope)).whole:
                return
        left = scope.former if self._settings.out_of_scope == "drop" else scope.dropping
        if left:
            # A refresh makes good what is parked up to `upto`. This one only drops, so it makes nothing good.
            self._refreshes.ask([self._of_target({"former": json.dumps(left), "upto": "0"})])
        self._queue.gaps.healed_by([gap.key for gap in _gaps(self._queue, self._target)], self._queue.last)
        _keep(self._queue, self._target, scope.model_copy(update={"queued_upto": None}))
        log.info("resync_queued", target=self._target, upto=self._queue.last)

    def _wanted(self, source: Reads, stored: StoredScope) -> Iterator[Names]:
        """Everything in scope, in the order of `place`; before that the databases that have come into scope."""
        after = None if stored.queued_upto is None else TableName(*stored.queued_upto)
        scope = RefreshScope(self._now.policy.takes_database, self._now.policy.takes_table)
        if after is None:
            former = [Extent.of(it) for it in stored.former]
            # A table that is renamed into a new database needs the database first, and may come before it in the order.
            came = [name for name in source.databases() if scope.database(name) and self._is_new(name, former)]
            self._refreshes.ask([self._of_target(it) for it in some(source, self._last, came, ())])
        return everything(source, self._last, scope=scope, after=after)

    def _is_new(self, name: str, former: Iterable[Extent]) -> bool:
        there = self._now.mapping.database(name)
        return not any(it.policy.takes_database(name) and it.mapping.database(name) == there for it in former)

    def _of_target(self, names: Names) -> Names:
        return {**names, "targets": self._target}

    def _note_queued(self, scope: StoredScope, chunk: Sequence[Names]) -> None:
        last = place(chunk[-1])
        _keep(self._queue, self._target, scope.model_copy(update={"queued_upto": (last.database, last.table)}))

    def _done(self) -> int:
        return self._queue.target(self._target).position()

    def _last(self) -> int:
        return self._queue.last


def _gaps(queue: EventQueue, target: str) -> list[Gap]:
    """The open gaps of the target's scope."""
    return [gap for gap in queue.gaps.unclosed() if gap.key.startswith(scope_gaps(target))]


def _out_of_scope(settings: TargetSettings, scope: StoredScope) -> str:
    return "drop" if scope.dropping else settings.out_of_scope


def _note_of_drops(target: str) -> str:
    return note_of(target, "leaving")


def _note(target: str) -> str:
    return note_of(target, "scope")


def _keep(queue: EventQueue, target: str, scope: StoredScope) -> None:
    queue.notes.put(_note(target), scope.model_dump_json())
