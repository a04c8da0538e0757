"""Waits as the command line makes them, but without a process for each."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from pysync.control.client import ask


def waited(directory: Path, name: str, target: str, *, seconds: float = 120.0, **more: Any) -> dict[str, Any]:
    """The last answer of a wait that the sidecar on that queue directory was asked for."""
    until, wait = time.monotonic() + seconds, None
    while True:
        found = ask(directory, "wait", object=name, target=target, wait=wait, **more)
        wait = found["wait"]
        if found["state"] != "waits" or time.monotonic() > until:
            return found


def release(directory: Path, found: dict[str, Any]) -> bool:
    """End a wait; returns whether its database was pinned until now."""
    return bool(ask(directory, "wait end", wait=found["wait"])["pinned"])
