"""What the tests of the listener share: a bridge with nothing behind it, and a metastore with the jar."""

from __future__ import annotations

import base64
import socket
import struct
import subprocess
import sys
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes
from thrift.protocol.TBase import TBase
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

from pysync.capture.connections import Admission, Server
from pysync.lab import EmbeddedMetastore, free_port
from pysync.metastore.client import Metastore
from tests.support import wait_for_value, wait_until

ROOT = Path(__file__).parents[2]
JAR = ROOT / "build" / "pysync-listener.jar"
COPY_JAR = JAR.with_name("pysync-copy.jar")
BUILD = ROOT / "listener-java" / "build.py"
LISTENER = "org.pysync.listener.SidecarListener"
TOKEN = uuid.uuid4().hex
DEADLINE = 2.0
"""Seconds; longer than a slow disk or a busy machine holds a call, so that these cannot be mistaken for it."""
SPOOL_HEADER = b"PYSYNC-SPOOL 1\n"

_TEXTS = (TType.STRING, "UTF8", TType.STRING, "UTF8", False)
_OBJECTS = (TType.STRING, "BINARY", False)


class Event(TBase):
    """docs/wire-format.md, version 1, read independently of pysync's own codec."""

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
        (9, TType.MAP, "environment", _TEXTS, None),
        (10, TType.MAP, "attributes", _TEXTS, None),
        (11, TType.STRING, "table", "BINARY", None),
        (12, TType.LIST, "before", _OBJECTS, None),
        (13, TType.LIST, "after", _OBJECTS, None),
    )

    def __init__(self) -> None:
        for field in self.thrift_spec[1:]:
            setattr(self, field[2], None)

    @classmethod
    def parse(cls, data: bytes) -> Event:
        event = cls()
        event.read(TBinaryProtocol(TMemoryBuffer(data)))
        return event


def decode(kind: type, data: bytes) -> Any:
    """An object of hmsclient's own classes."""
    thing = kind()
    thing.read(TBinaryProtocol(TMemoryBuffer(data)))
    return thing


class Bridge:
    """A bridge without a queue behind it, that can be stopped and started on one port; events stay over a stop."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.events: list[Event] = []
        self.reports: list[str] = []
        self.answer: Callable[[Event], str] = lambda _event: "queued"
        self.answer_report: Callable[[str], str] = lambda _text: "ok"
        self.calls: list[int] = []
        """How many events came in each call."""
        self.pings = 0
        self._ids: set[tuple[str, int]] = set()
        self._lock = threading.Lock()
        self._server: Server | None = None

    def start(self, token: str = TOKEN) -> Bridge:
        methods: dict[str, Callable[..., str]] = {"append": self.append, "ping": self.ping, "report": self.report}
        self._server = Server(Admission(token.encode(), methods), self.port)
        self._server.start()
        return self

    def stop(self) -> None:
        if self._server is not None:
            closing = threading.Thread(target=self._server.shutdown, daemon=True)
            closing.start()
            while closing.is_alive():
                self._hang_up()
                closing.join(0.05)
            self._server = None

    def refused(self) -> int:
        """How many callers were turned away since the start."""
        assert self._server is not None
        return self._server.admission.refusals.total

    def _hang_up(self) -> None:
        """Py4j closes a stream before its socket, and would wait for ever for the thread that reads it.

        Again and again while it closes: one more may have been accepted meanwhile.
        """
        assert self._server is not None
        for connection in list(self._server.connections):
            with suppress(OSError, AttributeError):  # None once it is closed
                connection.socket.shutdown(socket.SHUT_RDWR)

    def ping(self) -> str:
        self.pings += 1
        return "pysync 1"

    def report(self, text: str) -> str:
        self.reports.append(text)
        return self.answer_report(text)

    def append(self, *texts: str) -> str:
        """Takes the events up to the first that is refused, which is the answer then."""
        self.calls.append(len(texts))
        answers = (self._take(Event.parse(base64.b64decode(text))) for text in texts)
        return next((answer for answer in answers if answer != "queued"), "queued")

    def _take(self, event: Event) -> str:
        answer = self.answer(event)
        if answer == "queued":
            with self._lock:
                if (event.instance, event.sequence) not in self._ids:
                    self._ids.add((event.instance, event.sequence))
                    self.events.append(event)
        return answer

    def named(self, name: str) -> list[Event]:
        """The events whose object or attributes carry a name."""
        return [event for event in list(self.events) if name in names_in(event)]

    def kinds(self, name: str) -> list[str]:
        return [event.kind for event in self.named(name)]

    def wait_for(self, name: str, kinds: Sequence[str], seconds: float = 15.0) -> None:
        wait_for_value(lambda: self.kinds(name), list(kinds), seconds=seconds, what="what comes")


def database_in(event: Event) -> str:
    """The name of the database that a CREATE_DATABASE creates; empty for other kinds."""
    if event.kind != "CREATE_DATABASE":
        return ""
    name: str = decode(ttypes.Database, event.after[0]).name
    return name


def names_in(event: Event) -> set[str]:
    """Whatever could be the name of something, without decoding: a database, a table, a function."""
    blobs = [event.table or b"", *event.before, *event.after, *(text.encode() for text in event.attributes.values())]
    found: set[str] = set()
    for blob in blobs:
        found |= {word.decode() for word in _words(blob)}
    return found


def _words(blob: bytes) -> Iterator[bytes]:
    word = b""
    for index in range(len(blob)):
        byte = blob[index : index + 1]
        if byte.isalnum() or byte == b"_":
            word += byte
        else:
            yield word
            word = b""
    yield word


class Stand:
    """One metastore with the listener, its bridge, its token and its spool."""

    def __init__(self, directory: Path, jar: Path, overrides: dict[str, str] | None = None) -> None:
        directory.mkdir(parents=True)
        self.token = directory / "token"
        self.token.write_text(TOKEN + "\n")
        self.token.chmod(0o600)
        self.spool = directory / "var" / "spool"
        self.bridge = Bridge(free_port())
        settings = {
            "hive.metastore.event.listeners": LISTENER,
            "pysync.source.name": "onprem",
            "pysync.bridge.port": str(self.bridge.port),
            "pysync.bridge.token.file": str(self.token),
            "pysync.spool.dir": str(self.spool),
            "pysync.deadline.ms": str(int(DEADLINE * 1000)),
            "pysync.idle.ms": "0",
            **(overrides or {}),
        }
        self.server = EmbeddedMetastore(directory / "hms", name="listener", jars=[jar], overrides=settings)

    def close(self) -> None:
        self.bridge.answer = lambda _event: "queued"
        self.server.kill()
        self.bridge.stop()

    @property
    def metastore(self) -> Metastore:
        return Metastore(self.server.uri)

    def call(self, action: Callable[[Any], Any]) -> Any:
        with self.metastore as metastore:
            return metastore.call(action)

    def create(self, name: str) -> float:
        """Create a database; the seconds that it took."""
        with self.metastore as metastore:
            metastore.databases()
            began = time.monotonic()
            metastore.call(lambda client: client.create_database(ttypes.Database(name=name)))
            return time.monotonic() - began

    def settle(self) -> None:
        """Wait until events go straight to the bridge."""
        wait_until(lambda: self.spooled() == 0, what="the spool's delivery")
        wait_until(self.is_direct, what="the way back to direct")

    def is_direct(self) -> bool:
        lines = self.log_lines()
        return bool(lines) and "takes events;" in lines[-1]

    def spooled(self) -> int:
        """How many records wait in the spool."""
        return sum(len(list(records(path.read_bytes()))) for path in self.spool.glob("*.spool"))

    def log_lines(self) -> list[str]:
        """The listener's own lines."""
        text = self.server.log_file.read_text(errors="replace")
        return [line for line in text.splitlines() if " SidecarListener [" in line]


def record(event: bytes) -> bytes:
    """One event as the spool keeps it."""
    return struct.pack(">iI", len(event), zlib.crc32(event)) + event


def records(data: bytes) -> Iterator[bytes]:
    """What a spool file holds, up to the first bad record."""
    at = len(SPOOL_HEADER)
    while len(data) - at >= 8:
        length, checksum = struct.unpack_from(">iI", data, at)
        event = data[at + 8 : at + 8 + length]
        if length <= 0 or len(event) < length or zlib.crc32(event) != checksum:
            return
        yield event
        at += 8 + length


def listening_ports(pid: int) -> set[int]:
    """The TCP ports on which a process listens, from /proc."""
    inodes = {link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    ports: set[int] = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports


@contextmanager
def silent_server(port: int) -> Iterator[list[socket.socket]]:
    """Accepts and never says a word."""
    accepted: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", port)) as server:
        server.settimeout(0.05)
        over = threading.Event()

        def accept() -> None:
            while not over.is_set():
                try:
                    accepted.append(server.accept()[0])
                except TimeoutError:
                    continue

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield accepted
        finally:
            over.set()
            thread.join()
            for connection in accepted:
                connection.close()


def build_jars() -> None:
    """As `make jar` does."""
    subprocess.run([sys.executable, str(BUILD), "--output", str(JAR.parent)], check=True, capture_output=True)
