"""Objects of the metastore as Glue keeps them, and back. Pure: no client, no clock.

To Glue (`pysync.targets.aws.inputs`): each gives the input of a call and the changes: a line for everything that Glue
cannot hold as it is, so that nothing is lost in silence. Raises Rejected where Glue would take it in no form.
From Glue (`pysync.targets.aws.objects`): hmsclient's structs, as another metastore would give them.
"""

from __future__ import annotations

from pysync.targets.aws.inputs import database_input, function_input, partition_input, table_input
from pysync.targets.aws.objects import database_of, function_of, partition_of, table_of

__all__ = [
    "database_input",
    "database_of",
    "function_input",
    "function_of",
    "partition_input",
    "partition_of",
    "table_input",
    "table_of",
]
