"""Processes that hang: they are there, and do nothing."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.support import wait_until


def hang(pid: int) -> None:
    """Stop every thread of a process; SIGSTOP alone returns while some of them still run."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: _is_stopped(pid), what=f"the stop of every thread of {pid}")


def _is_stopped(pid: int) -> bool:
    stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A process that hangs as long as the block runs."""
    hang(pid)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def silent_port() -> Iterator[int]:
    """A port that accepts connections and never answers."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=1000)) as server:
        yield server.getsockname()[1]
