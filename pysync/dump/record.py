"""Records of a dump, and the answers of a metastore that they hold."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, TypeVar

from hmsclient.genthrift.hive_metastore import ThriftHiveMetastore
from thrift.protocol.TBase import TBase
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TType
from thrift.transport.TTransport import TBufferedTransport

from pysync.base.errors import PysyncError
from pysync.metastore.access import MetastoreRef
from pysync.metastore.client import Metastore
from pysync.model import idl
from pysync.model.catalogs import CatalogClient, qualify
from pysync.model.wire import UnreadableEvent, decode, encode

# --- Records: what the files of a dump hold, one after the other, each with its length before it. Pure.
#
# A file begins with a line that says its version. A record that is repeated replaces the one before it.


HEAD = b"pysync dump 1\n"
_LENGTH = struct.Struct("!I")


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
class Record:
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


def framed(record: Record) -> bytes:
    """The bytes of a record in a file, with their length before them."""
    fields = {"what": record.what.value, "database": record.database, "table": record.table}
    replies = [_ReplyStruct(call=it.call, data=it.data) for it in record.replies]
    data = encode(_RecordStruct(**fields, names=list(record.names), replies=replies))
    return _LENGTH.pack(len(data)) + data


def records(data: bytes) -> Iterator[tuple[int, Record]]:
    """Every record of a file, and where it begins. Raises DumpDamaged, at any of them, for another kind of file."""
    if not data.startswith(HEAD):
        raise DumpDamaged("its format is unknown", "if a newer pysync wrote it, upgrade pysync")
    at = len(HEAD)
    while at < len(data):
        record, end = record_at(data, at)
        yield at, record
        at = end


def record_at(data: bytes, at: int) -> tuple[Record, int]:
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


LENGTH_BYTES = _LENGTH.size


def _decoded(data: bytes) -> Record:
    try:
        record: Any = decode(_RecordStruct, data)
        what = What(record.what)
        replies = tuple(Reply(it.call, it.data) for it in record.replies or ())
    except (UnreadableEvent, ValueError) as error:
        raise DumpDamaged(f"cannot read a record: {error}") from error
    return Record(what, record.database or "", record.table or "", tuple(record.names or ()), replies)


# --- Replies: what a metastore answers, kept as the very bytes that came, and read again.
#
# Fields that a newer Hive adds, and this pysync does not know, are in them too.

T = TypeVar("T")

_READ_BUFFER = 64 * 1024
_NAME_AT = 8  # a strict binary message: version (4 bytes), length of the name (4), name, sequence (4), result
_NUMBER = struct.Struct("!i")
_KNOWN = (
    "get_database",
    "get_functions",
    "get_function",
    "get_all_functions",
    "get_table_req",
    "get_partitions_by_names",
    "get_primary_keys",
    "get_foreign_keys",
)


def _result(name: str, kind: Any) -> Any:
    answer = idl.struct(f"get_{name}s_response", idl.parts(1, "constraints", kind))
    return idl.struct(f"get_{name}s_result", idl.part(0, "success", answer))


_RESULTS: Mapping[str, Any] = {
    **{name: getattr(ThriftHiveMetastore, f"{name}_result") for name in _KNOWN},
    **{f"get_{name}s": _result(name, kind) for kind, (name, _) in idl.CONSTRAINTS.items()},
}


class Recorder(Metastore):
    """A metastore whose answers about objects are kept; declared exceptions are not kept."""

    def __init__(self, where: MetastoreRef) -> None:
        super().__init__(where)
        self._replies: list[Reply] = []

    def __enter__(self) -> Recorder:
        return self

    def call(self, request: Callable[[Any], T]) -> T:
        """As `Metastore.call`; the reply is kept."""
        return super().call(partial(self._taped, request))

    def taken(self) -> tuple[Reply, ...]:
        """What was answered since the last call of this, in order."""
        records, self._replies = tuple(self._replies), []
        return records

    def _taped(self, request: Callable[[Any], T], client: Any) -> T:
        tape = _Tape(client._iprot.trans)
        # A client for each call: its buffer holds nothing of another reply, so the tape is this reply alone.
        answer = request(CatalogClient(TBinaryProtocolAccelerated(TBufferedTransport(tape, _READ_BUFFER))))
        reply = reply_of(bytes(tape.data))
        if reply.call in _RESULTS:  # nothing else is dumped, and it might be large
            self._replies.append(reply)
        return answer


def reply_of(message: bytes) -> Reply:
    """The reply in a message of thrift's binary protocol."""
    (length,) = _NUMBER.unpack_from(message, _NAME_AT - _NUMBER.size)
    ends = _NAME_AT + length
    return Reply(message[_NAME_AT:ends].decode(), message[ends + _NUMBER.size :])


def answer(reply: Reply) -> Any:
    """What the call returned. Raises DumpDamaged."""
    if reply.call not in _RESULTS:
        raise DumpDamaged(f"the call {reply.call!r} in it is unknown", "if a newer pysync wrote it, upgrade pysync")
    try:
        return qualify(decode(_RESULTS[reply.call], reply.data).success)
    except UnreadableEvent as error:
        raise DumpDamaged(f"cannot read an answer to {reply.call}: {error}") from error


class _Tape:
    """A transport that remembers what is read from another one."""

    def __init__(self, below: Any) -> None:
        self.data = bytearray()
        self._below = below

    def read(self, size: int) -> bytes:
        data: bytes = self._below.read(size)
        self.data += data
        return data

    def write(self, data: bytes) -> None:
        self._below.write(data)

    def flush(self) -> None:
        self._below.flush()
