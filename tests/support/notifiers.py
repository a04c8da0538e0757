"""A notifier of one receiver whose turns are taken by hand, with its journal, queue and clock."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.health import Problem
from pysync.journal import Journal, Reader, Record
from pysync.notify import Notifier, ReceiverNotes
from pysync.queue import EventQueue
from pysync.sections import NotifyConfig
from tests.support.receivers import SECRET, WebhookReceiver

GRACE = 300.0


class World:
    """A journal, a queue and a receiver; the notifier is not started: its turns are taken by hand."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.receiver = WebhookReceiver()
        self.queue = EventQueue(directory / "queue", min_free_bytes=0)
        self.journal = Journal(directory / "journal.db", keep=1e12, max_bytes=10**9)
        self.secret = directory / "secret"
        self.secret.write_text(SECRET)
        self.secret.chmod(0o600)
        self.problems: list[Problem] = []
        self.seconds = 0.0
        self.dropped = 0
        self.names = ["hook"]
        self.notifier = self.begin()

    def begin(self, **settings: Any) -> Notifier:
        """Another sidecar; the one before was killed, unless it was closed."""
        values = {"name": "hook", "url": self.receiver.url, "secret_file": self.secret, **settings}
        self.notifier = Notifier(
            NotifyConfig(**values),
            "onprem",
            ReceiverNotes(self.queue, self.names),
            Reader(self.journal.file),
            lambda: self.problems,
            grace=GRACE,
            newest=lambda: self.journal.last,
            dropped=lambda: self.dropped,
            clock=lambda: self.seconds,
            now=lambda: 1000.0 + self.seconds,
        )
        return self.notifier

    def restart(self, **settings: Any) -> None:
        self.notifier.close(complete=True)
        self.begin(**settings)

    def turn(self, seconds: float = 10.0) -> None:
        """A turn after so many seconds, as the worker takes it."""
        self.seconds += seconds
        with suppress(PysyncError):
            self.notifier.turn()

    def write(self, *names: str, **values: Any) -> None:
        for name in names:
            known: dict[str, Any] = {"operation": "PutTable", "outcome": "applied", "target": "dr"}
            self.journal.append(Record(**{"at": 1.5, **known, "object": name, "source_object": name, **values}))
        self.journal.write()

    def changed(self) -> list[str]:
        """The tables whose changes were received."""
        return [it["object"] for it in self.receiver.of("change.applied")]

    def gaps(self) -> list[str]:
        return [it["reason"] for it in self.receiver.of("gap")]

    def close(self) -> None:
        self.receiver.close()
        self.journal.close()
        self.queue.close()
