"""Epochs and lives: which queue, and which opening of its file, has written something.

A new queue file has a new epoch. Each opening of the file begins a life, and marks at targets name it. So a restored
copy is noticed: positions order events only as long as none is given out twice, and an older copy of the file that is
put back gives out those behind its end again. It does not know the lives that followed, so what was written in them is
not taken for newer than what comes (pysync.model.mark.Writer).
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from contextlib import suppress
from pathlib import Path

from pysync.base.files import sync

_KEY = "lives"
_KEEP = 100  # what earlier ones have written has lower positions than what comes, so it need not be known
_BITS = 48
_OPEN = 2**63  # the end of a life that has not ended


def begin_epoch(file: Path, epoch: int) -> int:
    """An epoch after the last one noted in `file`, whatever the clock says: what comes must be newer than what came.

    It is noted durably before it is returned.
    """
    with suppress(OSError, ValueError):
        epoch = max(epoch, int(file.read_text(encoding="ascii")) + 1)
    _replace(file, str(epoch).encode("ascii"))
    return epoch


def begin_life(connection: sqlite3.Connection, last: int) -> tuple[int, dict[int, int]]:
    """Begin a life, and end the one before at the position `last`.

    Returns the new life, and the last position of each former one. A disk without room does not keep a queue from being
    opened: then nothing is written, and the next opening does not know this life.
    """
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    known = json.loads(row[0]) if row else {}
    ended = {int(life): min(end, last) for life, end in known.items()}
    life = secrets.randbits(_BITS)
    newest = dict(list({**ended, life: _OPEN}.items())[-_KEEP:])
    with suppress(sqlite3.OperationalError):
        connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (_KEY, json.dumps(newest)))
    return life, ended


def _replace(file: Path, data: bytes) -> None:
    """Replace the content of `file`, durably: whatever dies, it has the old content or the new."""
    draft = file.with_name(f"{file.name}.new")
    descriptor = os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    draft.replace(file)
    sync(file.parent)
