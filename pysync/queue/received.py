"""What has come from each listener: the numbers of its events, each kept once, and digests of what they held."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter

from pysync.queue.values import Entry, Instance

# --- Which numbers were seen, as intervals: small while they come nearly in order, exact always

_low = itemgetter(0)


class Sequences:
    """A set of whole numbers from 1, kept as sorted closed intervals that neither overlap nor touch.

    Not safe for threads. Memory and `add` grow with the number of holes, not of numbers.
    """

    __slots__ = ("_spans",)

    def __init__(self, spans: Iterable[tuple[int, int]] = ()) -> None:
        """Begin with `spans`; raises ValueError if they are not sorted, disjoint and apart."""
        self._spans = [(low, high) for low, high in spans]
        end = -1
        for low, high in self._spans:
            if not end + 1 < low <= high:
                raise ValueError(f"the intervals are not sorted, or have no gaps between them: {self._spans}")
            end = high

    def add(self, number: int) -> bool:
        """Take `number` (from 1) in; False if it was there already."""
        if number < 1:
            raise ValueError(f"sequences begin at 1, not at {number}")
        at = bisect_right(self._spans, number, key=_low)
        if at and number <= self._spans[at - 1][1]:
            return False
        joins_left = at > 0 and self._spans[at - 1][1] == number - 1
        joins_right = at < len(self._spans) and self._spans[at][0] == number + 1
        low = self._spans[at - 1][0] if joins_left else number
        high = self._spans[at][1] if joins_right else number
        self._spans[at - joins_left : at + joins_right] = [(low, high)]
        return True

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._spans, number, key=_low)
        return at > 0 and number <= self._spans[at - 1][1]

    @property
    def count(self) -> int:
        """How many numbers are in."""
        return sum(high - low + 1 for low, high in self._spans)

    @property
    def highest(self) -> int:
        """The largest number, 0 if there is none."""
        return self._spans[-1][1] if self._spans else 0

    def spans(self) -> tuple[tuple[int, int], ...]:
        """The closed intervals, ascending."""
        return tuple(self._spans)

    def holes(self) -> tuple[tuple[int, int], ...]:
        """The closed intervals that are missing from 1 to `highest`, ascending."""
        ends = [0, *(high for _, high in self._spans)]
        return tuple((end + 1, low - 1) for end, (low, _) in zip(ends, self._spans, strict=False) if end + 1 < low)

    def copy(self) -> Sequences:
        """An equal set that changes on its own."""
        twin = Sequences()
        twin._spans = self._spans.copy()
        return twin

    def to_json(self) -> str:
        """As `[[1,57],[59,90]]`, which `from_json` reads."""
        return json.dumps(self._spans, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Sequences:
        """Read what `to_json` wrote; raises ValueError for anything else."""
        try:
            return cls((low, high) for low, high in json.loads(text))
        except TypeError as error:
            raise ValueError(f"this is not a list of intervals: {text[:80]}") from error


# --- Which events ever came, per listener JVM: how a repeated event is recognised, also after it was trimmed

CREATE_INSTANCES = """CREATE TABLE instances (
    instance TEXT PRIMARY KEY, source TEXT NOT NULL, seen TEXT NOT NULL,
    first_at_ms INTEGER NOT NULL, last_at_ms INTEGER NOT NULL, seal INTEGER) WITHOUT ROWID"""

_READ_INSTANCES = "SELECT instance, source, seen, first_at_ms, last_at_ms FROM instances"
_WRITE_INSTANCE = (
    "INSERT OR REPLACE INTO instances (instance, source, seen, first_at_ms, last_at_ms) VALUES (?, ?, ?, ?, ?)"
)


@dataclass(slots=True)
class _Seen:
    source: str
    sequences: Sequences
    first_at_ms: int
    last_at_ms: int

    def copy(self) -> _Seen:
        return _Seen(self.source, self.sequences.copy(), self.first_at_ms, self.last_at_ms)


class Instances:
    """The table `instances` in memory. It changes only through `Additions` that were committed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Read the table; raises ValueError if a row is not what pysync writes."""
        self._seen = {
            instance: _Seen(source, Sequences.from_json(seen), first_at, last_at)
            for instance, source, seen, first_at, last_at in connection.execute(_READ_INSTANCES)
        }

    def __iter__(self) -> Iterator[Instance]:
        for name, seen in self._seen.items():
            sequences = seen.sequences
            yield Instance(
                instance=name,
                source=seen.source,
                received=sequences.count,
                highest=sequences.highest,
                missing=sequences.holes(),
                first_at_ms=seen.first_at_ms,
                last_at_ms=seen.last_at_ms,
            )

    def additions(self, at_ms: int) -> Additions:
        """A draft of the next change, at the time `at_ms`."""
        return Additions(self._seen, at_ms)


class Additions:
    """The instances as one transaction would leave them: draft, `write` in the transaction, `accept` after it."""

    def __init__(self, seen: dict[str, _Seen], at_ms: int) -> None:
        self._base = seen
        self._draft: dict[str, _Seen] = {}
        self._at_ms = at_ms

    def add(self, entry: Entry) -> bool:
        """Count `entry`; False if it came before, in this draft or ever."""
        seen = self._draft.get(entry.instance) or self._base.get(entry.instance)
        if seen is not None and entry.sequence in seen.sequences:
            return False
        if entry.instance not in self._draft:
            fresh = _Seen(entry.source, Sequences(), self._at_ms, self._at_ms)
            self._draft[entry.instance] = seen.copy() if seen else fresh
        draft = self._draft[entry.instance]
        draft.last_at_ms = self._at_ms
        return draft.sequences.add(entry.sequence)

    def write(self, connection: sqlite3.Connection) -> None:
        """Write every changed instance; the caller's transaction makes it durable."""
        rows = [
            (name, seen.source, seen.sequences.to_json(), seen.first_at_ms, seen.last_at_ms)
            for name, seen in self._draft.items()
        ]
        connection.executemany(_WRITE_INSTANCE, rows)

    def accept(self) -> None:
        """Make the draft what is known; only after its transaction was committed."""
        self._base.update(self._draft)


# --- Digests: content hashes that show whether an event that is delivered again is the same, even after it was trimmed.
#
# One row holds the digests of consecutive numbers of one listener that came together, so that a batch costs one row.

CREATE_DIGESTS = """CREATE TABLE digests (
    instance TEXT NOT NULL, first INTEGER NOT NULL, hashes BLOB NOT NULL,
    PRIMARY KEY (instance, first)) WITHOUT ROWID"""
KEEP = 100_000
"""How many numbers of each listener are remembered, the newest ones."""
SIZE = 16

_WRITE_DIGEST = "INSERT INTO digests (instance, first, hashes) VALUES (?, ?, ?)"
_READ_DIGESTS = "SELECT first, hashes FROM digests WHERE instance = ? AND first <= ? ORDER BY first DESC LIMIT 1"
_FORGET = "DELETE FROM digests WHERE instance = ? AND first < (SELECT max(first) FROM digests WHERE instance = ?) - ?"


def digest(data: bytes) -> bytes:
    """The content hash of an event: the first 16 bytes of its SHA-256."""
    return hashlib.sha256(data).digest()[:SIZE]


def keep_digests(connection: sqlite3.Connection, new: Iterable[Entry]) -> None:
    """Remember the `new` entries that are firm. Forgets what is older than the newest `KEEP` numbers."""
    came: dict[str, list[Entry]] = {}
    for entry in new:
        if entry.firm:
            came.setdefault(entry.instance, []).append(entry)
    rows = [(it, *run) for it, entries in came.items() for run in _runs(entries)]
    connection.executemany(_WRITE_DIGEST, rows)
    connection.executemany(_FORGET, [(it, it, KEEP) for it in came])


def differing(connection: sqlite3.Connection, again: Iterable[Entry]) -> dict[str, Entry]:
    """For each instance the first entry that came before with other content, or whose content is forgotten."""
    entries: dict[str, Entry] = {}
    for entry in again:
        if entry.firm and entry.instance not in entries and not _is_same(connection, entry):
            entries[entry.instance] = entry
    return entries


def _runs(entries: list[Entry]) -> Iterator[tuple[int, bytes]]:
    """Each run of consecutive numbers: the first of them, and the digests of all."""
    entries.sort(key=lambda it: it.sequence)
    start = 0
    for end, entry in enumerate(entries, 1):
        if end == len(entries) or entries[end].sequence != entry.sequence + 1:
            yield entries[start].sequence, b"".join(digest(it.data) for it in entries[start:end])
            start = end


def _is_same(connection: sqlite3.Connection, entry: Entry) -> bool:
    row = connection.execute(_READ_DIGESTS, (entry.instance, entry.sequence)).fetchone()
    if row is None:
        return False
    at = (entry.sequence - row[0]) * SIZE
    # Past the end of the run the slice is empty, which equals no digest: nothing is remembered of this number.
    return bool(row[1][at : at + SIZE] == digest(entry.data))
