"""Change: an event with its objects decoded, in the form in which HMS stores them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.protocol.TBase import TBase
from thrift.Thrift import TType

from pysync.errors import PysyncError
from pysync.model import idl
from pysync.model.again import again_of, says_again
from pysync.model.event import VISITED, Event, Kind
from pysync.model.files import SourceFiles
from pysync.model.home import Whose
from pysync.model.names import TableName, is_default_catalog, normalized
from pysync.model.wire import UnreadableEvent, decode, decode_event

OBJECTS: Mapping[Kind, Any] = {
    Kind.CREATE_DATABASE: hive.Database,
    Kind.ALTER_DATABASE: hive.Database,
    Kind.DROP_DATABASE: hive.Database,
    Kind.CREATE_TABLE: hive.Table,
    Kind.ALTER_TABLE: hive.Table,
    Kind.DROP_TABLE: hive.Table,
    Kind.ADD_PARTITION: hive.Partition,
    Kind.ALTER_PARTITION: hive.Partition,
    Kind.DROP_PARTITION: hive.Partition,
    Kind.INSERT: hive.Partition,
    Kind.CREATE_FUNCTION: hive.Function,
    Kind.DROP_FUNCTION: hive.Function,
    Kind.ADD_PRIMARYKEY: hive.SQLPrimaryKey,
    Kind.ADD_FOREIGNKEY: hive.SQLForeignKey,
    Kind.ADD_UNIQUECONSTRAINT: idl.SQLUniqueConstraint,
    Kind.ADD_NOTNULLCONSTRAINT: idl.SQLNotNullConstraint,
    Kind.ADD_DEFAULTCONSTRAINT: idl.SQLDefaultConstraint,
    Kind.ADD_CHECKCONSTRAINT: idl.SQLCheckConstraint,
    Kind.DROP_CONSTRAINT: None,
    Kind.COLUMN_STATISTICS: None,
    Kind.REFRESH: None,
}
"""The kinds that can be replayed, and the struct that their objects are; the others are left out, and counted."""

_OF_SEVERAL = frozenset({Kind.ADD_PARTITION, Kind.DROP_PARTITION})
_FUNCTIONS = frozenset({Kind.CREATE_FUNCTION, Kind.DROP_FUNCTION})

_NAMED_BY: Mapping[Kind, frozenset[str]] = {
    Kind.DROP_CONSTRAINT: frozenset({"database", "table", "constraint"}),
    Kind.COLUMN_STATISTICS: frozenset({"database", "table"}),
    Kind.INSERT: frozenset({"database", "table"}),
}
"""The attributes that name what an event without objects is about."""

_NEEDED: Mapping[Any, tuple[str, ...]] = {
    hive.Database: ("name",),
    hive.Table: ("dbName", "tableName"),
    hive.Partition: ("dbName", "values"),
    hive.Function: ("dbName", "functionName"),
    hive.SQLPrimaryKey: ("table_db", "table_name"),
    hive.SQLForeignKey: ("fktable_db", "fktable_name", "pktable_db", "pktable_name"),
    idl.SQLUniqueConstraint: ("table_db", "table_name"),
    idl.SQLNotNullConstraint: ("table_db", "table_name"),
    idl.SQLDefaultConstraint: ("table_db", "table_name"),
    idl.SQLCheckConstraint: ("table_db", "table_name"),
}
"""The fields without which nobody knows what an object is."""


@dataclass
class Change:
    """What one event changed.

    `before` and `after` belong to this change alone, and rewrite may alter them in place; `table`, which the events of
    partitions bring along, may be shared with others and must not be altered.
    """

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

    @property
    def kind(self) -> Kind:
        """The event's kind."""
        return self.event.kind

    @cached_property
    def database(self) -> str:
        """The database that the change is about, normalized."""
        return _place(self)[0]

    @cached_property
    def table_name(self) -> TableName | None:
        """The table that the change is about (its old name, for a rename); None for databases and functions."""
        database, table = _place(self)
        return TableName(database, table) if table else None

    @cached_property
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
    table = decode(hive.Table, raw)
    _check_names(table)
    as_stored(table)
    return table


def decode_change(event: Event, position: int, table_of: Callable[[bytes], Any] = stored_table) -> Change | None:
    """The event's objects, decoded and as HMS stores them; None for kinds and catalogs that are not replayed.

    None also for partitions that are none: HMS tells of those added where all that were asked for are there already.
    And None for one whose table was renamed or dropped before HMS told of its alter: what became of it is read at the
    source (capture/overlaps). A function that says what is to be read again (pysync.model.again) is a refresh of that.
    `table_of` decodes the table that partitions belong to, and may remember it.
    Raises UnreadableEvent when an object is not what the kind says.
    """
    if event.kind not in OBJECTS or not is_default_catalog(event.catalog):
        return None
    if event.kind in _OF_SEVERAL and event.table and not event.before and not event.after:
        return None
    if outlives_its_table(event):
        return None
    struct = OBJECTS[event.kind]
    change = Change(
        event,
        position,
        table=table_of(event.table) if event.table else None,
        before=[decode(struct, raw) for raw in event.before],
        after=[decode(struct, raw) for raw in event.after],
    )
    _check(change)
    for item in (*change.before, *change.after):
        as_stored(item)
    return _as_refresh(change) if _says_again(change) else change


def _says_again(change: Change) -> bool:
    items = (*change.before, *change.after)
    return change.kind in _FUNCTIONS and any(map(says_again, items))


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


def outlives_its_table(event: Event) -> bool:
    """Whether a partition was altered whose table was renamed or gone when HMS looked for it to tell of that.

    HMS reads the table after the commit of the alter, and sends none where another client was faster.
    """
    return event.kind is Kind.ALTER_PARTITION and not event.table and bool(event.before and event.after)


def named_in(data: bytes) -> TableName | None:
    """The table that an event is about, though its objects may not be readable; None where it cannot be told."""
    try:
        return named_in_event(decode_event(data))
    except PysyncError:
        return None


def named_in_event(event: Event) -> TableName | None:
    """The same for an event that has been read."""
    try:
        if event.kind.value.endswith("_TABLE"):
            names: Any = decode(_TableNames, (event.before or event.after)[0])
        elif outlives_its_table(event):
            names = decode(_PartitionNames, event.before[0])
        else:
            names = decode(_TableNames, event.table or b"")
    except (PysyncError, IndexError):
        return None
    return TableName.of(names.dbName, names.tableName) if names.dbName and names.tableName else None


class _TableNames(TBase):  # type: ignore[misc]
    """As much of a Table as it takes to know which one it is."""

    thrift_spec = (None, (1, TType.STRING, "tableName", "UTF8", None), (2, TType.STRING, "dbName", "UTF8", None))

    def __init__(self) -> None:
        self.tableName: str | None = None
        self.dbName: str | None = None


class _PartitionNames(TBase):  # type: ignore[misc]
    """As much of a Partition as it takes to know whose it is."""

    thrift_spec = (
        None,
        None,
        (2, TType.STRING, "dbName", "UTF8", None),
        (3, TType.STRING, "tableName", "UTF8", None),
    )

    def __init__(self) -> None:
        self.dbName: str | None = None
        self.tableName: str | None = None


def as_stored(item: Any) -> None:
    """Bring an object that a client sent to the form in which HMS stores it, in place.

    Names are lower case, and a table is external only if its parameter EXTERNAL says so, whatever its
    tableType says (seen on HMS 2.3, 3.1 and 4.0).
    """
    for name in ("dbName", "tableName", "functionName", "name"):
        if isinstance(getattr(item, name, None), str):
            setattr(item, name, normalized(getattr(item, name)))
    if isinstance(item, hive.Table) and item.tableType in {"EXTERNAL_TABLE", "MANAGED_TABLE"}:
        external = (item.parameters or {}).get("EXTERNAL", "").upper() == "TRUE"
        item.tableType = "EXTERNAL_TABLE" if external else "MANAGED_TABLE"


def _check(change: Change) -> None:
    """Refuse an event whose objects are not those that its kind promises."""
    kind, before, after = change.kind, len(change.before), len(change.after)
    wants_before = kind.startswith(("ALTER_", "DROP_")) and kind is not Kind.DROP_CONSTRAINT
    wants_after = kind.startswith(("ALTER_", "CREATE_", "ADD_"))
    if wants_before > before or wants_after > after:
        raise UnreadableEvent(f"{kind} with {before} objects before and {after} after")
    if kind.endswith("_PARTITION") and change.table is None:
        raise UnreadableEvent(f"{kind} without its table")
    named = change.event.attributes.keys()
    if not _NAMED_BY.get(kind, frozenset()) <= named or (
        kind is Kind.REFRESH and "table" in named and "database" not in named
    ):
        raise UnreadableEvent(f"{kind} without the name of its table or its own")
    for item in (*change.before, *change.after):
        _check_names(item)


def _check_names(item: Any) -> None:
    for name in _NEEDED.get(type(item), ()):
        value = getattr(item, name)
        if not (value.strip() if isinstance(value, str) else value):
            raise UnreadableEvent(f"a {type(item).__name__} without its {name}")


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
