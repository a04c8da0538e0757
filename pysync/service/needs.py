"""Needs: what must be there before the sidecar runs. `run` refuses without it and `check` tells of it, from this list.

What else may keep it from running shows only when it is done: the ports, the lock of the queue, the queue's file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pysync.config import Config
from pysync.queue.files import try_out
from pysync.service.web import assert_installed
from pysync.token import read_token


def needs(config: Config) -> dict[str, Callable[[], str]]:
    """What to look at, by its name: each gives what was seen, or raises PysyncError. Nothing is changed."""
    found: dict[str, Callable[[], str]] = {"queue directory": lambda: _directory(config.queue.directory)}
    if config.source.capture == "listener":
        found["token file"] = lambda: _token(config.bridge.token_file)
    if config.web.port is not None:
        found["web server"] = _web
    return found


def assert_needs(config: Config) -> None:
    """Raises the first PysyncError of `needs`."""
    for look in needs(config).values():
        look()


def _directory(directory: Path) -> str:
    there = directory.exists()
    try_out(directory)
    return str(directory) if there else f"{directory} (will be made)"


def _token(file: Path) -> str:
    read_token(file)
    return str(file)


def _web() -> str:
    assert_installed()
    return "installed"
