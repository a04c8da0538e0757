"""StoreTarget: the Target protocol on any store. `pysync.targets.apply` decides what may be done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import structlog
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.constraints import Constraints, comparable
from pysync.model.difference import Difference
from pysync.model.names import TableName
from pysync.model.operation import DropDatabase, Operation
from pysync.targets.apply import FLOWS, NEEDS, judge_class
from pysync.targets.apply.changes import Changes, Redefining
from pysync.targets.apply.databases import tables_with
from pysync.targets.apply.door import Door
from pysync.targets.apply.judge import Judge
from pysync.targets.apply.owners import created_of
from pysync.targets.apply.refusals import refuse_catalog, refuse_transactional
from pysync.targets.apply.trash import Trashed, expunge, restore, trashed
from pysync.targets.base import ChecksRights, Outcome, Rejected
from pysync.targets.diff import differences
from pysync.targets.files import BringsFiles
from pysync.targets.guard import NoGuard, RemovalGuard
from pysync.targets.store import Capability, HasConstraints, HasFunctions, Store

log = structlog.get_logger(__name__)


class StoreTarget:
    """A target that keeps its objects in a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._changes = Changes()
        self._guard: RemovalGuard = NoGuard()
        self._files: BringsFiles | None = None
        self._door = Door(store, self._changes)
        # No operation writes the trash: its writes are not recorded.
        self._trash = Door(store, Changes())
        self._place_name = store.place_name
        self._omitted: set[Capability] = set()

    @property
    def keeps_statistics(self) -> bool:
        """As the store says."""
        return self._door.keeps_statistics

    @property
    def lacks(self) -> Mapping[Capability, str]:
        """As the store says."""
        return self.store.lacks

    def check(self) -> str:
        """Reach it and say what is there."""
        with self.store.classified(f"cannot list the databases of {self._place_name}", reading=True):
            return self.store.check()

    def check_rights(self) -> str:
        """Ask for the rights that the store needs (see ChecksRights)."""
        with self.store.classified(f"cannot list the databases of {self._place_name}", reading=True):
            return self.store.check_rights() if isinstance(self.store, ChecksRights) else ""

    def apply(self, operation: Operation) -> Outcome:
        """Apply the operation (see Target.apply); UNSUPPORTED if the store cannot hold what it describes."""
        kind, lacking = type(operation).__name__, NEEDS.get(type(operation))
        with self.store.classified(f"{kind} of {operation.key} on {self._place_name}"):
            refuse_catalog(self.store.settings, operation.key)
            if lacking is not None and lacking in self.store.lacks:
                self._omit(lacking)
                return Outcome.UNSUPPORTED
            flow, judge = FLOWS.get(type(operation)), self._judge(operation)
            if flow is None:
                raise Rejected(f"a target of kind {self.store.settings.kind} does not support {kind}")
            tries = 0
            while True:
                tries += 1
                try:
                    outcome = flow(judge.store, operation, judge)
                    break
                except Exception as error:
                    # Another client may have changed what was read: then it is decided again.
                    if tries == self.store.decisions or not self.store.is_race(error):
                        raise
            if outcome in {Outcome.APPLIED, Outcome.UNCHANGED}:
                judge.store.note_put()
            return outcome

    def redefining(self, around: Redefining) -> None:
        """Carry out each write that creates, alters or drops tables in a context that `around` gives."""
        self._changes.redefining = around

    def guard_removals(self, guard: RemovalGuard) -> None:
        """Ask this guard before anything is removed (see Guarded)."""
        self._guard = guard
        self._door = Door(self.store, self._changes, guard, self._files)

    def bring_files_by(self, files: BringsFiles) -> None:
        """Have these bring the files of what is put, before it is written. Called once, before the first operation."""
        self._files = files
        self._door = Door(self.store, self._changes, self._guard, files)

    def take_differences(self) -> list[Difference]:
        """What `apply` has changed since the last call (see ReportsChanges)."""
        return self._changes.take()

    def databases(self) -> list[str]:
        """The names of its databases, sorted."""
        with self.store.classified(f"cannot list the databases of {self._place_name}", reading=True):
            return sorted(self.store.databases())

    def database(self, name: str) -> Any | None:
        """The database, or None."""
        with self.store.classified(f"cannot read the database {name} of {self._place_name}", reading=True):
            return self.store.database(name)

    def tables(self, database: str) -> list[str]:
        """The names of its tables and views, sorted."""
        with self.store.classified(f"cannot list the tables of {database} on {self._place_name}", reading=True):
            return sorted(self.store.table_names(database))

    def tables_with(self, drop: DropDatabase) -> dict[str, int]:
        """The names of the tables that the drop of a database would take along, with their createTime at the source."""
        with self.store.classified(f"cannot read the tables of {drop.database} on {self._place_name}", reading=True):
            judge = self._judge(drop)
            return {it.tableName: created_of(it) for it in tables_with(judge.store, drop, judge)}

    def table(self, name: TableName) -> Any | None:
        """The table, or None."""
        with self.store.classified(f"cannot read the table {name} of {self._place_name}", reading=True):
            return self.store.table(name)

    def partitions(self, name: TableName) -> Iterator[Any]:
        """The table's partitions, streamed."""
        with self.store.classified(f"cannot read the partitions of {name} on {self._place_name}", reading=True):
            # Inside the block, because errors arise while the caller iterates.
            yield from self.store.partitions(name)

    def partition_names(self, name: TableName, most: int | None = None) -> list[str]:
        """The names of the table's partitions (see Target.partition_names)."""
        with self.store.classified(f"cannot list the partitions of {name} on {self._place_name}", reading=True):
            table = self.store.table(name)
            return [] if table is None else self.store.partition_names(table, most)

    def partitions_by_name(self, name: TableName, names: Sequence[str]) -> list[Any]:
        """Those of the partitions that are there."""
        with self.store.classified(f"cannot read the partitions of {name} on {self._place_name}", reading=True):
            return self.store.partitions_by_name(name, names)

    def functions(self, database: str) -> list[Any]:
        """The database's functions."""
        with self.store.classified(f"cannot list the functions of {database} on {self._place_name}", reading=True):
            return self.store.functions(database) if isinstance(self.store, HasFunctions) else []

    def constraints(self, table: Any) -> Constraints:
        """The table's constraints, of the kinds that it can hold."""
        with self.store.classified(
            f"cannot read the constraints of {table.tableName} on {self._place_name}", reading=True
        ):
            return self.store.constraints(table) if isinstance(self.store, HasConstraints) else {}

    def differences(self, wanted: Any, existing: Any | None, table: Any | None = None) -> list[str]:
        """What it would write (see Target.differences)."""
        # What the target cannot hold must not be reported as drift for ever.
        if isinstance(wanted, list) and not isinstance(self.store, HasConstraints):
            return []
        if isinstance(wanted, hive.Table):
            # `apply` would refuse such a table, so its absence is no drift.
            refuse_transactional(self.store.settings, wanted)
        expected = self._as_stored(wanted, table)
        if existing is not None:
            expected, existing = judge_class(self.store.settings).compared(expected, existing)
        fields = ["missing"] if existing is None else differences(expected, existing)
        return self.store.written(fields, expected, existing, table) if fields else []

    def lost(self, wanted: Any) -> Sequence[str]:
        """What the store cannot keep of it (see ReportsLosses)."""
        with self.store.classified(f"cannot tell what {self._place_name} keeps", reading=True):
            return self.store.lost(self._as_stored(wanted, None))

    def trashed(self) -> list[Trashed]:
        """What is in the trash."""
        with self.store.classified(f"cannot read the trash of {self._place_name}", reading=True):
            return list(trashed(self._trash))

    def restore(self, name: str, new: TableName | None) -> TableName:
        """Move a table out of the trash (see apply.trash)."""
        with self.store.classified(f"cannot restore {name} of the trash of {self._place_name}"):
            return restore(self._trash, name, new)

    def expunge(self, name: str) -> bool:
        """Drop a table from the trash for good; False if it is gone."""
        with self.store.classified(f"cannot drop {name} of the trash of {self._place_name}"):
            return expunge(self._trash, name)

    def close(self) -> None:
        """Give everything back; never raises."""
        with suppress(Exception):
            self.store.close()

    def _judge(self, operation: Operation) -> Judge:
        """Who decides about the operation; its `store` is the door for what the operation writes."""
        return judge_class(self.store.settings)(self._door.for_operation(operation))

    def _omit(self, lacking: Capability) -> None:
        """Log, once per connection, that the target goes on without this capability."""
        if lacking not in self._omitted:
            self._omitted.add(lacking)
            name, reason = self.store.settings.name, self.store.lacks[lacking]
            log.warning("feature_unsupported", target=name, feature=str(lacking), reason=reason)

    def _as_stored(self, wanted: Any, table: Any | None) -> Any:
        if isinstance(wanted, list):
            return [comparable(it) for it in wanted]
        return self.store.as_stored(wanted, table)
