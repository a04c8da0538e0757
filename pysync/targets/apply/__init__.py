"""Apply: decides what may be done to an object at a target, and does it, for every kind of store. Nobody else decides.

Each operation has a function: it reads, asks the target's judge (pysync.targets.apply.judge), compares, writes, and
returns the outcome. The functions raise only the errors of pysync.targets.base and those of the store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pysync.model.catalogs import catalog_of
from pysync.model.operation import (
    DropConstraint,
    DropDatabase,
    DropFunction,
    DropPartitions,
    DropTable,
    LeaveTable,
    Operation,
    PutConstraint,
    PutDatabase,
    PutFunction,
    PutPartitions,
    PutStatistics,
    PutTable,
    RenameTable,
    RequestReread,
)
from pysync.targets.apply import databases
from pysync.targets.apply.constraints import drop_constraint, put_constraint
from pysync.targets.apply.databases import drop_database, put_database
from pysync.targets.apply.door import Door
from pysync.targets.apply.functions import drop_function, put_function
from pysync.targets.apply.judge import Judge
from pysync.targets.apply.judge_both_ways import BothWaysJudge
from pysync.targets.apply.judge_one_way import OneWayJudge
from pysync.targets.apply.partitions import drop_partitions, put_partitions
from pysync.targets.apply.renames import rename_table
from pysync.targets.apply.statistics import put_statistics
from pysync.targets.apply.tables import drop_table, leave_table, put_table
from pysync.targets.base import Outcome, Rejected
from pysync.targets.settings import TargetSettings
from pysync.targets.store import Capability

_APPLY: Mapping[type[Operation], Callable[[Door, Any, Judge], Outcome]] = {
    PutDatabase: put_database,
    DropDatabase: drop_database,
    PutFunction: put_function,
    DropFunction: drop_function,
    PutTable: put_table,
    RenameTable: rename_table,
    DropTable: drop_table,
    LeaveTable: leave_table,
    PutPartitions: put_partitions,
    DropPartitions: drop_partitions,
    PutConstraint: put_constraint,
    DropConstraint: drop_constraint,
    PutStatistics: put_statistics,
    RequestReread: lambda _, operation, judge: judge.request_reread(operation),
}

_NEEDS: Mapping[type[Operation], Capability] = {
    PutFunction: Capability.FUNCTIONS,
    DropFunction: Capability.FUNCTIONS,
    PutConstraint: Capability.CONSTRAINTS,
    DropConstraint: Capability.CONSTRAINTS,
    PutStatistics: Capability.COLUMN_STATISTICS,
}


def judge_class(settings: TargetSettings) -> type[Judge]:
    """Who decides for this target."""
    return BothWaysJudge if settings.both_ways else OneWayJudge


def tables_with(store: Door, drop: DropDatabase) -> list[Any]:
    """The tables that the drop of a database would take along."""
    acting_store = store.for_operation(drop)
    return databases.tables_with(acting_store, drop, judge_class(store.settings)(acting_store))


def apply(store: Door, operation: Operation) -> Outcome:
    """Bring the store to the state that the operation describes (see Target.apply); UNSUPPORTED if it cannot hold that.

    A refusal may come from a race with another client: then the operation is decided again. Raises Rejected for what is
    in a catalog that the target does not have.
    """
    catalog = catalog_of(operation.key)
    if catalog is not None and catalog not in store.settings.written_catalogs:
        raise Rejected(
            f"{operation.key} is in the catalog {catalog}, which pysync does not write at the target",
            f'rename it: databases = {{ "@{catalog}#*" = "{catalog}_*" }}; or set catalogs = ["{catalog}"] (kind hms)',
        )
    lacking = _NEEDS.get(type(operation))
    if lacking is not None and lacking in store.reads.lacks:
        store.reads.omits(lacking)
        return Outcome.UNSUPPORTED
    do = _APPLY.get(type(operation))
    if do is None:
        raise Rejected(f"a target of kind {store.settings.kind} does not support {type(operation).__name__}")
    acting_store = store.for_operation(operation)
    judge = judge_class(store.settings)(acting_store)
    # The last try is outside the loop: its error counts, race or not.
    for _ in range(store.reads.decisions - 1):
        try:
            return _done(acting_store, do(acting_store, operation, judge))
        except Exception as error:
            if not store.reads.is_race(error):
                raise
    return _done(acting_store, do(acting_store, operation, judge))


def _done(store: Door, outcome: Outcome) -> Outcome:
    if outcome in {Outcome.APPLIED, Outcome.UNCHANGED}:
        store.note_put()
    return outcome
