"""Notification logs for tests: rows that real metastores wrote, and metastores that serve what rows they are given."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from hmsclient.genthrift.hive_metastore import ThriftHiveMetastore
from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException, TMessageType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from pysync.capture.notifications import Notification, NotificationLog
from pysync.capture.notifications.log import _Answer, _Page, _Row
from pysync.metastore.client import Metastore

DATA = Path(__file__).parents[1] / "data"
VERSIONS = ("2.3", "3.1", "4.0")
MORE = ("3.1-more", "4.2-more")
"""Recordings of what the stream of the others does not have: the newer constraints, statistics, many alters in one."""


def recorded(version: str) -> list[Notification]:
    """What a metastore of this Hive wrote of one stream of DDL (the same for all, but for what a version has not)."""
    return list(_read(version))


@cache
def _read(version: str) -> tuple[Notification, ...]:
    reported = json.loads((DATA / f"notifications-{version}.json").read_text())
    return tuple(Notification(**{**found, "message": found["message"].encode()}) for found in reported["rows"])


def row(id: int, what: str = "", *, message: str | None = None, **fields: Any) -> Notification:  # noqa: A002
    """A row of kind DROP_TABLE: `what` tells it from others of its id."""
    name = f"t{id}{what}"
    text = json.dumps({"db": "db", "table": name, "timestamp": 1}) if message is None else message
    return replace(Notification(id, 1, "DROP_TABLE", "db", name, text.encode(), "json-0.2"), **fields)


class Source:
    """What a message may have to be completed with: the databases and tables of a source, by name.

    An exception in place of an object is raised; `asked` names what was looked up.
    """

    uri = "thrift://nowhere"

    def __init__(self, *items: Any) -> None:
        self.items: dict[str, Any] = {_full_name(item): item for item in items}
        self.asked: list[str] = []

    def database(self, name: str) -> Any | None:
        return self._found(name)

    def table(self, database: str, name: str) -> Any | None:
        return self._found(f"{database}.{name}")

    def tables(self, database: str) -> list[str]:
        return [name.partition(".")[2] for name in self.items if name.startswith(f"{database}.")]

    def _found(self, name: str) -> Any | None:
        self.asked.append(name)
        found = self.items.get(name)
        if isinstance(found, Exception):
            raise found
        return found


def _full_name(item: Any) -> str:
    return item.name if isinstance(item, hive.Database) else f"{item.dbName}.{item.tableName}"


class MemoryLog(NotificationLog):
    """A log in memory: `rows`, `newest` and the objects of `source` may be changed at any time."""

    def __init__(self, rows: Sequence[Notification] = (), newest: int | None = None) -> None:
        self.source = Source()
        super().__init__(cast(Metastore, self.source))
        self.rows = list(rows)
        self.newest = newest
        self.asked: list[tuple[int, int]] = []

    def current(self) -> int:
        return self.newest if self.newest is not None else max((found.id for found in self.rows), default=0)

    def after(self, id: int, limit: int = 500) -> list[Notification]:  # noqa: A002
        self.asked.append((id, limit))
        return sorted((found for found in self.rows if found.id > id), key=lambda found: found.id)[:limit]


class ServedLog:
    """A metastore on a port that has a notification log, databases and tables, and nothing else.

    `refuse` is raised instead of an answer; while `away` is set, connections are cut off.
    """

    def __init__(self, rows: Sequence[Notification] = ()) -> None:
        self.log = MemoryLog(rows)
        self.databases: dict[str, Any] = {}
        self.tables: dict[str, Any] = {}  # by database and name
        self.refuse: Exception | None = None
        self.away = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, name="served-log")]
        self._threads[0].start()
        logging.getLogger(ThriftHiveMetastore.__name__).addFilter(lambda _: False)  # it logs what it is told to raise

    @property
    def uri(self) -> str:
        return f"thrift://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        """End it, and wait for its threads."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive(), "a thread of the served log hangs"

    def cut(self) -> None:
        """Cut off whoever is connected."""
        for connection in self._sockets:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), name="served-log-client")
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        plain = TSocket()
        plain.setHandle(connection)
        protocol = TBinaryProtocol(TBufferedTransport(plain))
        processor = _Processor(self)
        with connection, suppress(TTransportException, OSError):  # the client has hung up, or it was hung up on
            while not self.away.is_set():
                processor.process(protocol, protocol)

    # --- what the processor calls, by Hive's names

    def get_current_notificationEventId(self) -> Any:  # noqa: N802
        return hive.CurrentNotificationEventId(self._answered(self.log.current))

    def get_database(self, name: str) -> Any:
        found = self._answered(lambda: self.databases.get(name))
        if found is None:
            raise hive.NoSuchObjectException(name)
        return found

    def get_table_req(self, request: Any) -> Any:
        found = self._answered(lambda: self.tables.get(f"{request.dbName}.{request.tblName}"))
        if found is None:
            raise hive.NoSuchObjectException(request.tblName)
        return hive.GetTableResult(found)

    def get_all_tables(self, database: str) -> list[str]:
        return [name.partition(".")[2] for name in self.tables if name.startswith(f"{database}.")]

    def next_notification(self, request: Any) -> list[Notification]:
        limit = request.maxEvents if request.maxEvents > 0 else 1_000_000
        return self._answered(lambda: self.log.after(request.lastEvent, limit))

    def _answered(self, answer: Callable[[], Any]) -> Any:
        if self.away.is_set():
            raise TTransportException(TTransportException.END_OF_FILE, "away")
        if self.refuse is not None:
            raise self.refuse
        return answer()


class _Processor(ThriftHiveMetastore.Processor):
    """The real IDL's processor; it answers with rows that have catalogs, as Hive 3 and later."""

    def __init__(self, served: ServedLog) -> None:
        super().__init__(served)
        self._served = served
        self._processMap["get_next_notification"] = _Processor._next

    def _next(self, sequence: int, source: Any, sink: Any) -> None:
        arguments = ThriftHiveMetastore.get_next_notification_args()
        arguments.read(source)
        source.readMessageEnd()
        answer: Any = _Answer()
        kind = TMessageType.REPLY
        try:
            answer.success = _Page()
            answer.success.events = [as_struct(found) for found in self._served.next_notification(arguments.rqst)]
        except TTransportException:
            raise
        except Exception:
            kind = TMessageType.EXCEPTION
            answer = TApplicationException(TApplicationException.INTERNAL_ERROR, "Internal error")
        sink.writeMessageBegin("get_next_notification", kind, sequence)
        answer.write(sink)
        sink.writeMessageEnd()
        sink.trans.flush()


def as_struct(found: Notification) -> Any:
    """A row as HMS sends it."""
    struct = _Row()
    struct.eventId, struct.eventTime, struct.eventType = found.id, found.time, found.kind
    struct.dbName, struct.tableName, struct.catName = found.database, found.table, found.catalog
    struct.message, struct.messageFormat = found.message, found.format
    return struct


@contextmanager
def served(rows: Sequence[Notification] = ()) -> Iterator[ServedLog]:
    """A served log that ends with the block."""
    log = ServedLog(rows)
    try:
        yield log
    finally:
        log.close()
