"""Operations of a target with `both_ways`: read, get a verdict (pysync.targets.apply.judging), write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pysync.model.operation import (
    DropConstraint,
    DropDatabase,
    DropFunction,
    DropPartitions,
    DropTable,
    Operation,
    PutConstraint,
    PutDatabase,
    PutFunction,
    PutPartitions,
    PutStatistics,
    PutTable,
    RenameTable,
    SayAgain,
)
from pysync.targets.apply.both_ways.constraints import drop_constraint, put_constraint
from pysync.targets.apply.both_ways.databases import drop_database, put_database
from pysync.targets.apply.both_ways.functions import drop_function, put_function
from pysync.targets.apply.both_ways.partitions import drop_partitions, put_partitions
from pysync.targets.apply.both_ways.renames import rename_table
from pysync.targets.apply.both_ways.tables import drop_table, put_table
from pysync.targets.apply.both_ways.verdicts import say_again
from pysync.targets.apply.statistics import put_statistics
from pysync.targets.base import Outcome
from pysync.targets.store import Store

APPLY: Mapping[type[Operation], Callable[[Store, Any], Outcome]] = {
    PutDatabase: put_database,
    DropDatabase: drop_database,
    PutFunction: put_function,
    DropFunction: drop_function,
    PutTable: put_table,
    RenameTable: rename_table,
    DropTable: drop_table,
    PutPartitions: put_partitions,
    DropPartitions: drop_partitions,
    PutConstraint: put_constraint,
    DropConstraint: drop_constraint,
    PutStatistics: put_statistics,
    SayAgain: say_again,
}
