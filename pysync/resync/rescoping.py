"""Rescoping: brings a target whose scope has changed in pysync.toml to what it shall hold now.

The settings of the scope are kept in the queue's file, beside the target's position. If pysync.toml has others, that is
a gap of this target only, which a resync closes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

import structlog
from pydantic import BaseModel

from pysync.metastore.reads import Reads
from pysync.queue import EventQueue, Gap, Resync, note_of
from pysync.queue.gaps import scope_gaps
from pysync.replay.window.scope import Extent, changes, scope_of
from pysync.resync.own_gaps import OwnGaps
from pysync.resync.refreshes import Refreshes
from pysync.resync.trigger import Wanted
from pysync.resync.wanted import Names, RefreshScope, some
from pysync.targets.settings import TargetSettings

log = structlog.get_logger(__name__)


class StoredScope(BaseModel):
    """The scope of a target as it is kept in the queue's file; `number` counts its changes.

    `former` are earlier scopes whose objects may still be at the target, until it is brought to this one. `changes`
    describe the last change for people, which was at `changed_at` (seconds since 1970). Of `dropping`, some of the
    `former`, objects go whatever out_of_scope says.
    """

    scope: dict[str, Any]
    number: int = 0
    former: tuple[dict[str, Any], ...] = ()
    dropping: tuple[dict[str, Any], ...] = ()
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


class ScopeChange(OwnGaps):
    """A target whose scope has changed: everything in scope is refreshed, new databases first.

    Then what has left the scope is dropped, if `out_of_scope` says so.
    """

    name = "scope"

    def __init__(
        self, queue: EventQueue, refreshes: Refreshes, scope: RefreshScope, settings: TargetSettings, now: Extent
    ) -> None:
        super().__init__(queue, scope_gaps(settings.name), scope)
        self._refreshes = refreshes
        self._settings = settings
        self._target = settings.name
        self._now = now

    def wanted(self, source: Reads, resync: Resync) -> Wanted:
        """New databases are queued at once."""
        if resync.cursor is None:
            self._ask_for_new_databases(source)
        return super().wanted(source, resync)

    def all_queued(self, resync: Resync) -> bool:
        """Have what has left the scope dropped."""
        stored = self._stored()
        left = stored.former if self._settings.out_of_scope == "drop" else stored.dropping
        if left:
            # A refresh makes good what is parked up to `upto`. This one only drops, so it makes nothing good.
            self._ask([{"former": json.dumps(left), "upto": "0"}])
        return super().all_queued(resync)

    def _ask_for_new_databases(self, source: Reads) -> None:
        """A table that is renamed into a new database needs it first, and may come before it in the order."""
        former = [Extent.of(it) for it in self._stored().former]
        came = [name for name in source.databases() if self._scope.database(name) and self._is_new(name, former)]
        self._ask(some(source, self._last, came, ()))

    def _is_new(self, name: str, former: Iterable[Extent]) -> bool:
        there = self._now.mapping.database(name)
        return not any(it.policy.takes_database(name) and it.mapping.database(name) == there for it in former)

    def _ask(self, names: Iterable[Names]) -> None:
        self._refreshes.ask([{**it, "targets": self._target} for it in names])

    def _stored(self) -> StoredScope:
        return stored_scope(self._queue, self._target) or StoredScope(scope=scope_of(self._settings))


def scope_status(queue: EventQueue, settings: TargetSettings) -> dict[str, Any] | None:
    """The last change of a target's scope, as JSON values (docs/status.md); None if there never was one."""
    scope = stored_scope(queue, settings.name)
    if scope is None or scope.changed_at is None:
        return None
    return {
        "changed_at": scope.changed_at,
        "changes": list(scope.changes),
        "out_of_scope": _out_of_scope(settings, scope),
        "done": not _gaps(queue, settings.name),
    }


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
