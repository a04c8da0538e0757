"""Messages: what a row of the notification log says, as the events that the listener would have sent.

Formats: `json-0.2` (Hive 2.3 and 3.1) and `gzip(json-2.0)` (4.x). The differences to the listener's events are in
docs/versions.md.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from thrift.Thrift import TException

from pysync.base.errors import PysyncError
from pysync.capture.notifications.bodies import Message, fields_of
from pysync.capture.notifications.kinds import REPLAYED
from pysync.capture.notifications.log import Notification
from pysync.capture.notifications.origin import Lookups, answered, came_from
from pysync.metastore.errors import MetastoreError
from pysync.model.catalogs import database_in
from pysync.model.event import VISITED, Event, Kind
from pysync.model.wire import UnreadableEvent, encode, qualified

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
        text = notification.message
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
