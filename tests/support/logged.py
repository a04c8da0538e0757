"""A real metastore with a notification log in front of it: pyspark's jars have nothing that writes one."""

from __future__ import annotations

import socket
from contextlib import closing, suppress
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from pysync.metastore.addresses import MetastoreUri
from tests.support.notifications import ServedLog, _Processor, row

_OF_THE_LOG = frozenset({"get_current_notificationEventId", "get_next_notification"})


class LoggedMetastore(ServedLog):
    """Answers calls about the log by itself, and passes all others on, byte for byte."""

    def __init__(self, upstream: str, newest: int) -> None:
        super().__init__([row(newest)])
        self._upstream = MetastoreUri.parse(upstream)

    def touch(self, database: str, table: str) -> None:
        """One more row, of that table."""
        self.log.rows.append(row(self.log.current() + 1, database=database, table=table))

    def _serve(self, connection: socket.socket) -> None:
        plain = TSocket()
        plain.setHandle(connection)
        upstream = TSocket(self._upstream.host, self._upstream.port)
        upstream.open()
        caller, server = _Kept(TBufferedTransport(plain)), _Kept(TBufferedTransport(upstream))
        passing = _Passing(self)
        with closing(upstream), connection, suppress(TTransportException, OSError):
            while True:
                passing.process_next(caller, server)


class _Kept:
    """A transport that keeps what is read from it, until it is taken."""

    def __init__(self, inner: Any) -> None:
        self._inner, self._read = inner, bytearray()

    def readAll(self, size: int) -> bytes:  # noqa: N802 - thrift's name
        data: bytes = self._inner.readAll(size)
        self._read += data
        return data

    def write(self, data: bytes) -> None:
        self._inner.write(data)

    def flush(self) -> None:
        self._inner.flush()

    def taken(self) -> bytes:
        """What was read since the last time."""
        data, self._read = bytes(self._read), bytearray()
        return data


class _Passing(_Processor):
    def process_next(self, caller: _Kept, server: _Kept) -> None:
        """Answer one call, or pass it on and its answer back."""
        protocol = TBinaryProtocol(caller)
        name, _, sequence = protocol.readMessageBegin()
        if name in _OF_THE_LOG:
            self._processMap[name](self, sequence, protocol, protocol)
            caller.taken()
            return
        protocol.skip(TType.STRUCT)
        _send(caller.taken(), server)
        answer = TBinaryProtocol(server)
        answer.readMessageBegin()
        answer.skip(TType.STRUCT)
        _send(server.taken(), caller)


def _send(data: bytes, to: _Kept) -> None:
    to.write(data)
    to.flush()
