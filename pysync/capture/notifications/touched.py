"""Touched: the objects that the notification log names, to be read anew where events may be missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.capture.notifications.log import Notification, NotificationLog
from pysync.capture.notifications.messages import unpacked
from pysync.capture.notifications.tjson import to_binary
from pysync.metastore.client import Metastore
from pysync.model.names import normalized
from pysync.model.wire import UnreadableEvent, decode


@dataclass(frozen=True, slots=True)
class Touched:
    """A table, or where `table` is None a database or something in it, that the event `id` of the log was about.

    Names are normalized; `kind` is Hive's word, which pysync need not know.
    """

    database: str
    table: str | None
    kind: str
    id: int


def touched(metastore: Metastore, since_id: int) -> Iterator[Touched]:
    """What the log names after `since_id`, in its order; an object comes as often as it is named.

    The columns of the log suffice, so a message may be of any format. A message that can be read gives the old name of
    a renamed table, and the table of a foreign key, which the columns do not. Raises MetastoreError, and
    NotificationLogRefused; it does not tell whether the log reaches back that far (`reaches`).
    """
    for found in NotificationLog(metastore).scan(since_id):
        yield from named(found)


def named(found: Notification) -> list[Touched]:
    """What one row of the log names, each once; nothing if it is of no database, or of another catalog."""
    if not (found.database and found.in_default_catalog):
        return []
    names = dict.fromkeys([(found.database, found.table), *(other_names(found) or ())])
    return [_named(database, table, found) for database, table in names]


def reaches(metastore: Metastore, since_id: int) -> bool:
    """Whether the log still holds everything after `since_id`; False too where it was begun anew since."""
    log = NotificationLog(metastore)
    current = log.current()
    oldest = log.after(since_id, 1)
    return current == since_id or (current > since_id and bool(oldest) and oldest[0].id <= since_id + 1)


def _named(database: str, table: str | None, found: Notification) -> Touched:
    return Touched(normalized(database), normalized(table) if table else None, found.kind, found.id)


def other_names(found: Notification) -> list[tuple[str, str]] | None:
    """The names that only the message has: the old one of a renamed table, the table of a foreign key.

    None if there may be such names, and the message cannot be read.
    """
    if found.kind not in {"ALTER_TABLE", "ADD_FOREIGNKEY"}:
        return []
    try:
        message = unpacked(found)
        if found.kind == "ALTER_TABLE":
            return [(str(message["db"]), str(message["table"]))]
        return [_of_foreign_key(text) for text in message["foreignKeyListJson"]]
    except (ValueError, KeyError, TypeError, RecursionError, UnreadableEvent):
        return None


def _of_foreign_key(text: str) -> tuple[str, str]:
    key: Any = decode(hive.SQLForeignKey, to_binary(text))
    return key.fktable_db, key.fktable_name
