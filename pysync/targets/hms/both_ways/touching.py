"""What becomes of a verdict, and how an object is touched, so that its state is sent again."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any

import structlog
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.again import PLACE, Again, is_word
from pysync.model.home import CONFLICT_KEY, with_touch
from pysync.model.mark import EVENT_KEY, SOURCE_KEY, Mark
from pysync.model.operation import DatabaseOperation, Operation, SayAgain, TableOperation
from pysync.targets.base import Outcome, Rejected
from pysync.targets.hms.databases import drop_function_of
from pysync.targets.hms.same import alike, same
from pysync.targets.hms.session import Session, environment, stamped
from pysync.targets.judging import BothWays, Verdict

log = structlog.get_logger(__name__)

_OUTCOMES = {
    Verdict.UNCHANGED: Outcome.UNCHANGED,
    Verdict.STALE: Outcome.STALE,
    Verdict.FOREIGN: Outcome.FOREIGN,
}


def judge_of(session: Session) -> BothWays:
    """Who decides for this target."""
    return BothWays(session.cluster, session.settings.on_conflict, alike, session.settings.relay)


def settled(session: Session, operation: Operation, verdict: Verdict, there: Any, wanted: Any = None) -> Outcome:
    """The outcome for a table where nothing is done: after a conflict it is touched. Raises Rejected to park it."""
    if verdict is Verdict.CONFLICT:
        return touch_table(session, operation, there, wanted)
    if verdict is Verdict.PARK:
        raise parked(session, f"table {operation.key}")
    return _OUTCOMES[verdict]


def parked(session: Session, what: str) -> Rejected:
    """The error for what was born at both ends, so that a person has to decide."""
    return Rejected(
        f"{what} was born at the target {session.settings.name!r}, too, and differs from what was born at the source",
        'drop it at one end, or set on_conflict = "adopt": then that of the cluster with the smaller name stays',
    )


def touch_table(session: Session, operation: Operation, there: Any, wanted: Any = None) -> Outcome:
    """Raise the table's counter of conflicts; whoever hears of that reads the table anew. Of one that is not
    there it is said.
    """
    if there is None:
        return _say(session, operation, operation.mark.source)
    _conflict(session, operation, judge_of(session).home(there) or operation.mark.source)
    if judge_of(session).home(there) != operation.mark.source:  # the way so far was that of another object
        operation = replace(operation, visited=(session.cluster,))
        session = session.on_behalf_of(operation.visited)
    touched = deepcopy(there)
    touched.parameters = with_touch(there.parameters, getattr(wanted, "parameters", None))
    context = environment(operation)
    session.hms.call(
        lambda client: client.alter_table_with_environment_context(there.dbName, there.tableName, touched, context)
    )
    return Outcome.CONFLICT


def touch_place(session: Session, operation: DatabaseOperation, place: Any, function: str = "") -> Outcome:
    """The same for the database `place`, or a function in it: no alter of those is told of everywhere."""
    judge = judge_of(session)
    known = judge.home_within(place) if function else judge.home(place)
    said = operation.condition.place if operation.condition is not None else None
    return _say(session, operation, min(filter(None, (known, said)), default=operation.mark.source), function)


def _say(session: Session, operation: Operation, home: str, function: str = "") -> Outcome:
    database, _, name = operation.key.partition(".")
    table = name if isinstance(operation, TableOperation) else ""
    what: dict[str, Any] = {"database": database, "table": table, "function": function}
    return say_again(session, SayAgain(**what, home=home, mark=operation.mark, visited=operation.visited))


def say_again(session: Session, operation: SayAgain) -> Outcome:
    """Tell that all have to read an object anew: as its home, or else on the way that the operation took.

    What tells it is a function that is made and dropped (pysync.model.again).
    """
    path = () if operation.home == session.cluster else operation.visited
    said = Again(operation.database, operation.table, operation.function, operation.home, path)
    word = said.told_by(",".join(operation.visited))
    drop_function_of(session, PLACE, word.functionName)
    with suppress(hive.AlreadyExistsException):  # it is being said at this very moment
        session.hms.call(lambda client: client.create_function(word))
    for name in session.hms.call(lambda client: client.get_functions(PLACE, "*")):
        if is_word(name):  # this one, and those that a crash has left
            drop_function_of(session, PLACE, name)
    return Outcome.APPLIED if operation.home in path else _conflict(session, operation, operation.home)


def _conflict(session: Session, operation: Operation, home: str) -> Outcome:
    """Log what was changed at both ends, and whose state stays."""
    log.warning(
        "conflict_found",
        target=session.settings.name,
        object=operation.key,
        change=type(operation).__name__,
        home=home,
        stays=session.cluster,
        path=",".join(operation.visited),
    )
    return Outcome.CONFLICT


def marked(judge: BothWays, operation: Operation, definition: Any, there: Any | None) -> Any:
    """A copy of a database or table as it is to be written: with the mark that it gets there, or none at its home."""
    mark = judge.mark(operation, there)
    copy = deepcopy(definition) if mark is None else stamped(definition, mark)
    if mark is None:
        unmark(copy)
    if there is not None and judge.keeps(operation, there):
        kept = (there.parameters or {}).get(CONFLICT_KEY)
        others = {key: value for key, value in (copy.parameters or {}).items() if key != CONFLICT_KEY}
        copy.parameters = others | ({CONFLICT_KEY: kept} if kept is not None else {})
    return copy


def unmark(item: Any) -> None:
    """Take the mark off a database or table, in place."""
    item.parameters = {k: v for k, v in (item.parameters or {}).items() if k not in {SOURCE_KEY, EVENT_KEY}}


def up_to_date(wanted: Any, there: Any) -> bool:
    """Whether a database or table needs no write: see pysync.targets.hms.same.up_to_date."""
    mark, written = Mark.read(wanted.parameters), Mark.read(there.parameters)
    if mark is None or written is None:
        return mark is written and same(wanted, there)
    return written.source == mark.source and mark.created in {0, written.created} and same(wanted, there)


def is_gone(error: hive.NoSuchObjectException | hive.InvalidOperationException) -> bool:
    """Whether somebody else has dropped what was read just now."""
    return isinstance(error, hive.NoSuchObjectException)
