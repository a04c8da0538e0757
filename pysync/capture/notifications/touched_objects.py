"""Touched: the objects that the notification log names, to be read again where events may be missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import structlog
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.capture.notifications.log import Notification, NotificationLog
from pysync.capture.notifications.messages import unpacked
from pysync.capture.notifications.thrift_json import to_binary
from pysync.metastore.client import Metastore
from pysync.model.catalogs import database_in
from pysync.model.names import is_default_catalog, normalized
from pysync.model.wire import UnreadableEvent, decode

log = structlog.get_logger(__name__)


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
    a renamed table, and the table of a foreign key, which the columns do not. Only catalogs that the access to the
    metastore names are looked at, beside `hive`. Raises MetastoreError, and
    NotificationLogRefused; it does not say whether the log reaches back that far (`reaches`).
    """
    for notification in NotificationLog(metastore).scan(since_id):
        if is_default_catalog(notification.catalog) or normalized(notification.catalog or "") in metastore.catalogs:
            yield from named(notification)


def named(notification: Notification) -> list[Touched]:
    """What one row of the log names, each once; nothing if it is of no database."""
    if not notification.database:
        return []
    names = dict.fromkeys([(notification.database, notification.table), *(other_names(notification) or ())])
    return [_named(database, table, notification) for database, table in names]


def reaches(metastore: Metastore, since_id: int) -> bool:
    """Whether the log still holds everything after `since_id`; False too where it was begun again since."""
    log = NotificationLog(metastore)
    current = log.current()
    oldest = log.after(since_id, 1)
    return current == since_id or (current > since_id and bool(oldest) and oldest[0].id <= since_id + 1)


def _named(database: str, table: str | None, notification: Notification) -> Touched:
    return Touched(normalized(database), normalized(table) if table else None, notification.kind, notification.id)


def other_names(notification: Notification) -> list[tuple[str, str]] | None:
    """The names that only the message has: the old one of a renamed table, the table of a foreign key.

    None if there may be such names, and the message cannot be read.
    """
    if notification.kind not in {"ALTER_TABLE", "ADD_FOREIGNKEY"}:
        return []
    try:
        message = unpacked(notification)
        if notification.kind == "ALTER_TABLE":
            names = [(str(message["db"]), str(message["table"]))]
        else:
            names = [_of_foreign_key(text) for text in message["foreignKeyListJson"]]
        return [(database_in(notification.catalog, database), table) for database, table in names]
    except (ValueError, KeyError, TypeError, RecursionError, UnreadableEvent):
        return None


def _of_foreign_key(text: str) -> tuple[str, str]:
    key: Any = decode(hive.SQLForeignKey, to_binary(text))
    return key.fktable_db, key.fktable_name
