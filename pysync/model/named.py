"""Named: which table an event is about. It needs the bytes of the names only, not a readable object."""

from __future__ import annotations

from typing import Any

from thrift.protocol.TBase import TBase
from thrift.Thrift import TType

from pysync.errors import PysyncError
from pysync.model.event import Event
from pysync.model.names import TableName
from pysync.model.wire import decode, decode_event


def named_in(data: bytes) -> TableName | None:
    """The table that an event is about, even if its objects are unreadable; None if it cannot be told."""
    try:
        return named_in_event(decode_event(data))
    except PysyncError:
        return None


def named_in_event(event: Event) -> TableName | None:
    """The same for a decoded event."""
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
    """The fields of a Table that identify it. Thrift skips all others without decoding them."""

    thrift_spec = (None, (1, TType.STRING, "tableName", "UTF8", None), (2, TType.STRING, "dbName", "UTF8", None))

    def __init__(self) -> None:
        self.tableName: str | None = None
        self.dbName: str | None = None


class _PartitionNames(TBase):  # type: ignore[misc]
    """The fields of a Partition that identify its table."""

    thrift_spec = (
        None,
        None,
        (2, TType.STRING, "dbName", "UTF8", None),
        (3, TType.STRING, "tableName", "UTF8", None),
    )

    def __init__(self) -> None:
        self.dbName: str | None = None
        self.tableName: str | None = None
