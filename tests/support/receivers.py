"""A receiver of notifications on loopback, which fails as it is told to."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET = "0123456789abcdef" * 2

Answer = Callable[[list[dict[str, Any]]], int | None]
"""The status for a request with these events; None: no answer at all until the end."""


def takes_all(_: list[dict[str, Any]]) -> int:
    return 204


class WebhookReceiver:
    """Keeps the events of all requests that it has answered with 204, those that are signed wrongly in `forged`.

    `probed` has what it was asked for without events; `answer` answers that, too.
    """

    def __init__(self, port: int = 0) -> None:
        self.answer: Answer = takes_all
        self.events: list[dict[str, Any]] = []
        self.refused: list[list[dict[str, Any]]] = []
        self.forged = 0
        self.probed: list[str] = []
        self.ends = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def take(self, events: list[dict[str, Any]]) -> int | None:
        status = self.answer(events)
        (self.events.extend if status == 204 else self.refused.append)(events)
        return status

    def of(self, kind: str) -> list[dict[str, Any]]:
        """What the events of this type say."""
        return [it["data"] for it in self.events if it["type"] == f"pysync.{kind}"]

    def close(self) -> None:
        self.ends.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(receiver: WebhookReceiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not is_signed(self.headers, body):
                receiver.forged += 1
            self._answer(receiver.take(json.loads(body)))

        def do_OPTIONS(self) -> None:
            receiver.probed.append(self.path)
            self._answer(receiver.answer([]))

        def _answer(self, status: int | None) -> None:
            if status is None:
                receiver.ends.wait(60)
                self.close_connection = True
                return
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"http://127.0.0.1:{receiver.port}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def is_signed(headers: Any, body: bytes) -> bool:
    """As docs/monitoring.md says it."""
    signed = f"{headers['Webhook-Id']}.{headers['Webhook-Timestamp']}.".encode() + body
    wanted = base64.b64encode(hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()).decode()
    return hmac.compare_digest(f"v1,{wanted}", headers["Webhook-Signature"])
