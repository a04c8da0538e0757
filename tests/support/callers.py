"""Who calls the bridge: a raw socket that speaks its wire."""

from __future__ import annotations

import io
import socket

from pysync.capture.connections import HOST
from pysync.capture.handshake import Unproven
from pysync.capture.seal import SealedInput, SealedSocket
from tests.support.listener_side import ListenerSide

TOKEN = "0123456789abcdef" * 4


class Caller:
    """One connection to the bridge, as the listener makes it; without a token a mere socket."""

    def __init__(self, port: int, token: str | None = TOKEN) -> None:
        self.plain = socket.create_connection((HOST, port), timeout=60)
        self.socket: socket.socket | SealedSocket = self.plain
        self.lines: io.BufferedIOBase = self.plain.makefile("rb")
        self.let_in = token is not None and self._prove(token)

    def _prove(self, token: str) -> bool:
        side = ListenerSide(token.encode())
        answer = self.send(f"{side.hello()}\n")
        try:
            keys = side.keys(answer)
        except Unproven:  # it does not know this token: prove what we have all the same
            self.socket.sendall(b"0" * 64 + b"\n")
            return False
        self.socket.sendall(f"{keys.proof_of_listener()}\n".encode())
        self.socket = SealedSocket(self.plain, keys.from_listener())
        self.lines = io.BufferedReader(SealedInput(self.lines, keys.from_sidecar()))
        return True

    def send(self, text: str | bytes) -> str:
        """Send, and give the next line of the answer; "" when the bridge hung up instead."""
        try:
            self.socket.sendall(text.encode() if isinstance(text, str) else text)
            return self.lines.readline().decode().rstrip("\n")
        except ConnectionError:
            return ""

    def call(self, method: str, *arguments: str) -> str:
        """Call a method of the entry point with arguments in py4j's spelling; the raw answer."""
        return self.send("".join(f"{line}\n" for line in ("c", "t", method, *arguments, "e")))

    def append(self, *payloads: str) -> str:
        """The bridge's answer to `append`."""
        answer = self.call("append", *(f"s{payload}" for payload in payloads))
        assert answer.startswith("!ys"), f"not a string but {answer!r}"
        return answer.removeprefix("!ys")

    def close(self) -> None:
        """End it."""
        self.lines.close()
        self.plain.close()
