"""Which table or object an event is about.

For a table the bytes of its names are enough: the event's objects need not be readable.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from thrift.protocol.TBase import TBase
from thrift.Thrift import TType

from pysync.base.errors import PysyncError
from pysync.model.catalogs import database_in
from pysync.model.change import decode_change
from pysync.model.event import Event, Kind
from pysync.model.names import TableName
from pysync.model.wire import decode, decode_event


def named_in(data: bytes) -> TableName | None:
    """The table that an event is about, even if its objects are unreadable; None if it is not known."""
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
    if not names.dbName or not names.tableName:
        return None
    return TableName.of(database_in(event.catalog, names.dbName), names.tableName)


def objects_of(event: Event, position: int) -> list[str]:
    """`db.table` (of a rename the old and the new name), `db`, `db.*` for a database that is dropped with all in it."""
    names = [named_in_event(event)]
    if event.kind is Kind.ALTER_TABLE and event.after:
        # An event with the new state alone gives the new name.
        names.append(named_in_event(replace(event, before=())))
    if names[0] is not None:
        return [str(name) for name in dict.fromkeys(names) if name is not None]
    try:
        change = decode_change(event, position)
    except PysyncError:
        return []
    return sorted(change.keys) if change else []


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
