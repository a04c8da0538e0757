"""Apply: decides what may be done to an object at a target, and does it, for every kind of store. Nobody else decides.

Each operation has a flow: it reads, asks the target's judge (pysync.targets.apply.judge), compares, writes, and returns
the outcome. Flows raise only the errors of pysync.targets.base and those of the store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

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
from pysync.targets.base import Outcome
from pysync.targets.settings import TargetSettings
from pysync.targets.store import Capability

FLOWS: Mapping[type[Operation], Callable[[Door, Any, Judge], Outcome]] = {
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
"""The flow of each operation; it gets the door of the operation, and who decides."""

NEEDS: Mapping[type[Operation], Capability] = {
    PutFunction: Capability.FUNCTIONS,
    DropFunction: Capability.FUNCTIONS,
    PutConstraint: Capability.CONSTRAINTS,
    DropConstraint: Capability.CONSTRAINTS,
    PutStatistics: Capability.COLUMN_STATISTICS,
}
"""What an operation needs that a store may lack."""


def judge_class(settings: TargetSettings) -> type[Judge]:
    """Who decides for this target."""
    return BothWaysJudge if settings.both_ways else OneWayJudge
