"""Origin: the cluster that a change in the notification log came from, by the mark of its object.

A message has neither the EnvironmentContext of the call nor its user, from which the listener knows it. What a sidecar
wrote has its mark (pysync.model.mark). So a change of such an object counts as one of the cluster that the mark names,
whoever made it: it does not go back there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Protocol

import structlog
from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TApplicationException, TException

from pysync.capture.notifications.bodies import Message
from pysync.capture.notifications.thrift_json import to_binary
from pysync.metastore.errors import AnswerTooLarge, MetastoreError
from pysync.model.change import decode_change
from pysync.model.event import Event, Kind
from pysync.model.mark import SOURCE_KEY, Mark
from pysync.model.wire import decode

_KEY = SOURCE_KEY.encode()
_MARKED: Mapping[str, Any] = {"_TABLE": hive.Table, "_DATABASE": hive.Database}
_FUNCTIONS = frozenset({Kind.CREATE_FUNCTION, Kind.DROP_FUNCTION})

log = structlog.get_logger(__name__)


class Lookups(Protocol):
    """What is asked of the source where a message does not say it; `Metastore` has these methods."""

    def database(self, name: str) -> Any | None:
        """A `ttypes.Database`; None if it is not there any more."""

    def table(self, database: str, name: str) -> Any | None:
        """A `ttypes.Table`; None if it is not there any more."""

    def tables(self, database: str) -> list[str]:
        """The names of all tables and views of a database."""


class Once:
    """Lookups that ask the source once for each object: a page of the log may name one hundreds of times."""

    def __init__(self, source: Lookups) -> None:
        self.database = cache(source.database)
        self.table = cache(source.table)
        self.tables = cache(source.tables)


def came_from(event: Event, message: Message, source: Lookups) -> str | None:
    """The cluster that the mark of the event's table or database names; None without a mark, or if it is our own.

    An object that the message does not have is looked up as it is now: the table of a constraint, the database of a
    function. Raises UnreadableEvent, and MetastoreError if the source cannot be asked.
    """
    mark = Mark.read(getattr(_carrier(event, message, source), "parameters", None))
    return mark.source if mark is not None and mark.source != event.source else None


def _carrier(event: Event, message: Message, source: Lookups) -> Any | None:
    """The table or database that carries the mark, as it is after the change; None if it has none."""
    struct, raw = _object(event, message)
    if raw is None:
        return _looked_up(event, source)
    return decode(struct, raw) if _KEY in raw else None  # to decode each of them would cost more than all the rest


def _object(event: Event, message: Message) -> tuple[Any, bytes | None]:
    """The struct of that object, and its bytes if the message has them."""
    if event.table is not None:
        return hive.Table, event.table
    for ending, struct in _MARKED.items():
        if event.kind.value.endswith(ending):
            return struct, (event.after or event.before)[0]
    text = message.get("tableObjJson")
    return hive.Table, to_binary(text) if text else None


def _looked_up(event: Event, source: Lookups) -> Any | None:
    change = decode_change(event, 0)
    if change is None:
        return None
    try:
        if event.kind in _FUNCTIONS:
            return source.database(change.database)
        return change.table_name and source.table(change.table_name.database, change.table_name.table)
    except (TException, MetastoreError) as error:
        if not answered(error):
            raise
        log.warning("notification_origin_unknown", kind=event.kind.value, name=change.database, reason=str(error))
        return None


def answered(error: Exception) -> bool:
    """Whether the source has answered, with an error: asking it again for the same would not help."""
    return isinstance(error, TException | AnswerTooLarge) or isinstance(error.__cause__, TApplicationException)
