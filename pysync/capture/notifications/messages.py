"""Messages: what a row of the notification log says, as the events that the listener would have sent.

Formats: `json-0.2` (Hive 2.3 and 3.1) and `gzip(json-2.0)` (4.x). The differences to the listener's events are in
docs/notification-log.md.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.protocol.TBase import TBase
from thrift.Thrift import TType

from pysync.capture.notifications.log import Notification
from pysync.capture.notifications.tjson import to_binary
from pysync.errors import PysyncError
from pysync.model.event import Event, Kind
from pysync.model.wire import UnreadableEvent, decode, encode

LARGEST = 256 * 1024 * 1024
"""Bytes of a message when unpacked: a few KB of gzip can hold gigabytes."""

_GZIP = 16 + zlib.MAX_WBITS
_FAULTS = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, UnreadableEvent)

FindDatabase = Callable[[str], Any]
"""Reads a `ttypes.Database` at the source now; None if it is not there any more."""


class UndecodableMessage(PysyncError):
    """The message of a notification cannot be read: something has changed, and the log does not tell what."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The `source`, `instance` and `sequence` of the event that is made next."""

    source: str
    instance: str
    sequence: int


def decode_notification(found: Notification, stamp: Stamp, find_database: FindDatabase) -> Event | None:
    """The event that a notification tells of.

    None for kinds and catalogs that are not replayed, and for an event of no partitions. None also for a new database
    that is gone by now, if the message holds only its name (Hive 2.3): later events tell of that. Raises
    UndecodableMessage, and what `find_database` raises.
    """
    kind = kind_of(found)
    if kind is None or not found.in_default_catalog:
        return None
    try:
        told = _BODIES[kind](unpacked(found))
    except _FAULTS as error:
        raise UndecodableMessage(f"{found} cannot be read: {error or type(error).__name__}") from error
    if kind.value.endswith("_PARTITION") and not (told.get("before") or told.get("after")):
        return None
    event = Event(
        kind=kind,
        source=stamp.source,
        instance=stamp.instance,
        sequence=stamp.sequence,
        time_ms=found.time * 1000,
        notification_id=found.id,
        catalog=found.catalog,
        **told,
    )
    if kind is Kind.CREATE_DATABASE and not event.after:
        return _completed(event, found, find_database)
    return event


def kind_of(found: Notification) -> Kind | None:
    """The kind of event that it is; None for one that is not replayed (transactions, statistics, catalogs)."""
    if found.kind == "ALTER_PARTITIONS":  # Hive 4.1 and later: many in one
        return Kind.ALTER_PARTITION
    try:
        kind = Kind(found.kind)
    except ValueError:
        return None
    return kind if kind in _BODIES else None


def unpacked(found: Notification) -> Mapping[str, Any]:
    """The message as JSON. Raises ValueError for a format that is not known, or text that is none."""
    if found.format == "gzip(json-2.0)":
        text = _inflated(base64.b64decode(found.message, validate=True))
    elif (found.format or "").startswith("json"):
        text = found.message.encode()
    else:
        raise ValueError(f"the message format {(found.format or 'without name')[:40]!r} is not supported")
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


def _completed(event: Event, found: Notification, find_database: FindDatabase) -> Event | None:
    database = find_database(found.database or "")
    return None if database is None else replace(event, after=(encode(database),))


# --- the fields of an event, by kind. 2.3 gives names alone where later versions give the object.

_Told = Mapping[str, Any]


def _create_database(message: Mapping[str, Any]) -> _Told:
    return {"after": _objects(message.get("dbJson"))}


def _alter_database(message: Mapping[str, Any]) -> _Told:
    before, after = to_binary(message["dbObjBeforeJson"]), to_binary(message["dbObjAfterJson"])
    return {"before": (before,), "after": (after,)}


def _drop_database(message: Mapping[str, Any]) -> _Told:
    return {"before": _objects(message.get("dbJson")) or (encode(hive.Database(name=_name(message, "db"))),)}


def _create_table(message: Mapping[str, Any]) -> _Told:
    return {"after": (to_binary(message["tableObjJson"]),)}


def _alter_table(message: Mapping[str, Any]) -> _Told:
    before, after = to_binary(message["tableObjBeforeJson"]), to_binary(message["tableObjAfterJson"])
    return {"before": (before,), "after": (after,), "attributes": _attributes(truncate=message.get("isTruncateOp"))}


def _drop_table(message: Mapping[str, Any]) -> _Told:
    named = hive.Table(dbName=_name(message, "db"), tableName=_name(message, "table"))
    return {"before": _objects(message.get("tableObjJson")) or (encode(named),)}


def _add_partition(message: Mapping[str, Any]) -> _Told:
    return {"table": to_binary(message["tableObjJson"]), "after": tuple(map(to_binary, message["partitionListJson"]))}


def _alter_partition(message: Mapping[str, Any]) -> _Told:
    """ALTER_PARTITIONS gives a list of them as they are now; none of them was renamed."""
    if "partitionListJson" in message:
        before = after = tuple(map(to_binary, message["partitionListJson"]))
    else:
        before, after = ((to_binary(message[f"partitionObj{when}Json"]),) for when in ("Before", "After"))
    attributes = _attributes(truncate=message.get("isTruncateOp"))
    return {"table": to_binary(message["tableObjJson"]), "before": before, "after": after, "attributes": attributes}


def _drop_partition(message: Mapping[str, Any]) -> _Told:
    """No version gives the partitions themselves, only the values of their keys."""
    table = to_binary(message["tableObjJson"])
    described: Any = decode(_Described, table)
    keys = [key.name for key in described.partitionKeys or ()]
    partitions = [
        hive.Partition(values=[values[key] for key in keys], dbName=described.dbName, tableName=described.tableName)
        for values in message["partitions"]
    ]
    return {"table": table, "before": tuple(map(encode, partitions))}


def _insert(message: Mapping[str, Any]) -> _Told:
    keys = message.get("partKeyVals") or {}
    attributes = _attributes(
        database=_name(message, "db"),
        table=_name(message, "table"),
        replace=message.get("replace"),
        **{f"partition.{key}": value for key, value in keys.items()},
    )
    table = _objects(message.get("tableObjJson"))
    return {
        "table": table[0] if table else None,
        "after": _objects(message.get("ptnObjJson")),
        "attributes": attributes,
    }


def _create_function(message: Mapping[str, Any]) -> _Told:
    return {"after": (to_binary(message["functionObjJson"]),)}


def _drop_function(message: Mapping[str, Any]) -> _Told:
    named = hive.Function(dbName=_name(message, "db"), functionName=_name(message, "functionName"))
    return {"before": (encode(named),)}


def _add_keys(message: Mapping[str, Any]) -> _Told:
    keys = message.get("primaryKeyListJson") or message["foreignKeyListJson"]
    return {"after": tuple(map(to_binary, keys))}


def _drop_constraint(message: Mapping[str, Any]) -> _Told:
    names = {"database": "dbName", "table": "tableName", "constraint": "constraintName"}
    return {"attributes": {ours: _name(message, theirs) for ours, theirs in names.items()}}


_BODIES: Mapping[Kind, Callable[[Mapping[str, Any]], _Told]] = {
    Kind.CREATE_DATABASE: _create_database,
    Kind.ALTER_DATABASE: _alter_database,
    Kind.DROP_DATABASE: _drop_database,
    Kind.CREATE_TABLE: _create_table,
    Kind.ALTER_TABLE: _alter_table,
    Kind.DROP_TABLE: _drop_table,
    Kind.ADD_PARTITION: _add_partition,
    Kind.ALTER_PARTITION: _alter_partition,
    Kind.DROP_PARTITION: _drop_partition,
    Kind.INSERT: _insert,
    Kind.CREATE_FUNCTION: _create_function,
    Kind.DROP_FUNCTION: _drop_function,
    Kind.ADD_PRIMARYKEY: _add_keys,
    Kind.ADD_FOREIGNKEY: _add_keys,
    Kind.DROP_CONSTRAINT: _drop_constraint,
}


def _objects(text: str | None) -> tuple[bytes, ...]:
    return (to_binary(text),) if text else ()


def _name(message: Mapping[str, Any], key: str) -> str:
    name = message[key]
    if not isinstance(name, str) or not name:
        raise ValueError(f"the message has no {key}")
    return name


def _attributes(**values: str | None) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value is not None}


class _Column(TBase):  # type: ignore[misc]
    thrift_spec = (None, (1, TType.STRING, "name", "UTF8", None))
    name = None


class _Described(TBase):  # type: ignore[misc]
    """As much of a Table as it takes to name its partitions."""

    thrift_spec = (
        None,
        (1, TType.STRING, "tableName", "UTF8", None),
        (2, TType.STRING, "dbName", "UTF8", None),
        *[None] * 5,
        (8, TType.LIST, "partitionKeys", (TType.STRUCT, [_Column, _Column.thrift_spec], False), None),
    )
    tableName = dbName = partitionKeys = None  # noqa: N815
