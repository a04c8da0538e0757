"""Databases both ways: put and drop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pysync.model.births import births_of, with_births
from pysync.model.home import Stance, home_of
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import DatabaseOperation, DropDatabase, PutDatabase, SayAgain
from pysync.targets.apply.both_ways.verdicts import (
    ask_for_place,
    ask_for_table,
    judge_of,
    marked,
    say_again,
    settled,
    unmark,
    up_to_date,
)
from pysync.targets.apply.judging import DEFAULT, Verdict
from pysync.targets.apply.writing import deletes_directory, drop_batches
from pysync.targets.base import Outcome
from pysync.targets.diff import alike
from pysync.targets.hive import is_view
from pysync.targets.store import Store


def put_database(store: Store, operation: PutDatabase) -> Outcome:
    """Create the database or alter it. One that was born at both ends is never parked: it only holds other objects.

    Its functions carry no mark. If the home changes, all of them are asked for: the new home's were never compared.
    """
    there = store.database(operation.database)
    if there is None:
        return _put(store, operation, None)
    if operation.database == DEFAULT:
        return Outcome.FOREIGN
    judge = judge_of(store)
    # Before `_hear` and `_put`, which alter `there` in place.
    home = judge.home_within(there)
    _hear(store, operation, there)
    outcome = _put(store, operation, there)
    if judge.home_within(there) != home:
        _ask_for_functions(store, operation, there)
    return outcome


def _put(store: Store, operation: PutDatabase, there: Any | None) -> Outcome:
    """Bring the database to the operation's definition; sets `there.parameters` to what was written."""
    judge = judge_of(store)
    verdict = judge.put(operation, operation.definition, there)
    third = judge.home(there) not in {None, store.cluster, operation.mark.source}
    if verdict is Verdict.CONFLICT and third:
        verdict = Verdict.DO  # the drop at the third cluster may be told here later; an empty database does no harm
    if verdict is Verdict.CONFLICT:
        return ask_for_place(store, operation, there)
    if verdict not in {Verdict.DO, Verdict.PARK}:
        return settled(store, operation, verdict, there)
    wanted = marked(judge, operation, operation.definition, there)
    if there is None:
        store.create_database(wanted)
        return Outcome.APPLIED
    wanted.parameters = with_births(wanted.parameters, births_of(there.parameters, store.cluster))
    if judge.home(there) == store.cluster:
        unmark(wanted)  # born at both ends: clusters that have it from here would not hear that its home has changed
    if up_to_date(wanted, there) or not store.alter_database(wanted, there):
        return Outcome.UNCHANGED
    there.parameters = wanted.parameters
    return Outcome.APPLIED


def _ask_for_functions(store: Store, operation: DatabaseOperation, place: Any) -> None:
    for function in store.functions(operation.database):
        ask_for_place(store, operation, place, function.functionName)


def _hear(store: Store, operation: PutDatabase, there: Any) -> None:
    """Remember where else the database was born.

    A cluster that tells of the database without a birth of its own has dropped its own one: the event may be lost.
    """
    told, known = births_of(operation.definition.parameters, operation.mark.source), _births(store, there)
    gone = (known - told) & {operation.visited[-1]}
    if gone:
        _leave_to(store, there, (known | told) - gone)
    else:
        _note(store, there, told)


def _births(store: Store, there: Any) -> frozenset[str]:
    return births_of(there.parameters, store.cluster)


def _note(store: Store, there: Any, births: Iterable[str]) -> None:
    """Remember in the database where else it was born, so that its drop can tell which births were known."""
    known = _births(store, there)
    if not known.issuperset(births):
        there.parameters = with_births(there.parameters, known.union(births))
        store.alter_database(there, there)


def drop_database(store: Store, operation: DropDatabase) -> Outcome:
    """Drop the database with those of its tables that may go. It stays if others are left, or if it has unknown births.

    If it stays because of tables, it counts as born here, and all of it is told again: other clusters may not know it.

    Tables of the home that drops may go, and those that the source listed, if they are here as they were there. An
    empty database is worth nothing: wherever it was born, it may go.
    """
    there = store.database(operation.database)
    if there is None:
        return _passed_on(store, operation)
    if operation.tables_alone:
        return _drop_own(store, operation, there)
    judge = judge_of(store)
    verdict = judge.drop(operation, there)
    if operation.database == DEFAULT or verdict is Verdict.STALE:
        return Outcome.STALE if verdict is Verdict.STALE else Outcome.FOREIGN
    # Whether or not the database stays: each table is judged by itself.
    left = _drop_tables(store, operation)
    births = judge.unseen(operation, there) or frozenset({store.cluster} if left else ())
    if not births:
        _drop(store, operation)
        return Outcome.APPLIED
    _leave_to(store, there, births)
    for table in left:
        ask_for_table(store, operation, table)
    _ask_for_functions(store, operation, there)
    return ask_for_place(store, operation, there)


def _passed_on(store: Store, operation: DropDatabase) -> Outcome:
    """Tell the drop to the clusters whose births it means, if no event of the target tells them."""
    unheard = judge_of(store).known(operation) - {store.cluster, *operation.visited}
    if not unheard or not store.settings.relay:
        return Outcome.UNCHANGED
    way: dict[str, Any] = {"mark": operation.mark, "visited": operation.visited}
    return say_again(store, SayAgain(database=operation.database, home=operation.mark.source, **way))


def _leave_to(store: Store, there: Any, births: frozenset[str]) -> None:
    """Let the database be one of these births alone."""
    if births == births_of(there.parameters, store.cluster):
        return
    mark = Mark.read(there.parameters)
    there.parameters = with_births(there.parameters, births)
    if store.cluster in births:
        unmark(there)
    elif mark is None or mark.source not in births:
        # Position 0: every event of the new home is newer than this mark.
        there.parameters |= Mark(min(births), 0, 0).parameters()
    store.alter_database(there, there)


def _drop(store: Store, operation: DropDatabase) -> None:
    there = store.database(operation.database)
    if there is not None:  # HMS's event has the database as it is now: the next cluster reads the known births there
        _note(store, there, judge_of(store).known(operation))
    store.drop_database(operation.database, delete_data=deletes_directory(store, there, operation.delete_data))


def _drop_own(store: Store, operation: DropDatabase, place: Any) -> Outcome:
    """Drop the listed tables that were born where they were dropped, and the database if nothing else keeps it.

    It stays if it was born here or holds anything else: its home gets a drop of its own.
    """
    judge, dropped = judge_of(store), 0
    for told in operation.told:
        there = store.table(TableName.of(operation.database, told.tableName))
        if there is not None and judge.home(there) == operation.mark.source and judge.home(there) != store.cluster:
            store.drop_tables([there], delete_data=False)
            dropped += 1
    if _is_left_over(store, operation, place):
        _drop(store, operation)
        dropped += 1
    return Outcome.APPLIED if dropped else Outcome.UNCHANGED


def _is_left_over(store: Store, operation: DropDatabase, place: Any) -> bool:
    judge = judge_of(store)
    home = judge.home(place)
    if judge.unseen(operation, place):
        return False
    if operation.database == DEFAULT or home == store.cluster or store.table_names(operation.database):
        return False
    return home == operation.mark.source or not store.functions(operation.database)


def _drop_tables(store: Store, operation: DropDatabase) -> list[Any]:
    """Drop the tables that may go; returns those that are left."""
    # Views first: Hive 4 refuses to drop a table that a materialized view uses.
    there = sorted(store.tables(operation.database), key=is_view, reverse=True)
    told = {table.tableName: table for table in operation.told}
    left: list[Any] = []
    for table in there:
        if _may_go(store, operation, told.get(table.tableName), table):
            for batch, delete_data in drop_batches(store, [table], operation.delete_data):
                store.drop_tables(batch, delete_data=delete_data)
        else:
            left.append(table)
    return left


def tables_with(store: Store, operation: DropDatabase) -> list[Any]:
    """The tables that the drop would take along."""
    told = {table.tableName: table for table in operation.told}
    return [it for it in store.tables(operation.database) if _may_go(store, operation, told.get(it.tableName), it)]


def _may_go(store: Store, operation: DropDatabase, told: Any | None, there: Any) -> bool:
    judge = judge_of(store)
    source, home = operation.visited[-1], judge.home(there)
    if told is not None and home_of(told.parameters, source) == home and (home == source or alike(told, there)):
        return True
    if judge.asked(operation).stance is Stance.REQUEST:
        return False
    # A relayed drop carries the database's mark. That is older than the marks of the tables, so it cannot be compared.
    relayed = source != operation.mark.source == home
    return relayed or judge.drop(operation, there) is Verdict.DO
