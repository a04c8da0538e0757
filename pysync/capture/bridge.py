"""The bridge: the py4j endpoint that the listener calls, on 127.0.0.1, behind a token.

Only this side listens. What arrives is data: three methods of one small object can be called, with strings.
Answers and their meaning: docs/wire-format.md.
"""

from __future__ import annotations

import base64
import binascii
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import structlog
from py4j.java_gateway import (
    CallbackConnection,
    CallbackServer,
    CallbackServerParameters,
    PythonProxyPool,
    server_started,
    server_stopped,
)
from py4j.protocol import ENTRY_POINT_OBJECT_ID, Py4JNetworkError

from pysync.capture.crowd import Crowd
from pysync.capture.gaps import GapWatch
from pysync.capture.overlaps import Overlaps
from pysync.capture.refreshes import INSTANCE
from pysync.crashpoints import crash_point
from pysync.errors import PysyncError
from pysync.model.event import Event, Kind
from pysync.model.wire import UnreadableEvent, UnsupportedEvent, decode_event
from pysync.queue import Entry, EventQueue, QueueFailed, QueueFull

HOST = "127.0.0.1"
PROTOCOL = "pysync 1"

_WORST_FIRST = ("failed", "full", "unsupported", "unreadable", "queued")

_BACKLOG = 512  # py4j's own 5 costs a caller a second under load: the kernel drops its SYN (measured with 50 threads)
_LONGEST_FRAME = 256 * 1024 * 1024
_LONGEST_GREETING = 1024
_GREETING_LINES = 3  # of py4j's authentication: command, token, end
_GREETING_SECONDS = 10.0
_START_SECONDS = 5.0

log = structlog.get_logger(__name__)


class Reception:
    """Takes events in, from any thread. None of `ping`, `append` and `report` raises: every outcome is an answer."""

    def __init__(self, queue: EventQueue, watch: GapWatch, overlaps: Overlaps) -> None:
        self._queue = queue
        self._watch = watch
        self._overlaps = overlaps
        self._counting = threading.Lock()
        self._answers: Counter[str] = Counter()

    def ping(self) -> str:
        """The version of the protocol."""
        return PROTOCOL

    def append(self, payload: str, *more: str) -> str:
        """Take events in, in their order. `queued` is said only once they are on disk, and may be said twice of one.

        One answer for all, the worst of theirs: after any but `queued` and `unreadable` all of them are sent again.
        """
        answers = self._taken([payload, *more])
        with self._counting:
            self._answers.update(answers)
        return min(answers, key=_WORST_FIRST.index)

    def report(self, payload: str) -> str:
        """Note what a listener tells of itself, every few seconds: `ok`, or `unreadable`.

        `full` or `failed` where it tells of an earlier one that has ended, and that cannot be recorded now.
        """
        try:
            return "ok" if self._watch.report(payload) else "unreadable"
        except (QueueFull, QueueFailed) as error:
            log.error("the end of a metastore not recorded", reason=str(error))
            return "full" if isinstance(error, QueueFull) else "failed"

    def answers(self) -> dict[str, int]:
        """How often each answer was given since the start."""
        with self._counting:
            return dict(self._answers)

    def _taken(self, payloads: Sequence[object]) -> list[str]:
        """The answer to each. None is taken beside one that is unsupported: what follows that must not overtake it."""
        try:
            found = [_read(payload) for payload in payloads]
        except UnsupportedEvent as error:
            log.error("event not taken: the listener is newer than this sidecar", reason=str(error))
            return ["unsupported"] * len(payloads)
        events = [it for it in found if not isinstance(it, _NoEvent)]
        answers = [self._kept(it) for it in found if isinstance(it, _NoEvent)]
        return answers + [self._queued(events)] * len(events) if events else answers

    def _queued(self, found: Sequence[_Read]) -> str:
        events = [it.event for it in found]
        try:
            news = self._queue.append_all(
                [Entry(it.event.instance, it.event.sequence, it.event.source, it.data, firm=True) for it in found]
            )
            for event in events:
                if event.kind is Kind.GOODBYE:
                    self._watch.goodbye(event.instance, event.sequence)
        except QueueFull as error:
            log.error("events not taken: disk full", events=len(events), reason=str(error))
            return "full"
        except QueueFailed as error:
            log.error("events not taken", events=len(events), reason=str(error))
            return "failed"
        for event, new in zip(events, news, strict=True):
            self._watch.heard(event.instance, event.notification_id)
            if new:
                self._overlaps.seen(event)
            log.debug("event taken", kind=str(event.kind), id=event.id, new=new)
        crash_point("append.answering")
        return "queued"

    def _kept(self, found: _NoEvent) -> str:
        try:
            self._queue.keep_unreadable(found.data, found.reason)
        except (QueueFull, QueueFailed) as error:
            log.error("unreadable event not kept", reason=str(error))
            return "full" if isinstance(error, QueueFull) else "failed"
        log.error("unreadable event kept aside", reason=found.reason, bytes=len(found.data))
        return "unreadable"


@dataclass(frozen=True, slots=True)
class _Read:
    event: Event
    data: bytes


@dataclass(frozen=True, slots=True)
class _NoEvent:
    data: bytes
    reason: str


def _read(payload: object) -> _Read | _NoEvent:
    """What the payload holds. Raises UnsupportedEvent for an event of a newer listener."""
    if not isinstance(payload, str):  # py4j brings numbers, bytes and null too
        return _NoEvent(b"", f"not a string but {type(payload).__name__}")
    try:
        data = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        return _NoEvent(payload.encode("utf-8", "backslashreplace"), "not base64")
    try:
        event = decode_event(data)
    except UnreadableEvent as error:
        return _NoEvent(data, str(error))
    if event.kind is Kind.REFRESH or event.instance == INSTANCE:
        return _NoEvent(data, "an event that only the sidecar itself may queue")
    return _Read(event, data)


class _EntryPoint:
    """What py4j calls by name: of all a Python object has (`__init__`, `__setattr__`, …) three methods and no more."""

    __slots__ = ("_methods",)

    def __init__(self, reception: Reception) -> None:
        self._methods = {"append": reception.append, "ping": reception.ping, "report": reception.report}

    def __getattribute__(self, name: str) -> Any:
        methods = object.__getattribute__(self, "_methods")
        if name not in methods:
            raise AttributeError("there are append, ping and report")
        return methods[name]


class Bridge:
    """The listening socket and its supervision. `on_stopped` is called if py4j's accept loop ever ends by itself."""

    def __init__(self, reception: Reception, port: int, token: str, on_stopped: Callable[[], None]) -> None:
        self._reception = reception
        self._on_stopped = on_stopped
        self._closing = False
        self._listening = threading.Event()
        pool = PythonProxyPool()
        pool.put(_EntryPoint(reception), ENTRY_POINT_OBJECT_ID)
        parameters = CallbackServerParameters(
            address=HOST, port=port, auth_token=token, daemonize=True, daemonize_connections=True
        )
        self._server = _Server(pool, None, callback_server_parameters=parameters)

    def start(self) -> int:
        """Listen; returns the port. Raises PysyncError when it is taken."""
        _silence_py4j()
        server_started.connect(self._raise_backlog, sender=self._server)
        server_stopped.connect(self._stopped, sender=self._server)
        try:
            self._server.start()
        except Py4JNetworkError as error:
            port = self._server.port
            self._server.server_socket.close()
            raise PysyncError(
                f"the bridge cannot listen on {HOST}:{port}: {_reason(error)}",
                "end what uses the port (ss -ltnp), or set [bridge] port here and pysync.bridge.port in hive-site.xml",
            ) from error
        if not self._listening.wait(_START_SECONDS):
            raise PysyncError(f"the bridge did not begin to listen on {HOST}:{self._server.port}")
        return int(self._server.get_listening_port())

    def stop(self) -> None:
        """Stop listening and close all connections; calls in progress may get no answer.

        May be called twice, and after a `start` that failed.
        """
        if self._listening.is_set() and not self._closing:
            self._closing = True
            self._server.shutdown()

    def status(self) -> dict[str, Any]:
        """Port, open connections, refused ones and when the last was, and how often each answer was given."""
        return {
            "port": int(self._server.get_listening_port()),
            "connections": len(self._server.connections),
            "refused_connections": self._server.refused,
            "refused_last_at": self._server.refused_at,
            "answers": self._reception.answers(),
        }

    def _raise_backlog(self, **_: Any) -> None:
        self._server.server_socket.listen(_BACKLOG)
        self._listening.set()

    def _stopped(self, **_: Any) -> None:
        if not self._closing:
            self._on_stopped()


class _Server(CallbackServer):  # type: ignore[misc]
    """py4j's server, with lines of bounded length and a word about each caller it turns away."""

    refused = 0
    refused_at: float | None = None  # seconds since 1970

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.crowd = Crowd()

    def _create_connection(self, socket: Any, stream: BinaryIO) -> CallbackConnection:
        parameters = self.callback_server_parameters
        lines = _Lines(stream, socket, lambda: self.crowd.greeted(socket))
        made = _Connection(self.pool, lines, socket, None, parameters, self)
        self.crowd.enter(socket)
        return made


class _Connection(CallbackConnection):  # type: ignore[misc]
    def close(self, reset: bool = False) -> None:
        """py4j resets a connection when, and only when, its token was wrong or missing (or did not come in time)."""
        with self.callback_server.lock:  # its own thread and the server's shutdown may both close it: py4j minds
            if self.socket is None:
                return
            if reset:
                self.callback_server.refused += 1
                self.callback_server.refused_at = time.time()
                log.warning("bridge refused a caller: wrong or missing token")
            socket = self.socket
            super().close(reset)
        self.callback_server.crowd.leave(socket)


class _Lines:
    """A stream whose lines end: a caller without the token cannot make us buffer, or wait for, more than a greeting."""

    def __init__(self, stream: BinaryIO, socket: Any, greeted: Callable[[], None]) -> None:
        self._stream = stream
        self._greeted = greeted
        self._socket = socket
        self._greeted_by = time.monotonic() + _GREETING_SECONDS
        self._seen = 0

    def readline(self) -> bytes:
        """The next line; raises ValueError, which ends the connection, when it is too long."""
        if self._seen == _GREETING_LINES:  # py4j hangs up on who had the wrong token, so that it comes here no more
            self._greeted()
        greeting = self._seen < _GREETING_LINES
        longest = _LONGEST_GREETING if greeting else _LONGEST_FRAME
        line = self._greeting_line() if greeting else self._stream.readline(longest)
        self._seen += 1
        if self._seen == _GREETING_LINES:
            self._socket.settimeout(None)
        if len(line) == longest:
            log.warning("bridge closed a connection: line too long", longest=longest)
            raise ValueError("line too long")
        return line

    def _greeting_line(self) -> bytes:
        """Byte by byte, with what is left of the time: a timeout counts anew for each byte that drips in."""
        line = bytearray()
        while len(line) < _LONGEST_GREETING and not line.endswith(b"\n"):
            self._socket.settimeout(max(0.001, self._greeted_by - time.monotonic()))
            byte = self._stream.read(1)
            if not byte:
                break
            line += byte
        return bytes(line)

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


def _silence_py4j() -> None:
    """py4j logs whole commands, payload included, and tracebacks of what is normal; we say what matters ourselves."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)


def _reason(error: Py4JNetworkError) -> str:
    cause = getattr(error, "cause", None)
    return str(getattr(cause, "strerror", None) or cause or type(error).__name__)
