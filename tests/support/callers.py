"""Who calls the bridge: a raw socket that speaks py4j's wire."""

from __future__ import annotations

import socket

from pysync.capture.bridge import HOST

TOKEN = "0123456789abcdef" * 4


class Caller:
    """One connection to the bridge, as py4j's CallbackClient makes it."""

    def __init__(self, port: int, token: str | None = TOKEN) -> None:
        self.socket = socket.create_connection((HOST, port), timeout=60)
        self.lines = self.socket.makefile("rb")
        if token is not None:
            self.greeting = self.send(f"A\n{token}\ne\n")

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
        self.lines.close()
        self.socket.close()
