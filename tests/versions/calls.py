"""What only tests ask of a metastore, and hmsclient's Hive 2.3 IDL does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TType

from pysync.model.idl import TEXTS, call, part, struct, text

# Hive 3.0 put `replace` before the others, and numbered those anew.
_InsertData = struct(
    "InsertEventRequestData",
    (1, TType.BOOL, "replace", None, None),
    (2, TType.LIST, "filesAdded", TEXTS, None),
)
_FireData = struct("FireEventRequestData", part(1, "insertData", _InsertData))
_FireRequest = struct(
    "FireEventRequest",
    (1, TType.BOOL, "successful", None, None),
    part(2, "data", _FireData),
    text(3, "dbName"),
    text(4, "tableName"),
    (5, TType.LIST, "partitionVals", TEXTS, None),
)
_FireArgs = struct("fire_listener_event_args", part(1, "rqst", _FireRequest))
_FireResult = struct("fire_listener_event_result", text(1, "o1"))

_TruncateArgs = struct(
    "truncate_table_args", text(1, "database"), text(2, "table"), (3, TType.LIST, "partitions", TEXTS, None)
)
_TruncateResult = struct("truncate_table_result", part(1, "o1", hive.MetaException))


def truncate_table(client: Any, database: str, table: str, partitions: Sequence[str]) -> None:
    """The call of that name (Hive 3.0 and later); no partitions: all of the table. Raises MetaException."""
    args = _TruncateArgs(database=database, table=table, partitions=list(partitions))
    call(client, "truncate_table", args, _TruncateResult())


def fire_insert(client: Any, database: str, table: str, values: Sequence[str] | None, files: Sequence[str]) -> None:
    """fire_listener_event of an insert, as Hive 3.0 and later want it."""
    data = _FireData(insertData=_InsertData(replace=False, filesAdded=list(files)))
    partition = None if values is None else list(values)
    request = _FireRequest(successful=True, data=data, dbName=database, tableName=table, partitionVals=partition)
    call(client, "fire_listener_event", _FireArgs(rqst=request), _FireResult())
