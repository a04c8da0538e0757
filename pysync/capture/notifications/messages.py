"""From a notification to an event: its objects, their origin, and the names that it touches."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Protocol

import structlog
from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TApplicationException, TException

from pysync.base.errors import PysyncError
from pysync.capture.notifications.bodies import Message, fields_of, to_binary
from pysync.capture.notifications.log import REPLAYED, Notification, NotificationLog
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreError
from pysync.model.catalogs import database_in
from pysync.model.change import decode_change
from pysync.model.event import VISITED, Event, Kind
from pysync.model.mark import SOURCE_KEY, Mark
from pysync.model.names import is_default_catalog, normalized
from pysync.model.wire import UnreadableEvent, decode, encode, qualified

# --- Origin: the cluster that a change in the notification log came from, by the mark of its object.
#
# A message has neither the EnvironmentContext of the call nor its user, from which the listener knows it. What a
# sidecar wrote has its mark (pysync.model.mark). So a change of such an object counts as one of the cluster that the
# mark names, whoever made it: it does not go back there.


_KEY = SOURCE_KEY.encode()
_MARKED: Mapping[str, Any] = {"_TABLE": hive.Table, "_DATABASE": hive.Database}
_FUNCTIONS = frozenset({Kind.CREATE_FUNCTION, Kind.DROP_FUNCTION})

log = structlog.get_logger(__name__)


class Lookups(Protocol):
    """What is asked of the source where a message does not say it; `Metastore` has these methods."""

    def database(self, name: str) -> Any | None:
        """A `ttypes.Database`; None if it is not there any more."""

    def table(self, database: str, name: str) -> Any | None:
        """A `ttypes.Table`; None if it is not there any more."""

    def tables(self, database: str) -> list[str]:
        """The names of all tables and views of a database."""


class Once:
    """Lookups that ask the source once for each object: a page of the log may name one hundreds of times."""

    def __init__(self, source: Lookups) -> None:
        self.database = cache(source.database)
        self.table = cache(source.table)
        self.tables = cache(source.tables)


def came_from(event: Event, message: Message, source: Lookups) -> str | None:
    """The cluster that the mark of the event's table or database names; None without a mark, or if it is our own.

    An object that the message does not have is looked up as it is now: the table of a constraint, the database of a
    function. Raises UnreadableEvent, and MetastoreError if the source cannot be asked.
    """
    mark = Mark.read(getattr(_carrier(event, message, source), "parameters", None))
    return mark.source if mark is not None and mark.source != event.source else None


def _carrier(event: Event, message: Message, source: Lookups) -> Any | None:
    """The table or database that carries the mark, as it is after the change; None if it has none."""
    struct, raw = _object(event, message)
    if raw is None:
        return _looked_up(event, source)
    return decode(struct, raw) if _KEY in raw else None  # to decode each of them would cost more than all the rest


def _object(event: Event, message: Message) -> tuple[Any, bytes | None]:
    """The struct of that object, and its bytes if the message has them."""
    if event.table is not None:
        return hive.Table, event.table
    for ending, struct in _MARKED.items():
        if event.kind.value.endswith(ending):
            return struct, (event.after or event.before)[0]
    text = message.get("tableObjJson")
    return hive.Table, to_binary(text) if text else None


def _looked_up(event: Event, source: Lookups) -> Any | None:
    change = decode_change(event, 0)
    if change is None:
        return None
    try:
        if event.kind in _FUNCTIONS:
            return source.database(change.database)
        return change.table_name and source.table(change.table_name.database, change.table_name.table)
    except (TException, MetastoreError) as error:
        if not answered(error):
            raise
        log.warning("notification_origin_unknown", kind=event.kind.value, name=change.database, reason=str(error))
        return None


def answered(error: Exception) -> bool:
    """Whether the source has answered, with an error: asking it again for the same would not help."""
    return isinstance(error, TException) or isinstance(error.__cause__, TApplicationException)


# --- Messages: what a row of the notification log says, as the events that the listener would have sent.
#
# Formats: `json-0.2` (Hive 2.3 and 3.1) and `gzip(json-2.0)` (4.x). The differences to the listener's events are in
# docs/versions.md.

LARGEST = 256 * 1024 * 1024
"""Bytes of a message when unpacked: a few KB of gzip can hold gigabytes."""

_GZIP = 16 + zlib.MAX_WBITS
_FAULTS = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, UnreadableEvent)


class UndecodableMessage(PysyncError):
    """The message of a notification cannot be read: something has changed, and the log does not say what."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The `source`, `instance` and `sequence` of the event that is made next."""

    source: str
    instance: str
    sequence: int


def decode_notification(notification: Notification, stamp: Stamp, source: Lookups) -> Event | None:
    """The event that a notification reports. It says where the change came from, if the mark of its object does.

    None for kinds that are not replayed, and for an event of no partitions. None also for a new database
    or function whose database is gone by now: later events report that. Raises UndecodableMessage, and MetastoreError
    if the source cannot be asked.
    """
    kind = REPLAYED.get(notification.kind)
    if kind is None:
        return None
    try:
        message = unpacked(notification)
        event = _event(kind, notification, stamp, message)
        if kind.value.endswith("_PARTITION") and not (event.before or event.after):
            return None
        return _completed(event, message, source)
    except _FAULTS as error:
        raise UndecodableMessage(f"{notification} cannot be read: {error or type(error).__name__}") from error
    except (TException, MetastoreError) as error:
        if not answered(error):
            raise
        raise UndecodableMessage(f"{notification} needs what the source cannot show: {error}") from error


def _event(kind: Kind, notification: Notification, stamp: Stamp, message: Message) -> Event:
    event = Event(
        kind=kind,
        source=stamp.source,
        instance=stamp.instance,
        sequence=stamp.sequence,
        time_ms=notification.time * 1000,
        notification_id=notification.id,
        catalog=notification.catalog,
        **fields_of(kind, message, notification),
    )
    return qualified(event)


def _completed(event: Event, message: Message, source: Lookups) -> Event | None:
    """The event with what its message does not say: a database as it is now, and where the change came from."""
    if event.kind is Kind.CREATE_DATABASE and not event.after:
        database = source.database(database_in(event.catalog, message["db"]))
        if database is None:
            return None
        event = replace(event, after=(encode(database),))
    if event.kind is Kind.CREATE_FUNCTION and source.database(database_in(event.catalog, message["db"])) is None:
        return None
    origin = came_from(event, message, source)
    return replace(event, environment={VISITED: origin}) if origin else event


def unpacked(notification: Notification) -> Mapping[str, Any]:
    """The message as JSON. Raises ValueError for a format that is not known, or text that is none."""
    if notification.format == "gzip(json-2.0)":
        text = _inflated(base64.b64decode(notification.message, validate=True))
    elif (notification.format or "").startswith("json"):
        text = notification.message.encode()
    else:
        raise ValueError(f"the message format {(notification.format or 'without name')[:40]!r} is not supported")
    message = json.loads(text)
    if not isinstance(message, dict):
        raise ValueError("the message is not a JSON object")  # noqa: TRY004, as all that is wrong with a message
    return message


def _inflated(data: bytes) -> bytes:
    unpacker = zlib.decompressobj(_GZIP)
    try:
        text = unpacker.decompress(data, LARGEST)
    except zlib.error as error:
        raise ValueError(f"the message is not valid gzip: {error}") from error
    if not unpacker.eof:
        raise ValueError(f"the gzip data is cut off, or is larger than {LARGEST} bytes when unpacked")
    return text


# --- Touched: the objects that the notification log names, to be read again where events may be missing


@dataclass(frozen=True, slots=True)
class Touched:
    """A table, or where `table` is None a database or something in it, that the event `id` of the log was about.

    Names are normalized; `kind` is Hive's word, which pysync need not know.
    """

    database: str
    table: str | None
    kind: str
    id: int


def touched(metastore: Metastore, since_id: int) -> Iterator[Touched]:
    """What the log names after `since_id`, in its order; an object comes as often as it is named.

    The columns of the log suffice, so a message may be of any format. A message that can be read gives the old name of
    a renamed table, and the table of a foreign key, which the columns do not. Only catalogs that the access to the
    metastore names are looked at, beside `hive`. Raises MetastoreError, and
    NotificationLogRefused; it does not say whether the log reaches back that far (`reaches`).
    """
    for notification in NotificationLog(metastore).scan(since_id):
        if is_default_catalog(notification.catalog) or normalized(notification.catalog or "") in metastore.catalogs:
            yield from named(notification)


def named(notification: Notification) -> list[Touched]:
    """What one row of the log names, each once; nothing if it is of no database."""
    if not notification.database:
        return []
    names = dict.fromkeys([(notification.database, notification.table), *(other_names(notification) or ())])
    return [_named(database, table, notification) for database, table in names]


def reaches(metastore: Metastore, since_id: int) -> bool:
    """Whether the log still holds everything after `since_id`; False too where it was begun again since."""
    log = NotificationLog(metastore)
    current = log.current()
    oldest = log.after(since_id, 1)
    return current == since_id or (current > since_id and bool(oldest) and oldest[0].id <= since_id + 1)


def _named(database: str, table: str | None, notification: Notification) -> Touched:
    return Touched(normalized(database), normalized(table) if table else None, notification.kind, notification.id)


def other_names(notification: Notification) -> list[tuple[str, str]] | None:
    """The names that only the message has: the old one of a renamed table, the table of a foreign key.

    None if there may be such names, and the message cannot be read.
    """
    if notification.kind not in {"ALTER_TABLE", "ADD_FOREIGNKEY"}:
        return []
    try:
        message = unpacked(notification)
        if notification.kind == "ALTER_TABLE":
            names = [(str(message["db"]), str(message["table"]))]
        else:
            names = [_of_foreign_key(text) for text in message["foreignKeyListJson"]]
        return [(database_in(notification.catalog, database), table) for database, table in names]
    except (ValueError, KeyError, TypeError, RecursionError, UnreadableEvent):
        return None


def _of_foreign_key(text: str) -> tuple[str, str]:
    key: Any = decode(hive.SQLForeignKey, to_binary(text))
    return key.fktable_db, key.fktable_name
