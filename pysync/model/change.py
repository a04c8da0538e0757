"""Change: an event with its objects decoded, in the form in which HMS stores them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model import idl
from pysync.model.definition import loses_files
from pysync.model.event import VISITED, Event, Kind
from pysync.model.home import Provenance
from pysync.model.locations import SourceFiles
from pysync.model.names import TableName, normalized
from pysync.model.objects import OBJECTS, stored
from pysync.model.reread import is_reread_request, request_of
from pysync.model.wire import UnreadableEvent

_OF_SEVERAL = frozenset({Kind.ADD_PARTITION, Kind.DROP_PARTITION})
_PARTITIONS = _OF_SEVERAL | {Kind.ALTER_PARTITION}
# The event of a dropped constraint has only names.
_WANTS_BEFORE = frozenset(it for it in OBJECTS if it.startswith(("ALTER_", "DROP_"))) - {Kind.DROP_CONSTRAINT}
_WANTS_AFTER = frozenset(it for it in OBJECTS if it.startswith(("ALTER_", "CREATE_", "ADD_")))
_FUNCTIONS = frozenset({Kind.CREATE_FUNCTION, Kind.DROP_FUNCTION})
_DROPS_OF_FILES = frozenset({Kind.DROP_TABLE, Kind.DROP_PARTITION})

_NAMED_BY: Mapping[Kind, frozenset[str]] = {
    Kind.DROP_CONSTRAINT: frozenset({"database", "table", "constraint"}),
    Kind.COLUMN_STATISTICS: frozenset({"database", "table"}),
    Kind.INSERT: frozenset({"database", "table"}),
}
"""The attributes that name the object of an event without structs."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What the object of a change is called at the source, where the target renames: `db` or `db.table`.

    `old` and `new` differ for a rename. `keys` are those of its tables (see `Change.keys`); none for a database.
    `rivals` are other names of the source that get the same name at the target, whether they exist or not.
    """

    old: str
    new: str
    keys: frozenset[str] = frozenset()
    rivals: frozenset[str] = frozenset()


def targets_of(event: Event) -> frozenset[str]:
    """The only targets that an event is for; empty: all of them. Only a refresh can name targets."""
    names = event.attributes.get("targets", "") if event.kind is Kind.REFRESH else ""
    return frozenset(names.split("\n") if names else ())


@dataclass
class Change:
    """What one event changed.

    `before` and `after` belong to this change alone: the mapping alters them in place and makes a new change of them.
    `table` comes with the events of partitions. It may be shared with other changes and must not be altered.

    `database` is the name of the database, normalized. `table_name` is the table's name (the old one of a rename); None
    for databases and functions.
    """

    kind: Kind = field(init=False)
    database: str = field(init=False)
    table_name: TableName | None = field(init=False)
    event: Event
    position: int
    table: Any = None
    before: list[Any] = field(default_factory=list)
    after: list[Any] = field(default_factory=list)
    whole: TableName | None = None  # name at the source, if the target lacks its partitions
    sources: dict[str, SourceFiles] = field(default_factory=dict)  # by location, for targets that copy
    provenance: Provenance | None = None  # where homes count
    dropped_tables: list[Any] = field(
        default_factory=list
    )  # the tables that were dropped with a database, for the same
    then: Change | None = None  # a second change that the event means, for the same
    origin: Origin | None = None  # for targets that rename
    deletes_files: bool = False  # whether a drop deleted the files, too
    left_as: TableName | None = None  # new name at the source of a table that is renamed out of scope, and stays

    def __post_init__(self) -> None:
        self.read_names()

    def read_names(self) -> None:
        """Take kind and names from the event and its objects, as they are now."""
        self.kind = self.event.kind
        self.database, table = _place(self)
        self.table_name = TableName(self.database, table) if table else None

    @property
    def own_table(self) -> TableName:
        """The table's name, of a change that is about a table. Raises ValueError for any other."""
        if self.table_name is None:
            raise ValueError(f"the {self.kind} event has no table")
        return self.table_name

    @property
    def new_table_name(self) -> TableName | None:
        """The table's name after the change; only a rename makes it differ from `table_name`."""
        if self.kind is not Kind.ALTER_TABLE:
            return self.table_name
        return TableName(self.after[0].dbName, self.after[0].tableName)

    @property
    def referenced_table_name(self) -> TableName | None:
        """The table that a foreign key refers to; None for all other changes."""
        if self.kind is not Kind.ADD_FOREIGNKEY:
            return None
        return TableName.of(self.after[0].pktable_db, self.after[0].pktable_name)

    @property
    def refreshes_all(self) -> bool:
        """Whether it asks to compare the lists of databases of source and target."""
        return self.kind is Kind.REFRESH and not self.database and not self.reports_loss

    @property
    def reports_loss(self) -> bool:
        """Whether it is a re-read request without an object: a cluster may have lost changes."""
        names = self.event.attributes if self.kind is Kind.REFRESH else {}
        return names.get("reread") == "true" and not names.get("database")

    @property
    def for_targets(self) -> frozenset[str]:
        """The only targets that it is for; empty: all of them."""
        return targets_of(self.event)

    @property
    def comes_alone(self) -> bool:
        """Whether it must be replayed alone.

        That is a refresh of a database, or of all databases: it looks at everything in them.
        """
        return self.kind is Kind.REFRESH and self.table_name is None

    @property
    def cascades(self) -> bool:
        """Whether the client asked that new columns go to the partitions, too; HMS says that nowhere else."""
        return self.event.environment.get("CASCADE", "").lower() == "true"

    @property
    def deleted_locations(self) -> tuple[str, ...]:
        """The directories that a drop deleted, by the names that they have in `before`; none if it kept the files."""
        places = (it.sd.location for it in self.before if self.deletes_files and it.sd is not None)
        return tuple(filter(None, places))

    @property
    def created(self) -> int:
        """The createTime (s) of the database or table that it is about; 0 if the source does not say.

        For partitions their table's counts. For an alter that of the old object counts: a client may send anything in
        the new.
        """
        item = self.table or (self.before or self.after or [None])[0]
        return getattr(item, "createTime", None) or 0

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys that decide its order among changes.

        `db.table` (both names of a rename, both tables of a foreign key), `db.function()`, `db` for a database, `db.*`
        for the drop of a database with everything in it. Where several tables of the source may get one name,
        `db.table@sourcedb/sourcetable` for all but one of them.
        """
        if self.refreshes_all:
            return frozenset()
        if self.kind is Kind.DROP_DATABASE:
            return frozenset({f"{self.database}.*"})
        if self.kind in _FUNCTIONS:
            return frozenset({f"{self.database}.{(self.after or self.before)[0].functionName}()"})
        if self.origin is not None and self.origin.keys:
            return self.origin.keys
        names = (self.table_name, self.new_table_name, self.referenced_table_name)
        return frozenset(str(name) for name in names if name is not None) or frozenset({self.database})


def stored_table(raw: bytes, catalog: str | None = None) -> Any:
    """The Table in `raw`, as HMS stores it (see `stored`). Raises UnreadableEvent."""
    return stored(hive.Table, raw, catalog)


def decode_change(
    event: Event, position: int, table_of: Callable[[bytes, str | None], Any] = stored_table
) -> Change | None:
    """The event with its objects decoded, as HMS stores them; None for kinds that are not replayed.

    None also for an event of no partitions, and for an altered partition whose table was renamed or dropped before HMS
    reported it: the tables are read at the source (capture/overlaps). A re-read request (pysync.model.reread) becomes
    the refresh that it asks for. `table_of` decodes the table of partitions, and may cache it. Raises UnreadableEvent
    if an object is not what the kind promises.
    """
    event = _refresh_of_table(event) if event.kind is Kind.TABLE_CHANGED else event
    if event.kind not in OBJECTS:
        return None
    # HMS 2.3 sends such an ADD_PARTITION for add_partitions_req(ifNotExists) if all partitions exist.
    if event.kind in _OF_SEVERAL and event.table and not event.before and not event.after:
        return None
    if event.outlives_its_table:
        return None
    _check(event)
    struct = OBJECTS[event.kind]
    change = Change(
        event,
        position,
        table=table_of(event.table, event.catalog) if event.table else None,
        before=[stored(struct, raw, event.catalog) for raw in event.before],
        after=[stored(struct, raw, event.catalog) for raw in event.after],
    )
    if event.kind is Kind.ALTER_TABLE and change.before[0].id is not None:
        change.after[0].id = change.before[0].id  # a client sends none
    change.deletes_files = _deletes_files(change)
    return _as_refresh(change) if change.kind in _FUNCTIONS and _is_reread_request(change) else change


def _deletes_files(change: Change) -> bool:
    """Whether the source deleted files: the drop asked for it, and the table was one of those that lose them.

    The event has the table as it was at that moment, and here no mapping has changed it yet.
    """
    asks = change.kind in _DROPS_OF_FILES and change.event.attributes.get("delete_data") == "true"
    table = change.table if change.kind is Kind.DROP_PARTITION else next(iter(change.before), None)
    return asks and table is not None and loses_files(table)


def _check(event: Event) -> None:
    """Raise UnreadableEvent if the event does not hold what its kind promises."""
    kind, before, after = event.kind, len(event.before), len(event.after)
    if (kind in _WANTS_BEFORE and not before) or (kind in _WANTS_AFTER and not after):
        raise UnreadableEvent(
            f"the {kind} event has a wrong number of objects: {before} before and {after} after the change"
        )
    if OBJECTS[kind] is None and (before or after):
        raise UnreadableEvent(f"the {kind} event must have no objects")
    if kind in _PARTITIONS and not event.table:
        raise UnreadableEvent(f"the {kind} event has no table")
    if kind in _NAMED_BY and not _NAMED_BY[kind] <= event.attributes.keys():
        raise UnreadableEvent(f"the {kind} event has no table name or no name of its own")
    if kind is Kind.REFRESH and "table" in event.attributes and "database" not in event.attributes:
        raise UnreadableEvent(f"the {kind} event names a table, but no database")


def _refresh_of_table(event: Event) -> Event:
    """The refresh of a table for which a listener sent only the name, and maybe that it is gone."""
    attributes = event.attributes
    if not {"database", "table"} <= attributes.keys():
        raise UnreadableEvent(f"the {event.kind} event has no table name")
    since = {"absent": "true"} if attributes.get("absent") == "true" else {"created": attributes.get("created", "0")}
    names = {"database": attributes["database"], "table": attributes["table"], **since}
    return replace(event, kind=Kind.REFRESH, attributes=names)


def _is_reread_request(change: Change) -> bool:
    return any(map(is_reread_request, (*change.before, *change.after)))


def _as_refresh(change: Change) -> Change | None:
    """The refresh that a re-read request asks for; None if it asks for nothing."""
    # The drop only cleans up. And a client could create a function of that name: only those of a sidecar's user count.
    if change.kind is Kind.DROP_FUNCTION or not change.event.is_replicated:
        return None
    try:
        request = request_of(change.after[0])
    except ValueError as error:
        raise UnreadableEvent(str(error)) from error
    # The path of the request, not that of the call: the home's state must reach clusters that the request has passed
    # on its way to the home.
    way = {VISITED: ",".join(request.path)}
    event = replace(
        change.event, kind=Kind.REFRESH, environment=way, attributes=request.attributes(), before=(), after=()
    )
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
