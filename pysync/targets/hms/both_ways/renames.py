"""Renames both ways: of the home as one way; those of a replica where both names are here as they were there."""

from __future__ import annotations

from typing import Any

from pysync.model.home import Stance
from pysync.model.mark import Mark
from pysync.model.operation import RenameTable
from pysync.targets.base import Incomplete, Outcome, total
from pysync.targets.hms import tables
from pysync.targets.hms.both_ways.tables import bring_to
from pysync.targets.hms.both_ways.verdicts import ask_for_table, judge_of, marked, parked
from pysync.targets.hms.renames import move_to
from pysync.targets.hms.same import alike
from pysync.targets.hms.session import Session
from pysync.targets.judging import Verdict


def rename_table(session: Session, operation: RenameTable) -> Outcome:
    """Rename the table if it may be; else both names are brought to what they are at the home."""
    old = session.hms.table(operation.table.database, operation.table.table)
    new = session.hms.table(operation.new_name.database, operation.new_name.table)
    if judge_of(session).asked(operation).stance is not Stance.REQUEST:
        return _as_told(session, operation, old, new)
    if old is not None and new is None and _was(operation, old):
        return _rename(session, operation, old)
    return _as_asked(session, operation, old, new)


def _as_told(session: Session, operation: RenameTable, old: Any, new: Any) -> Outcome:
    """The home's word. What is here of the new name gives way, unless it was born under a smaller name."""
    judge = judge_of(session)
    if old is None or judge.drop(operation, old) is not Verdict.DO:
        return bring_to(session, operation, operation.definition, new)
    if new is None:
        return _rename(session, operation, old)
    verdict = judge.put(operation, operation.definition, new)
    if verdict is Verdict.PARK:
        raise parked(session, f"table {operation.new_name}")
    if verdict is Verdict.DO and not _is_done(operation, new):
        tables.drop(session, operation, operation.new_name)
        return _rename(session, operation, old)
    tables.drop(session, operation, operation.table)
    return total([Outcome.APPLIED, bring_to(session, operation, operation.definition, new)])


def _as_asked(session: Session, operation: RenameTable, old: Any, new: Any) -> Outcome:
    """A request that finds something else: what is here under either name stays, and both ends get both tables."""
    outcomes = [Outcome.UNCHANGED]
    if old is not None:
        outcomes.append(ask_for_table(session, operation, old))
    if new is not None and not _is_so(operation, new):
        outcomes.append(ask_for_table(session, operation, new))
    if new is None:
        raise Incomplete.of(session.settings.name, operation.new_name)
    return total(outcomes)


def _rename(session: Session, operation: RenameTable, old: Any) -> Outcome:
    wanted = marked(judge_of(session), operation, operation.definition, old)
    if tables.is_another(wanted, old):
        tables.drop(session, operation, operation.table)
        return bring_to(session, operation, operation.definition, None)
    move_to(session, operation, wanted, old)
    return Outcome.APPLIED


def _was(operation: RenameTable, there: Any) -> bool:
    condition = operation.condition
    return condition is not None and any(it is not None and alike(it, there) for it in condition.before)


def _is_so(operation: RenameTable, new: Any | None) -> bool:
    return new is not None and alike(operation.definition, new)


def _is_done(operation: RenameTable, new: Any) -> bool:
    """Whether the table of the new name was written by this very event."""
    return Mark.read(new.parameters) == operation.mark
