"""Metastore: a connection to one Hive Metastore (HMS) over thrift.

What it adds to the generated client of `hmsclient`, whose own wrapper has none of it:

- **time limits**, on connecting and on every read, and clear errors (`MetastoreError` and its kinds);
- **a broken connection is never used again.** An argument that does not fit its thrift type, for example 40000 in an
  i16, leaves half a request in the buffer, and the next call is then read as its other half. So whatever is not an
  exception that HMS's IDL declares costs the connection; the next call opens a new one;
- **several addresses**, TLS and Kerberos (`MetastoreAccess`);
- **only calls that Hive 2.3, 3.1 and 4.x all have**: Hive 4.0.1 dropped `get_table` and `get_table_objects_by_name`
  (HIVE-26537), their `_req` forms are in every version.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from hmsclient.genthrift.hive_metastore import ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TTransport import TBufferedTransport

from pysync.base.text import without_middle
from pysync.metastore.access import MetastoreAccess, MetastoreRef
from pysync.metastore.addresses import MetastoreUri
from pysync.metastore.errors import (
    AnswerTooLarge,
    MetastoreCallFailed,
    MetastoreError,
    MetastoreRequestInvalid,
    MetastoreUnavailable,
    MetastoreUnsupported,
)
from pysync.metastore.reads import with_values
from pysync.metastore.wire import MOST_IN_ANSWER, Wire, connect
from pysync.model import constraints
from pysync.model.catalogs import CatalogClient, database_in
from pysync.model.definition import VIEW
from pysync.model.names import TableName
from pysync.model.reread import is_request_name
from pysync.model.snapshot import Snapshot, Transactions

PARTITIONS_PER_CALL = 500
"""Well below the server's 100 MB a message, and far above what the round trip costs."""

CAPABILITIES = ttypes.ClientCapabilities([2])
"""INSERT_ONLY_TABLES, a name that the 2.3 IDL lacks; without it Hive 3.1 and 4.x refuse to show such tables."""

_LOG = "see the log of the metastore"
_LOG_OR_LOGIN = f"{_LOG}; the metastore may need tls, a client certificate, a login or HTTP"
_ALL = -1  # max_parts is an i16: -1, not a large number, means all
_READ_BUFFER = 64 * 1024

_DECLARED: tuple[type[BaseException], ...] = tuple(
    kind
    for kind in vars(ttypes).values()
    if isinstance(kind, type) and issubclass(kind, TException) and kind.__module__ == ttypes.__name__
)
_UNWRITABLE = (struct.error, OverflowError, UnicodeError, TProtocolException)
_BROKEN = (OSError, EOFError, ValueError, struct.error, TException)
# What thrift's C extension raises for an answer beyond the limits, and for types that thrift does not have.
_UNREADABLE = (OverflowError, MemoryError, TypeError, SystemError)
_BEYOND_LIMIT = "size exceeded specified limit"

MOST_IN_CONTAINER = 4 * 1024 * 1024
"""Elements of a list that are taken from an answer: the space is reserved before they come, as that of a string is."""
_MOST_IN_MESSAGE = 64 * 1024  # characters of an error: what it says passes many hands

_OF_CALLS = (TApplicationException.INTERNAL_ERROR, TApplicationException.PROTOCOL_ERROR)

T = TypeVar("T")


def is_of_call(error: BaseException) -> bool:
    """Whether the metastore answered with an error about this one call, as it would again.

    It failed in the call, cannot decode its arguments, or answers too much. Any other failure after the request went
    out, an answer that is no thrift for example, is about the metastore.
    """
    cause = error.__cause__
    failed = isinstance(cause, TApplicationException) and cause.type in _OF_CALLS
    return failed or isinstance(error, AnswerTooLarge)


def protocol(transport: Any) -> Any:
    """What reads answers from a transport, up to the limits. It raises OverflowError beyond them."""
    return TBinaryProtocolAccelerated(
        TBufferedTransport(transport, _READ_BUFFER),
        string_length_limit=MOST_IN_ANSWER,
        container_length_limit=MOST_IN_CONTAINER,
    )


class Metastore:
    """A connection to a metastore; a context manager. It connects at the first call, and again after a failure.

    `metastore` is an address, a list of them with commas, or an access; the first address that can be reached is used
    until it fails. `timeout` is the longest wait, in seconds, for any part of an answer (a call takes ten times that at
    most, TIMEOUTS_OF_CALL); `connect_timeout` the one for a connection to each address of each host, and for each step
    of a login. Not to be shared between threads: thrift answers in order, so give each thread its own.

    Errors: those that HMS's IDL declares (`hmsclient.genthrift.hive_metastore.ttypes`, for example
    `NoSuchObjectException`) come as they are, the connection is kept. Everything else is a `MetastoreError`.
    """

    def __init__(self, metastore: MetastoreRef, *, timeout: float = 30.0, connect_timeout: float = 5.0) -> None:
        self._access = metastore if isinstance(metastore, MetastoreAccess) else MetastoreAccess.of(metastore)
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._wire: Wire | None = None
        self._client: Any = None
        self.on_call: Callable[[str], object] | None = None
        """Is called with the name of each call that is sent."""

    @property
    def uri(self) -> MetastoreUri:
        """The address that it is connected to, or would try first."""
        return self._wire.uri if self._wire is not None else self._access.addresses.current

    @property
    def catalogs(self) -> tuple[str, ...]:
        """The catalogs that are followed beside `hive`, as its access names them."""
        return self._access.catalogs

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

        `request` gets a `ThriftHiveMetastore.Client` and makes one call on it: with several, an error does not say
        which of them were carried out. An exception of its own, which has nothing to do with thrift, comes unchanged.
        """
        wire = self._connected()
        # Empty until a request goes out: only then may the call have been carried out.
        wire.sent = ""
        try:
            return request(self._client)
        except _DECLARED as error:
            _shorten(error)
            raise
        except BaseException as error:
            # KeyboardInterrupt, too: an answer that nobody has read would be taken for the next call's.
            self.close()
            failure = self._failure(error, wire)
            if failure is None:
                raise
            raise failure from error

    def _connected(self) -> Wire:
        # Looked at before each call: a server that was restarted has closed its end, and nothing is sent to it.
        if self._wire is not None and self._wire.is_idle():
            return self._wire
        self.close()
        self._wire = wire = connect(self._access, self._timeout, self._connect_timeout)
        wire.on_sent = self.on_call
        self._client = CatalogClient(protocol(wire))
        # Over HTTP a header says it with each request (`login.headers`).
        if self._access.user is not None and not wire.uri.is_http:
            self._call_as(self._access.user, wire)
        return wire

    def _call_as(self, user: str, wire: Wire) -> None:
        """Make all calls of this connection as that user. Raises MetastoreUnavailable where the server refuses.

        A server that ignores names answers with the groups and the name; one that takes them leaves the name out.
        """
        try:
            refused = "it ignores the user name" if user in self._client.set_ugi(user, []) else ""
        except (*_BROKEN, *_UNREADABLE) as error:
            refused = _text(error)
        except BaseException:
            self.close()
            raise
        if refused:
            self.close()
            self._access.addresses.failed(wire.uri)
            raise MetastoreUnavailable(
                f"the metastore at {wire.uri} refuses calls as user {user!r}: {refused}",
                "set hive.metastore.execute.setugi in its hive-site.xml, or kerberos or login in pysync.toml "
                "(docs/security.md)",
            )

    def _failure(self, error: BaseException, wire: Wire) -> MetastoreError | None:
        """What `error` means to a caller; None if the error is to be raised as it is."""
        if isinstance(error, TApplicationException):
            # It has answered, so there is no reason to go to another address.
            _shorten(error)
            return _refusal(error, wire)
        if isinstance(error, AnswerTooLarge):
            return error
        if isinstance(error, OverflowError) and wire.sent and _BEYOND_LIMIT in str(error):
            return AnswerTooLarge(f"the metastore at {wire.uri} answers {wire.sent} with an object that is too large")
        broken = bool(wire.sent) and isinstance(error, (*_BROKEN, *_UNREADABLE))
        if isinstance(error, MetastoreError) or broken:
            self._access.addresses.failed(wire.uri)  # it may hang for long: another address may not
        if broken:
            return MetastoreCallFailed(
                f"the metastore at {wire.uri} did not answer {wire.sent}: {_text(error)}",
                f"the call may have been executed; {_LOG if wire.answered else _LOG_OR_LOGIN}",
            )
        if not wire.sent and isinstance(error, _UNWRITABLE):
            return MetastoreRequestInvalid(f"cannot encode a request to {wire.uri} as thrift: {_text(error)}")
        return None

    def version(self) -> str:
        """The version that it tells: of Hive 4 its own, of older ones always 3.0."""
        return str(self.call(lambda client: client.getVersion()))

    def databases(self) -> list[str]:
        """The names of all databases of the catalog `hive`, and of the other catalogs of the access."""
        names = list(self.call(lambda client: client.get_all_databases()))
        for catalog in self.catalogs:
            within = self.call(partial(_databases_in, catalog))
            names += [database_in(catalog, name) for name in within]
        return names

    def database(self, name: str) -> Any | None:
        """A `ttypes.Database`, or None if there is none of that name."""
        return self._get_or_none(lambda client: client.get_database(name))

    def tables(self, database: str) -> list[str]:
        """The names of all tables and views; empty also for a database that is not there."""
        return list(self.call(lambda client: client.get_all_tables(database)))

    def views(self, database: str) -> list[str]:
        """The names of all views, but for materialized ones; empty also for a database that is not there."""
        return list(self.call(lambda client: client.get_tables_by_type(database, "*", VIEW)))

    def table(self, database: str, name: str) -> Any | None:
        """A `ttypes.Table`, or None if it or its database is not there."""
        request = ttypes.GetTableRequest(database, name, CAPABILITIES)
        answer = self._get_or_none(lambda client: client.get_table_req(request))
        return None if answer is None else answer.table

    def tables_by_name(self, database: str, names: Sequence[str]) -> list[Any]:
        """The named tables that are there, each a `ttypes.Table`, in no promised order."""
        return [table for some in self.in_parts(partial(self._tables, database), names) for table in some]

    def first_partitions(self, database: str, table: str, most: int) -> list[Any]:
        """At most `most` `ttypes.Partition` (`most` up to 32767, an i16), in no promised order."""
        try:
            return with_values(self.call(lambda client: client.get_partitions(database, table, most)))
        except AnswerTooLarge:
            names = self.call(lambda client: client.get_partition_names(database, table, most))
            return self.partitions_by_name(database, table, names)

    def partition_names(self, database: str, table: str) -> list[str]:
        """All partitions as `key=value/key=value`, escaped as in their paths."""
        return list(self.call(lambda client: client.get_partition_names(database, table, _ALL)))

    def partitions(self, database: str, table: str) -> Iterator[Any]:
        """Every `ttypes.Partition` that is there when its turn comes, with at most 500 in memory at a time."""
        names = self.partition_names(database, table)
        for start in range(0, len(names), PARTITIONS_PER_CALL):
            yield from self.partitions_by_name(database, table, names[start : start + PARTITIONS_PER_CALL])

    def partitions_by_name(self, database: str, table: str, names: Sequence[str]) -> list[Any]:
        """The named partitions that are there, each a `ttypes.Partition`, in no promised order."""
        answers = self.in_parts(partial(self._partitions, database, table), names)
        return [partition for some in answers for partition in with_values(some)]

    def functions(self, database: str) -> list[Any]:
        """Every `ttypes.Function` of a database, with its name in lower case, but no re-read request (model/reread)."""
        names = [it for it in self.call(lambda client: client.get_functions(database, "*")) if not is_request_name(it)]
        if all(name == name.lower() for name in names):
            each = (self.function(database, name) for name in names)
            return [function for function in each if function is not None]
        # Hive 2.3 and 3.1 keep Mixed names, and get_function then does not find them.
        answer = self.call(lambda client: client.get_all_functions())
        functions = [
            it
            for it in answer.functions or ()
            if it.dbName == database.lower() and not is_request_name(it.functionName)
        ]
        for function in functions:
            function.functionName = function.functionName.lower()
        return functions

    def function(self, database: str, name: str) -> Any | None:
        """A `ttypes.Function`, or None if there is none of that name."""
        return self._get_or_none(lambda client: client.get_function(database, name))

    def constraints(self, table: Any) -> dict[Any, list[Any]]:
        """The constraints of a `ttypes.Table` as it was read here: by struct, one struct for each of their columns.

        A kind that this version of Hive does not have is not in it.
        """
        by_kind: dict[Any, list[Any]] = {}
        for kind in constraints.kinds_at(table):
            # Hive 2.3 has primary and foreign keys alone.
            with suppress(MetastoreUnsupported):
                by_kind[kind] = self.call(
                    partial(constraints.read, kind=kind, database=table.dbName, table=table.tableName)
                )
        return by_kind

    def snapshots(self, names: Sequence[TableName]) -> dict[TableName, Snapshot]:
        """Which writes of these tables count now, all read at one moment; `names` in lower case.

        A table that is not there has the highest write id 0. Raises MetastoreUnsupported before Hive 3.
        """
        transactions = Transactions.of(self.call(lambda client: client.get_open_txns()))
        answers = self.call(
            lambda client: client.get_valid_write_ids([str(it) for it in names], transactions.as_text())
        )
        return {TableName.parse(it.fullTableName): Snapshot.of(it, transactions) for it in answers}

    def in_parts(self, read: Callable[[Sequence[str]], T], names: Sequence[str]) -> Iterator[T]:
        """What `read` answers for all of these names; where that is too large, its answers for half of them each.

        Raises what `read` raises: AnswerTooLarge for a single one.
        """
        try:
            answer = read(names)
        except AnswerTooLarge:
            if len(names) < 2:
                raise
            middle = len(names) // 2
            yield from self.in_parts(read, names[:middle])
            yield from self.in_parts(read, names[middle:])
        else:
            yield answer

    def _tables(self, database: str, names: Sequence[str]) -> list[Any]:
        request = ttypes.GetTablesRequest(database, list(names), CAPABILITIES)
        return list(self.call(lambda client: client.get_table_objects_by_name_req(request)).tables)

    def _partitions(self, database: str, table: str, names: Sequence[str]) -> list[Any]:
        return list(self.call(lambda client: client.get_partitions_by_names(database, table, list(names))))

    def _get_or_none(self, request: Callable[[Any], Any]) -> Any | None:
        try:
            return self.call(request)
        except ttypes.NoSuchObjectException:
            return None


def _databases_in(catalog: str, client: Any) -> list[str]:
    try:
        return list(client.get_databases(database_in(catalog, "*")))
    except ttypes.MetaException:  # it has no such catalog
        return []


def _refusal(error: Any, wire: Wire) -> MetastoreError:
    if error.type == TApplicationException.UNKNOWN_METHOD:
        return MetastoreUnsupported(
            f"the metastore at {wire.uri} does not know the call {wire.sent}",
            "its Hive version is too old or too new for this call",
        )
    return MetastoreCallFailed(
        f"the metastore at {wire.uri} failed in {wire.sent}: {_text(error)}", "see the log of the metastore"
    )


def _shorten(error: Any) -> None:
    if isinstance(getattr(error, "message", None), str):
        error.message = without_middle(error.message, _MOST_IN_MESSAGE)


def _text(error: BaseException) -> str:
    return str(error) or type(error).__name__
