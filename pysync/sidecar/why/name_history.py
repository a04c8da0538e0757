"""The names that an object has had. One object after the other may have a name, so each has its time. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

Made = tuple[str, int]
"""A name, and a position at which an object was created under it."""


@dataclass(frozen=True, slots=True, order=True)
class NameChange:
    """At a position of the queue, `old` became `new`; names at the source."""

    position: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Span:
    """The object had this name from the position `after` to `upto`, the renames at both included."""

    name: str
    after: float = 0
    upto: float = math.inf

    def holds(self, name: str, position: int | None) -> bool:
        """Whether it was that object which had the name at the position; what has no position always counts."""
        return name == self.name and (position is None or self.after <= position <= self.upto)


def names_over_time(name: str, renames: Iterable[NameChange], made: Collection[Made] = ()) -> Sequence[Span]:
    """The names of the object that has the name now, or was the last to have it; its last name first.

    An object that was created under the name after the renames to it is another one than they report.
    """
    known = sorted(set(renames))
    begun = max([*(it.position for it in known if it.new == name), *(at for it, at in made if it == name)], default=0)
    later = list(_later(name, begun, known))
    steps = [*reversed(later), *_earlier(name, later[0].position if later else math.inf, known, made)]
    names = [steps[0].new if steps else name, *(it.old for it in steps)]
    bounds = [math.inf, *(it.position for it in steps), 0]
    return [Span(*it) for it in zip(names, bounds[1:], bounds[:-1], strict=True)]


def _later(name: str, after: float, known: Sequence[NameChange]) -> Iterator[NameChange]:
    """The renames of the object that had the name then, in order."""
    while step := next((it for it in known if it.old == name and it.position > after), None):
        yield step
        name, after = step.new, step.position


def _earlier(name: str, upto: float, known: Sequence[NameChange], made: Collection[Made]) -> Iterator[NameChange]:
    """The renames that led to the name, the newest first."""
    while step := next((it for it in reversed(known) if it.new == name and it.position < upto), None):
        if any(it == name and step.position < at < upto for it, at in made):
            return
        yield step
        name, upto = step.old, step.position
