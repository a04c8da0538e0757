"""Renames of tables, within a database or into another. Where a store cannot rename, the table is created again and
filled:

    new one created, with a parameter `pysync.renaming` that names the old one ── partitions copied ── counted
    ── parameter removed ── old one dropped

As long as the parameter is there, the old table counts, and the next try continues the copy. After that, an old table
that still exists was left by a crash or put there by a replay, and is dropped. So nothing is lost wherever it stops.
The new table has none of the old one's grants and versions, as `CopiesTables.lost_by_copy` says. It has its column
statistics if the target keeps any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import islice
from typing import Any

import structlog

from pysync.base.text import count
from pysync.model.mark import Mark
from pysync.model.operation import RenameTable
from pysync.targets.apply.door import Door
from pysync.targets.apply.judge import Judge, Verdict
from pysync.targets.apply.owners import Ownership, ownership_of
from pysync.targets.apply.partitions import by_values, key_of
from pysync.targets.apply.refusals import refuse_transactional
from pysync.targets.apply.statistics import copy_statistics
from pysync.targets.apply.tables import bring_to, has_commit_of_others
from pysync.targets.apply.versions import placed
from pysync.targets.base import Outcome, Unavailable, total
from pysync.targets.diff import same
from pysync.targets.hive import is_another, name_of
from pysync.targets.store import Capability, CopiesTables, refused_as_one

RENAMING_KEY = "pysync.renaming"

log = structlog.get_logger(__name__)


def rename_table(store: Door, operation: RenameTable, judge: Judge) -> Outcome:
    """Rename the table if it is there and may go; else bring the table of the new name to its definition."""
    store = store.renaming()
    old, new = store.reads.table(operation.table), store.reads.table(operation.new_name)
    outcome = judge.outcome_of_rename(operation, old, new)
    if outcome is not None:
        return outcome
    done = _is_done(new, operation)
    verdict = judge.rename(operation, old, new, is_done=done) if old is not None else Verdict.STALE
    if verdict is Verdict.STALE:
        return bring_to(store, operation, operation.definition, new, judge)
    if verdict is Verdict.DO:
        return _rename_over(store, operation, old, new, judge)
    return judge.outcome_without_write(operation, verdict, old)


def _rename_over(store: Door, operation: RenameTable, old: Any, new: Any | None, judge: Judge) -> Outcome:
    """Give the old table the new name, which another table may have."""
    # An earlier try has begun to fill the new table: it is continued, and nothing is decided again.
    if is_half_done(new, operation):
        return _rename(store, operation, old, new, judge)
    verdict = Verdict.STALE if _is_done(new, operation) else judge.displace(operation, new)
    if verdict is Verdict.STALE:
        store.drop_former(old)  # what a crash, or a replay from before the rename, has left
        return total([Outcome.APPLIED, bring_to(store, operation, operation.definition, new, judge)])
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, new)
    if has_commit_of_others(operation, operation.definition.parameters, old, judge):
        return Outcome.FOREIGN
    # Both refuse what cannot be written, before anything is dropped for it.
    refuse_transactional(store.settings, operation.definition)
    store.reads.as_stored(operation.definition)
    takes_files = judge.takes_files(store.settings, operation, new)
    brought = store.bring_files(lambda _: old) if takes_files else {}
    operation = replace(operation, definition=placed(operation.definition, old, brought))
    return _rename(store, operation, old, new, judge)


def is_half_done(new: Any | None, operation: RenameTable) -> bool:
    """Whether a try of this rename has begun to fill the table of the new name."""
    parameters = (new is not None and new.parameters) or {}
    return _is_written_by(parameters, operation) and parameters.get(RENAMING_KEY) == str(operation.table)


def _is_done(new: Any | None, operation: RenameTable) -> bool:
    """Whether this event, or a later one, has written and filled the table of the new name."""
    if new is None:
        return False
    written = _is_written_by(new.parameters, operation) and RENAMING_KEY not in new.parameters
    return written or ownership_of(True, new.parameters, operation.mark) is Ownership.NEWER


def _is_written_by(parameters: Mapping[str, str], operation: RenameTable) -> bool:
    """Whether the event of the operation wrote the mark. Both ways a mark does not hold the object's name."""
    written_mark = Mark.read(parameters)
    return written_mark is not None and replace(written_mark, object=operation.mark.object) == operation.mark


def _rename(store: Door, operation: RenameTable, old: Any, new: Any | None, judge: Judge) -> Outcome:
    """Turn the old table into the new one. A table of the new name is an older one, which is gone at the source."""
    is_other = not is_half_done(new, operation) and is_another(operation.definition, old)
    if Capability.RENAMES in store.reads.lacks and not is_other:
        return _create_and_copy(store, operation, old, new, judge)
    if new is not None:
        store.displace_table(new)
    if is_other:
        store.drop_former(old)
        return bring_to(store, operation, operation.definition, None, judge)
    wanted = store.reads.as_stored(judge.marked(operation, operation.definition, old))
    store.rename_table(wanted, old)
    return Outcome.APPLIED


def _create_and_copy(store: Door, operation: RenameTable, old: Any, new: Any | None, judge: Judge) -> Outcome:
    # A copy that was begun is finished, whatever the settings say by now.
    copying = store if is_half_done(new, operation) else store.for_copy_of(old)
    definition = _located(operation.definition, old)
    if new is not None and not is_half_done(new, operation):
        _empty(store, new)  # an older table of that name; its partitions are none of the renamed one's
    bring_to(copying, operation, definition, new, judge, filling={RENAMING_KEY: str(operation.table)})
    copied = _copy(store, old, store.reads.as_stored(definition)) if old.partitionKeys else 0
    # Counted before the old table goes: it is the only other place where its partitions are known.
    made = store.reads.table(operation.new_name)
    copied_now = len(store.reads.partition_names(made)) if copied and made is not None else 0
    if copied_now < copied:
        raise Unavailable(
            f"{operation.new_name} has only {copied_now:,} of the {count(copied, 'partition')} of {operation.table}; "
            "they are copied again"
        )
    if made is not None:
        if store.keeps_statistics:
            copy_statistics(store, old, made)
        if isinstance(store.reads, CopiesTables):
            store.reads.inherit(made, old)
    bring_to(store, operation, operation.definition, made, judge)
    store.drop_former(old)
    store.furnish(operation.definition)
    lost = [] if store.keeps_statistics else ["its column statistics"]
    lost += [store.reads.lost_by_copy] if isinstance(store.reads, CopiesTables) else []
    log.warning(
        "table_copied",
        target=store.settings.name,
        table=str(operation.table),
        to=str(operation.new_name),
        lost=", ".join(lost),
    )
    return Outcome.APPLIED


def _located(definition: Any, old: Any) -> Any:
    """The definition; if it has no location, with the old table's."""
    if definition.sd is None or definition.sd.location or not old.sd.location:
        return definition
    located = deepcopy(definition)
    located.sd.location = old.sd.location
    return located


def _copy(store: Door, old: Any, new: Any) -> int:
    """Copy the partitions; returns how many there are.

    Those below the old location get the same place below the new one.
    """
    before, after = (old.sd.location or "").rstrip("/") + "/", (new.sd.location or "").rstrip("/") + "/"
    return sum(_put(store, new, [_moved(it, before, after) for it in some]) for some in _batches(store, old))


def _empty(store: Door, table: Any) -> None:
    for some in _batches(store, table):
        store.empty_table(table, some)


def _batches(store: Door, table: Any) -> Iterator[list[Any]]:
    partitions = store.reads.partitions(name_of(table))
    return iter(lambda: list(islice(partitions, store.reads.batch)), [])


def _moved(partition: Any, before: str, after: str) -> Any:
    location = partition.sd.location or ""
    if location.startswith(before):
        partition.sd.location = after + location[len(before) :]
    return partition


def _put(store: Door, table: Any, wanted: Sequence[Any]) -> int:
    existing = by_values(store, table, [item.values for item in wanted])
    absent = [item for item in wanted if key_of(item.values) not in existing]
    changed = [
        (item, previous)
        for item in wanted
        if (previous := existing.get(key_of(item.values))) and not same(item, previous)
    ]
    if absent or changed:
        refused = store.put_partitions(table, absent, changed).refused
        if refused:
            raise refused_as_one(name_of(table), refused)
    return len(wanted)
