"""The bridge: py4j's callback server on 127.0.0.1, which the listener calls; and what its callers may do."""

from __future__ import annotations

import base64
import binascii
import inspect
import io
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
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
from py4j.protocol import ENTRY_POINT_OBJECT_ID, Py4JNetworkError, unescape_new_line

from pysync.base.crashpoints import crash_point
from pysync.base.errors import PysyncError
from pysync.capture.gaps import MOST, GapWatch
from pysync.capture.handshake import Crowd, Refusals, SealedInput, SealedSocket, SidecarSide, Unproven, check
from pysync.capture.overlaps import Overlaps
from pysync.model.event import SIDECAR, Event, Kind
from pysync.model.wire import UnreadableEvent, UnsupportedEvent, decode_event
from pysync.queue import Entry, Intake, QueueFailed, QueueFull

# --- The bridge's connections: who is let in, and which part of py4j's protocol is obeyed.
#
# A caller proves that it knows the secret, as we do; from then on everything is sealed (pysync.capture.handshake). Of
# py4j's protocol one command is obeyed: a call of the entry point, by name, with strings.


HOST = "127.0.0.1"

_LONGEST_CALL = 256 * 1024 * 1024
_MOST_ARGUMENTS = 1024
_LONGEST_WORD = 100
_LONGEST_GREETING = 1024
_GREETING_SECONDS = 10.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Door:
    """Who may come in, and what they may call: a function for each name, which takes strings and returns one."""

    secret: bytes
    methods: Mapping[str, Callable[..., str]]
    refusals: Refusals = field(default_factory=Refusals)


class Server(CallbackServer):  # type: ignore[misc]
    """py4j's server on loopback, behind the door."""

    def __init__(self, door: Door, port: int) -> None:
        parameters = CallbackServerParameters(address=HOST, port=port, daemonize=True, daemonize_connections=True)
        # Without a gateway client: nothing here calls Java.
        super().__init__(PythonProxyPool(), None, callback_server_parameters=parameters)
        self.door = door
        self.crowd = Crowd()

    def _create_connection(self, socket: Any, stream: BinaryIO) -> CallbackConnection:
        made = _Connection(self.pool, stream, socket, None, self.callback_server_parameters, self)
        self.crowd.enter(socket)
        return made


class _Connection(CallbackConnection):  # type: ignore[misc]
    """One caller, in a thread of its own."""

    socket: Any
    input: Any

    def run(self) -> None:
        """Let the caller prove itself, then obey it, until it leaves or breaks the rules."""
        refused = ""
        try:
            self._serve(self.callback_server.door)
        except Unproven as error:  # a broken seal, too
            refused = str(error)
        except TimeoutError:
            refused = "the caller sent no greeting in time"
        except (OSError, ValueError, AttributeError) as error:  # AttributeError: the server's shutdown closed it
            log.debug("connection_broken", reason=type(error).__name__)
        finally:
            self._close(refused)

    def _serve(self, door: Door) -> None:
        calls = self._let_in(door)
        while call := calls.next():
            self.socket.sendall(_answered(door, call))

    def _let_in(self, door: Door) -> _Calls:
        greeting = _Greeting(self.input, self.socket)
        answer, keys = SidecarSide(door.secret).answer(greeting.line())
        self.socket.sendall(f"{answer}\n".encode())
        check(keys.proof_of_listener(), greeting.line())
        with self.callback_server.lock:
            # The server's shutdown may have closed and cleared it meanwhile; the next read ends this thread then.
            self.socket = self.socket and SealedSocket(self.socket, keys.from_sidecar())
            self.input = io.BufferedReader(SealedInput(self.input, keys.from_listener()))
        greeting.over()
        # The plain socket: `self.socket` is sealed by now, and the crowd does not know that one.
        self.callback_server.crowd.greeted(greeting.socket)
        return _Calls(self.input)

    def _close(self, refused: str) -> None:
        if refused and not self.callback_server.is_shutdown:
            self.callback_server.door.refusals.add(refused)
        self.close(reset=bool(refused))

    def close(self, reset: bool = False) -> None:
        """End the connection; from any thread, more than once."""
        with self.callback_server.lock:
            if self.socket is None:
                return
            socket = self.socket
            super().close(reset)
        self.callback_server.crowd.leave(socket.plain if isinstance(socket, SealedSocket) else socket)


class _Greeting:
    """The first lines of a caller: short ones, and soon. Nobody can make us buffer, or wait for, more."""

    def __init__(self, stream: BinaryIO, socket: Any) -> None:
        self._stream = stream
        self.socket = socket
        self._until = time.monotonic() + _GREETING_SECONDS

    def line(self) -> str:
        """The next line. Read byte by byte with the time that is left: a timeout would count again for each byte."""
        line = bytearray()
        while len(line) < _LONGEST_GREETING:
            # A timeout of 0 would make the socket non-blocking.
            self.socket.settimeout(max(0.001, self._until - time.monotonic()))
            byte = self._stream.read(1)
            if byte == b"\n":
                return line.decode("utf-8", "replace")
            if not byte:
                break
            line += byte
        raise Unproven("the caller sent no greeting")

    def over(self) -> None:
        """The caller may take its time from now on."""
        self.socket.settimeout(None)


@dataclass(frozen=True, slots=True)
class _Call:
    method: str
    arguments: list[str] | None
    """None if some are no strings."""


class _Calls:
    """The calls of one caller, one after the other, each of bounded length."""

    def __init__(self, stream: io.BufferedIOBase | BinaryIO) -> None:
        self._stream = stream
        self._left = 0

    def next(self) -> _Call | None:
        """The next call; None at the end. Raises ValueError for anything else, as the next one cannot be found then."""
        self._left = _LONGEST_CALL
        if not (command := self._stream.readline(_LONGEST_WORD)):
            return None
        if (command, self._line()) != (b"c\n", ENTRY_POINT_OBJECT_ID):
            raise ValueError("the line is not a call")
        method = self._line()
        arguments = []
        while (argument := self._line()) != "e":
            arguments.append(argument)
            if len(arguments) > _MOST_ARGUMENTS:
                raise ValueError("too many arguments")
        if not all(it.startswith("s") for it in arguments):
            return _Call(method, None)
        return _Call(method, [_text(it) for it in arguments])

    def _line(self) -> str:
        line: bytes = self._stream.readline(self._left)
        self._left -= len(line)
        if not line.endswith(b"\n"):
            raise ValueError("the line is cut off or too long")
        return str(memoryview(line)[:-1], "utf-8")  # `line[:-1]` would copy a large event once more


def _text(argument: str) -> str:
    """The text of an argument. py4j escapes backslashes and line ends, which Base64 does not have."""
    return unescape_new_line(argument[1:]) if "\\" in argument else argument[1:]


def _answered(door: Door, call: _Call) -> bytes:
    """What goes back: `!ys` and the answer, or `!xs` and a word for what is wrong. Never more, whatever happens."""
    method = door.methods.get(call.method)
    if method is None:
        return b"!xsno_such_method\n"
    try:
        # Bound beforehand: a TypeError within the method is a fault of ours, and no bad arguments.
        arguments = inspect.signature(method).bind(*call.arguments).args if call.arguments is not None else None
    except TypeError:
        arguments = None
    if arguments is None:
        return b"!xsbad_arguments\n"
    try:
        return f"!ys{method(*arguments)}\n".encode()
    except Exception as error:  # noqa: BLE001 - a caller gets a word, and the next one is served
        log.error("call_failed", method=call.method, error=type(error).__name__, at=_place(error))
        return b"!xsfailed\n"


def _place(error: Exception) -> str:
    """Where it was raised, for the log: the message may hold what the caller sent."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{PurePath(last.filename).name}:{last.lineno}"


# --- The bridge: the py4j endpoint that the listener calls, on 127.0.0.1, and what it answers.
#
# Only this side listens. What arrives is data: three methods can be called, with strings, by whoever knows the secret
# (pysync.capture.bridge). Answers and their meaning: docs/wire-format.md.

PROTOCOL = "pysync 1"

ANSWERS = ("failed", "full", "unsupported", "unreadable", "queued")
"""The answers of `append`, the worst first."""

_BACKLOG = 512  # py4j's own 5 costs a caller a second under load: the kernel drops its SYN (measured with 50 threads)
_START_SECONDS = 5.0
_LONGEST_REPORT = 64 * 1024
_LONGEST_NAME = 200
_LATEST_MS = 253402300799999  # the end of the year 9999


class Reception:
    """Takes events in, from any thread. None of `ping`, `append` and `report` raises: every outcome is an answer."""

    def __init__(
        self,
        intake: Intake,
        watch: GapWatch,
        overlaps: Overlaps,
        lost: Sequence[Callable[[Event], str | None]] = (),
    ) -> None:
        """`lost` says of an event which cluster may have lost changes, so that everything is compared with it."""
        self._intake = intake
        self._lost = lost
        self._watch = watch
        self._overlaps = overlaps
        self._counting = threading.Lock()
        self._answers: Counter[str] = Counter()

    def ping(self) -> str:
        """The version of the protocol."""
        return PROTOCOL

    def append(self, payload: str, *more: str) -> str:
        """Take events in, in order. Answers `queued` only once they are on disk; the same event may be sent again.

        One answer for all, the worst of theirs: after any but `queued` and `unreadable` all of them are sent again.
        """
        answers = self._taken([payload, *more])
        with self._counting:
            self._answers.update(answers)
        return min(answers, key=ANSWERS.index)

    def report(self, payload: str) -> str:
        """Note what a listener reports of itself, every few seconds: `ok`, maybe with a roll call, or `unreadable`.

        `full` or `failed` where it reports an earlier one that has ended, and that cannot be recorded now.
        """
        try:
            return (len(payload) <= _LONGEST_REPORT and self._watch.report(payload)) or "unreadable"
        except (QueueFull, QueueFailed) as error:
            log.error("report_failed", reason=str(error))
            return "full" if isinstance(error, QueueFull) else "failed"

    def answers(self) -> dict[str, int]:
        """How often each answer was given since the start."""
        with self._counting:
            return dict(self._answers)

    def differing(self) -> int:
        """How many events were sent again with other bytes since the start; of each batch the first is counted."""
        return self._intake.differing

    def _taken(self, payloads: Sequence[str]) -> list[str]:
        """The answer to each. Beside an unsupported event none is taken: those behind it must not overtake it."""
        try:
            reads = [_read(payload) for payload in payloads]
        except UnsupportedEvent as error:
            log.error("event_unsupported", reason=str(error))
            return ["unsupported"] * len(payloads)
        events = [it for it in reads if not isinstance(it, _NoEvent)]
        answers = [self._set_aside(it) for it in reads if isinstance(it, _NoEvent)]
        return answers + [self._queued(events)] * len(events) if events else answers

    def _queued(self, reads: Sequence[_Read]) -> str:
        events = [it.event for it in reads]
        try:
            news = self._intake.append_all(
                [Entry(it.event.instance, it.event.sequence, it.event.source, it.data, firm=True) for it in reads]
            )
            # What cannot be noted fails the whole batch: it is sent again, and what is queued is known then.
            for event in events:
                self._note(event)
        except QueueFull as error:
            self._watch.roll.refused(events)
            log.error("queue_full", events=len(events), reason=str(error))
            return "full"
        except QueueFailed as error:
            self._watch.roll.refused(events)
            log.error("append_failed", events=len(events), reason=str(error))
            return "failed"
        for event, new in zip(events, news, strict=True):
            self._watch.note_event(event.instance, event.notification_id)
            self._watch.roll.taken(event)
            # One that was sent again was seen before, and would seem to overlap with what came since.
            if new:
                self._overlaps.seen(event)
            log.debug("event_received", kind=str(event.kind), id=event.id, new=new)
        crash_point("append.answering")
        return "queued"

    def _note(self, event: Event) -> None:
        if event.kind is Kind.GOODBYE:
            self._watch.goodbye(event.instance, event.sequence)
        for cluster in filter(None, (lost(event) for lost in self._lost)):
            self._watch.lost(event, cluster)

    def _set_aside(self, unreadable: _NoEvent) -> str:
        try:
            self._intake.keep_unreadable(unreadable.data, unreadable.reason)
        except (QueueFull, QueueFailed) as error:
            log.error("append_failed", events=1, reason=str(error))
            return "full" if isinstance(error, QueueFull) else "failed"
        log.error("event_unreadable", reason=unreadable.reason, bytes=len(unreadable.data))
        return "unreadable"


@dataclass(frozen=True, slots=True)
class _Read:
    event: Event
    data: bytes


@dataclass(frozen=True, slots=True)
class _NoEvent:
    data: bytes
    reason: str


def _read(payload: str) -> _Read | _NoEvent:
    """What the payload holds. Raises UnsupportedEvent for an event of a newer listener."""
    try:
        data = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        return _NoEvent(payload.encode("utf-8", "backslashreplace"), "the event is not valid base64")
    try:
        event = decode_event(data)
    except UnreadableEvent as error:
        return _NoEvent(data, str(error))
    # Whoever has the token can make these up, and they get into status and logs.
    if event.sequence > MOST or not 0 <= event.time_ms <= _LATEST_MS or len(event.instance) > _LONGEST_NAME:
        return _NoEvent(data, "the event's sequence, time or instance is not one that a listener can send")
    if event.kind is Kind.REFRESH or event.instance == SIDECAR:
        return _NoEvent(data, "only the sidecar itself may queue such an event")
    return _Read(event, data)


class Bridge:
    """The listening socket and its supervision.

    `on_stopped` is called if py4j's accept loop ends by itself, as it does for good at any error of accept, say EMFILE.
    """

    def __init__(
        self,
        reception: Reception,
        port: int,
        token: str,
        on_stopped: Callable[[], None],
    ) -> None:
        """`token` is the secret that the listener has to prove that it knows."""
        self._reception = reception
        self._on_stopped = on_stopped
        self._closing = False
        self._listening = threading.Event()
        methods: dict[str, Callable[..., str]]
        methods = {"append": reception.append, "ping": reception.ping, "report": reception.report}
        self._door = Door(token.encode(), methods)
        self._server = Server(self._door, port)

    def start(self) -> int:
        """Listen; returns the port. Raises PysyncError when the port is taken."""
        server_started.connect(self._raise_backlog, sender=self._server)
        server_stopped.connect(self._stopped, sender=self._server)
        try:
            self._server.start()
        except Py4JNetworkError as error:
            port = self._server.port
            # py4j leaves it open when it cannot bind.
            self._server.server_socket.close()
            raise PysyncError(
                f"the bridge cannot listen on {HOST}:{port}: {_reason(error)}",
                "stop the process that uses the port (ss -ltnp shows it), or set another port: [bridge] port in "
                "pysync.toml and pysync.bridge.port in hive-site.xml",
            ) from error
        # py4j gives its signal from the accept thread, when `start` has returned already.
        if not self._listening.wait(_START_SECONDS):
            raise PysyncError(f"the bridge did not start listening on {HOST}:{self._server.port}")
        return int(self._server.get_listening_port())

    def stop(self) -> None:
        """Stop listening and close all connections; calls in progress may get no answer.

        May be called twice, and after a `start` that failed.
        """
        if self._listening.is_set() and not self._closing:
            self._closing = True
            self._server.shutdown()

    def status(self) -> dict[str, Any]:
        """Port, open connections, refused ones and when the last was, each answer's count, and forgeries."""
        return {
            "port": int(self._server.get_listening_port()),
            "connections": len(self._server.connections),
            "refused_connections": self._door.refusals.total,
            "refused_last_at": self._door.refusals.last_at,
            "answers": self._reception.answers(),
            "differing": self._reception.differing(),
        }

    def log_refused(self) -> None:
        """Log how many callers were refused since the last line about that, if any. For whoever keeps house."""
        self._door.refusals.log_repeated()

    def _raise_backlog(self, **_: Any) -> None:
        self._server.server_socket.listen(_BACKLOG)
        self._listening.set()

    def _stopped(self, **_: Any) -> None:
        if not self._closing:
            self._on_stopped()


def _reason(error: Py4JNetworkError) -> str:
    cause = getattr(error, "cause", None)
    return str(getattr(cause, "strerror", None) or cause or type(error).__name__)
