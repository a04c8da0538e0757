"""Unread: what is to be read at the source because a notification does not say what has changed.

That is a notification whose message cannot be read, and one of a kind that only a newer Hive knows. Its columns, or
what can be read of its message, name the object. Only that object is read; everything else goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TException

from pysync.capture.notifications.kinds import REPLAYED
from pysync.capture.notifications.log import Notification
from pysync.capture.notifications.messages import Stamp
from pysync.capture.notifications.origin import Lookups, answered
from pysync.capture.notifications.touched_objects import other_names
from pysync.metastore.errors import MetastoreError
from pysync.model.event import Event, Kind
from pysync.model.names import TableName, normalized
from pysync.model.wire import encode


class NamelessNotification(Exception):
    """Nothing in the notification names all that it may have changed."""


def read_again(notification: Notification, stamp: Stamp, source: Lookups) -> list[Event]:
    """The events that have the object of a notification read at the source, numbered from the stamp's sequence on.

    A dropped database has its name alone. None if the database is gone: its drop has an event of its own. Raises
    NamelessNotification, and MetastoreError if the source cannot be asked.
    """
    plain = Event(
        kind=Kind.TABLE_CHANGED,
        source=stamp.source,
        instance=stamp.instance,
        sequence=stamp.sequence,
        time_ms=notification.time * 1000,
        notification_id=notification.id,
        catalog=notification.catalog,
    )
    objects = list(_event_fields(notification, source))
    return [replace(plain, sequence=stamp.sequence + at, **fields) for at, fields in enumerate(objects)]


def _event_fields(notification: Notification, source: Lookups) -> Iterator[dict[str, Any]]:
    """The fields of the events that differ from one to the other."""
    if not notification.database:
        raise NamelessNotification
    if notification.table:
        names = other_names(notification)
        if names is None:
            raise NamelessNotification
        for name in dict.fromkeys(TableName.of(*it) for it in [(notification.database, notification.table), *names]):
            yield {"attributes": _table(name, source) | {"kind": notification.kind}}
    elif REPLAYED.get(notification.kind) is Kind.DROP_DATABASE:
        yield {"kind": Kind.DROP_DATABASE, "before": (encode(hive.Database(name=notification.database)),)}
    else:
        yield from _database(notification.database, source)


def _table(name: TableName, source: Lookups) -> dict[str, str]:
    named = {"database": name.database, "table": name.table}
    try:
        there = source.table(name.database, name.table)
    except (TException, MetastoreError) as error:
        if not answered(error):
            raise
        return named  # what is wrong with it shows again when it is read for a target
    return named | ({"absent": "true"} if there is None else {"created": str(there.createTime or 0)})


def _database(name: str, source: Lookups) -> Iterator[dict[str, Any]]:
    """The database itself, and its functions. The tables that it has now are named, so that none of them is dropped."""
    try:
        if source.database(name) is not None:
            tables = "\n".join(sorted(source.tables(name)))
            yield {"kind": Kind.REFRESH, "attributes": {"database": normalized(name), "present": tables}}
    except (TException, MetastoreError) as error:
        if not answered(error):
            raise
        raise NamelessNotification from error
