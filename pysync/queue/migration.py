"""Migration of a queue file of an earlier format. In one transaction: a crash leaves the file as it was.

Format 2 adds checksums of rows, and digests of what came. Events that are in the file stay without a checksum, up to a
position that is noted: to rewrite a long backlog would take as much room and time as the backlog itself.
"""

from __future__ import annotations

import sqlite3

from pysync.queue import checksums, digests, events

_UNSUMMED = "unsummed"


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring a file of format 1 to `version`, which is 2. `unsummed` tells which events have no checksum since."""
    connection.execute("BEGIN IMMEDIATE")
    for table in checksums.SEALED:
        connection.execute(f"ALTER TABLE {table} ADD COLUMN seal INTEGER")
    connection.execute(digests.CREATE)
    # Before `teach`: its triggers write the new columns, and would seal each change here.
    _add_checksums(connection)
    checksums.teach(connection)
    for table in checksums.SEALED:
        checksums.seal_all(connection, table)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.execute("COMMIT")


def unsummed(connection: sqlite3.Connection) -> int:
    """The last position of which the event may have no checksum; 0 in a file that was begun in format 2."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_UNSUMMED,)).fetchone()
    return int(row[0]) if row else 0


def _add_checksums(connection: sqlite3.Connection) -> None:
    """Add the column to the table of events; where the making of the file was cut short, there is no table yet."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (events.TABLE,)).fetchone() is None:
        connection.execute(events.CREATE)
    else:
        connection.execute(f"ALTER TABLE {events.TABLE} ADD COLUMN crc INTEGER")
    note = "INSERT INTO meta (key, value) VALUES (?, ?)"
    connection.execute(note, (_UNSUMMED, str(events.span(connection)[1])))
