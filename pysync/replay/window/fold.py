"""Fold: reduces a window of changes to the final state of each object that it touches. Pure.

A create and a drop become a drop, several alters become one, added partitions become one map. A change of two objects
at once (a rename, a foreign key) is not folded: the states of its tables are closed before it, in event order, and new
ones begin after it. Closed states and such changes come out in an order in which they can be applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pysync.model.change import Change
from pysync.model.event import Kind
from pysync.model.home import Provenance, Stance
from pysync.model.locations import SourceFiles
from pysync.model.names import TableName
from pysync.model.table_formats import pointer


@dataclass(frozen=True, slots=True)
class Gone:
    """A partition that was dropped, and where its files were deleted with it; "" if they stayed."""

    deleted_location: str = ""


@dataclass(slots=True)
class FoldedState:
    """What the events of one object have in common: their `positions`, and the clusters that all of them have
    `visited`.

    Where homes count: `provenance` is that of the object, `dropping` has the states before its drop, and `defining`
    those since then; None where it was absent.
    """

    positions: list[int] = field(default_factory=list)
    visited: tuple[str, ...] | None = None
    provenance: Provenance | None = None
    dropping: list[Any | None] = field(default_factory=list)
    defining: list[Any | None] = field(default_factory=list)

    def touch(self, change: Change) -> None:
        """Note that the change is part of this state."""
        visited = change.event.visited
        if self.visited is None:
            self.visited = visited
        elif visited != self.visited:
            # Only clusters that have seen all of the changes: any other still needs some of them.
            self.visited = tuple(name for name in visited if name in self.visited)
        self.positions.append(change.position)

    def remember(self, change: Change, provenance: Provenance) -> None:
        """Note the object's state before the change, for a target that asks for it."""
        self.provenance = provenance
        if provenance.blind:
            return
        if change.kind in _DROPS:
            self.dropping += [*self.defining, change.before[0]]
            self.defining = []
        elif change.kind in _DEFINITIONS:
            self.defining.append(change.before[0] if change.before else None)


@dataclass(slots=True, kw_only=True)
class DatabaseState(FoldedState):
    """A database: the drop of the old one, then the definition, or either of them.

    A drop that cascades absorbs what the window did to its tables before; their `positions` are in it, too, and the
    `deleted_locations` of those that were dropped. `born` is the position of the create, if the window has one.
    """

    name: str
    origin: str = ""  # its name at the source (see Origin), as others may have the same name at the target
    dropped: Change | None = None
    deleted_locations: tuple[str, ...] = ()
    defined: Change | None = None
    born: int = 0


@dataclass(slots=True, kw_only=True)
class TableState(FoldedState):
    """A table: the drop of the old one, then its definition, partitions and statistics, as far as there are any.

    `definitions` holds the last definition. Before it may be that of the last cascade, if the columns have changed
    since: partitions that this window does not know get the cascaded columns. Each has a flag, whether it cascades.
    `born` is the position of the create, if the window has one. `dropped_created` is the latest createTime of the
    dropped tables (s; 0: the source does not say), as a clock may have been set back between them.
    """

    name: TableName
    origin: str = ""  # its name at the source (see Origin), as others may have the same name at the target
    keys: frozenset[str]  # see Change
    dropped: Change | None = None
    dropped_created: int = 0
    definitions: list[tuple[Change, bool]] = field(default_factory=list)
    born: int = 0
    pointers: dict[str, None] = field(default_factory=dict)  # of an Iceberg table, before its alters
    parts: Change | None = None  # the latest event of its partitions
    described: Any = None  # the latest Table that an event brought along
    partitions: dict[tuple[str, ...], Any | Gone] = field(default_factory=dict)
    sources: dict[str, SourceFiles] = field(default_factory=dict)  # see Change
    counted: Change | None = None  # the latest event of its column statistics
    statistics: dict[str, None] = field(default_factory=dict)  # of which partitions; "": the table itself
    parting: dict[tuple[str, ...], list[Any | None]] = field(default_factory=dict)  # before states, both ways


Folded = DatabaseState | TableState | Change


def fold(changes: Iterable[Change], *, cascade: bool = True) -> list[Folded]:
    """The final states of the touched objects, and the changes that are not folded, in order.

    The changes must be in event order, in scope and rewritten; their partitions may be altered in place. Without
    `cascade` the drop of a database takes no tables along, so what the window did to them stays, and comes before it.
    """
    folding = _Folding(cascade)
    for change in changes:
        folding.add(change)
    return folding.finish()


class _Folding:
    def __init__(self, cascade: bool) -> None:
        self._cascade = cascade
        self._done: list[Folded] = []
        self._databases: dict[str, DatabaseState] = {}
        self._tables: dict[TableName, TableState] = {}

    def add(self, change: Change) -> None:
        if change.kind in _DATABASE:
            self._database(change)
        elif change.kind is Kind.DROP_TABLE and change.event.uncommitted:
            return  # part of a DROP DATABASE CASCADE, whose own event drops the tables once it is committed
        elif change.kind in _FOLDS and change.table_name == change.new_table_name and change.left_as is None:
            self._table(change)
        elif change.kind is not Kind.INSERT:  # data only: for targets that copy, it was made a refresh
            self._close(change)
            self._done.append(change)

    def finish(self) -> list[Folded]:
        # Databases first: their tables can be put only then.
        for name in list(self._databases):
            self._close_database(name)
        for table in list(self._tables):
            self._close_table(table)
        return self._done

    def _database(self, change: Change) -> None:
        if change.provenance is not None:
            self._part(change, change.provenance)
        if change.kind is Kind.DROP_DATABASE and not self._cascade:
            for table in [it for it in self._tables if it.database == change.database]:
                self._close_table(table)
        if change.kind is Kind.DROP_DATABASE:
            self._part_from_others(change)
        origin = change.origin.new if change.origin is not None else ""
        if change.database in self._databases and self._databases[change.database].origin != origin:
            self._close_database(change.database)
        state = self._databases.setdefault(change.database, DatabaseState(name=change.database, origin=origin))
        if change.provenance is not None:
            state.remember(change, change.provenance)
        if change.kind is Kind.DROP_DATABASE:
            # What happened to these tables ends with the drop, but their events must count as applied with it.
            taken = [self._tables.pop(name) for name in list(self._tables) if name.database == change.database]
            state.positions += [position for table in taken for position in table.positions]
            state.deleted_locations = tuple(location for table in taken for location in _deleted_with(table))
            state.dropped, state.defined, state.born = change, None, 0
        else:
            state.defined = change
            state.born = change.position if change.kind is Kind.CREATE_DATABASE else state.born
        state.touch(change)

    def _table(self, change: Change) -> None:
        name = change.own_table
        if change.provenance is not None:
            self._part(change, change.provenance)
        state = self._tables.get(name)
        origin = change.origin
        moves = origin is not None and origin.old != origin.new  # to another name that is the same at the target
        if state is not None and origin is not None and (moves or state.origin != origin.new):
            self._close_table(name)
            state = None
        if state is None:
            state = self._tables[name] = TableState(name=name, origin=origin.new if origin else "", keys=change.keys)
        if change.provenance is not None:
            state.remember(change, change.provenance)
            _remember_partitions(state, change)
        _FOLDS[change.kind](state, change)
        state.sources.update(change.sources)
        state.touch(change)
        if moves:
            self._close_table(name)

    def _part_from_others(self, drop: Change) -> None:
        """Close the states of tables that other databases of the source have in the dropped one."""
        own = drop.origin.new if drop.origin is not None else ""
        for name, table in list(self._tables.items()):
            if name.database == drop.database and own and table.origin.partition(".")[0] != own:
                self._close_table(name)

    def _part(self, change: Change, provenance: Provenance) -> None:
        """Close the states that a change cannot be folded with: an operation has one condition and one home."""
        name = change.table_name
        if name is None:
            state = self._databases.get(change.database)
            if state is not None and state.provenance is not None and not provenance.goes_with(state.provenance):
                self._close_database(change.database)
            for table in [it for it in self._tables if it.database == change.database and change.kind in _DROPS]:
                of_table = self._tables[table].provenance
                # Only the home's own drop ends what the home did to its tables. Any other change of them stays an
                # operation of its own.
                if provenance.stance is not Stance.STATE or of_table is None or not provenance.goes_with(of_table):
                    self._close_table(table)
            return
        part = self._tables.get(name)
        if part is not None and part.provenance is not None and not provenance.goes_with(part.provenance):
            self._close_table(name)

    def _close(self, change: Change) -> None:
        """Close the states of the change's tables, or of its database."""
        self._close_database(change.database)
        for name in _tables_of(change):
            self._close_table(name)

    def _close_table(self, name: TableName) -> None:
        # The database's state comes out first, as in `finish`.
        self._close_database(name.database)
        state = self._tables.pop(name, None)
        if state is not None:
            self._done.append(state)

    def _close_database(self, name: str) -> None:
        state = self._databases.pop(name, None)
        if state is not None:
            self._done.append(state)


def _deleted_with(table: TableState) -> tuple[str, ...]:
    """Where the last drop of a table deleted files; nowhere if it was there again afterwards, maybe in that place."""
    return table.dropped.deleted_locations if table.dropped is not None and not table.definitions else ()


def _remember_partitions(state: TableState, change: Change) -> None:
    """Note the state of each partition before the change."""
    if change.kind in _DROPS:
        state.parting.clear()
    if change.kind not in _PARTITIONS:
        return
    befores = {tuple(it.values): it for it in change.before}
    for values in dict.fromkeys([*befores, *(tuple(it.values) for it in change.after)]):
        state.parting.setdefault(values, []).append(befores.get(values))


def _create(state: TableState, change: Change) -> None:
    if not state.definitions and not state.partitions:  # else the target still has the old one: its drop was suppressed
        state.born = change.position
    if state.partitions and _keys(state.described) != _keys(change.after[0]):
        state.partitions.clear()  # with other keys they cannot be in the new table
    state.definitions, state.described = [(change, False)], change.after[0]


def _alter(state: TableState, change: Change) -> None:
    before, after = change.before[0], change.after[0]
    if (came_from := pointer(before.parameters)) is not None:
        state.pointers[came_from] = None
    recolumned = None not in (before.sd, after.sd) and before.sd.cols != after.sd.cols
    # HMS cascades only if it changes the table's columns.
    cascade = change.cascades and recolumned
    if cascade:
        for partition in state.partitions.values():
            if not isinstance(partition, Gone):
                partition.sd.cols = after.sd.cols
    state.described = after
    cascaded = bool(state.definitions) and state.definitions[-1][1]
    # A definition that follows a cascade must not lose it: partitions that are not in this window need its columns.
    if cascade or not state.definitions:
        state.definitions = [(change, cascade)]
    elif recolumned and cascaded:
        state.definitions.append((change, False))
    else:
        state.definitions[-1] = (change, cascaded)


def _drop(state: TableState, change: Change) -> None:
    # 0 (not known) wins: then the drop has to go by the position alone.
    state.dropped_created = change.created and max(change.created, state.dropped_created)
    state.dropped, state.definitions, state.born = change, [], 0
    state.partitions.clear()
    state.statistics.clear()
    state.pointers.clear()


def _put_partitions(state: TableState, change: Change) -> None:
    state.parts, state.described = change, change.table
    state.partitions.update((tuple(it.values), Gone()) for it in change.before)  # where it was renamed
    state.partitions.update((tuple(it.values), it) for it in change.after)


def _drop_partitions(state: TableState, change: Change) -> None:
    state.parts, state.described = change, change.table
    for partition in change.before:
        location = partition.sd.location if change.deletes_files and partition.sd is not None else None
        state.partitions[tuple(partition.values)] = Gone(location or "")


def _count(state: TableState, change: Change) -> None:
    names = change.event.attributes.get("partitions", "").split("\n")
    state.counted = change
    state.statistics.update(dict.fromkeys(names))


_DATABASE = frozenset({Kind.CREATE_DATABASE, Kind.ALTER_DATABASE, Kind.DROP_DATABASE})
_DROPS = frozenset({Kind.DROP_DATABASE, Kind.DROP_TABLE})
_DEFINITIONS = frozenset({Kind.CREATE_DATABASE, Kind.ALTER_DATABASE, Kind.CREATE_TABLE, Kind.ALTER_TABLE})
_PARTITIONS = frozenset({Kind.ADD_PARTITION, Kind.ALTER_PARTITION, Kind.DROP_PARTITION})
_FOLDS: Mapping[Kind, Any] = {
    Kind.CREATE_TABLE: _create,
    Kind.ALTER_TABLE: _alter,
    Kind.DROP_TABLE: _drop,
    Kind.ADD_PARTITION: _put_partitions,
    Kind.ALTER_PARTITION: _put_partitions,
    Kind.DROP_PARTITION: _drop_partitions,
    Kind.COLUMN_STATISTICS: _count,
}


def _keys(table: Any) -> list[str]:
    """The names of its partition keys. An ALTER may change their types, and keeps the partitions."""
    return [key.name for key in table.partitionKeys or ()]


def _tables_of(change: Change) -> Sequence[TableName]:
    """The tables of a change that is not folded: both names of a rename, both tables of a foreign key."""
    names = [change.table_name, change.new_table_name, change.referenced_table_name]
    return [name for name in dict.fromkeys(names) if name is not None]
