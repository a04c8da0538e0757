"""Change: an event with its objects decoded, in the form in which HMS stores them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model import idl
from pysync.model.again import again_of, says_again
from pysync.model.event import VISITED, Event, Kind
from pysync.model.files import SourceFiles
from pysync.model.home import Whose
from pysync.model.names import TableName, is_default_catalog, normalized
from pysync.model.objects import OBJECTS, stored
from pysync.model.wire import UnreadableEvent

_OF_SEVERAL = frozenset({Kind.ADD_PARTITION, Kind.DROP_PARTITION})
_PARTITIONS = _OF_SEVERAL | {Kind.ALTER_PARTITION}
_WANTS_BEFORE = frozenset(it for it in OBJECTS if it.startswith(("ALTER_", "DROP_"))) - {Kind.DROP_CONSTRAINT}
_WANTS_AFTER = frozenset(it for it in OBJECTS if it.startswith(("ALTER_", "CREATE_", "ADD_")))
_FUNCTIONS = frozenset({Kind.CREATE_FUNCTION, Kind.DROP_FUNCTION})

_NAMED_BY: Mapping[Kind, frozenset[str]] = {
    Kind.DROP_CONSTRAINT: frozenset({"database", "table", "constraint"}),
    Kind.COLUMN_STATISTICS: frozenset({"database", "table"}),
    Kind.INSERT: frozenset({"database", "table"}),
}
"""The attributes that name what an event without objects is about."""


@dataclass
class Change:
    """What one event changed.

    `before` and `after` belong to this change alone, and rewrite may alter them in place, and makes a new change of
    them; `table`, which the events of partitions bring along, may be shared with others and must not be altered.

    `database` is the one that it is about, normalized; `table_name` the table (its old name, for a rename), None for
    databases and functions.
    """

    kind: Kind = field(init=False)
    database: str = field(init=False)
    table_name: TableName | None = field(init=False)
    event: Event
    position: int
    table: Any = None
    before: list[Any] = field(default_factory=list)
    after: list[Any] = field(default_factory=list)
    whole: TableName | None = None  # the name at the source of a table whose partitions the target does not have yet
    sources: dict[str, SourceFiles] = field(default_factory=dict)  # the files of its locations, for who copies them
    whose: Whose | None = None  # for targets with both_ways
    told: list[Any] = field(default_factory=list)  # the tables that went with a database, for the same
    then: Change | None = None  # what the same event means besides, for the same

    def __post_init__(self) -> None:
        self.kind = self.event.kind
        self.database, table = _place(self)
        self.table_name = TableName(self.database, table) if table else None

    @property
    def new_table_name(self) -> TableName | None:
        """The name that a table has after the change; differs from `table_name` for a rename only."""
        if self.kind is not Kind.ALTER_TABLE:
            return self.table_name
        return TableName(self.after[0].dbName, self.after[0].tableName)

    @property
    def referenced_table_name(self) -> TableName | None:
        """The table that a foreign key refers to; None for all else."""
        if self.kind is not Kind.ADD_FOREIGNKEY:
            return None
        return TableName.of(self.after[0].pktable_db, self.after[0].pktable_name)

    @property
    def refreshes_all(self) -> bool:
        """Whether it asks to compare the databases of source and target."""
        return self.kind is Kind.REFRESH and not self.database

    @property
    def for_targets(self) -> frozenset[str]:
        """The targets that it is for alone, which only a refresh may say; empty: all of them."""
        names = self.event.attributes.get("targets", "") if self.kind is Kind.REFRESH else ""
        return frozenset(names.split("\n") if names else ())

    @property
    def comes_alone(self) -> bool:
        """Whether it is replayed alone: a refresh of one database or of all of them, which looks at what is in it."""
        return self.kind is Kind.REFRESH and self.table_name is None

    @property
    def cascades(self) -> bool:
        """Whether the client asked that new columns go to the partitions too; HMS tells of that nowhere else."""
        return self.event.environment.get("CASCADE", "").lower() == "true"

    @property
    def deletes_data(self) -> bool:
        """Whether a drop deleted the files too."""
        return self.event.attributes.get("delete_data") == "true"

    @property
    def created(self) -> int:
        """The createTime (s) of the database or table that it is about; 0 where the source does not tell.

        Of partitions it is their table's that counts, and of an alter that of the object as it was: a client may
        send anything.
        """
        item = self.table or (self.before or self.after or [None])[0]
        return getattr(item, "createTime", None) or 0

    @cached_property
    def keys(self) -> frozenset[str]:
        """What its order hangs on: `db.table` (both names of a rename, both tables of a foreign key), `db.function()`,
        `db` for the database, `db.*` for its drop with all that is in it.
        """
        if self.refreshes_all:
            return frozenset()
        if self.kind is Kind.DROP_DATABASE:
            return frozenset({f"{self.database}.*"})
        if self.kind in _FUNCTIONS:
            return frozenset({f"{self.database}.{(self.after or self.before)[0].functionName}()"})
        names = (self.table_name, self.new_table_name, self.referenced_table_name)
        return frozenset(str(name) for name in names if name is not None) or frozenset({self.database})


def stored_table(raw: bytes) -> Any:
    """The Table in `raw`, as HMS stores it. Raises UnreadableEvent."""
    return stored(hive.Table, raw)


def decode_change(event: Event, position: int, table_of: Callable[[bytes], Any] = stored_table) -> Change | None:
    """The event's objects, decoded and as HMS stores them; None for kinds and catalogs that are not replayed.

    None also for partitions that are none: HMS tells of those added where all that were asked for are there already.
    And None for one whose table was renamed or dropped before HMS told of its alter: what became of it is read at the
    source (capture/overlaps). A function that says what is to be read again (pysync.model.again) is a refresh of that.
    `table_of` decodes the table that partitions belong to, and may remember it.
    Raises UnreadableEvent when an object is not what the kind says.
    """
    event = _read_anew(event) if event.kind is Kind.TABLE_CHANGED else event
    if event.kind not in OBJECTS or not is_default_catalog(event.catalog):
        return None
    if event.kind in _OF_SEVERAL and event.table and not event.before and not event.after:
        return None
    if event.outlives_its_table:
        return None
    _check(event)
    struct = OBJECTS[event.kind]
    change = Change(
        event,
        position,
        table=table_of(event.table) if event.table else None,
        before=[stored(struct, raw) for raw in event.before],
        after=[stored(struct, raw) for raw in event.after],
    )
    return _as_refresh(change) if change.kind in _FUNCTIONS and _says_again(change) else change


def _check(event: Event) -> None:
    """Refuse an event that does not hold what its kind promises."""
    kind, before, after = event.kind, len(event.before), len(event.after)
    if (kind in _WANTS_BEFORE and not before) or (kind in _WANTS_AFTER and not after):
        raise UnreadableEvent(f"{kind} with {before} objects before and {after} after")
    if OBJECTS[kind] is None and (before or after):
        raise UnreadableEvent(f"{kind} with objects")
    if kind in _PARTITIONS and not event.table:
        raise UnreadableEvent(f"{kind} without its table")
    if kind in _NAMED_BY and not _NAMED_BY[kind] <= event.attributes.keys():
        raise UnreadableEvent(f"{kind} without the name of its table or its own")
    if kind is Kind.REFRESH and "table" in event.attributes and "database" not in event.attributes:
        raise UnreadableEvent(f"{kind} of a table without its database")


def _read_anew(event: Event) -> Event:
    """The refresh of a table of which a listener could say no more than its name, and perhaps that it is gone."""
    told = event.attributes
    if not {"database", "table"} <= told.keys():
        raise UnreadableEvent(f"{event.kind} without the name of its table")
    since = {"absent": "true"} if told.get("absent") == "true" else {"created": told.get("created", "0")}
    names = {"database": told["database"], "table": told["table"], **since}
    return replace(event, kind=Kind.REFRESH, attributes=names)


def _says_again(change: Change) -> bool:
    return any(map(says_again, (*change.before, *change.after)))


def _as_refresh(change: Change) -> Change | None:
    """None for what says nothing: the drop, and what no sidecar has said."""
    if change.kind is Kind.DROP_FUNCTION or not change.event.is_replicated:
        return None
    try:
        said = again_of(change.after[0])
    except ValueError as error:
        raise UnreadableEvent(str(error)) from error
    way = {VISITED: ",".join(said.path)}
    event = replace(change.event, kind=Kind.REFRESH, environment=way, attributes=said.attributes(), before=(), after=())
    return Change(event, change.position)


def _place(change: Change) -> tuple[str, str]:
    """The database and, if any, the table that a change is about, normalized."""
    attributes = change.event.attributes
    item = change.table or (change.before or change.after or [None])[0]
    if item is None:
        return normalized(attributes.get("database", "")), normalized(attributes.get("table", ""))
    if isinstance(item, hive.Database):
        return item.name, ""
    if isinstance(item, hive.SQLForeignKey):
        return normalized(item.fktable_db), normalized(item.fktable_name)
    if isinstance(item, idl.ANY_CONSTRAINT):
        return normalized(item.table_db), normalized(item.table_name)
    return item.dbName, getattr(item, "tableName", "")
