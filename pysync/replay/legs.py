"""Legs: what is under way to a target. A leg is a draft, and each of its works is a job."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pysync.replay.blocks import Blocks, Refusal
from pysync.replay.draft import Draft
from pysync.replay.plan import Work


@dataclass(eq=False, slots=True)
class Leg:
    """A draft on its way: done when none of its works is `left`. `refused` are its events that are to be parked.

    `blocks` knows what its works may have to wait behind. `attempts` is how often an unclassified error is tried.
    `alone`: nothing else may be under way. `parked`: its events were parked before. `size` is the number of bytes that
    it holds.
    """

    draft: Draft
    blocks: Blocks
    attempts: int
    alone: bool = False
    parked: bool = False
    left: dict[Job, None] = field(init=False)
    refused: list[Refusal] = field(init=False)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = {Job(self, work): None for work in self.draft.works}
        self.refused = list(self.draft.refused)
        self.size = sum(len(event.data) for event in self.draft.events)

    @property
    def last(self) -> int:
        """The position of its last event."""
        return self.draft.events[-1].position

    def at_ms(self, position: int) -> int:
        """When its event at that position came into the queue."""
        return next(event.at_ms for event in self.draft.events if event.position == position)

    def done_upto(self) -> int:
        """The position up to which its events are done or refused; the one before its first event if none is."""
        undone = [position for job in self.left for position in job.work.positions]
        return min(undone) - 1 if undone else self.last

    def end(self, job: Job) -> None:
        """Note that a job is done or refused. After the last one the leg frees its events and works."""
        del self.left[job]
        if not self.left:
            # A finished leg may wait long for an earlier one. Only the last event is still needed, for the position.
            self.draft = replace(self.draft, events=self.draft.events[-1:], works=(), changes={})
            self.size = sum(len(refusal.event.data) for refusal in self.refused)


@dataclass(eq=False, slots=True)
class Job:
    """One work on its way: how many of its operations are `done`, and how many `tries` the next one has had.

    `failures` are those of these tries in which the target was available. `failing_since` is when the first of these
    tries failed, by the scheduler's clock, and `error` is why the last one did. `applied` is how many operations of
    all works were done when that operation was first tried. `begun` is when the work was first begun, in seconds since
    1970. `hidden`: an operation has left the target without the change. `reason` is why it is not applied as it was
    planned, if so.
    """

    leg: Leg
    work: Work
    done: int = 0
    tries: int = 0
    failures: int = 0
    failing_since: float = 0.0
    error: BaseException | None = None
    applied: int = 0
    begun: float = 0.0
    hidden: bool = False
    reason: str | None = None
