"""Draft: what a run of queued events means for one target, before anything is applied. Pure.

Each step makes a value for the next: events, a run of translated ones, those that wait for nothing, works.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from pysync.model.change import Change
from pysync.model.mark import Writer
from pysync.queue import Queued
from pysync.replay.window.blocks import Blocks, Covers, Refusal
from pysync.replay.window.fold import fold
from pysync.replay.window.plan import Work, plan
from pysync.replay.window.run import Translated, run_of
from pysync.replay.window.translate import Translator


@dataclass(frozen=True, slots=True)
class Draft:
    """`works` are to be applied in order; `refused` events are to be parked without a try.

    `changes` are those of all other events that concern the target, by position; `skipped` counts the rest. `heals`
    has, by the position of each refresh, the parked events that it makes good.
    """

    events: Sequence[Queued]
    works: Sequence[Work]
    changes: Mapping[int, tuple[Queued, Change]]
    refused: Sequence[Refusal]
    skipped: int
    heals: Mapping[int, Covers]

    @property
    def drops(self) -> int:
        """How many databases, tables and partitions the works name that they drop; the tables of a dropped database,
        and what a refresh will drop, are not among them.
        """
        return sum(operation.drops for work in self.works for operation in work.operations)


def draft(
    events: Sequence[Queued],
    translator: Translator,
    writer: Writer,
    blocks: Blocks,
    finished: Set[int] = frozenset(),
) -> Draft:
    """Translate, fold and plan. What cannot be translated or planned, or has to wait behind `blocks`, is refused.

    The draft may end before the last event (see `run_of`). Events at the positions `finished` were applied before a
    crash or a pause: they come along for the position alone. Nothing that is given is changed.
    """
    run = run_of(events, translator, finished)
    cascade = translator.policy.cascade
    while True:
        sifted = _sift(run, blocks.copy())
        try:
            works = plan(fold(sifted.flow, cascade=cascade), writer)
        except Exception:  # noqa: BLE001 - no other try would end differently, and the other events must not wait for it
            run = _without(run, _culprit(sifted.flow, writer, cascade), traceback.format_exc())
        else:
            return _draft(run, sifted, works, finished)


@dataclass(frozen=True, slots=True)
class _Sifted:
    """A run without what is refused: the `taken` events, and all their changes in order, the `flow`."""

    taken: Sequence[Translated]
    flow: Sequence[Change]
    refused: Sequence[Refusal]


def _sift(run: Iterable[Translated], blocks: Blocks) -> _Sifted:
    """Refuse what is not translated, and what has to wait behind `blocks`, which change on the way."""
    taken, refused = list[Translated](), list[Refusal]()
    for each in run:
        refusal = _refusal(each, blocks)
        if refusal is not None:
            refused.append(refusal)
            blocks.refuse(refusal.event.position, refusal.keys)
        elif each.translation is not None:
            taken.append(each)
    return _Sifted(taken, [change for each in taken for change in each.changes], refused)


def _refusal(each: Translated, blocks: Blocks) -> Refusal | None:
    if each.translation is None or isinstance(each.translation, Refusal):
        return each.translation
    # Before the check: what the refresh makes good must not block the refresh.
    if each.covers is not None:
        blocks.heal(each.event.position, each.covers)
    return Refusal.waiting(each.event, each.translation.keys) if blocks.is_blocked(each.translation) else None


def _culprit(flow: Sequence[Change], writer: Writer, cascade: bool) -> int:
    """The position of a change that cannot be planned with those before it, which can be planned."""
    # By halves: each try folds all changes before it, and a window has thousands.
    good, bad = 0, len(flow)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            plan(fold(flow[:middle], cascade=cascade), writer)
        except Exception:  # noqa: BLE001 - it is looked for
            bad = middle
        else:
            good = middle
    return flow[bad - 1].position


def _without(run: Sequence[Translated], position: int, reason: str) -> list[Translated]:
    """The run with the event at `position` refused; events that wait for it are refused when the run is sifted."""
    return [
        replace(it, translation=Refusal.of(it.event, it.translation.keys, "bug", reason), changes=(), covers=None)
        if it.event.position == position and it.translation is not None
        else it
        for it in run
    ]


def _draft(run: Sequence[Translated], sifted: _Sifted, works: Sequence[Work], finished: Set[int]) -> Draft:
    changes = {
        it.event.position: (it.event, it.translation) for it in sifted.taken if isinstance(it.translation, Change)
    }
    heals = {it.event.position: it.covers for it in sifted.taken if it.covers is not None}
    skipped = sum(it.event.position not in finished for it in run) - len(changes) - len(sifted.refused)
    return Draft([it.event for it in run], works, changes, sifted.refused, skipped, heals)
