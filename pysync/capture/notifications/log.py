"""The notification log as the metastore answers for it: reads of entries, and the kinds of entries that there are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.protocol.TBase import TBase
from thrift.Thrift import TApplicationException, TException, TMessageType, TType

from pysync.base.errors import PysyncError
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreCallFailed, MetastoreUnsupported
from pysync.model.catalogs import database_in
from pysync.model.event import Kind

# --- Kinds: Hive's words in the notification log, as kinds of events, and what is left out of the log, each with a
# reason.
#
# The words are those of EventMessage.EventType in Hive 2.3 to 4.2. A word that is in neither table is of a newer
# Hive: its object is read at the source (pysync.capture.notifications.rows).


_SAME = (
    Kind.CREATE_DATABASE,
    Kind.ALTER_DATABASE,
    Kind.DROP_DATABASE,
    Kind.CREATE_TABLE,
    Kind.ALTER_TABLE,
    Kind.DROP_TABLE,
    Kind.ADD_PARTITION,
    Kind.ALTER_PARTITION,
    Kind.DROP_PARTITION,
    Kind.INSERT,
    Kind.CREATE_FUNCTION,
    Kind.DROP_FUNCTION,
    Kind.ADD_PRIMARYKEY,
    Kind.ADD_FOREIGNKEY,
    Kind.ADD_UNIQUECONSTRAINT,
    Kind.ADD_NOTNULLCONSTRAINT,
    Kind.ADD_DEFAULTCONSTRAINT,
    Kind.ADD_CHECKCONSTRAINT,
    Kind.DROP_CONSTRAINT,
)

REPLAYED: Mapping[str, Kind] = {
    **{kind.value: kind for kind in _SAME},
    "ALTER_PARTITIONS": Kind.ALTER_PARTITION,  # Hive 4.1 and later: many in one
    "UPDATE_TBL_COL_STAT_EVENT": Kind.COLUMN_STATISTICS,
    "DELETE_TBL_COL_STAT_EVENT": Kind.COLUMN_STATISTICS,
    "UPDATE_PART_COL_STAT_EVENT": Kind.COLUMN_STATISTICS,
    "DELETE_PART_COL_STAT_EVENT": Kind.COLUMN_STATISTICS,
}
"""The words that are replayed, and as which kind of event."""

_OF_TRANSACTIONS = "it is about transactions, and transactional tables are not replicated"
_OF_CATALOGS = "catalogs themselves are not replicated"
_OF_SCHEMAS = "the schema registry is not replicated"
_OF_CONNECTORS = "data connectors are not replicated"
_OF_INDEXES = "indexes are not replicated"
_NO_CHANGE = "no definition changes with it"

LEFT_OUT: Mapping[str, str] = {
    "OPEN_TXN": _OF_TRANSACTIONS,
    "COMMIT_TXN": _OF_TRANSACTIONS,
    "ABORT_TXN": _OF_TRANSACTIONS,
    "ALLOC_WRITE_ID_EVENT": _OF_TRANSACTIONS,
    "ACID_WRITE_EVENT": _OF_TRANSACTIONS,
    "BATCH_ACID_WRITE_EVENT": _OF_TRANSACTIONS,
    "COMMIT_COMPACTION_EVENT": _OF_TRANSACTIONS,
    "CREATE_CATALOG": _OF_CATALOGS,
    "ALTER_CATALOG": _OF_CATALOGS,
    "DROP_CATALOG": _OF_CATALOGS,
    "CREATE_ISCHEMA": _OF_SCHEMAS,
    "ALTER_ISCHEMA": _OF_SCHEMAS,
    "DROP_ISCHEMA": _OF_SCHEMAS,
    "ADD_SCHEMA_VERSION": _OF_SCHEMAS,
    "ALTER_SCHEMA_VERSION": _OF_SCHEMAS,
    "DROP_SCHEMA_VERSION": _OF_SCHEMAS,
    "CREATE_DATACONNECTOR": _OF_CONNECTORS,
    "ALTER_DATACONNECTOR": _OF_CONNECTORS,
    "DROP_DATACONNECTOR": _OF_CONNECTORS,
    "CREATE_INDEX": _OF_INDEXES,
    "ALTER_INDEX": _OF_INDEXES,
    "DROP_INDEX": _OF_INDEXES,
    "RELOAD": _NO_CHANGE,
    "CONFIG_CHANGE_EVENT": _NO_CHANGE,
}
"""The words that are not replayed, each with the reason, as it is logged."""

OTHER_CATALOG = "no target takes the catalog"
"""The reason for every row of such a catalog."""


# --- The notification log of a metastore, as its clients see it: the current id, and what comes after an id.
#
# A row's catalog is read, too, which hmsclient's structs (of Hive 2.3) lack: a table of another catalog must not be
# taken for one of the default catalog.

PAGE = 500
_DIGEST_BYTES = 8
_REFUSED = (
    "set hive.metastore.event.db.notification.api.auth=false in its hive-site.xml, or make the user of pysync a proxy "
    "user (hadoop.proxyuser.USER.hosts)"
)
_NO_LOG = (
    "set hive.metastore.transactional.event.listeners=org.apache.hive.hcatalog.listener.DbNotificationListener in its "
    "hive-site.xml; if it is set already, no change has been made since then"
)


class NotificationLogRefused(PysyncError):
    """The metastore does not let this user read its notification log, or has none that could be read."""


class NotificationLogEmpty(PysyncError):
    """The notification log has never had an event: most often nobody writes it."""


@dataclass(frozen=True, slots=True)
class Notification:
    """One row of the log. `time` is in seconds since 1970.

    `catalog` is None before Hive 3; another one than `hive` is in the name of the database, too.
    """

    id: int
    time: int
    kind: str
    database: str | None
    table: str | None
    message: str
    format: str | None
    catalog: str | None = None

    @property
    def digest(self) -> str:
        """Distinguishes it from other rows of the same id. The same whenever the row is read."""
        parts = (self.kind, self.database or "", self.table or "", self.message)
        data = "\0".join(parts).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()

    def __str__(self) -> str:
        name = ".".join(part for part in (self.database, self.table) if part)
        return f"notification {self.id} ({self.kind}{' of ' if name else ''}{name})"


class NotificationLog:
    """Reads the log of one metastore. Not to be shared between threads, as the connection.

    Raises MetastoreError where the metastore cannot be asked, and NotificationLogRefused where it refuses.
    """

    def __init__(self, metastore: Metastore) -> None:
        self.metastore = metastore

    def current(self) -> int:
        """The id of the newest event that was ever written; 0 where there was none."""
        answer = self._call(lambda client: client.get_current_notificationEventId())
        return int(answer.eventId)

    def expected(self) -> int:
        """As `current`; raises NotificationLogEmpty instead of 0, which says how to have one."""
        current = self.current()
        if not current:
            raise NotificationLogEmpty(
                f"the notification log of the metastore at {self.metastore.uri} is empty", _NO_LOG
            )
        return current

    def after(self, id: int, limit: int = PAGE) -> list[Notification]:  # noqa: A002, the log's own word
        """Up to `limit` rows whose id is higher, ascending; rows of one id come in no promised order."""
        request = hive.NotificationEventRequest(id, limit)
        rows = self._call(lambda client: _next_notifications(client, request))
        return sorted(map(_notification, rows), key=lambda row: row.id)

    def scan(self, id: int, page: int = PAGE) -> Iterator[Notification]:  # noqa: A002, the log's own word
        """Every row whose id is higher, ascending, each once, a page at a time: rows that share an id are not cut off
        by the end of a page.
        """
        seen: set[tuple[int, str]] = set()
        while True:
            rows = self.after(id, page)
            fresh = [row for row in rows if (row.id, row.digest) not in seen]
            yield from fresh
            if len(rows) < page:
                return
            seen = {(row.id, row.digest) for row in rows if row.id == rows[-1].id}
            # Back by one id: more rows of the last one may follow. A page of nothing but these makes room for more.
            page, id = (page, rows[-1].id - 1) if fresh else (page * 2, id)  # noqa: A001

    def _call(self, request: Any) -> Any:
        try:
            return self.metastore.call(request)
        except MetastoreUnsupported as error:
            raise NotificationLogRefused(
                error.message, "its Hive version is too old to have a notification log"
            ) from error
        except MetastoreCallFailed as error:
            if isinstance(error.__cause__, TApplicationException):  # it answered, with its "Internal error"
                raise self._refused("Internal error") from error
            raise
        except TException as error:
            raise self._refused(str(getattr(error, "message", None) or error)) from error

    def _refused(self, message: str) -> NotificationLogRefused:
        line = " ".join(message.split())
        return NotificationLogRefused(
            f"the metastore at {self.metastore.uri} refuses to read its notification log: {line}", _REFUSED
        )


# --- the call, with the field that hmsclient's struct lacks


class _Row(TBase):  # type: ignore[misc]
    thrift_spec = (
        None,
        (1, TType.I64, "eventId", None, None),
        (2, TType.I32, "eventTime", None, None),
        (3, TType.STRING, "eventType", "UTF8", None),
        (4, TType.STRING, "dbName", "UTF8", None),
        (5, TType.STRING, "tableName", "UTF8", None),
        (6, TType.STRING, "message", "UTF8", None),
        (7, TType.STRING, "messageFormat", "UTF8", None),
        (8, TType.STRING, "catName", "UTF8", None),
    )
    eventId = eventTime = eventType = dbName = tableName = message = messageFormat = catName = None  # noqa: N815


class _Page(TBase):  # type: ignore[misc]
    thrift_spec = (None, (1, TType.LIST, "events", (TType.STRUCT, [_Row, _Row.thrift_spec], False), None))
    events = None


class _Answer(TBase):  # type: ignore[misc]
    thrift_spec = ((0, TType.STRUCT, "success", [_Page, _Page.thrift_spec], None),)
    success = None


def _next_notifications(client: Any, request: Any) -> list[Any]:
    client.send_get_next_notification(request)
    _, kind, _ = client._iprot.readMessageBegin()
    answer: Any = TApplicationException() if kind == TMessageType.EXCEPTION else _Answer()
    answer.read(client._iprot)
    client._iprot.readMessageEnd()
    if isinstance(answer, TApplicationException):
        raise answer
    if answer.success is None:
        raise TApplicationException(TApplicationException.MISSING_RESULT, "no events in the answer")
    return list(answer.success.events or ())


def _notification(row: Any) -> Notification:
    return Notification(
        id=row.eventId,
        time=row.eventTime or 0,
        kind=row.eventType or "",
        database=database_in(row.catName, row.dbName) if row.dbName else row.dbName,
        table=row.tableName,
        message=row.message or "",
        format=row.messageFormat,
        catalog=row.catName,
    )
