"""Digests: content hashes that show whether an event that is delivered again is the same, even after it was trimmed.

One row holds the digests of consecutive numbers of one listener that came together, so that a batch costs one row.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator

from pysync.queue.values import Entry

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
