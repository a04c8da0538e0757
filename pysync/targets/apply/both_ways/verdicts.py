"""Verdicts: what becomes of one, and how the home of an object is asked to say its state again."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import structlog

from pysync.model.again import Again
from pysync.model.home import since
from pysync.model.mark import MARK_KEYS, Mark
from pysync.model.operation import DatabaseOperation, Operation, SayAgain
from pysync.targets.apply.judging import BothWays, Verdict
from pysync.targets.apply.writing import stamped
from pysync.targets.base import Outcome, Rejected
from pysync.targets.diff import alike, same
from pysync.targets.store import Store

log = structlog.get_logger(__name__)

_OUTCOMES = {
    Verdict.UNCHANGED: Outcome.UNCHANGED,
    Verdict.STALE: Outcome.STALE,
    Verdict.FOREIGN: Outcome.FOREIGN,
}


def judge_of(store: Store) -> BothWays:
    """The judge for this target."""
    return BothWays(store.cluster, store.settings.on_conflict, alike, store.settings.relay)


def settled(store: Store, operation: Operation, verdict: Verdict, there: Any) -> Outcome:
    """The outcome if nothing is written to a table; in a conflict the home is asked. Raises Rejected to park."""
    if verdict is Verdict.CONFLICT:
        return ask_for_table(store, operation, there)
    if verdict is Verdict.PARK:
        raise parked(store, operation.key)
    return _OUTCOMES[verdict]


def parked(store: Store, what: object, *, another: bool = False) -> Rejected:
    """The error for a table that was born at both ends, so that a person has to decide.

    `another`: no alter turns one into the other, so that `on_conflict` decides nothing.
    """
    how = " (with other partition keys, or a view at one end)" if another else ""
    adopt = ', or set on_conflict = "adopt": then the one of the cluster with the smaller name wins'
    return Rejected(
        f"table {what}{how} was created both at the source and at the target {store.settings.name!r}, and the two "
        "differ",
        f"drop it at one end{'' if another else adopt}",
    )


def ask_for_table(store: Store, operation: Operation, there: Any) -> Outcome:
    """Have the home say the table again; `there` is the target's table, if it has one."""
    database, _, table = operation.key.partition(".")
    if there is not None:
        database, table = there.dbName, there.tableName
    home = judge_of(store).home(there) or operation.mark.source
    return _ask(store, operation, home, database, table=table)


def ask_for_place(store: Store, operation: DatabaseOperation, place: Any, function: str = "") -> Outcome:
    """The same for the database `place`, or a function in it."""
    judge = judge_of(store)
    known = judge.home_within(place) if function else judge.home(place)
    said = operation.condition.place if operation.condition is not None else None
    home = min(filter(None, (known, said)), default=operation.mark.source)
    return _ask(store, operation, home, operation.database, function=function)


def _ask(store: Store, operation: Operation, home: str, database: str, **what: str) -> Outcome:
    """Say a word that begins here: the path of the conflicting change is not its own."""
    words = 1 + (operation.condition.words if operation.condition is not None else 0)
    _say(store, Again(database, home=home, words=words, **what), operation.visited)
    return _conflict(store, operation, home)


def say_again(store: Store, operation: SayAgain) -> Outcome:
    """Tell all clusters to read an object anew: as its home, or else on the path that the operation took.

    It is told by creating and dropping a function (pysync.model.again).
    """
    # At its home the word begins anew: before that it was only a question.
    path = () if operation.home == store.cluster else since(operation.home, operation.visited)
    said = Again(operation.database, operation.table, operation.function, operation.home, path, operation.words)
    _say(store, said, operation.visited)
    return Outcome.APPLIED if operation.home in path else _conflict(store, operation, operation.home)


def _say(store: Store, said: Again, visited: Sequence[str]) -> None:
    # The words about one conflict are limited: clusters that take each other for the home would go on for ever.
    if not said.is_worth_saying:
        return
    store.say(said.told_by(",".join(visited)))


def _conflict(store: Store, operation: Operation, home: str) -> Outcome:
    """Log the change that was not made, and whose state stays."""
    log.warning(
        "conflict_found",
        target=store.settings.name,
        object=operation.key,
        change=type(operation).__name__,
        home=home,
        stays=store.cluster,
        path=",".join(operation.visited),
    )
    return Outcome.CONFLICT


def marked(judge: BothWays, operation: Operation, definition: Any, there: Any | None) -> Any:
    """A copy of a database or table to write: with the mark that it gets at the target, or none at its home."""
    mark = judge.mark(operation, there)
    copy = deepcopy(definition) if mark is None else stamped(definition, mark)
    if mark is None:
        unmark(copy)
    return copy


def unmark(item: Any) -> None:
    """Remove the mark from a database or table, in place."""
    item.parameters = {k: v for k, v in (item.parameters or {}).items() if k not in MARK_KEYS}


def up_to_date(wanted: Any, there: Any) -> bool:
    """Whether a database or table needs no write: see pysync.targets.apply.writing.up_to_date."""
    mark, written = Mark.read(wanted.parameters), Mark.read(there.parameters)
    if mark is None or written is None:
        # Both None: the object is at home, and stays so. Only one None: its home changes, and that has to be written.
        return mark is written and same(wanted, there)
    return written.source == mark.source and mark.created in {0, written.created} and same(wanted, there)
