"""A connection to one Hive Metastore (HMS) over thrift: the only place in pysync that opens one.

What it adds to the generated client of `hmsclient`, whose own wrapper has none of it:

- **time limits**, on connecting and on every read, and clear errors (`MetastoreError` and its kinds);
- **a broken connection is never used again.** An argument that does not fit its thrift type, for example 40000 in an
  i16, leaves half a request in the buffer, and the next call is then read as its other half. So whatever is not an
  exception that HMS's IDL declares costs the connection; the next call opens a new one;
- **only calls that Hive 2.3, 3.1 and 4.x all have**: Hive 4.0.1 dropped `get_table` and `get_table_objects_by_name`
  (HIVE-26537), their `_req` forms are in every version.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import urlsplit

from hmsclient.genthrift.hive_metastore import ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TTransport import TBufferedTransport

from pysync.errors import PysyncError, UsageError
from pysync.model import idl

DEFAULT_PORT = 9083
PARTITIONS_PER_CALL = 500
"""Well below the server's 100 MB a message, and far above what the round trip costs."""

CAPABILITIES = ttypes.ClientCapabilities([2])
"""INSERT_ONLY_TABLES, a name that the 2.3 IDL lacks; without it Hive 3.1 and 4.x refuse to show such tables."""

_ALL = -1  # max_parts is an i16: -1, not a large number, means all
_READ_BUFFER = 64 * 1024
_NAME_AT = 8  # a strict binary message starts with version (4 bytes), length of the name (4 bytes), name

_DECLARED: tuple[type[BaseException], ...] = tuple(
    kind
    for kind in vars(ttypes).values()
    if isinstance(kind, type) and issubclass(kind, TException) and kind.__module__ == ttypes.__name__
)
_UNWRITABLE = (struct.error, OverflowError, UnicodeError, TProtocolException)
_BROKEN = (OSError, EOFError, ValueError, struct.error, TException)

T = TypeVar("T")


class MetastoreError(PysyncError):
    """A call got no answer from a metastore; the connection has been thrown away."""


class MetastoreUnavailable(MetastoreError):
    """No connection could be made, so nothing was sent: try again later."""


class MetastoreCallFailed(MetastoreError):
    """The request went out and no usable answer came back: it may or may not have been carried out."""


class MetastoreUnsupported(MetastoreError):
    """The metastore's version of Hive does not know the call."""


class MetastoreRequestInvalid(MetastoreError):
    """The arguments cannot be written as thrift (a number too large for its type), so nothing was sent."""


@dataclass(frozen=True, slots=True)
class MetastoreUri:
    """Where a metastore listens: `thrift://host:port`, an IPv6 address in brackets."""

    host: str
    port: int = DEFAULT_PORT

    @classmethod
    def parse(cls, text: str) -> MetastoreUri:
        """Read `thrift://host[:port]`; UsageError for anything else."""
        if "," in text:
            raise UsageError(f"{text!r} names several metastores", "pysync talks to one: keep one address")
        try:
            parts = urlsplit(text.strip())
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise _not_an_address(text) from error
        extra = parts.path.strip("/") or parts.query or parts.fragment or parts.username is not None
        if parts.scheme != "thrift" or not host or port == 0 or extra:
            raise _not_an_address(text)
        return cls(host, DEFAULT_PORT if port is None else port)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"thrift://{host}:{self.port}"


def _not_an_address(text: str) -> UsageError:
    return UsageError(
        f"{text!r} is not the address of a metastore", "write it as thrift://host:port, as in hive.metastore.uris"
    )


class _Wire:
    """The socket as thrift wants to see one, and a note of the request that went out on it."""

    def __init__(self, uri: MetastoreUri, timeout: float, connect_timeout: float) -> None:
        self.sent = ""  # the name of the call; empty while nothing went out
        self._socket = socket.create_connection((uri.host, uri.port), connect_timeout)
        try:
            self._socket.settimeout(timeout)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._socket.getsockname() == self._socket.getpeername():
                # TCP lets a client that tries a free local port connect to itself; nobody listens there.
                raise ConnectionRefusedError(f"nothing listens on port {uri.port}")
        except OSError:  # also of a peer that has gone again
            self._socket.close()
            raise

    def read(self, size: int) -> bytes:
        data = self._socket.recv(size)
        if not data:
            raise EOFError("the metastore closed the connection")
        return data

    def readAll(self, size: int) -> bytes:  # noqa: N802, thrift's name
        data = bytearray()
        while len(data) < size:
            data += self.read(size - len(data))
        return bytes(data)

    def write(self, data: bytes) -> None:
        (length,) = struct.unpack_from("!i", data, _NAME_AT - 4)
        self.sent = data[_NAME_AT : _NAME_AT + length].decode()
        self._socket.sendall(data)

    def flush(self) -> None:
        """Nothing to do: write() has sent it."""

    def is_idle(self) -> bool:
        """Whether the other end is still there and owes us nothing: a server that restarted has closed its end."""
        timeout = self._socket.gettimeout()
        self._socket.settimeout(0)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            self._socket.settimeout(timeout)
        return False

    def close(self) -> None:
        self._socket.close()


class Metastore:
    """A connection to a metastore; a context manager. It connects at the first call, and again after a failure.

    `timeout` is the longest wait, in seconds, for any part of an answer; `connect_timeout` the one for a connection to
    each address of the host. Not to be shared between threads: thrift answers in order, so give each thread its own.

    Errors: those that HMS's IDL declares (`hmsclient.genthrift.hive_metastore.ttypes`, for example
    `NoSuchObjectException`) come as they are, the connection is kept. Everything else is a `MetastoreError`.
    """

    def __init__(self, uri: str | MetastoreUri, *, timeout: float = 30.0, connect_timeout: float = 5.0) -> None:
        self.uri = uri if isinstance(uri, MetastoreUri) else MetastoreUri.parse(uri)
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._wire: _Wire | None = None
        self._client: Any = None

    def __enter__(self) -> Metastore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next call opens one again. Never fails."""
        wire, self._wire, self._client = self._wire, None, None
        if wire is not None:
            wire.close()

    def call(self, request: Callable[[Any], T]) -> T:
        """The answer to one request: `metastore.call(lambda client: client.get_all_databases())`.

        `request` gets a `ThriftHiveMetastore.Client` and makes one call on it: with several, an error does not tell
        which of them were carried out. An exception of its own, which has nothing to do with thrift, comes unchanged.
        """
        wire = self._connected()
        wire.sent = ""
        try:
            return request(self._client)
        except _DECLARED:
            raise
        except BaseException as error:
            self.close()
            failure = self._failure(error, wire.sent)
            if failure is None:
                raise
            raise failure from error

    def _connected(self) -> _Wire:
        if self._wire is not None and self._wire.is_idle():
            return self._wire
        self.close()
        try:
            self._wire = _Wire(self.uri, self._timeout, self._connect_timeout)
        except (OSError, UnicodeError) as error:  # UnicodeError: a host name that IDNA cannot spell
            raise MetastoreUnavailable(
                f"cannot reach the metastore at {self.uri}: {error}", "is it running, and is this its address?"
            ) from error
        protocol = TBinaryProtocolAccelerated(TBufferedTransport(self._wire, _READ_BUFFER))
        self._client = idl.Client(protocol)
        return self._wire

    def _failure(self, error: BaseException, sent: str) -> MetastoreError | None:
        """What `error` means to a caller; None if it is not about the connection."""
        if isinstance(error, TApplicationException):
            return self._refusal(error, sent)
        if sent and isinstance(error, _BROKEN):
            return MetastoreCallFailed(
                f"the metastore at {self.uri} did not answer {sent}: {_text(error)}",
                "it may have been carried out; look at the metastore's log",
            )
        if not sent and isinstance(error, _UNWRITABLE):
            return MetastoreRequestInvalid(f"a request to {self.uri} cannot be written as thrift: {_text(error)}")
        return None

    def _refusal(self, error: Any, sent: str) -> MetastoreError:
        if error.type == TApplicationException.UNKNOWN_METHOD:
            return MetastoreUnsupported(
                f"the metastore at {self.uri} does not know the call {sent}", "its Hive is older or newer than that"
            )
        return MetastoreCallFailed(
            f"the metastore at {self.uri} failed in {sent}: {_text(error)}", "its log has the reason"
        )

    def databases(self) -> list[str]:
        """The names of all databases of the default catalog."""
        return list(self.call(lambda client: client.get_all_databases()))

    def database(self, name: str) -> Any | None:
        """A `ttypes.Database`, or None if there is none of that name."""
        return self._found(lambda client: client.get_database(name))

    def tables(self, database: str) -> list[str]:
        """The names of all tables and views; empty also for a database that is not there."""
        return list(self.call(lambda client: client.get_all_tables(database)))

    def table(self, database: str, name: str) -> Any | None:
        """A `ttypes.Table`, or None if it or its database is not there."""
        request = ttypes.GetTableRequest(database, name, CAPABILITIES)
        answer = self._found(lambda client: client.get_table_req(request))
        return None if answer is None else answer.table

    def tables_by_name(self, database: str, names: Sequence[str]) -> list[Any]:
        """Those of the named `ttypes.Table` that are there, in no promised order."""
        request = ttypes.GetTablesRequest(database, list(names), CAPABILITIES)
        return list(self.call(lambda client: client.get_table_objects_by_name_req(request)).tables)

    def partition_names(self, database: str, table: str) -> list[str]:
        """All partitions as `key=value/key=value`, escaped as in their paths."""
        return list(self.call(lambda client: client.get_partition_names(database, table, _ALL)))

    def partitions(self, database: str, table: str) -> Iterator[Any]:
        """Every `ttypes.Partition` that is there when its turn comes, with at most 500 in memory at a time."""
        names = self.partition_names(database, table)
        for start in range(0, len(names), PARTITIONS_PER_CALL):
            yield from self.partitions_by_name(database, table, names[start : start + PARTITIONS_PER_CALL])

    def partitions_by_name(self, database: str, table: str, names: Sequence[str]) -> list[Any]:
        """Those of the named `ttypes.Partition` that are there, in no promised order."""
        wanted = list(names)
        return list(self.call(lambda client: client.get_partitions_by_names(database, table, wanted)))

    def functions(self, database: str) -> list[Any]:
        """Every `ttypes.Function` of a database, with its name in lower case."""
        names = self.call(lambda client: client.get_functions(database, "*"))
        if all(name == name.lower() for name in names):
            each = (self.function(database, name) for name in names)
            return [function for function in each if function is not None]
        # Hive 2.3 and 3.1 keep Mixed names, and get_function then does not find them.
        answer = self.call(lambda client: client.get_all_functions())
        found = [function for function in answer.functions or () if function.dbName == database.lower()]
        for function in found:
            function.functionName = function.functionName.lower()
        return found

    def function(self, database: str, name: str) -> Any | None:
        """A `ttypes.Function`, or None if there is none of that name."""
        return self._found(lambda client: client.get_function(database, name))

    def _found(self, request: Callable[[Any], Any]) -> Any | None:
        try:
            return self.call(request)
        except ttypes.NoSuchObjectException:
            return None


def _text(error: BaseException) -> str:
    return str(error) or type(error).__name__
