"""How far the receivers are: one note of the queue. A receiver that pysync.toml no longer names is forgotten."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection

from pysync.queue import EventQueue

_NOTE = "notify"


class ReceiverNotes:
    """A durable text for each receiver of these names; from any thread. Methods raise as those of `EventQueue` do."""

    def __init__(self, queue: EventQueue, names: Collection[str]) -> None:
        """Forget what is noted of other receivers."""
        self._notes, self._lock = queue.notes, threading.Lock()
        stored: dict[str, str] = json.loads(self._notes.get(_NOTE) or "{}")
        self._texts = {name: text for name, text in stored.items() if name in names}
        if self._texts != stored:
            self._write()

    def get(self, name: str) -> str | None:
        """What is noted of a receiver; None if nothing is."""
        with self._lock:
            return self._texts.get(name)

    def put(self, name: str, text: str) -> None:
        """Note this of a receiver, in place of what was noted."""
        with self._lock:
            self._texts[name] = text
            self._write()

    def _write(self) -> None:
        self._notes.put(_NOTE, json.dumps(self._texts))
