"""The bodies of notifications: JSON in the forms of Hive 2.3 to 4.x becomes the bytes of thrift structs."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.protocol.TBase import TBase
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TJSONProtocol import JTYPES, TJSONProtocol
from thrift.Thrift import TException, TType
from thrift.transport.TTransport import TMemoryBuffer

from pysync.capture.notifications.log import Notification
from pysync.model.event import Kind
from pysync.model.names import partition_name
from pysync.model.wire import UnreadableEvent, decode, encode

# --- Objects of notification messages: text of thrift's TJSONProtocol, made into the same object's TBinaryProtocol
# bytes.
#
# `{"1":{"str":"orders"},"4":{"i32":7}}` holds the number and type of every field, so no struct needs to be known, and
# the fields of a newer Hive survive. Binary fields (there are none but in statistics) stay base64, as text does not
# tell.


_DEEPEST = 64
_FAULTS = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    EOFError,
    IndexError,
    RecursionError,
    struct.error,
    TException,
)


def to_binary(text: str) -> bytes:
    """The bytes of the object in `text`, field for field. Raises UnreadableEvent."""
    try:
        return _from_json(text)
    except _FAULTS:
        # Whatever was wrong: the slow reader decides whether the text is good.
        return _from_protocol(text)


def _from_json(text: str) -> bytes:
    out = bytearray()
    _put_struct(out, json.loads(text))
    return bytes(out)


def _from_protocol(text: str) -> bytes:
    """The slow way, by thrift's own reader: a map with lists as keys (of a skewed table) is not written as JSON."""
    buffer = TMemoryBuffer()
    try:
        _copy(TType.STRUCT, TJSONProtocol(TMemoryBuffer(text.encode())), TBinaryProtocol(buffer), 0)
    except _FAULTS as error:
        raise UnreadableEvent(f"cannot decode the object from thrift JSON ({type(error).__name__})") from error
    return bytes(buffer.getvalue())


# --- parsed JSON to bytes


def _put_struct(out: bytearray, fields: Mapping[str, Mapping[str, Any]]) -> None:
    for number, typed in fields.items():
        ((name, value),) = typed.items()
        out += struct.pack("!bh", JTYPES[name], int(number))
        _put(out, name, value)
    out.append(TType.STOP)


def _put(out: bytearray, name: str, value: Any) -> None:
    if name == "str":
        data = value.encode()
        out += struct.pack("!i", len(data)) + data
    elif name in _FIXED:
        out += struct.pack(*_FIXED[name](value))
    else:
        _CONTAINERS[name](out, value)


def _put_list(out: bytearray, value: list[Any]) -> None:
    name, size, *items = value
    _expect(size, items)
    out += struct.pack("!bi", JTYPES[name], size)
    for item in items:
        _put(out, name, item)


def _put_map(out: bytearray, value: list[Any]) -> None:
    key_name, value_name, size, items = value
    _expect(size, items)
    out += struct.pack("!bbi", JTYPES[key_name], JTYPES[value_name], size)
    for key, item in items.items():
        _put(out, key_name, key)
        _put(out, value_name, item)


def _expect(size: int, items: Any) -> None:
    if size != len(items):
        raise ValueError(f"the message announces {size} items and has {len(items)}")


_CONTAINERS: Mapping[str, Callable[[bytearray, Any], None]] = {
    "rec": _put_struct,
    "lst": _put_list,
    "set": _put_list,
    "map": _put_map,
}
# Numbers as keys of maps are quoted, as JSON wants it, and so are the doubles that JSON does not have.
_FIXED: Mapping[str, Callable[[Any], tuple[Any, ...]]] = {
    "tf": lambda value: ("!?", bool(int(value))),
    "i8": lambda value: ("!b", int(value)),
    "i16": lambda value: ("!h", int(value)),
    "i32": lambda value: ("!i", int(value)),
    "i64": lambda value: ("!q", int(value)),
    "dbl": lambda value: ("!d", float(value)),
}


# --- one protocol to another


def _copy(kind: int, source: Any, sink: Any, depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError("the message is nested too deeply")
    if kind in _SCALARS:
        name = _SCALARS[kind]
        getattr(sink, f"write{name}")(getattr(source, f"read{name}")())
    else:
        _COPIES[kind](source, sink, depth + 1)


def _copy_struct(source: Any, sink: Any, depth: int) -> None:
    source.readStructBegin()
    while (field := source.readFieldBegin())[1] != TType.STOP:
        sink.writeFieldBegin(*field)
        _copy(field[1], source, sink, depth)
        source.readFieldEnd()
    sink.writeFieldStop()
    source.readStructEnd()


def _copy_list(source: Any, sink: Any, depth: int) -> None:
    kind, size = source.readListBegin()
    sink.writeListBegin(kind, size)
    for _ in range(size):
        _copy(kind, source, sink, depth)
    source.readListEnd()


def _copy_map(source: Any, sink: Any, depth: int) -> None:
    key_kind, value_kind, size = source.readMapBegin()
    sink.writeMapBegin(key_kind, value_kind, size)
    for _ in range(size):
        _copy(key_kind, source, sink, depth)
        _copy(value_kind, source, sink, depth)
    source.readMapEnd()


_COPIES: Mapping[int, Callable[[Any, Any, int], None]] = {
    TType.STRUCT: _copy_struct,
    TType.LIST: _copy_list,
    TType.SET: _copy_list,  # the same on both sides
    TType.MAP: _copy_map,
}
_SCALARS: Mapping[int, str] = {
    TType.BOOL: "Bool",
    TType.BYTE: "Byte",
    TType.I16: "I16",
    TType.I32: "I32",
    TType.I64: "I64",
    TType.DOUBLE: "Double",
    TType.STRING: "String",
}


# --- Bodies: the fields of an event, from the message of a notification, by kind.
#
# Hive 2.3 gives names alone where later versions give the object. The differences to the listener's events are in
# docs/versions.md.

Message = Mapping[str, Any]

EventFields = Mapping[str, Any]
"""Fields of an Event by name: `table`, `before`, `after`, `attributes`."""


def _create_database(message: Message) -> EventFields:
    return {"after": _objects(message.get("dbJson"))}


def _alter_database(message: Message) -> EventFields:
    before, after = to_binary(message["dbObjBeforeJson"]), to_binary(message["dbObjAfterJson"])
    return {"before": (before,), "after": (after,)}


def _drop_database(message: Message) -> EventFields:
    return {"before": _objects(message.get("dbJson")) or (encode(hive.Database(name=_name(message, "db"))),)}


def _create_table(message: Message) -> EventFields:
    return {"after": (to_binary(message["tableObjJson"]),)}


def _alter_table(message: Message) -> EventFields:
    before, after = to_binary(message["tableObjBeforeJson"]), to_binary(message["tableObjAfterJson"])
    return {"before": (before,), "after": (after,), "attributes": _attributes(truncate=message.get("isTruncateOp"))}


def _drop_table(message: Message) -> EventFields:
    named = hive.Table(dbName=_name(message, "db"), tableName=_name(message, "table"))
    return {"before": _objects(message.get("tableObjJson")) or (encode(named),)}


def _add_partition(message: Message) -> EventFields:
    return {"table": to_binary(message["tableObjJson"]), "after": tuple(map(to_binary, message["partitionListJson"]))}


def _alter_partition(message: Message) -> EventFields:
    """ALTER_PARTITIONS gives a list of them as they are now; none of them was renamed."""
    if "partitionListJson" in message:
        before = after = tuple(map(to_binary, message["partitionListJson"]))
    else:
        before, after = ((to_binary(message[f"partitionObj{when}Json"]),) for when in ("Before", "After"))
    attributes = _attributes(truncate=message.get("isTruncateOp"))
    return {"table": to_binary(message["tableObjJson"]), "before": before, "after": after, "attributes": attributes}


def _drop_partition(message: Message) -> EventFields:
    """No version gives the partitions themselves, only the values of their keys."""
    table = to_binary(message["tableObjJson"])
    described: Any = decode(_Described, table)
    keys = [key.name for key in described.partitionKeys or ()]
    partitions = [
        hive.Partition(values=[values[key] for key in keys], dbName=described.dbName, tableName=described.tableName)
        for values in message["partitions"]
    ]
    return {"table": table, "before": tuple(map(encode, partitions))}


def _insert(message: Message) -> EventFields:
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


def _create_function(message: Message) -> EventFields:
    return {"after": (to_binary(message["functionObjJson"]),)}


def _drop_function(message: Message) -> EventFields:
    named = hive.Function(dbName=_name(message, "db"), functionName=_name(message, "functionName"))
    return {"before": (encode(named),)}


def _add_constraint(message: Message, listed: str) -> EventFields:
    return {"after": tuple(map(to_binary, message[listed]))}


def _drop_constraint(message: Message) -> EventFields:
    names = {"database": "dbName", "table": "tableName", "constraint": "constraintName"}
    return {"attributes": {ours: _name(message, theirs) for ours, theirs in names.items()}}


def _statistics(message: Message, row: Notification) -> EventFields:
    """The messages name the table in their column alone, and the partition by its name or by its values."""
    if not row.database or not row.table:
        raise ValueError("the notification names no table")
    table, partition = _objects(message.get("tableObjJson")), message.get("partName")
    if "partVals" in message:
        described: Any = decode(_Described, table[0])
        partition = partition_name([key.name for key in described.partitionKeys or ()], message["partVals"])
    return {
        "attributes": _attributes(database=row.database, table=row.table, partitions=partition),
    }


def fields_of(kind: Kind, message: Message, row: Notification) -> EventFields:
    """The fields of an event of this kind. Raises ValueError, KeyError, TypeError and UnreadableEvent."""
    return _statistics(message, row) if kind is Kind.COLUMN_STATISTICS else _BODIES[kind](message)


_BODIES: Mapping[Kind, Callable[[Message], EventFields]] = {
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
    Kind.ADD_PRIMARYKEY: partial(_add_constraint, listed="primaryKeyListJson"),
    Kind.ADD_FOREIGNKEY: partial(_add_constraint, listed="foreignKeyListJson"),
    Kind.ADD_UNIQUECONSTRAINT: partial(_add_constraint, listed="uniqueConstraintListJson"),
    Kind.ADD_NOTNULLCONSTRAINT: partial(_add_constraint, listed="notNullConstraintListJson"),
    Kind.ADD_DEFAULTCONSTRAINT: partial(_add_constraint, listed="defaultConstraintListJson"),
    Kind.ADD_CHECKCONSTRAINT: partial(_add_constraint, listed="checkConstraintListJson"),
    Kind.DROP_CONSTRAINT: _drop_constraint,
}


def _objects(text: str | None) -> tuple[bytes, ...]:
    return (to_binary(text),) if text else ()


def _name(message: Message, key: str) -> str:
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
