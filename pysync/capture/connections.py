"""The bridge's connections: who is let in, and which part of py4j's protocol is obeyed.

A caller proves that it knows the secret, as we do; from then on everything is sealed (pysync.capture.handshake). Of
py4j's protocol one command is obeyed: a call of the entry point, by name, with strings.
"""

from __future__ import annotations

import inspect
import io
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, BinaryIO

import structlog
from py4j.java_gateway import CallbackConnection, CallbackServer, CallbackServerParameters, PythonProxyPool
from py4j.protocol import ENTRY_POINT_OBJECT_ID, unescape_new_line

from pysync.capture.callers import BridgeConnections, Refusals
from pysync.capture.handshake import SidecarSide, Unproven, check
from pysync.capture.seal import SealedInput, SealedSocket

HOST = "127.0.0.1"

_LONGEST_CALL = 256 * 1024 * 1024
_MOST_ARGUMENTS = 1024
_LONGEST_WORD = 100
_LONGEST_GREETING = 1024
_GREETING_SECONDS = 10.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Admission:
    """Who may come in, and what they may call: a function for each name, which takes strings and returns one."""

    secret: bytes
    methods: Mapping[str, Callable[..., str]]
    refusals: Refusals = field(default_factory=Refusals)


class Server(CallbackServer):  # type: ignore[misc]
    """py4j's server on loopback, for callers that the admission lets in."""

    def __init__(self, admission: Admission, port: int) -> None:
        parameters = CallbackServerParameters(address=HOST, port=port, daemonize=True, daemonize_connections=True)
        # Without a gateway client: nothing here calls Java.
        super().__init__(PythonProxyPool(), None, callback_server_parameters=parameters)
        self.admission = admission
        self.open_connections = BridgeConnections()

    def _create_connection(self, socket: Any, stream: BinaryIO) -> CallbackConnection:
        made = _Connection(self.pool, stream, socket, None, self.callback_server_parameters, self)
        self.open_connections.enter(socket)
        return made


class _Connection(CallbackConnection):  # type: ignore[misc]
    """One caller, in a thread of its own."""

    socket: Any
    input: Any

    def run(self) -> None:
        """Let the caller prove itself, then obey it, until it leaves or breaks the rules."""
        refused = ""
        try:
            self._serve(self.callback_server.admission)
        except Unproven as error:  # a broken seal, too
            refused = str(error)
        # A caller that stands still or leaves says nothing about its token (OSError: TimeoutError, too).
        except (OSError, ValueError, AttributeError) as error:  # AttributeError: the server's shutdown closed it
            log.debug("connection_broken", reason=type(error).__name__)
        finally:
            self._close(refused)

    def _serve(self, admission: Admission) -> None:
        calls = self._let_in(admission)
        while call := calls.next():
            self.socket.sendall(_answered(admission, call))

    def _let_in(self, admission: Admission) -> _Calls:
        greeting = _Greeting(self.input, self.socket)
        answer, keys = SidecarSide(admission.secret).answer(greeting.line())
        self.socket.sendall(f"{answer}\n".encode())
        check(keys.proof_of_listener(), greeting.line(at_end="the caller did not prove the token"))
        with self.callback_server.lock:
            # The server's shutdown may have closed and cleared it meanwhile; the next read ends this thread then.
            self.socket = self.socket and SealedSocket(self.socket, keys.from_sidecar())
            self.input = io.BufferedReader(SealedInput(self.input, keys.from_listener()))
        greeting.over()
        # The plain socket: `self.socket` is sealed by now, and the open connections are known by the plain one.
        self.callback_server.open_connections.greeted(greeting.socket)
        return _Calls(self.input)

    def _close(self, refused: str) -> None:
        if refused and not self.callback_server.is_shutdown:
            self.callback_server.admission.refusals.add(refused)
        self.close(reset=bool(refused))

    def close(self, reset: bool = False) -> None:
        """End the connection; from any thread, more than once."""
        with self.callback_server.lock:
            if self.socket is None:
                return
            socket = self.socket
            super().close(reset)
        self.callback_server.open_connections.leave(socket.plain if isinstance(socket, SealedSocket) else socket)


class _Greeting:
    """The first lines of a caller: short ones, and soon. Nobody can make us buffer, or wait for, more."""

    def __init__(self, stream: BinaryIO, socket: Any) -> None:
        self._stream = stream
        self.socket = socket
        self._until = time.monotonic() + _GREETING_SECONDS

    def line(self, at_end: str = "") -> str:
        """The next line. Read byte by byte with the time that is left: a timeout would count again for each byte.

        Raises TimeoutError, and Unproven for what is no line. Who says nothing and leaves: ConnectionError, or Unproven
        with `at_end` if that is given.
        """
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
        if not line and not at_end:
            raise ConnectionError("the caller has left")
        raise Unproven(at_end or "the caller sent no greeting")

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


def _answered(admission: Admission, call: _Call) -> bytes:
    """What goes back: `!ys` and the answer, or `!xs` and a word for what is wrong. Never more, whatever happens."""
    method = admission.methods.get(call.method)
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
