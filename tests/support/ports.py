"""The ports on which processes listen, and a client of Spark's RPC that knows no secret."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

_LISTENS = "0A"
_REQUEST = b"\x03"


def text_object(text: bytes) -> bytes:
    """A java.lang.String as Java serializes it. Who can have this one deserialized can have any object."""
    return b"\xac\xed\x00\x05t" + _short(text)


def rpc_request(thing: bytes, endpoint: bytes = b"endpoint-verifier") -> bytes:
    """A frame that sends a serialized object to an endpoint of the driver, as org.apache.spark.rpc.netty does."""
    no_sender, receiver = b"\x00", b"\x01" + _short(b"127.0.0.1") + struct.pack(">i", 1)
    body = no_sender + receiver + _short(endpoint) + thing
    message = _REQUEST + struct.pack(">qi", 7, len(body)) + body
    return struct.pack(">q", len(message) + 8) + message


def answer_to(port: int, sent: bytes, seconds: float = 3.0) -> bytes:
    """All that comes back from a local port within that time of silence."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(sent)
        connection.settimeout(seconds)
        try:
            while some := connection.recv(65_536):
                found += some
        except (TimeoutError, ConnectionResetError):
            pass  # nothing more comes
    return found


def listening(processes: Iterable[int]) -> Iterator[tuple[IPv4Address | IPv6Address, int]]:
    """Address and port of each TCP socket on which one of these processes listens."""
    sockets = {it for process in processes for it in _sockets(process)}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == _LISTENS and rest[5] in sockets:
                address, _, port = local.partition(":")
                yield _address(address), int(port, 16)


def with_children(process: int) -> set[int]:
    """The process and all that it has started."""
    found = {process}
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in task.read_text().split():
            found |= with_children(int(child))
    return found


def _sockets(process: int) -> Iterator[str]:
    """The inodes of its sockets."""
    for file in Path(f"/proc/{process}/fd").glob("*"):
        try:
            link = str(file.readlink())
        except OSError:  # closed by now
            continue
        if link.startswith("socket:["):
            yield link[len("socket:[") : -1]


def _address(text: str) -> IPv4Address | IPv6Address:
    """From the kernel's form: words of four bytes, each in the machine's order."""
    words = [bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8)]
    found = ip_address(b"".join(words))
    return getattr(found, "ipv4_mapped", None) or found


def _short(text: bytes) -> bytes:
    return struct.pack(">H", len(text)) + text
