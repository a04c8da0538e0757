"""The notification log of a metastore, as its clients see it: the current id, and what comes after an id.

A row's catalog is read, too, which hmsclient's structs (of Hive 2.3) lack: a table of another catalog must not be taken
for one of the default catalog.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.protocol.TBase import TBase
from thrift.Thrift import TApplicationException, TException, TMessageType, TType

from pysync.base.errors import PysyncError
from pysync.metastore.client import Metastore
from pysync.metastore.errors import AnswerTooLarge, MetastoreCallFailed, MetastoreUnsupported
from pysync.model.catalogs import database_in

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

    `message` is UTF-8: as text it takes four times as much memory, if one of its characters is an emoji. `catalog` is
    None before Hive 3; another one than `hive` is in the name of the database, too.
    """

    id: int
    time: int
    kind: str
    database: str | None
    table: str | None
    message: bytes
    format: str | None
    catalog: str | None = None

    @property
    def digest(self) -> str:
        """Distinguishes it from other rows of the same id. The same whenever the row is read."""
        names = "\0".join((self.kind, self.database or "", self.table or "", ""))
        hashed = hashlib.blake2b(names.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES)
        hashed.update(self.message)
        return hashed.hexdigest()

    def __str__(self) -> str:
        name = ".".join(part for part in (self.database, self.table) if part)
        return f"notification {self.id} ({self.kind}{' of ' if name else ''}{name})"


class NotificationLog:
    """Reads the log of one metastore. Not to be shared between threads, as the connection.

    Raises MetastoreError where the metastore cannot be asked, and NotificationLogRefused where it refuses.
    """

    def __init__(self, metastore: Metastore) -> None:
        self.metastore = metastore
        self.refused = 0
        """Requests so far whose answer would have been too large, or had a row that the metastore cannot send."""

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
        """Every row whose id is higher, ascending, each once."""
        seen: set[tuple[int, str]] = set()
        for rows, _ in self.pages(id, page):
            yield from (row for row in rows if (row.id, row.digest) not in seen)
            seen = {(row.id, row.digest) for row in rows if row.id == rows[-1].id}

    def pages(self, since: int, page: int = PAGE) -> Iterator[tuple[list[Notification], bool]]:
        """The rows whose id is higher, ascending, a page at a time, and whether the page is full: the last one is not.

        Rows of the last id of a page come again, as rows that share an id may be cut off by the end of a page. Of what
        is too large for one answer the pages are smaller. A row that is too large by itself is left out, and so is one
        that the metastore cannot send, where pages of one row are asked for.
        """
        most, alone = page, None
        while True:
            try:
                rows = self.after(since, page)
            except (AnswerTooLarge, MetastoreCallFailed) as error:
                is_too_large = isinstance(error, AnswerTooLarge)
                if not is_too_large and (most > 1 or (page == 1 and not self._cannot_send(since))):
                    raise  # whoever reads tries smaller pages
                self.refused += 1
                if page == 1:
                    since, page, alone = since + 1, most, None
                elif alone is not None:  # what follows it does not fit beside it
                    since, page, alone = alone, 1, None
                else:
                    page = max(1, page // 4)
                continue
            yield rows, len(rows) >= page
            if len(rows) < page:
                return
            alone = rows[0].id if page == 1 else None
            # Back by one id: more rows of it may follow. Where a page is all of one id, it takes a larger one.
            page, since = (page, rows[-1].id - 1) if rows[-1].id - 1 > since else (page * 2, since)

    def _cannot_send(self, since: int) -> bool:
        """Whether the metastore sends what is behind the next row, and fails at that row. Raises as it does."""
        self.after(since + 1, 1)
        try:
            self.after(since, 1)
        except MetastoreCallFailed:
            return True
        return False

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


class _Row(TBase):  # type: ignore[misc]
    thrift_spec = (
        None,
        (1, TType.I64, "eventId", None, None),
        (2, TType.I32, "eventTime", None, None),
        (3, TType.STRING, "eventType", "UTF8", None),
        (4, TType.STRING, "dbName", "UTF8", None),
        (5, TType.STRING, "tableName", "UTF8", None),
        (6, TType.STRING, "message", "BINARY", None),
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
        message=row.message or b"",
        format=row.messageFormat,
        catalog=row.catName,
    )
