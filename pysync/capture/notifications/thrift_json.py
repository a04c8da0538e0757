"""Objects of notification messages: text of thrift's TJSONProtocol, made into the same object's TBinaryProtocol bytes.

`{"1":{"str":"orders"},"4":{"i32":7}}` holds the number and type of every field, so no struct needs to be known, and the
fields of a newer Hive survive. Binary fields (there are none but in statistics) stay base64, as text does not tell. The
fast way goes from parsed JSON to bytes, the slow one from one protocol of thrift to the other.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TJSONProtocol import JTYPES, TJSONProtocol
from thrift.Thrift import TException, TType
from thrift.transport.TTransport import TMemoryBuffer

from pysync.model.wire import UnreadableEvent

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

# Numbers as keys of maps are quoted, as JSON wants it, and so are the doubles that JSON does not have.
_FIXED: Mapping[str, Callable[[Any], tuple[Any, ...]]] = {
    "tf": lambda value: ("!?", bool(int(value))),
    "i8": lambda value: ("!b", int(value)),
    "i16": lambda value: ("!h", int(value)),
    "i32": lambda value: ("!i", int(value)),
    "i64": lambda value: ("!q", int(value)),
    "dbl": lambda value: ("!d", float(value)),
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
