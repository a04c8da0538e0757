"""Control: how the running sidecar answers the command line (pysync.control.client)."""

from __future__ import annotations

import json
import socketserver
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog

from pysync.base.errors import PysyncError
from pysync.base.peers import peer_user
from pysync.control.client import ASK_SECONDS, SOCKET, address_of

WHO = "who"
"""The key of a request that says who asks; set by whoever passes it on, never taken from the caller."""

_LONGEST_REQUEST = 64 * 1024

log = structlog.get_logger(__name__)

Command = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class ControlServer:
    """Answers requests `{"command": NAME, ...}` with what the command of that name returns, given who calls.

    Start it only while the queue is owned: a socket left by a process that was killed is replaced.
    """

    def __init__(self, directory: Path, commands: Mapping[str, Command]) -> None:
        path = directory / SOCKET
        with suppress(FileNotFoundError):
            path.unlink()
        with address_of(directory) as address:
            self._server = _Server(address, _Handler)
        path.chmod(0o600)
        self._path = path
        self._server.commands = commands
        # Every 0.1 s it looks whether it shall stop; `shutdown` waits for that look (half a second by default).
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="control", daemon=True)

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Answer no more; also if it never began to."""
        # `shutdown` of a server that never served would wait for ever.
        if self._thread.ident is not None:
            self._server.shutdown()
        self._server.server_close()
        with suppress(OSError):  # it is gone, or its disk is
            self._path.unlink()


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 128  # of socketserver's 5 callers at once, the sixth is refused
    commands: Mapping[str, Command]


class _Handler(socketserver.StreamRequestHandler):
    # Or callers that connect and send nothing would hold a thread each, for ever.
    timeout = ASK_SECONDS
    server: _Server

    def handle(self) -> None:
        with suppress(OSError):  # whoever asked has gone
            answer = self._answer(self.rfile.readline(_LONGEST_REQUEST))
            self.wfile.write(json.dumps(answer).encode() + b"\n")

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            command = self.server.commands[request.pop("command")]
        # RecursionError: JSON that is nested too deep. AttributeError: JSON that is no object.
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {"error": "the sidecar does not know this request", "hint": f"known commands: {self._known()}"}
        try:
            return {"answer": command({**request, WHO: self._caller()})}
        except PysyncError as error:
            return {"error": error.message, "hint": error.hint, "exit_code": error.exit_code}
        except Exception as error:  # noqa: BLE001 - the caller gets a line, and the log has the traceback
            log.error("request_failed", traceback=traceback.format_exc())
            return {
                "error": f"the sidecar failed on this command: {type(error).__name__}: {error}",
                "hint": "see the log of the sidecar",
            }

    def _caller(self) -> str:
        """`uid 1000 (command line)`: the user of the process at the other end, by the kernel."""
        return f"uid {peer_user(self.connection)} (command line)"

    def _known(self) -> str:
        return ", ".join(sorted(self.server.commands))
