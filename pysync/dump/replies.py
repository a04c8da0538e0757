"""Replies: what a metastore answers, kept as the very bytes that came, and read again.

Fields that a newer Hive adds, and this pysync does not know, are in them too.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from hmsclient.genthrift.hive_metastore import ThriftHiveMetastore
from thrift.transport.TTransport import TTransportBase

from pysync.dump.record import DumpDamaged, Reply
from pysync.metastore.access import MetastoreRef
from pysync.metastore.client import Metastore, protocol
from pysync.model import idl
from pysync.model.catalogs import CatalogClient, qualify
from pysync.model.wire import UnreadableEvent, decode

T = TypeVar("T")

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


class ReplyRecorder(Metastore):
    """A metastore whose answers about objects are kept; declared exceptions are not kept."""

    def __init__(self, where: MetastoreRef) -> None:
        super().__init__(where)
        self._replies: list[Reply] = []

    def __enter__(self) -> ReplyRecorder:
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
        answer = request(CatalogClient(protocol(tape)))
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


class _Tape(TTransportBase):  # type: ignore[misc]
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
