"""Control: how the command line asks the running sidecar. One JSON line in, one out, over a unix socket of mode 0600.

The socket is `control.sock` in the queue's directory, so whoever may read the queue may ask, and nobody else.
"""

from __future__ import annotations

import json
import os
import socket
import socketserver
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import structlog

from pysync.errors import PysyncError

SOCKET = "control.sock"

_LONGEST_REQUEST = 64 * 1024
_LONGEST_PATH = 100  # of a unix socket's address: 108 bytes on Linux
_ASK_SECONDS = 10.0

log = structlog.get_logger(__name__)

Command = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class NoSidecar(PysyncError):
    """Nobody answers: no sidecar runs on that queue."""


class ControlServer:
    """Answers requests `{"command": NAME, ...}` with what the command of that name returns.

    Start it only while the queue is owned: a socket left by a process that was killed is replaced.
    """

    def __init__(self, directory: Path, commands: Mapping[str, Command]) -> None:
        path = directory / SOCKET
        with suppress(FileNotFoundError):
            path.unlink()
        with _address(directory) as address:
            self._server = _Server(address, _Handler)
        path.chmod(0o600)
        self._path = path
        self._server.commands = commands
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="control", daemon=True)

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Answer no more; also if it never began to."""
        if self._thread.ident is not None:
            self._server.shutdown()
        self._server.server_close()
        with suppress(FileNotFoundError):
            self._path.unlink()


def ask(directory: Path, command: str, **arguments: Any) -> dict[str, Any]:
    """The answer of the sidecar whose queue is in `directory`. Raises PysyncError when none runs, or it refuses."""
    hint = "start it: pysync run -c FILE"
    try:
        line = _exchange(directory, json.dumps({"command": command, **arguments}))
    except (FileNotFoundError, ConnectionRefusedError):
        raise NoSidecar(f"no sidecar runs on the queue in {directory}", hint) from None
    except OSError as error:
        raise PysyncError(f"the sidecar on {directory} does not answer: {error}", "look at its log") from error
    reply = _reply(line)
    if "answer" not in reply:
        raise PysyncError(reply.get("error") or f"the sidecar on {directory} gave no answer", reply.get("hint"))
    return dict(reply["answer"])


def _reply(line: str) -> dict[str, Any]:
    """The JSON object in `line`; an empty one when there is none (the sidecar ended meanwhile)."""
    try:
        reply = json.loads(line)
    except ValueError:
        return {}
    return reply if isinstance(reply, dict) else {}


def _exchange(directory: Path, request: str) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_ASK_SECONDS)
        with _address(directory) as address:
            connection.connect(address)
        connection.sendall(request.encode() + b"\n")
        with connection.makefile("r", encoding="utf-8") as answer:
            return answer.readline()


@contextmanager
def _address(directory: Path) -> Iterator[str]:
    """The socket's address; through the directory's own descriptor when the path is too long for one."""
    path = str(directory / SOCKET)
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        yield path
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    commands: Mapping[str, Command]


class _Handler(socketserver.StreamRequestHandler):
    timeout = _ASK_SECONDS
    server: _Server

    def handle(self) -> None:
        with suppress(OSError):  # whoever asked has gone
            answer = self._answer(self.rfile.readline(_LONGEST_REQUEST))
            self.wfile.write(json.dumps(answer).encode() + b"\n")

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            command = self.server.commands[request.pop("command")]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {"error": "not a request that this sidecar knows", "hint": f"it knows {self._known()}"}
        try:
            return {"answer": command(request)}
        except PysyncError as error:
            return {"error": error.message, "hint": error.hint}
        except Exception as error:  # noqa: BLE001 - whoever asked shall know, and the log tells the rest
            log.error("request failed", traceback=traceback.format_exc())
            return {"error": f"the sidecar stumbled: {type(error).__name__}: {error}", "hint": "look at its log"}

    def _known(self) -> str:
        return ", ".join(sorted(self.server.commands))
