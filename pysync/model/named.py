"""Named: which table an event is about, as far as its bytes tell, though its objects may not be readable."""

from __future__ import annotations

from typing import Any

from thrift.protocol.TBase import TBase
from thrift.Thrift import TType

from pysync.errors import PysyncError
from pysync.model.event import Event
from pysync.model.names import TableName
from pysync.model.wire import decode, decode_event


def named_in(data: bytes) -> TableName | None:
    """The table that an event is about, though its objects may not be readable; None where it cannot be told."""
    try:
        return named_in_event(decode_event(data))
    except PysyncError:
        return None


def named_in_event(event: Event) -> TableName | None:
    """The same for an event that has been read."""
    try:
        if event.kind.value.endswith("_TABLE"):
            names: Any = decode(_TableNames, (event.before or event.after)[0])
        elif event.outlives_its_table:
            names = decode(_PartitionNames, event.before[0])
        else:
            names = decode(_TableNames, event.table or b"")
    except (PysyncError, IndexError):
        return None
    return TableName.of(names.dbName, names.tableName) if names.dbName and names.tableName else None


class _TableNames(TBase):  # type: ignore[misc]
    """As much of a Table as it takes to know which one it is."""

    thrift_spec = (None, (1, TType.STRING, "tableName", "UTF8", None), (2, TType.STRING, "dbName", "UTF8", None))

    def __init__(self) -> None:
        self.tableName: str | None = None
        self.dbName: str | None = None


class _PartitionNames(TBase):  # type: ignore[misc]
    """As much of a Partition as it takes to know whose it is."""

    thrift_spec = (
        None,
        None,
        (2, TType.STRING, "dbName", "UTF8", None),
        (3, TType.STRING, "tableName", "UTF8", None),
    )

    def __init__(self) -> None:
        self.dbName: str | None = None
        self.tableName: str | None = None
