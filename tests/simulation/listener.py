"""The listener of a simulated metastore, after listener-java: it numbers events, keeps them in a spool and ships them.

What `Delivery`, `Outbox`, `Shipper`, `Reporter` and `Presence` do there, as far as the sidecar can see it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from pysync.lab.memory import Notice
from pysync.model.event import Event, Kind
from pysync.model.wire import encode, encode_event

TOGETHER = 256
"""Events in one call, at most."""


class Bridge(Protocol):
    """What the listener calls of the sidecar. Each raises Unanswered when no answer comes."""

    def append(self, payload: str, *more: str) -> str: ...

    def report(self, payload: str) -> str: ...


class Unanswered(Exception):
    """No answer came; whatever was asked may have been done."""


@dataclass(slots=True)
class Listener:
    """One metastore's; `now` gives the time of day, `room` is how many bytes the spool takes."""

    source: str
    now: Callable[[], float]
    room: int = 1 << 60
    processes: int = 1
    lost: int = 0
    sequence: int = 0
    changes: int = 0  # that the metastore has reported
    spool: list[bytes] = field(default_factory=list)
    on_disk: int = 0
    held: list[tuple[Notice, str]] | None = None
    dead: list[str] = field(default_factory=list)
    flowing: bool = False
    thread: str = "1"
    deaf: bool = False

    @property
    def instance(self) -> str:
        """The name of the process."""
        return f"00000000-0000-4000-8000-{self.processes:012}{self.source}"

    def hear(self, reported: Notice) -> None:
        """A callback of the metastore. While `held` is a list it comes only later; while `deaf`, never."""
        self.changes += 1
        if self.deaf:
            return
        if self.held is not None:
            self.held.append((reported, "1"))
            return
        self._send(reported, self.thread)

    def let_go(self, held: list[tuple[Notice, str]]) -> None:
        """The callbacks that were held come now."""
        for reported, thread in held:
            self._send(reported, thread)

    def let_go_after(self, held: list[tuple[Notice, str]], others: Callable[[], None]) -> None:
        """They come after those of what others do, in another thread."""
        self.thread = "2"
        others()
        self.thread = "1"
        self.let_go(held)

    def ship(self, bridge: Bridge, most: int = TOGETHER) -> bool:
        """Bring the oldest events to the sidecar; False where there is trouble. The first after that goes alone."""
        if not self.spool:
            return True
        try:
            if not self.flowing:
                bridge.report(self._report(len(self.spool)))
            batch = self.spool[: most if self.flowing else 1]
            self.flowing = bridge.append(*(base64.b64encode(event).decode() for event in batch)) == "queued"
        except Unanswered:
            self.flowing = False
        if self.flowing:
            del self.spool[: len(batch)]
        self.on_disk = min(self.on_disk, len(self.spool)) if self.flowing else len(self.spool)
        return self.flowing

    def report(self, bridge: Bridge) -> None:
        """Say how far it is, once all is delivered; and which processes ended without a goodbye."""
        if self.spool:
            return
        try:
            bridge.report(self._report(0))
            while self.dead and bridge.report(_ended(self.dead[0], self.source)) == "ok":
                del self.dead[0]
        except Unanswered:
            self.flowing = False

    def leave(self) -> None:
        """The process ends in order, with its goodbye, and the next one begins."""
        self._add(Event(Kind.GOODBYE, self.source, self.instance, self.sequence + 1, int(self.now() * 1000)))
        self._begin()

    def die(self, *, power: bool = False) -> None:
        """The process is killed, and the next one begins; a power cut takes of the spool what is not on disk."""
        self.dead.append(self.instance)
        if power:
            del self.spool[self.on_disk :]
        self._begin()

    def _begin(self) -> None:
        self.processes += 1
        self.sequence, self.lost, self.flowing, self.held = 0, 0, False, None

    def _send(self, reported: Notice, thread: str) -> None:
        attributes = {"thread": thread}
        if reported.kind.startswith("DROP_") and reported.kind.endswith(("TABLE", "PARTITION")):
            attributes["delete_data"] = "true" if reported.delete_data else "false"
        if not reported.committed:
            attributes["uncommitted"] = "true"
        if reported.user:
            attributes["user"] = reported.user
        event = Event(
            reported.kind,
            self.source,
            self.instance,
            self.sequence + 1,
            int(self.now() * 1000),
            environment=reported.environment,
            attributes=attributes,
            table=encode(reported.table) if reported.table is not None else None,
            before=tuple(map(encode, reported.before)),
            after=tuple(map(encode, reported.after)),
        )
        self._add(event)

    def _add(self, event: Event) -> None:
        self.sequence = event.sequence
        data = encode_event(event)
        if sum(map(len, self.spool)) + len(data) > self.room:
            self.lost += 1
        else:
            self.spool.append(data)

    def _report(self, waiting: int) -> str:
        reported = {"instance": self.instance, "source": self.source, "sequence": self.sequence, "lost": self.lost}
        return json.dumps(reported | {"waiting": waiting})


def _ended(instance: str, source: str) -> str:
    reported = {"instance": instance, "source": source, "sequence": 0, "lost": 0, "waiting": 0, "ended": True}
    return json.dumps(reported)
