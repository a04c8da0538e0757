"""Thrift structs as they are on the wire, whatever IDL they are of: no field is lost by reading and writing one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TMessageType, TType
from thrift.transport.TTransport import TMemoryBuffer

_PLAIN = {
    TType.BOOL: "Bool",
    TType.BYTE: "Byte",
    TType.I16: "I16",
    TType.I32: "I32",
    TType.I64: "I64",
    TType.DOUBLE: "Double",
    TType.STRING: "Binary",
}


@dataclass(frozen=True, slots=True)
class Items:
    """A list or set: the type of its items, and those."""

    kind: int
    items: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Pairs:
    """A map: the types of its keys and values, and both."""

    kinds: tuple[int, int]
    pairs: tuple[tuple[Any, Any], ...]


@dataclass(frozen=True, slots=True)
class Raw:
    """A struct: by the ids of its fields their types and values; strings are bytes. It can be sent like any other."""

    fields: Mapping[int, tuple[int, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, struct: Any) -> Raw:
        """Any struct of thrift."""
        buffer = TMemoryBuffer()
        struct.write(TBinaryProtocol(buffer))
        return _struct(TBinaryProtocol(TMemoryBuffer(buffer.getvalue())))

    def having(self, at: int, kind: int, value: Any) -> Raw:
        """The same with another field; text is written as UTF-8."""
        return Raw({**self.fields, at: (kind, value.encode() if isinstance(value, str) else value)})

    def get(self, at: int) -> Any:
        """The value of a field, or None."""
        return self.fields.get(at, (0, None))[1]

    def write(self, protocol: Any) -> None:
        """Write it as thrift does."""
        protocol.writeStructBegin("")
        for at, (kind, value) in self.fields.items():
            protocol.writeFieldBegin("", kind, at)
            _write(protocol, kind, value)
            protocol.writeFieldEnd()
        protocol.writeFieldStop()
        protocol.writeStructEnd()


def texts(*words: str) -> Items:
    """A list of strings."""
    return Items(TType.STRING, tuple(word.encode() for word in words))


def call(client: Any, name: str, args: Raw) -> Any:
    """Send a call that no IDL of ours need have; what it returned, or None. RuntimeError with what it declares."""
    out, back = client._oprot, client._iprot
    out.writeMessageBegin(name, TMessageType.CALL, 0)
    args.write(out)
    out.writeMessageEnd()
    out.trans.flush()
    _, kind, _ = back.readMessageBegin()
    answer = _struct(back)
    back.readMessageEnd()
    errors = {at: value for at, (_, value) in answer.fields.items() if at or kind == TMessageType.EXCEPTION}
    if errors:
        raise RuntimeError(f"{name}: {errors}")
    return answer.get(0)


def differences(wanted: Raw, there: Raw, path: str = "") -> Iterator[str]:
    """Where two structs differ, by the ids of fields: `7.2: b'b' instead of b'a'`."""
    for at in sorted(wanted.fields.keys() | there.fields.keys()):
        mine, its = wanted.fields.get(at), there.fields.get(at)
        where = f"{path}.{at}" if path else str(at)
        if mine is not None and its is not None and isinstance(mine[1], Raw) and isinstance(its[1], Raw):
            yield from differences(mine[1], its[1], where)
        elif mine != its:
            yield f"{where}: {its and its[1]!r} instead of {mine and mine[1]!r}"


def _struct(protocol: Any) -> Raw:
    found = {}
    protocol.readStructBegin()
    while True:
        _, kind, at = protocol.readFieldBegin()
        if kind == TType.STOP:
            break
        found[at] = (kind, _read(protocol, kind))
        protocol.readFieldEnd()
    protocol.readStructEnd()
    return Raw(found)


def _read(protocol: Any, kind: int) -> Any:
    if kind in _PLAIN:
        return getattr(protocol, f"read{_PLAIN[kind]}")()
    if kind == TType.STRUCT:
        return _struct(protocol)
    if kind == TType.MAP:
        key, value, size = protocol.readMapBegin()
        return Pairs((key, value), tuple(sorted((_read(protocol, key), _read(protocol, value)) for _ in range(size))))
    item, size = protocol.readListBegin()  # a set is the same on the wire
    return Items(item, tuple(_read(protocol, item) for _ in range(size)))


def _write(protocol: Any, kind: int, value: Any) -> None:
    if kind in _PLAIN:
        getattr(protocol, f"write{_PLAIN[kind]}")(value)
    elif kind == TType.STRUCT:
        value.write(protocol)
    elif kind == TType.MAP:
        protocol.writeMapBegin(*value.kinds, len(value.pairs))
        for pair in value.pairs:
            for its, part in zip(value.kinds, pair, strict=True):
                _write(protocol, its, part)
    else:
        protocol.writeListBegin(value.kind, len(value.items))
        for item in value.items:
            _write(protocol, value.kind, item)
