"""Plans: what the next window of a target comes to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from pysync.base.bounded import NoAnswer, OpenQuestion
from pysync.model.definition import VIEW
from pysync.model.describe import describe
from pysync.model.operation import Operation, PutPartitions, PutTable, Refresh, partitions
from pysync.queue import EventQueue
from pysync.replay.drain import Drain
from pysync.replay.window.draft import Draft
from pysync.replay.window.plan import Work
from pysync.sidecar.held import brake_status
from pysync.sidecar.why import EndsReader
from pysync.targets.base import Rejected, ReportsLosses, Target, Unavailable
from pysync.targets.files import pairs_of
from pysync.targets.settings import TargetSettings

_MOST_VIEWS = 50
"""Of so many views of a window a plan says what the target will not have: it reads their tables there."""


def plans_of(drains: Iterable[Drain], queue: EventQueue, ends: EndsReader) -> list[dict[str, Any]]:
    """What the next window of each target comes to."""
    drafts = [(it, it.preview()) for it in drains]
    asked = [LostOfViews.asked(ends, drain.settings, draft.works) for drain, draft in drafts]
    return [_plan(*it, queue.target(it[0].name).depth().queued, lost) for it, lost in zip(drafts, asked, strict=True)]


def _plan(drain: Drain, draft: Draft, queued: int, lost: LostOfViews) -> dict[str, Any]:
    pause, settings = drain.paused(), drain.settings
    lost_of = lost.by_key()
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
        "works": [_work(work, settings.cascade, lost_of) for work in draft.works],
    }


@dataclass(frozen=True, slots=True)
class LostOfViews:
    """What a target that translates views will not have of the first `views` that it gets, as it is being asked."""

    views: Sequence[PutTable]
    question: OpenQuestion[dict[str, Sequence[str]]] | None

    @classmethod
    def asked(cls, ends: EndsReader, settings: TargetSettings, works: Sequence[Work]) -> LostOfViews:
        """Begin to ask. Views whose tables change in the same window are left out."""
        changing = frozenset().union(*(it.keys for it in works))
        known = (it for it in works if settings.translates_views and not it.reads & changing)
        puts = (it for work in known for it in work.operations if isinstance(it, PutTable))
        views = list(islice((it for it in puts if it.definition.tableType == VIEW), _MOST_VIEWS))
        return cls(views, ends.ask_target(settings, partial(_lost_of_all, views=views)) if views else None)

    def by_key(self) -> Mapping[str, Sequence[str]]:
        """By the keys of the views; where the target does not answer that is said of each."""
        try:
            return self.question.answer() if self.question is not None else {}
        except (NoAnswer, Unavailable) as error:
            return {it.key: [f"what the target will not have of it is not known: {error.message}"] for it in self.views}


def _lost_of_all(target: Target, views: Sequence[PutTable]) -> dict[str, Sequence[str]]:
    return {it.key: _lost_of(target, it.definition) for it in views} if isinstance(target, ReportsLosses) else {}


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
