"""Partitions both ways, each by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pysync.model.home import Stance
from pysync.model.names import partition_name
from pysync.model.operation import DropPartitions, PutPartitions, TableOperation
from pysync.targets.base import Outcome, total
from pysync.targets.hms.both_ways.verdicts import ask_for_table, judge_of, settled
from pysync.targets.hms.partitions import add_partitions, alter_partitions, drop_named, named
from pysync.targets.hms.same import same
from pysync.targets.hms.session import Session, batches, environment
from pysync.targets.hms.tables import existing
from pysync.targets.judging import BothWays, Verdict

Found = Mapping[str, Any]


def put_partitions(session: Session, operation: PutPartitions) -> Outcome:
    """Add those that are absent, alter those that differ; for those that may not be the home says the table again.

    So it does, too, where a request does not know its columns: they may have been given to the partitions
    of a replica by a cascade that came before these. And where an echo finds other columns than it tells: of what a
    cascade makes of partitions there is no event.
    """
    judge, name = judge_of(session), operation.table
    table = session.hms.table(name.database, name.table)
    stance = judge.asked(operation).stance
    if table is None and stance is not Stance.STATE:
        return ask_for_table(session, operation, None) if stance is Stance.REQUEST else Outcome.STALE
    table = table or existing(session, name, "partitions")
    if _misfits(judge, operation, table, [it.values for it in operation.partitions]):
        return ask_for_table(session, operation, table)
    verdict = judge.parts(operation, table)
    if verdict is not Verdict.DO:
        return settled(session, operation, verdict, table)
    keys = [key.name for key in table.partitionKeys or ()]
    wanted = {named(operation, keys, item.values): item for item in operation.partitions}
    outcomes = [_put(session, operation, table, {it: wanted[it] for it in names}) for names in batches(list(wanted))]
    if stance is Stance.REQUEST and not same(operation.definition.sd.cols, table.sd.cols):
        outcomes.append(Outcome.CONFLICT)
    return _asked_once(session, operation, table, outcomes)


def drop_partitions(session: Session, operation: DropPartitions) -> Outcome:
    """Drop those that are there; for those that may not be the home says the table again."""
    judge, name = judge_of(session), operation.table
    table = session.hms.table(name.database, name.table)
    if table is None:
        return Outcome.UNCHANGED
    if _misfits(judge, operation, table, operation.values):
        return ask_for_table(session, operation, table)
    verdict = judge.parts(operation, table)
    if verdict is not Verdict.DO:
        return settled(session, operation, verdict, table)
    names = [named(operation, operation.keys, values) for values in operation.values]
    outcomes = [_drop(session, operation, table, batch) for batch in batches(names)]
    return _asked_once(session, operation, table, outcomes)


def _put(session: Session, operation: PutPartitions, table: Any, wanted: Found) -> Outcome:
    there = _there(session, operation, table, list(wanted))
    judge = judge_of(session)
    verdicts = {key: judge.part(operation, table, item, there.get(key)) for key, item in wanted.items()}
    todo = {key: wanted[key] for key, verdict in verdicts.items() if verdict is Verdict.DO}
    changed = [item for key, item in todo.items() if key in there and not same(item, there[key])]
    absent = [item for key, item in todo.items() if key not in there]
    changed += add_partitions(session, operation, absent)
    alter_partitions(session, operation.table, changed, environment(operation))
    crossed = [
        key for key in there if verdicts[key] is Verdict.STALE and not same(wanted[key].sd.cols, there[key].sd.cols)
    ]
    unheard = [Verdict.CONFLICT] if crossed else []
    return _outcome([*verdicts.values(), *unheard], changed=bool(absent or changed))


def _drop(session: Session, operation: DropPartitions, table: Any, names: Sequence[str]) -> Outcome:
    there = _there(session, operation, table, names)
    judge = judge_of(session)
    verdicts = {key: judge.part(operation, table, None, item) for key, item in there.items()}
    todo = [key for key, verdict in verdicts.items() if verdict is Verdict.DO]
    if todo:
        drop_named(session, operation, todo)
    unheard = [Verdict.CONFLICT] if len(there) < len(names) and judge.is_on_its_way(operation) else []
    return _outcome([*verdicts.values(), *unheard], changed=bool(todo))


def _there(session: Session, operation: TableOperation, table: Any, names: Sequence[str]) -> dict[str, Any]:
    name, keys = operation.table, [key.name for key in table.partitionKeys or ()]
    found = session.hms.partitions_by_name(name.database, name.table, list(names))
    return {partition_name(keys, item.values): item for item in found}


def _outcome(verdicts: Sequence[Verdict], *, changed: bool) -> Outcome:
    if Verdict.CONFLICT in verdicts:
        return Outcome.CONFLICT
    if changed:
        return Outcome.APPLIED
    return Outcome.STALE if Verdict.STALE in verdicts else Outcome.UNCHANGED


def _asked_once(session: Session, operation: TableOperation, table: Any, outcomes: Sequence[Outcome]) -> Outcome:
    outcome = total(outcomes)
    return ask_for_table(session, operation, table) if outcome is Outcome.CONFLICT else outcome


def _misfits(judge: BothWays, operation: TableOperation, table: Any, values: Sequence[Sequence[str]]) -> bool:
    """Whether a request is about a table of other partition keys than the one that is there."""
    if judge.asked(operation).stance is not Stance.REQUEST:
        return False
    return any(len(it) != len(table.partitionKeys or ()) for it in values)
