"""Objects of the metastore as Glue keeps them, and back. Pure: no client, no clock.

To Glue (`pysync.targets.aws.inputs`): each gives the input of a call and the changes: a line for everything that Glue
cannot hold as it is, so that nothing is lost in silence. Raises Rejected where Glue would take it in no form.
From Glue (`pysync.targets.aws.objects`): hmsclient's structs, as another metastore would give them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.targets.aws.inputs import database_input, function_input, partition_input, table_input
from pysync.targets.aws.objects import database_of, function_of, partition_of, table_of

_INPUTS: Mapping[Any, Callable[[Any], tuple[dict[str, Any], list[str]]]] = {
    hive.Database: database_input,
    hive.Table: table_input,
    hive.Partition: partition_input,
    hive.Function: function_input,
}


def translated(item: Any) -> tuple[dict[str, Any], list[str]]:
    """The input for any of the structs, and what Glue cannot hold as it is. Raises Rejected."""
    return _INPUTS[type(item)](item)


__all__ = [
    "database_input",
    "database_of",
    "function_input",
    "function_of",
    "partition_input",
    "partition_of",
    "table_input",
    "table_of",
    "translated",
]
