"""What goes into the queue and what comes out: plain values, nothing that touches the disk.

A position is the number of an event in its queue file: 1, 2, 3, … without a gap. A target's position is
that of the last event it is done with (0: none yet). Times are milliseconds since 1970 by the sidecar's
clock; they are for people and for lag, never for order.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_DATA = 256 * 1024 * 1024
"""The largest event in bytes; SQLite's own limit is 1 GB, and one row above it would fail a whole batch."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One event to append: `instance` and `sequence` (from 1) identify it for ever, `data` is kept as it is.

    With `firm` the sender promises the same data whenever it sends the event again; other data means a fault.
    Raises ValueError for what could never be stored, so that it cannot spoil the batch it would be in.
    """

    instance: str
    sequence: int
    source: str
    data: bytes
    firm: bool = False

    def __post_init__(self) -> None:
        if not self.instance or not 1 <= self.sequence < 2**63:
            raise ValueError(
                f"an event needs an instance and a sequence of at least 1, not {self.instance!r}:{self.sequence}"
            )
        if len(self.data) > MAX_DATA:
            raise ValueError(
                f"event {self.instance}:{self.sequence} has {len(self.data)} bytes; the maximum is {MAX_DATA}"
            )
        # A lone surrogate cannot be stored: it raises here (UnicodeEncodeError is a ValueError).
        (self.instance + self.source).encode()


@dataclass(frozen=True, slots=True)
class Queued:
    """One event of the queue, as it was appended; without `data` where it was damaged, and is set aside."""

    position: int
    data: bytes
    at_ms: int


@dataclass(frozen=True, slots=True)
class Depth:
    """How far a target is behind: events it has not done, and when the oldest of them was appended."""

    queued: int
    oldest_ms: int | None


@dataclass(frozen=True, slots=True)
class History:
    """The events that are kept though every target is done with them: how many, and when the oldest came.

    `size` is about what they take of the file, in bytes: their share of it, as if all events were alike.
    """

    events: int
    size: int
    oldest_ms: int | None


@dataclass(frozen=True, slots=True)
class Instance:
    """What came from one listener JVM: `missing` are the closed intervals of sequences not seen below `highest`."""

    instance: str
    source: str
    received: int
    highest: int
    missing: tuple[tuple[int, int], ...]
    first_at_ms: int
    last_at_ms: int


NEW, SCOPES = "new:", "scope:"
OF_ONE_TARGET = (NEW, SCOPES)
"""How the keys of gaps begin that concern one target; its name and a colon follow. It is new, or its scope changed."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A place where events may be missing; `key` names it for ever.

    `upto` is the position of the last event that makes it good (None: they are not all in the queue yet);
    `closed_at_ms` is when every target that it concerns was done with that one.
    """

    key: str
    reason: str
    found_at_ms: int
    upto: int | None = None
    closed_at_ms: int | None = None

    @property
    def target(self) -> str | None:
        """The only target that it concerns: one that is new, or whose scope has changed. None: it concerns all."""
        begin, _, rest = self.key.partition(":")
        return rest.partition(":")[0] if f"{begin}:" in OF_ONE_TARGET else None


@dataclass(frozen=True, slots=True)
class Park:
    """An event set aside for `table` of `target`.

    `kind` says why: "rejected" by the target, "held" by the brake, "waits" behind a parked one of its table, "bug" of
    ours.
    """

    target: str
    position: int
    table: str
    data: bytes
    reason: str
    kind: str
    attempts: int
    first_at_ms: int
    last_at_ms: int


@dataclass(frozen=True, slots=True)
class Parked(Park):
    """A parked event as it is stored; `id` names it."""

    id: int


@dataclass(frozen=True, slots=True)
class ParkedTable:
    """The parked events of one table in short; `position`, `kind`, `reason` and `attempts` are those of the first."""

    table: str
    events: int
    position: int
    kind: str
    reason: str
    attempts: int
    first_at_ms: int
    last_at_ms: int


@dataclass(frozen=True, slots=True)
class Pause:
    """Why a target applies nothing, and since when."""

    reason: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Bytes that were no event: `size` is their whole length, `data` what is kept of them."""

    id: int
    data: bytes
    size: int
    reason: str
    at_ms: int
