"""Ports for servers that must know their own before they start."""

from __future__ import annotations

import itertools
import secrets
import socket
import time

from pysync.base.errors import PysyncError

PORTS = range(20_000, 32_000)
"""Where a free port is looked for: below those that Linux gives to clients, because one of these could be handed out
between a stop and a start, or be connected to itself."""

_POLL = 0.05

# In turn, from a place by chance: one that was handed out and is not listened on yet must not be handed out again.
_TURNS = itertools.count(secrets.randbelow(len(PORTS)))


def free_port() -> int:
    """A port that nobody listens on now. Nothing keeps another process from taking it before its server starts."""
    for _ in range(100):
        port = PORTS[next(_TURNS) % len(PORTS)]
        if is_free(port):
            return port
    raise PysyncError(f"found no free port between {PORTS[0]} and {PORTS[-1]}")


def is_free(port: int) -> bool:
    """Whether a server may listen on it now, on all interfaces."""
    with socket.socket() as probe:
        # As Java does: a port whose last connections are still in TIME_WAIT is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def wait_until_free(port: int, patience: float) -> bool:
    """Whether the port is free, or comes to be so within `patience` seconds."""
    until = time.monotonic() + patience
    while not is_free(port):
        if time.monotonic() >= until:
            return False
        time.sleep(_POLL)
    return True
