"""Wire: the bytes of an event and of its metastore objects: thrift's TBinaryProtocol, read by its C extension.

UnreadableEvent      these bytes are no event, and never will be
UnsupportedEvent     an event of a version or kind that only a newer pysync knows
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from thrift.protocol.TBase import TBase
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

from pysync.base.errors import PysyncError
from pysync.model import idl  # noqa: F401, objects of Hive 3.1 and 4.x have fields that hmsclient does not know
from pysync.model.catalogs import database_in
from pysync.model.event import VERSION, Event, Kind

T = TypeVar("T")

_TEXT_MAP = (TType.STRING, "UTF8", TType.STRING, "UTF8", False)
_BLOBS = (TType.STRING, "BINARY", False)
_REQUIRED = ("version", "kind", "source", "instance", "sequence", "time_ms")


class UnreadableEvent(PysyncError):
    """These bytes are not an event, or an object in it is not what its kind says."""


class UnsupportedEvent(PysyncError):
    """An event of a version or a kind that this pysync does not know."""


class _EventStruct(TBase):  # type: ignore[misc]
    thrift_spec = (
        None,
        (1, TType.I16, "version", None, None),
        (2, TType.STRING, "kind", "UTF8", None),
        (3, TType.STRING, "source", "UTF8", None),
        (4, TType.STRING, "instance", "UTF8", None),
        (5, TType.I64, "sequence", None, None),
        (6, TType.I64, "time_ms", None, None),
        (7, TType.I64, "notification_id", None, None),
        (8, TType.STRING, "catalog", "UTF8", None),
        (9, TType.MAP, "environment", _TEXT_MAP, None),
        (10, TType.MAP, "attributes", _TEXT_MAP, None),
        (11, TType.STRING, "table", "BINARY", None),
        (12, TType.LIST, "before", _BLOBS, None),
        (13, TType.LIST, "after", _BLOBS, None),
    )

    # Read for every event there is, so its fields have their defaults here and not in a constructor.
    version = kind = source = instance = sequence = time_ms = notification_id = catalog = None
    environment = attributes = table = before = after = None

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


class _Protocol(TBinaryProtocolAccelerated):  # type: ignore[misc]
    """Reads one struct from `length` bytes. The length limits keep a damaged size from allocating gigabytes.

    Thrift's own constructor looks for the C extension each time, which takes as long as the reading.
    """

    _fast_decode = staticmethod(TBinaryProtocolAccelerated(TMemoryBuffer())._fast_decode)

    def __init__(self, transport: TMemoryBuffer, length: int) -> None:
        self.trans = transport
        self.string_length_limit = self.container_length_limit = length


def encode_event(event: Event) -> bytes:
    """The bytes of an event; `decode_event` gives an equal one back."""
    fields = {name: getattr(event, name) for name in Event.__dataclass_fields__}
    fields |= {"kind": event.kind.value, "environment": dict(event.environment)}
    fields |= {"attributes": dict(event.attributes)}
    return encode(_EventStruct(version=VERSION, **fields))


def decode_event(data: bytes) -> Event:
    """The event in `data`. Raises UnreadableEvent or UnsupportedEvent, nothing else.

    A name of a database among its attributes says the catalog (pysync.model.catalogs); its objects are as they came.
    """
    struct = decode(_EventStruct, data)
    if struct.version is not None and struct.version != VERSION:
        raise UnsupportedEvent(
            f"the event has version {struct.version}, this pysync reads version {VERSION}", "upgrade pysync"
        )
    if not (struct.version and struct.kind and struct.source and struct.instance) or None in _numbers(struct):
        raise UnreadableEvent(f"the event has no {', '.join(n for n in _REQUIRED if getattr(struct, n) in (None, ''))}")
    if struct.sequence < 1:
        raise UnreadableEvent(f"the event has sequence {struct.sequence}; sequences begin at 1")
    event = Event(
        kind=_kind(struct.kind),
        source=struct.source,
        instance=struct.instance,
        sequence=struct.sequence,
        time_ms=struct.time_ms,
        notification_id=struct.notification_id,
        catalog=struct.catalog,
        environment=struct.environment or {},
        attributes=struct.attributes or {},
        table=struct.table,
        before=tuple(struct.before or ()),
        after=tuple(struct.after or ()),
    )
    return qualified(event)


def qualified(event: Event) -> Event:
    """The event with its catalog in the name of the database among its attributes; itself if that is `hive`."""
    database = event.attributes.get("database", "")
    name = database_in(event.catalog, database)
    return event if name == database else replace(event, attributes={**event.attributes, "database": name})


def decode(struct: type[T], data: bytes) -> T:
    """The thrift struct in `data`, which must end where the struct does. Raises UnreadableEvent."""
    transport = TMemoryBuffer(data)
    value: Any = struct()
    try:
        value.read(_Protocol(transport, len(data)))
    # Damaged bytes raise anything: EOFError, UnicodeDecodeError, TProtocolException, struct.error.
    except Exception as error:
        raise UnreadableEvent(f"cannot decode the {_name(struct)} ({type(error).__name__})") from error
    # The reader stops at the end of the struct, so bytes behind it would be lost without a sign.
    if transport.cstringio_buf.tell() != len(data):
        raise UnreadableEvent(f"there are extra bytes after the {_name(struct)}")
    return value  # type: ignore[no-any-return]


def encode(struct: Any) -> bytes:
    """The bytes of a thrift struct."""
    transport = TMemoryBuffer()
    struct.write(TBinaryProtocolAccelerated(transport))
    return transport.getvalue()  # type: ignore[no-any-return]


def _name(struct: type[Any]) -> str:
    """`event`, `table`: the struct, in words for people."""
    return struct.__name__.lstrip("_").removesuffix("Struct").lower()


def _numbers(struct: Any) -> tuple[int | None, int | None]:
    return struct.sequence, struct.time_ms


def _kind(text: str) -> Kind:
    try:
        return Kind(text)
    except ValueError:
        raise UnsupportedEvent(f"event kind {text[:40]!r} is unknown", "upgrade pysync") from None
