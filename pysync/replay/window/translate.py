"""Translate: one queued event as one target shall see it. Pure: bytes and settings in, a change out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import structlog

from pysync.base.errors import PysyncError
from pysync.model.change import Change, Origin, decode_change, stored_table
from pysync.model.event import USER, Event, Kind, replicator
from pysync.model.event_objects import named_in
from pysync.model.names import TableName
from pysync.model.operation import Operation, TableOperation
from pysync.model.wire import decode_event
from pysync.replay.window.direction import DroppedTables
from pysync.replay.window.inserts import as_refresh
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.order import database_of
from pysync.replay.window.policy import Policy
from pysync.replay.window.table_cache import TableCache
from pysync.targets.settings import TargetSettings

log = structlog.get_logger(__name__)

_NAMES = 4096  # cached: to find what else may have a name, all renames are tried backwards
_FUNCTIONS = frozenset({Kind.CREATE_FUNCTION, Kind.DROP_FUNCTION})


class Translator:
    """The policy and the mapping of one target, and the users by which other clusters write to its source."""

    def __init__(
        self,
        policy: Policy,
        mapping: NameMapping,
        replicators: Mapping[str, str] | None = None,
    ) -> None:
        self.policy = policy
        self.mapping = mapping
        self._dropped_tables = DroppedTables()
        self._replicators = {user: replicator((cluster,)) for user, cluster in (replicators or {}).items()}
        self._left_out: set[str | None] = set()  # catalogs: each is logged once
        self._stored = TableCache(stored_table)
        self._rewritten = TableCache(self._rewrite_table)
        self._key = lru_cache(_NAMES)(mapping.order_key)
        self._rivals = lru_cache(_NAMES)(self._rivals_of)
        self._table_origin = lru_cache(_NAMES)(self._origin_of_table)

    @classmethod
    def of(cls, settings: TargetSettings, replicators: Mapping[str, str] | None = None) -> Translator:
        """The translator for the target's settings; `replicators` gives the cluster of users with names of their own.

        Raises UsageError that names the setting which is wrong.
        """
        mapping = NameMapping.of(settings)
        mapping.renames.check()
        return cls(Policy.of(settings), mapping, replicators)

    def translate(self, data: bytes, position: int) -> Change | None:
        """The event in `data`, rewritten for the target; None if it does not concern the target.

        None also for an event without data: it was damaged in the queue, and a comparison makes it good. Raises
        UnreadableEvent or UnsupportedEvent.
        """
        if not data:
            return None
        event = self._by_replicator(decode_event(data))
        if not self.policy.takes_catalog(event):
            self._leave_out(event)
            return None
        change = decode_change(event, position, self._stored)
        scoped = self.policy.scope(change) if change else None
        scoped = self.policy.direction.placed(scoped) if scoped is not None else None
        if scoped is None:
            return None
        if self.mapping.copies:
            scoped = as_refresh(scoped)
        # By its bytes: events of one table share the rewritten struct (see Change.table).
        raw = scoped.event.table
        origin = self._origin(scoped) if self.mapping.names_objects else None
        rewritten = self.mapping.apply(scoped, self._rewritten(raw, event.catalog) if raw else None)
        rewritten.origin = origin
        if rewritten.provenance is not None:
            self._dropped_tables.note(rewritten)
        return rewritten

    def _origin(self, change: Change) -> Origin | None:
        """What the object of a change is called at the source; None if it has no mark or is not one object."""
        if change.kind in _FUNCTIONS or not change.database:
            return None
        old, new = change.table_name, change.new_table_name
        if old is None or new is None:
            return Origin(change.database, change.database, rivals=self._rivals(change.database))
        return self._table_origin(old, new, change.referenced_table_name)

    def _origin_of_table(self, old: TableName, new: TableName, referenced: TableName | None) -> Origin:
        names = (it for it in (old, new, referenced) if it is not None)
        rivals = self._rivals(new) - {str(old)}  # renamed, it leaves a name that may have been one of them
        return Origin(str(old), str(new), frozenset(map(self._key, names)), rivals)

    def _rivals_of(self, name: TableName | str) -> frozenset[str]:
        return frozenset(str(it) for it in self.mapping.rivals_of(name) if self.policy.takes(it))

    def excludes(self, kind: Kind, operation: Operation) -> bool:
        """Whether the settings leave out operations of that kind on this object."""
        if isinstance(operation, TableOperation):
            return self.policy.excludes(kind, self.mapping.source_table(operation.table, operation.mark))
        return self.policy.excludes(kind, self.mapping.source_database(database_of(operation.key)))

    def lost(self, event: Event) -> str | None:
        """The target's cluster, if the event is a re-read request because this cluster may have lost changes.

        None if what is replicated to it from here has been compared since, and for any other event.
        """
        if event.kind is not Kind.CREATE_FUNCTION or not event.after:
            return None
        try:
            change = decode_change(self._by_replicator(event), 0)
        except PysyncError:
            return None
        is_loss = change is not None and change.reports_loss and self.policy.direction.has_lost(change)
        return self.policy.direction.cluster if is_loss else None

    def _by_replicator(self, event: Event) -> Event:
        """The event, with its user renamed to what `replicator` calls it, if it is one of a cluster."""
        name = self._replicators.get(event.attributes.get(USER, ""))
        return event if name is None else replace(event, attributes={**event.attributes, USER: name})

    def _leave_out(self, event: Event) -> None:
        if event.catalog not in self._left_out:
            self._left_out.add(event.catalog)
            log.warning(
                "catalog_ignored",
                catalog=event.catalog,
                kind=str(event.kind),
                target=self.policy.target,
            )

    def _rewrite_table(self, raw: bytes, catalog: str | None) -> Any:
        table = stored_table(raw, catalog)
        self.mapping.apply_to(table)
        return table

    def keys(self, data: bytes) -> frozenset[str]:
        """The table of an event, if its name can be read; for events that `translate` refuses."""
        name = named_in(data)
        return frozenset({self.mapping.order_key(name)} if name else ())
