"""The operations of a metastore with `both_ways`: each reads, has it judged (pysync.targets.judging), and writes."""

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
from pysync.targets.base import Outcome
from pysync.targets.hms.both_ways.constraints import drop_constraint, put_constraint
from pysync.targets.hms.both_ways.databases import drop_database, put_database
from pysync.targets.hms.both_ways.functions import drop_function, put_function
from pysync.targets.hms.both_ways.partitions import drop_partitions, put_partitions
from pysync.targets.hms.both_ways.renames import rename_table
from pysync.targets.hms.both_ways.tables import drop_table, put_table
from pysync.targets.hms.both_ways.verdicts import say_again
from pysync.targets.hms.session import Session
from pysync.targets.hms.statistics import put_statistics

APPLY: Mapping[type[Operation], Callable[[Session, Any], Outcome]] = {
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
