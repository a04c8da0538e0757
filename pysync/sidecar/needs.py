"""Needs: what must be there before the sidecar runs. `run` refuses without it, and `check` reports it, by this list.

What else may keep the sidecar from running shows only as it starts: the ports, the lock of the queue, its file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from pysync.base.token import read_token
from pysync.config import Config, Partial
from pysync.queue.directory import try_out
from pysync.sidecar.optional import OptionalParts


def needs(config: Config | Partial, parts: OptionalParts) -> dict[str, Callable[[], str]]:
    """What to look at, by its name: each gives what was seen, or raises PysyncError. Nothing is changed."""
    checks: dict[str, Callable[[], str]] = {}
    if config.queue:
        checks["queue directory"] = partial(_directory, config.queue.directory)
    if config.bridge and config.listens:
        checks["token file"] = partial(_token, config.bridge.token_file)
    return {**checks, **parts.needs(config)}


def assert_needs(config: Config, parts: OptionalParts) -> None:
    """Raises the first PysyncError of `needs`."""
    for check in needs(config, parts).values():
        check()


def _directory(directory: Path) -> str:
    there = directory.exists()
    try_out(directory)
    return str(directory) if there else f"{directory} (will be created)"


def _token(file: Path) -> str:
    read_token(file)
    return str(file)
