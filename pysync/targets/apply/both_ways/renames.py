"""Renames both ways.

A rename by the home is done as one way. A replica's is done if both names are here as they were there.
"""

from __future__ import annotations

from typing import Any

from pysync.model.home import Stance
from pysync.model.mark import Mark
from pysync.model.operation import RenameTable
from pysync.targets.apply.both_ways.tables import bring_to, is_committed
from pysync.targets.apply.both_ways.verdicts import ask_for_table, judge_of, marked, parked
from pysync.targets.apply.judging import Verdict
from pysync.targets.apply.renames import move
from pysync.targets.base import Incomplete, Outcome, total
from pysync.targets.diff import alike
from pysync.targets.hive import is_another
from pysync.targets.store import Store


def rename_table(store: Store, operation: RenameTable) -> Outcome:
    """Rename the table if that is allowed; else bring both names to their state at the home."""
    old = store.table(operation.table)
    new = store.table(operation.new_name)
    if judge_of(store).asked(operation).stance is not Stance.REQUEST:
        return _as_told(store, operation, old, new)
    if old is not None and new is None and _was(operation, old):
        return _rename(store, operation, old)
    return _as_asked(store, operation, old, new)


def _as_told(store: Store, operation: RenameTable, old: Any, new: Any) -> Outcome:
    """A rename by the home. A table of the new name gives way, unless it was born at a cluster with a smaller name."""
    judge = judge_of(store)
    if old is None or judge.drop(operation, old) is not Verdict.DO:
        return bring_to(store, operation, operation.definition, new)
    if not _is_done(operation, new) and is_committed(store, operation, operation.definition, old):
        return Outcome.FOREIGN
    if new is None:
        return _rename(store, operation, old)
    verdict = judge.put(operation, operation.definition, new)
    if verdict is Verdict.PARK:
        raise parked(store, operation.new_name)
    # If it is done, a crash or a replay has left the old table: only that has to go.
    if verdict is Verdict.DO and not _is_done(operation, new):
        store.drop_tables([new], delete_data=False)
        return _rename(store, operation, old)
    store.drop_tables([old], delete_data=False)
    return total([Outcome.APPLIED, bring_to(store, operation, operation.definition, new)])


def _as_asked(store: Store, operation: RenameTable, old: Any, new: Any) -> Outcome:
    """A request that finds another state: tables of both names stay, and both ends get both of them."""
    outcomes = [Outcome.UNCHANGED]
    # Without the old table no rename is told from here: the home would never hear what became of it.
    if old is not None or operation.mark.source != store.cluster:
        outcomes.append(ask_for_table(store, operation, old))
    # One that looks alike, but was born elsewhere, is another table, too.
    if new is not None and not (_is_so(operation, new) and judge_of(store).home(new) == operation.mark.source):
        outcomes.append(ask_for_table(store, operation, new))
    if new is None:
        # Not parked: the replay reads the table of the new name whole at the source, so that both ends have both
        # tables.
        raise Incomplete.of(store.settings.name, operation.new_name)
    return total(outcomes)


def _rename(store: Store, operation: RenameTable, old: Any) -> Outcome:
    wanted = marked(judge_of(store), operation, operation.definition, old)
    if is_another(wanted, old):
        store.drop_tables([old], delete_data=False)
        return bring_to(store, operation, operation.definition, None)
    move(store, wanted, old)
    return Outcome.APPLIED


def _was(operation: RenameTable, there: Any) -> bool:
    condition = operation.condition
    return condition is not None and any(it is not None and alike(it, there) for it in condition.before)


def _is_so(operation: RenameTable, new: Any | None) -> bool:
    return new is not None and alike(operation.definition, new)


def _is_done(operation: RenameTable, new: Any | None) -> bool:
    """Whether this event has written the table of the new name."""
    return new is not None and Mark.read(new.parameters) == operation.mark
