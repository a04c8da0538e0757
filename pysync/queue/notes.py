"""Notes: small texts that others keep in the queue's file, each under a key of its own."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from pysync.queue.queue_file import QueueFile

_ACTS = "acts"
_ACTS_KEPT = 100


class Notes:
    """A durable mapping of texts. A note is on disk when `put` returns; each method may be called from any thread."""

    def __init__(self, file: QueueFile) -> None:
        self._file = file

    def put(self, key: str, value: str) -> None:
        """Keep `value` under `key`, in place of what was there."""
        with self._file.transaction() as connection:
            _write(connection, key, value)

    def get(self, key: str) -> str | None:
        """What is kept under `key`; None if nothing is."""
        with self._file.reading() as connection:
            return _read(connection, key)

    def acts(self) -> list[dict[str, Any]]:
        """What was done to targets by hand (the last 100 acts), the newest first; `at_ms` is when."""
        with self._file.reading() as connection:
            return _acts(connection)


def record(connection: sqlite3.Connection, act: Mapping[str, Any] | None, at_ms: int) -> None:
    """Put `act`, if there is one, on record within the caller's transaction."""
    if act is not None:
        acts = [{"at_ms": at_ms, **act}, *_acts(connection)]
        _write(connection, _ACTS, json.dumps(acts[:_ACTS_KEPT]))


def _acts(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    acts: list[dict[str, Any]] = json.loads(_read(connection, _ACTS) or "[]")
    return acts


def _read(connection: sqlite3.Connection, key: str) -> str | None:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (f"note:{key}",)).fetchone()
    return row[0] if row else None


def _write(connection: sqlite3.Connection, key: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (f"note:{key}", value))
