"""Records: what the files of a dump hold, one after the other, each with its length before it. Pure.

A file begins with a line that says its version. A record that is repeated replaces the one before it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from thrift.protocol.TBase import TBase
from thrift.Thrift import TType

from pysync.base.errors import PysyncError
from pysync.model.wire import UnreadableEvent, decode, encode

HEAD = b"pysync dump 1\n"
_LENGTH = struct.Struct("!I")

LENGTH_BYTES = _LENGTH.size


class What(str, Enum):
    """What a record describes."""

    DATABASES = "databases"  # the names of all databases
    DATABASE = "database"  # a database with its functions, and the names of all its tables
    TABLE = "table"  # a table with its constraints
    PARTITIONS = "partitions"  # some partitions of the table before it, by their names
    END = "end"  # of a table: all of it was read

    def __str__(self) -> str:
        return self.value


class DumpDamaged(PysyncError):
    """A file of a dump is not what was written."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a metastore answered to a call: the bytes of the call's result."""

    call: str
    data: bytes


@dataclass(frozen=True, slots=True)
class DumpRecord:
    """One record. Which fields it has depends on `what`."""

    what: What
    database: str = ""
    table: str = ""
    names: tuple[str, ...] = ()
    replies: tuple[Reply, ...] = ()


class _ReplyStruct(TBase):  # type: ignore[misc]
    thrift_spec = (None, (1, TType.STRING, "call", "UTF8", None), (2, TType.STRING, "data", "BINARY", None))
    call = data = None

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


class _RecordStruct(TBase):  # type: ignore[misc]
    thrift_spec = (
        None,
        (1, TType.STRING, "what", "UTF8", None),
        (2, TType.STRING, "database", "UTF8", None),
        (3, TType.STRING, "table", "UTF8", None),
        (4, TType.LIST, "names", (TType.STRING, "UTF8", False), None),
        (5, TType.LIST, "replies", (TType.STRUCT, [_ReplyStruct, _ReplyStruct.thrift_spec], False), None),
    )
    what = database = table = names = replies = None

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def framed(record: DumpRecord) -> bytes:
    """The bytes of a record in a file, with their length before them."""
    fields = {"what": record.what.value, "database": record.database, "table": record.table}
    replies = [_ReplyStruct(call=it.call, data=it.data) for it in record.replies]
    data = encode(_RecordStruct(**fields, names=list(record.names), replies=replies))
    return _LENGTH.pack(len(data)) + data


def records(data: bytes) -> Iterator[tuple[int, DumpRecord]]:
    """Every record of a file, and where it begins. Raises DumpDamaged, at any of them, for another kind of file."""
    if not data.startswith(HEAD):
        raise DumpDamaged("its format is unknown", "if a newer pysync wrote it, upgrade pysync")
    at = len(HEAD)
    while at < len(data):
        record, end = record_at(data, at)
        yield at, record
        at = end


def record_at(data: bytes, at: int) -> tuple[DumpRecord, int]:
    """The record that begins at `at`, and where it ends. Raises DumpDamaged."""
    begins = at + _LENGTH.size
    if begins > len(data):
        raise DumpDamaged("it ends in the middle of a record")
    (length,) = _LENGTH.unpack_from(data, at)
    if begins + length > len(data):
        raise DumpDamaged("it ends in the middle of a record")
    return _decoded(data[begins : begins + length]), begins + length


def length_of(head: bytes) -> int:
    """How long a record is, after the bytes `head` that say so. Raises DumpDamaged."""
    if len(head) != LENGTH_BYTES:
        raise DumpDamaged("it ends in the middle of a record")
    return int(_LENGTH.unpack(head)[0])


def _decoded(data: bytes) -> DumpRecord:
    try:
        record: Any = decode(_RecordStruct, data)
        what = What(record.what)
        replies = tuple(Reply(it.call, it.data) for it in record.replies or ())
    except (UnreadableEvent, ValueError) as error:
        raise DumpDamaged(f"cannot read a record: {error}") from error
    return DumpRecord(what, record.database or "", record.table or "", tuple(record.names or ()), replies)
