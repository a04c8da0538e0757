"""The bytes of events: nothing is changed on the way, and no bytes can do harm."""

from __future__ import annotations

import builtins
import tracemalloc

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given
from hypothesis import strategies as st
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

from pysync.model import wire
from pysync.model.change import decode_change
from pysync.model.event import Event, Kind
from pysync.model.wire import UnreadableEvent, UnsupportedEvent, decode, decode_event, encode, encode_event
from tests.support import table
from tests.support.events import create_table, event

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
MAPS = st.dictionaries(TEXT, TEXT, max_size=4)
BLOBS = st.lists(st.binary(max_size=60), max_size=4).map(tuple)
I64 = st.integers(-(2**63), 2**63 - 1)

EVENTS = st.builds(
    Event,
    kind=st.sampled_from(Kind),
    source=TEXT.filter(bool),
    instance=TEXT.filter(bool),
    sequence=st.integers(1, 2**63 - 1),
    time_ms=I64,
    notification_id=st.none() | I64,
    catalog=st.none() | TEXT,
    environment=MAPS,
    attributes=MAPS,
    table=st.none() | st.binary(max_size=60),
    before=BLOBS,
    after=BLOBS,
)

REAL = encode_event(create_table("sales.orders", environment={"a": "b"}, attributes={"c": "d"}))


@pytest.fixture(params=["C", "Python"])
def decoder(request, monkeypatch):
    """Both of thrift's decoders: the C extension, and what takes its place where it cannot be built."""
    if request.param == "Python":
        without_fastbinary(monkeypatch)
    return request.param


def without_fastbinary(monkeypatch):
    real = builtins.__import__

    def refuse(name, globals=None, locals=None, fromlist=(), level=0):  # noqa: A002 - the signature of __import__
        if "fastbinary" in (fromlist or ()):
            raise ImportError("no fastbinary here")
        return real(name, globals, locals, fromlist, level)

    monkeypatch.setattr(builtins, "__import__", refuse)


def decoded_or_refused(data: bytes) -> Event | None:
    """The event; None where it was refused in one of the two ways that there are."""
    try:
        return decode_event(data)
    except (UnreadableEvent, UnsupportedEvent):
        return None


@given(EVENTS)
def test_an_event_comes_back_as_it_was(original):
    assert decode_event(encode_event(original)) == original


@given(EVENTS)
def test_an_event_comes_back_as_it_was_without_the_c_extension(original):
    data = encode_event(original)
    with pytest.MonkeyPatch.context() as patch:
        without_fastbinary(patch)
        assert encode_event(original) == data
        assert decode_event(data) == original


@given(EVENTS, st.data())
def test_a_cut_event_is_refused(original, data):
    whole = encode_event(original)
    at = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(UnreadableEvent):
        decode_event(whole[:at])


@given(EVENTS, st.binary(min_size=1, max_size=20))
def test_bytes_behind_an_event_are_refused(original, more):
    with pytest.raises(UnreadableEvent, match="extra bytes after the event"):
        decode_event(encode_event(original) + more)


@given(st.lists(st.tuples(st.integers(0, len(REAL) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_damaged_bytes_are_read_or_refused_and_nothing_else(flips):
    damaged = bytearray(REAL)
    for at, value in flips:
        damaged[at] = value
    found = decoded_or_refused(bytes(damaged))
    if found is not None:
        replayed_or_refused(found)


def replayed_or_refused(found: Event) -> None:
    try:
        decode_change(found, 1)
    except UnreadableEvent:
        return


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data):
    assert decoded_or_refused(data) is None


@given(st.binary(max_size=200))
def test_random_bytes_are_refused_without_the_c_extension(data):
    with pytest.MonkeyPatch.context() as patch:
        without_fastbinary(patch)
        assert decoded_or_refused(data) is None


HOSTILE = {
    "a string of 2 GiB": b"\x0b\x00\x02\x7f\xff\xff\xff",
    "a list of 2 billion": b"\x0f\x00\x0c\x0b\x7f\xff\xff\xff",
    "a list of 16 million": b"\x0f\x00\x0c\x0b\x01\x00\x00\x00",
    "a map of 2 billion": b"\x0d\x00\x09\x0b\x0b\x7f\xff\xff\xff",
    "a negative length": b"\x0b\x00\x02\xff\xff\xff\xff",
    "a negative list": b"\x0f\x00\x0c\x0b\xff\xff\xff\xff",
    "structs without end": b"\x0c\x00\x63" * 200_000,
    "lists without end": b"\x0f\x00\x63" + b"\x0f\x00\x00\x00\x01" * 200_000,
    "lists of nothing in lists": b"\x0f\x00\x63\x0f\x00\x00\x10\x00" + b"\x01\x00\x00\x50\x00" * 4096 + b"\x00",
    "an unknown type": b"\x05\x00\x01\x00",
    "text that is not UTF-8": b"\x0b\x00\x02\x00\x00\x00\x02\xff\xfe\x00",
    "nothing at all": b"",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes_cost_neither_time_nor_memory(name, decoder):
    data = HOSTILE[name]
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableEvent):
            decode_event(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(data) + 5_000_000, f"{name}: {peak} bytes for {len(data)}"


def raw_event(extra=lambda _: None, **changed) -> bytes:
    """An event written field by field, by whoever does not use our code: `extra` adds fields."""
    fields = {"version": 1, "kind": "CREATE_TABLE", "source": "s", "instance": "i", "sequence": 1, "time_ms": 5}
    types = (TType.I16, TType.STRING, TType.STRING, TType.STRING, TType.I64, TType.I64)
    transport = TMemoryBuffer()
    protocol = TBinaryProtocol(transport)
    writers = {TType.I16: protocol.writeI16, TType.I64: protocol.writeI64, TType.STRING: protocol.writeString}
    for number, (name, kind) in enumerate(zip(fields, types, strict=True), 1):
        value = changed.get(name, fields[name])
        if value is not None:
            protocol.writeFieldBegin(name, kind, number)
            writers[kind](value)
    extra(protocol)
    protocol.writeFieldStop()
    return transport.getvalue()


def newer_fields(protocol) -> None:
    protocol.writeFieldBegin("new", TType.STRING, 99)
    protocol.writeString("of a later pysync")
    protocol.writeFieldBegin("newer", TType.STRUCT, 100)
    protocol.writeFieldBegin("inner", TType.I32, 1)
    protocol.writeI32(7)
    protocol.writeFieldStop()
    protocol.writeFieldBegin("newest", TType.LIST, 101)
    protocol.writeListBegin(TType.I64, 1)
    protocol.writeI64(7)


def test_fields_of_a_later_pysync_are_skipped(decoder):
    assert decode_event(raw_event(newer_fields)) == Event(Kind.CREATE_TABLE, "s", "i", 1, 5)


def test_an_absent_map_or_list_is_an_empty_one(decoder):
    found = decode_event(raw_event())
    assert (found.environment, found.attributes, found.before, found.after) == ({}, {}, (), ())


@pytest.mark.parametrize(("changed", "text"), [({"version": 2}, "version 2"), ({"kind": "DROP_MOON"}, "DROP_MOON")])
def test_an_event_of_a_later_pysync_is_unsupported(changed, text, decoder):
    with pytest.raises(UnsupportedEvent, match=text):
        decode_event(raw_event(**changed))


def test_version_2_is_unsupported_whatever_else_is_in_it():
    with pytest.raises(UnsupportedEvent, match="version 2"):
        decode_event(raw_event(version=2, kind=None, sequence=None))


@pytest.mark.parametrize("name", ["version", "kind", "source", "instance", "sequence", "time_ms"])
def test_an_event_without_a_required_field_is_unreadable(name):
    with pytest.raises(UnreadableEvent, match=f"the event has no {name}"):
        decode_event(raw_event(**{name: None}))


@pytest.mark.parametrize("sequence", [0, -1, -(2**63)])
def test_a_sequence_below_one_is_unreadable(sequence):
    with pytest.raises(UnreadableEvent, match="begin at 1"):
        decode_event(raw_event(sequence=sequence))


def test_a_field_of_another_type_does_not_become_a_value():
    def kind_again_as_number(protocol):
        protocol.writeFieldBegin("kind", TType.I32, 2)
        protocol.writeI32(7)

    found = decoded_or_refused(raw_event(kind_again_as_number))
    assert found is None or found.kind is Kind.CREATE_TABLE


def test_the_bytes_of_objects_are_left_as_they_came(decoder):
    """A newer HMS has fields that our IDL lacks; they must reach what reads the queue later."""
    newer = encode(table("db", "t"))[:-1] + b"\x0a\x00\x63" + (1).to_bytes(8, "big") + b"\x00"
    original = event(Kind.CREATE_TABLE)
    found = decode_event(encode_event(Event(**{**fields_of(original), "table": newer, "after": (newer, b"\x00\xff")})))
    assert (found.table, found.after) == (newer, (newer, b"\x00\xff"))
    assert decode(hive.Table, newer).tableName == "t"


def fields_of(item: Event) -> dict:
    return {name: getattr(item, name) for name in Event.__dataclass_fields__}


def test_both_decoders_read_a_table_alike():
    data = encode(table("db", "t", partition_keys=[("day", "string")], parameters={"a": "ä"}))
    by_c = decode(hive.Table, data)
    with pytest.MonkeyPatch.context() as patch:
        without_fastbinary(patch)
        assert decode(hive.Table, data) == by_c


def test_the_reason_holds_no_payload():
    secret = b"secret" * 3
    with pytest.raises(UnreadableEvent) as refused:
        decode_event(b"\x0b\x00\x02\x00\x00\x00\x12" + secret)
    assert "secret" not in str(refused.value)


def test_a_long_unknown_kind_is_cut_in_the_message():
    with pytest.raises(UnsupportedEvent) as refused:
        decode_event(raw_event(kind="X" * 100_000))
    assert len(str(refused.value)) < 200


def test_the_c_extension_is_used_where_it_is(monkeypatch):
    protocol = wire.TBinaryProtocolAccelerated(TMemoryBuffer())
    assert protocol._fast_decode is not None, "thrift was installed without fastbinary: pysync will be slow"
