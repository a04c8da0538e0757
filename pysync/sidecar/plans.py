"""Plans: what the next window of a target comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from itertools import islice
from typing import Any

from pysync.model.definition import VIEW
from pysync.model.describe import describe
from pysync.model.operation import Operation, PutPartitions, PutTable, Refresh, partitions
from pysync.replay.drain import Drain
from pysync.replay.window.plan import Work
from pysync.sidecar.held import brake_status
from pysync.targets.base import Rejected, ReportsLosses, Unavailable
from pysync.targets.files import pairs_of
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings

_MOST_VIEWS = 50
"""Of so many views of a window a plan says what the target will not have: it reads their tables there."""


def plan_of(drain: Drain, queued: int) -> dict[str, Any]:
    """What the next window of a target comes to."""
    draft, pause, settings = drain.preview(), drain.paused(), drain.settings
    lost = _lost_of_views(settings, draft.works)
    return {
        "target": drain.name,
        "mode": settings.mode,
        "paused": pause and pause.reason,
        "brake": brake_status(drain),
        "queued": queued,
        "first": draft.events[0].position if draft.events else None,
        "last": draft.events[-1].position if draft.events else None,
        "events": len(draft.events),
        "skipped": draft.skipped,
        "refused": [
            {"position": it.event.position, "tables": sorted(it.keys), "kind": it.kind, "reason": it.reason}
            for it in draft.refused
        ],
        "drops": draft.drops,
        "max_drops_per_window": settings.max_drops_per_window,
        "max_drops": settings.max_drops,
        "max_drop_share": settings.max_drop_share,
        "removes_files": any(_may_remove_files(drain, it) for work in draft.works for it in work.operations),
        "operations": sum(len(work.operations) for work in draft.works),
        "works": [_work(work, settings.cascade, lost) for work in draft.works],
    }


def _lost_of_views(settings: TargetSettings, works: Sequence[Work]) -> dict[str, Sequence[str]]:
    """What a target that translates views will not have of the first views that it gets, by their keys.

    Nothing of those whose tables change in the same window, and of those behind one for which it does not answer.
    """
    changing = frozenset().union(*(it.keys for it in works))
    known = (it for it in works if settings.translates_views and not it.reads & changing)
    puts = (it for work in known for it in work.operations if isinstance(it, PutTable))
    views = list(islice((it for it in puts if it.definition.tableType == VIEW), _MOST_VIEWS))
    lost: dict[str, Sequence[str]] = {}
    if views:
        with closing(target_kind(settings.kind).open(settings)) as target, suppress(Unavailable):
            if isinstance(target, ReportsLosses):
                for it in views:
                    lost[it.key] = _lost_of(target, it.definition)
    return lost


def _lost_of(target: ReportsLosses, view: Any) -> Sequence[str]:
    try:
        return target.lost(view)
    except Rejected as error:
        return [str(error)]


def _may_remove_files(drain: Drain, operation: Operation) -> bool:
    """Whether files that were copied or re-encoded are removed before the operation is applied."""
    copies = drain.settings.copy_files
    if copies is None or drain.settings.mode == "shadow":
        return False
    if isinstance(operation, Refresh):
        table = operation.source_table  # None: it reads no table, or only statistics
        mapping = drain.translator.mapping
        return table is not None and (bool(copies.rewrite) or mapping.rewriting(table).removes_extras)
    pairs = pairs_of(operation, shares=True) if isinstance(operation, PutTable | PutPartitions) else ()
    return any(copies.rewrite or it.removes_extras for it in pairs)


def _work(work: Work, cascade: bool, lost: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    return {
        "keys": sorted(work.keys),
        "events": len(work.positions),
        "first": min(work.positions),
        "last": max(work.positions),
        "operations": [
            {
                "operation": type(operation).__name__,
                "object": operation.key,
                "partitions": partitions(operation),
                "text": "; ".join([describe(operation, cascade=cascade), *lost.get(operation.key, ())]),
            }
            for operation in work.operations
        ],
    }
