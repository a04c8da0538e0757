"""Plan: turns folded states into the ordered works that bring a target to them. Pure: no clock, thread or socket."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pysync.model.change import Change
from pysync.model.event import Kind
from pysync.model.home import Condition, Provenance
from pysync.model.mark import Mark, Writer
from pysync.model.names import TableName
from pysync.model.operation import (
    DropConstraint,
    DropDatabase,
    DropFunction,
    DropPartitions,
    DropTable,
    LeaveTable,
    Operation,
    PutConstraint,
    PutDatabase,
    PutFunction,
    PutPartitions,
    PutTable,
    Refresh,
    RenameTable,
    RequestReread,
)
from pysync.replay.window.fold import DatabaseState, Folded, Gone, TableState
from pysync.replay.window.order import EVERYTHING
from pysync.replay.window.view_names import names_in_view


@dataclass(frozen=True, slots=True)
class Work:
    """Operations that are applied one after the other.

    `keys` are the objects that it touches (see pysync.replay.window.order): works that share one are applied in order.
    `positions` are the events that it stands for. `reads` are the tables of its views, which are applied first if they
    are under way: a store may look at their columns.
    """

    keys: frozenset[str]
    operations: tuple[Operation, ...]
    positions: tuple[int, ...]
    reads: frozenset[str] = frozenset()


def plan(folded: Iterable[Folded], writer: Writer) -> list[Work]:
    """The works for what `fold` returned, in an order in which they can be applied.

    `writer` is the queue's target that the marks name. Objects without operations are left out.
    """
    return [work for work in (_work(item, writer) for item in folded) if work.operations]


def leftover(operation: Operation) -> Operation | None:
    """What is left to do for an operation whose database is gone at source and target; None if nothing.

    Of a rename into that database, the table under its old name is left. Both ways its home says whether it stays.
    """
    if not isinstance(operation, RenameTable):
        return None
    origin: dict[str, Any] = {"mark": operation.mark, "visited": operation.visited}
    if operation.condition is None:
        return DropTable(table=operation.table, **origin)
    name, chain_length = operation.table, 1 + operation.condition.chain_length
    return RequestReread(
        database=name.database, table=name.table, home=operation.mark.source, chain_length=chain_length, **origin
    )


def _work(item: Folded, writer: Writer) -> Work:
    if isinstance(item, DatabaseState):
        return _database(item, writer)
    if isinstance(item, TableState):
        return _table(item, writer)
    return _change(item, writer)


def _origin(change: Change, writer: Writer, visited: tuple[str, ...] | None = None, born: int = 0) -> dict[str, Any]:
    if change.provenance is not None:
        return _origin_of_home(change, change.provenance, writer, born)
    origin = change.origin
    mark = Mark(
        change.event.source,
        writer.epoch,
        change.position,
        change.created,
        born,
        object=origin.new if origin else "",
        target=writer.target,
        life=writer.life,
        formerly=origin.old if origin else "",
        rivals=origin.rivals if origin else frozenset(),
        writer=writer,
    )
    return {"mark": mark, "visited": change.event.visited if visited is None else visited}


def _origin_of_home(change: Change, provenance: Provenance, writer: Writer, born: int) -> dict[str, Any]:
    """The mark is the home's, even if the home is another cluster than the source."""
    mark = provenance.mark or Mark(
        change.event.source, writer.epoch, change.position, change.created, born, life=writer.life, writer=writer
    )
    return {"mark": mark, "visited": provenance.visited}


def _condition(provenance: Provenance | None, before: Sequence[Any | None], parts: Any = None) -> dict[str, Any]:
    """The condition that the target must meet, if it depends on whose the object is."""
    return {} if provenance is None else {"condition": Condition(provenance.stance, before, parts or {})}


def _database(state: DatabaseState, writer: Writer) -> Work:
    operations: list[Operation] = []
    if state.dropped is not None:
        origin = _origin(state.dropped, writer, state.visited) | _condition(state.provenance, state.dropping)
        drop: dict[str, Any] = {
            "deleted_locations": state.deleted_locations,
            "dropped_tables": state.dropped.dropped_tables,
        }
        drop["tables_alone"] = state.provenance is not None and state.provenance.tables_alone
        operations.append(DropDatabase(database=state.name, **drop, **origin))
    if state.defined is not None:
        definition = state.defined.after[0]
        origin = _origin(state.defined, writer, state.visited, state.born) | _condition(
            state.provenance, state.defining
        )
        operations.append(PutDatabase(database=state.name, definition=definition, **origin))
    key = state.name + EVERYTHING if state.dropped else state.name
    return Work(frozenset({key}), tuple(operations), tuple(state.positions))


def _table(state: TableState, writer: Writer) -> Work:
    operations: list[Operation] = []
    if state.dropped is not None:
        origin = _origin(state.dropped, writer, state.visited) | _condition(state.provenance, state.dropping)
        if state.provenance is None or state.provenance.mark is None:  # else mark and clock are another home's
            origin["mark"] = replace(origin["mark"], created=state.dropped_created)
        deleted = state.dropped.deleted_locations
        operations.append(DropTable(table=state.name, deleted_locations=deleted, **origin))
    for change, cascade in state.definitions:
        origin = _origin(change, writer, state.visited, state.born) | {"sources": state.sources}
        puts: dict[str, Any] = {"definition": change.after[0], "cascade": cascade, "creates": state.born > 0}
        puts |= _condition(state.provenance, state.defining)
        operations.append(PutTable(table=state.name, **puts, pointers=tuple(state.pointers), **origin))
    operations += [*_partitions(state, writer), *_statistics(state, writer)]
    reads = frozenset(name for it in operations if isinstance(it, PutTable) for name in names_in_view(it.definition))
    return Work(state.keys, tuple(operations), tuple(state.positions), reads)


def _partitions(state: TableState, writer: Writer) -> list[Operation]:
    """First puts, then drops: a renamed partition is never missing in between."""
    if state.parts is None:
        return []
    origin = _origin(state.parts, writer, state.visited) | _condition(state.provenance, (), state.parting)
    keys = tuple(key.name for key in state.described.partitionKeys or ())
    operations: list[Operation] = []
    there = tuple(it for it in state.partitions.values() if not isinstance(it, Gone))
    if there:
        puts = origin | {"sources": state.sources}
        operations.append(PutPartitions(table=state.name, definition=state.described, partitions=there, **puts))
    # An operation deletes files for all of its partitions or for none.
    gone = {values: it.deleted_location for values, it in state.partitions.items() if isinstance(it, Gone)}
    for with_files in (False, True):
        some = {values: location for values, location in gone.items() if bool(location) is with_files}
        if some:
            drop: dict[str, Any] = {"keys": keys, "values": tuple(some)}
            drop["deleted_locations"] = tuple(filter(None, some.values()))
            operations.append(DropPartitions(table=state.name, **drop, **origin))
    return operations


def _statistics(state: TableState, writer: Writer) -> list[Operation]:
    """Refreshes, because events say only that statistics have changed. Last, when their objects exist."""
    if state.counted is None:
        return []
    origin = _origin(state.counted, writer, state.visited) | {"table": state.name, "statistics": True}
    partitions = tuple(name for name in state.statistics if name)
    operations: list[Operation] = [Refresh(partitions=partitions, **origin)] if partitions else []
    return [Refresh(**origin), *operations] if "" in state.statistics else operations


def _change(change: Change, writer: Writer) -> Work:
    """The work for a change that is not folded: a rename, a function, a constraint, a refresh."""
    origin = _origin(change, writer) | _condition(change.provenance, change.before or (None,))
    operation = _PLANNERS[change.kind](change, origin)
    return Work(change.keys, (operation,), (change.position,))


def _rename(change: Change, origin: dict[str, Any]) -> Operation:
    # A mark that comes from another home keeps the birth that it has there.
    if change.provenance is None or change.provenance.mark is None:
        origin = origin | {"mark": replace(origin["mark"], born=change.position)}
    origin = origin | {"sources": change.sources}
    return RenameTable(table=change.own_table, definition=change.after[0], **origin)


def _keep(change: Change, origin: dict[str, Any]) -> Operation:
    if change.left_as is None:
        raise ValueError("the drop of a table is folded")
    return LeaveTable(table=change.own_table, new_source=change.left_as, **origin)


def _refresh(change: Change, origin: dict[str, Any]) -> Operation:
    names = change.event.attributes
    database = names.get("source_database", change.database)
    table = names.get("source_table", names.get("table"))
    return Refresh(
        source_database=database,
        source_table=TableName.of(database, table) if table else None,
        database=change.database,
        table=change.table_name,
        partitions=_lines(names.get("partitions")),
        present=_lines(names.get("present")),
        absent=names.get("absent") == "true",
        created=int(names.get("created", "0")),
        former=names.get("former", ""),
        replaced=names.get("replaced", ""),
        bootstrap=names.get("bootstrap") == "true",
        reread=names.get("reread") == "true",
        function=names.get("function", ""),
        home=names.get("home", ""),
        chain_length=int(names.get("chain_length", "0")),
        event_id=int(names.get("event_id", "0")),
        **origin,
    )


def _lines(text: str | None) -> tuple[str, ...]:
    return tuple(text.split("\n")) if text else ()


def _put_function(change: Change, origin: dict[str, Any]) -> Operation:
    return PutFunction(database=change.database, definition=change.after[0], **origin)


def _drop_function(change: Change, origin: dict[str, Any]) -> Operation:
    return DropFunction(database=change.database, function=change.before[0].functionName, **origin)


def _put_constraint(change: Change, origin: dict[str, Any]) -> Operation:
    return PutConstraint(table=change.own_table, columns=tuple(change.after), **origin)


def _drop_constraint(change: Change, origin: dict[str, Any]) -> Operation:
    return DropConstraint(table=change.own_table, constraint=change.event.attributes["constraint"], **origin)


_PLANNERS: Mapping[Kind, Callable[[Change, dict[str, Any]], Operation]] = {
    Kind.ALTER_TABLE: _rename,
    Kind.DROP_TABLE: _keep,
    Kind.CREATE_FUNCTION: _put_function,
    Kind.DROP_FUNCTION: _drop_function,
    Kind.ADD_PRIMARYKEY: _put_constraint,
    Kind.ADD_FOREIGNKEY: _put_constraint,
    Kind.ADD_UNIQUECONSTRAINT: _put_constraint,
    Kind.ADD_NOTNULLCONSTRAINT: _put_constraint,
    Kind.ADD_DEFAULTCONSTRAINT: _put_constraint,
    Kind.ADD_CHECKCONSTRAINT: _put_constraint,
    Kind.DROP_CONSTRAINT: _drop_constraint,
    Kind.REFRESH: _refresh,
}
