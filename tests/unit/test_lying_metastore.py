"""A metastore whose answers are no answers: it counts as unavailable, and memory for what it sends is bounded.

What is too large for one answer is asked for in parts; an object that is too large by itself is refused alone.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ThriftHiveMetastore
from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from pysync.base.errors import PysyncError
from pysync.dump.replies import ReplyRecorder, answer
from pysync.metastore import wire
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.client import MOST_IN_CONTAINER, Metastore
from pysync.metastore.errors import AnswerTooLarge
from pysync.metastore.settings import LoginSettings
from pysync.metastore.statistics import read_statistics
from pysync.model.names import TableName
from pysync.targets.base import Rejected, Unavailable
from pysync.targets.hms.errors import classified

_REPLY, _EXCEPTION = 2, 3
_LIST, _STRING, _I32, _STOP = b"\x0f", b"\x0b", b"\x08", b"\x00"
Answer = Callable[[bytes, bytes], bytes]
"""The bytes that answer a request, by the name of the call and its sequence number."""


def message(body: bytes, kind: int = _REPLY) -> Answer:
    return lambda name, number: struct.pack("!ii", -0x7FFF0000 | kind, len(name)) + name + number + body


def text(size: int, data: bytes = b"") -> bytes:
    return struct.pack("!i", size) + data


def strings(count: int, data: bytes = b"") -> bytes:
    """The beginning of an answer that is a list of strings."""
    return _LIST + struct.pack("!h", 0) + _STRING + text(count, data)


def refusal(kind: int) -> bytes:
    return _I32 + struct.pack("!hi", 2, kind) + _STOP


@contextmanager
def served(serve: Callable[[socket.socket], object]) -> Iterator[str]:
    """The address of a server that handles one connection after the other."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def handle() -> None:
            with suppress(OSError):
                while True:
                    connected, _ = server.accept()
                    with connected, suppress(OSError):
                        serve(connected)

        thread = threading.Thread(target=handle, daemon=True, name="waits for calls")
        thread.start()
        try:
            yield f"thrift://127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(20)


@contextmanager
def lying(answer: Answer) -> Iterator[Metastore]:
    """A connection to a server that gives each call this answer, and then closes."""

    def serve(connected: socket.socket) -> None:
        request = connected.recv(65536)
        (length,) = struct.unpack_from("!i", request, 4)
        connected.sendall(answer(request[8 : 8 + length], request[8 + length : 12 + length]))

    with served(serve) as address, closing(Metastore(address, timeout=20)) as metastore:
        yield metastore


class Hms:
    """What a metastore answers, by the names of its calls: a table of 500 partitions, each of `size` bytes."""

    def __init__(self, size: int) -> None:
        self._parameters = {"text": "x" * size}

    def serve(self, connected: socket.socket) -> None:
        plain = TSocket()
        plain.setHandle(connected)
        protocol = TBinaryProtocol(TBufferedTransport(plain))
        with suppress(TTransportException):
            while True:
                ThriftHiveMetastore.Processor(self).process(protocol, protocol)

    def get_partition_names(self, _database: str, _table: str, most: int) -> list[str]:
        return NAMES[: most if most > 0 else None]

    def get_partitions(self, database: str, table: str, most: int) -> list[Any]:
        return self.get_partitions_by_names(database, table, NAMES[:most])

    def get_partitions_by_names(self, _database: str, _table: str, names: list[str]) -> list[Any]:
        return [hive.Partition([name.partition("=")[2]], parameters=self._parameters) for name in names]

    def get_table_objects_by_name_req(self, request: Any) -> Any:
        return hive.GetTablesResult([hive.Table(name, parameters=self._parameters) for name in request.tblNames])

    def get_partitions_statistics_req(self, request: Any) -> Any:
        data = hive.ColumnStatisticsData(booleanStats=hive.BooleanColumnStatsData(1, 2, 3, self._parameters["text"]))
        return hive.PartitionsStatsResult(
            {it: [hive.ColumnStatisticsObj("a", "boolean", data)] for it in request.partNames}
        )


NAMES = [f"day={number:03}" for number in range(500)]


LIES: dict[str, Answer] = {
    "a negative length": message(strings(1, text(-5))),
    "a list of a negative length": message(strings(-1)),
    "no result": message(_STOP),
    "a type that thrift does not have": message(b"\x63\x00\x00\x00"),
    "half an answer": message(strings(2, text(3, b"abc"))),
    "an error of no kind": message(refusal(4711), _EXCEPTION),
    "no thrift": lambda *_: b"once upon a time there was a metastore",
    "another protocol's version": lambda *_: b"\x81\x01\x00\x02" + bytes(40),
    "nothing": lambda *_: b"",
}


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_that_is_none_makes_the_target_unavailable(lie: str) -> None:
    with lying(LIES[lie]) as metastore, pytest.raises(PysyncError) as raised, classified("look", reading=True):
        metastore.databases()
    assert isinstance(raised.value, Unavailable), repr(raised.value)


def test_an_answer_is_not_read_beyond_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_IN_ANSWER", 1_000_000)
    endless = message(strings(30, text(100_000, b"x" * 100_000) * 30) + _STOP)
    with lying(endless) as metastore, pytest.raises(AnswerTooLarge, match="get_all_databases with more than 1,000,000"):
        metastore.databases()


@pytest.mark.parametrize(
    "body", [strings(1, text(wire.MOST_IN_ANSWER + 1)), strings(MOST_IN_CONTAINER + 1)], ids=["string", "list"]
)
def test_no_space_is_reserved_for_what_is_too_large(body: bytes) -> None:
    with lying(message(body)) as metastore, pytest.raises(Rejected, match="too large"), classified("look"):
        metastore.databases()


def test_what_is_too_large_for_one_answer_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_IN_ANSWER", 100_000)
    with served(Hms(1_000).serve) as address, closing(Metastore(address)) as metastore:
        days = [[name.partition("=")[2]] for name in NAMES]
        assert [it.values for it in metastore.partitions("d", "t")] == days
        assert [it.values for it in metastore.first_partitions("d", "t", 400)] == days[:400]
        assert [it.tableName for it in metastore.tables_by_name("d", NAMES)] == NAMES
        assert list(read_statistics(metastore, TableName("d", "t"), ["a"], NAMES)) == NAMES


def test_a_dump_has_all_parts_of_what_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_IN_ANSWER", 1_000_000)
    with served(Hms(5_000).serve) as address, closing(ReplyRecorder(address)) as source:
        source.partitions_by_name("d", "t", NAMES)
        values = [it.values for reply in source.taken() for it in answer(reply)]
    assert values == [[name.partition("=")[2]] for name in NAMES]


def test_an_object_that_is_too_large_is_refused_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_IN_ANSWER", 100_000)
    with served(Hms(200_000).serve) as address, closing(Metastore(address)) as metastore:
        with pytest.raises(Rejected, match="more than 100,000 bytes"), classified("read", reading=True):
            metastore.partitions_by_name("d", "t", NAMES[:4])
        assert metastore.partition_names("d", "t") == NAMES


def test_the_message_of_an_error_has_a_bounded_length() -> None:
    meta = b"\x0c" + struct.pack("!h", 1) + _STRING + struct.pack("!h", 1) + text(9_000_000, b"x" * 9_000_000) + _STOP
    with lying(message(meta + _STOP)) as metastore, pytest.raises(hive.MetaException) as raised:
        metastore.databases()
    assert len(raised.value.message) < 100_000


@pytest.mark.parametrize("kind", [TApplicationException.INTERNAL_ERROR, TApplicationException.PROTOCOL_ERROR])
def test_an_error_of_the_server_is_about_the_call(kind: int) -> None:
    answer = message(refusal(kind), _EXCEPTION)
    with lying(answer) as metastore, pytest.raises(PysyncError) as raised, classified("look", reading=True):
        metastore.databases()
    assert type(raised.value) is PysyncError


# --- a server that sends a byte now and then, for ever


def dripping(first: bytes) -> Callable[[socket.socket], None]:
    """What sends `first`, and then spaces, one by one, until the client has gone."""

    def serve(connected: socket.socket) -> None:
        connected.recv(65536)
        connected.sendall(first)
        while True:
            connected.sendall(b" ")
            time.sleep(0.01)

    return serve


LARGE = struct.pack("!I", 1_000_000)
DRIPS: dict[str, bytes] = {
    "thrift": message(strings(1, text(1_000_000)))(b"get_all_databases", bytes(4)),
    "http": b"HTTP/1.1 200 OK\r\nServer: ",
    "sasl": b"\x02" + LARGE,
}


@pytest.mark.parametrize("speech", DRIPS)
def test_an_answer_that_drips_has_an_end(speech: str, tmp_path: Path) -> None:
    """Each byte comes in time, all of them never."""
    with served(dripping(DRIPS[speech])) as address:
        where = address.replace("thrift", "http") + "/metastore" if speech == "http" else address
        login = _with_password(tmp_path) if speech == "sasl" else None
        access = MetastoreAccess.of(where, login=login)
        with (
            closing(Metastore(access, timeout=0.2, connect_timeout=0.5)) as metastore,
            pytest.raises(PysyncError, match="does not answer the login" if login else "did not answer"),
        ):
            metastore.databases()


def _with_password(directory: Path) -> LoginSettings:
    file = directory / "password"
    file.write_text("secret")
    file.chmod(0o600)
    return LoginSettings(user="alice", password_file=file)
