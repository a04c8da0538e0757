"""Home: the cluster where a database or table was born, and what a change of it is to another cluster. Pure.

For clusters that replicate to each other (docs/both-ways.md). A replica carries its home in its mark; at home an object
has none. What the home has counts; a change of a replica is a request to the home.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

from pysync.model.mark import Mark


class Stance(Enum):
    """What a change is to a target."""

    STATE = auto()  # the home's word: done, whatever the replica became
    ECHO = auto()  # the home's word about what came from this target: done where nothing newer was done there
    REQUEST = auto()  # of a replica: done where the target still has what the replica had


_ROUNDS = 4
"""The most times that one change may reach a cluster. It needs two, or three after a conflict; more is a loop."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What an operation has to find at a target with `both_ways`.

    `stance` is None where it hangs on the home of what is at the target: of functions and constraints, that carry no
    mark. `before` are the states in which the object was at the source since the first event that the operation stands
    for, None where it was absent; `parts` are the same for the values of each partition. Without any, nothing that is
    there is overwritten by a request. With `anew` the object may also be absent. `place` is the home of
    a function's database, as it is at the source. `words` is how many words of pysync.model.again have led to it, one
    of each other.
    """

    stance: Stance | None = Stance.STATE
    before: Sequence[Any | None] = ()
    parts: Mapping[tuple[str, ...], Sequence[Any | None]] = field(default_factory=dict)
    anew: bool = False
    place: str | None = None
    words: int = 0


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose object a change is of, and what the change is to the target.

    `mark` is the one that the object carries at the source; None where it was born there. `visited` is the path of the
    change. A `blind` request does not say what it found: wherever the object is, that is a conflict. Of the drop of a
    database that others tell it is but of the `tables_alone`.
    """

    stance: Stance | None
    home: str
    visited: tuple[str, ...]
    mark: Mark | None = None
    blind: bool = False
    tables_alone: bool = False

    def goes_with(self, other: Whose) -> bool:
        """Whether two changes of one object may become one operation."""
        return replace(self, mark=None) == replace(other, mark=None)


def home_of(parameters: Mapping[str, str] | None, cluster: str) -> str:
    """The home of an object with these parameters that is found at a cluster."""
    mark = Mark.read(parameters)
    return cluster if mark is None else mark.source


def stance(home: str, visited: Sequence[str], target: str) -> Stance | None:
    """What a change with the path `visited`, of an object with that home, is to a target; None if that has had it.

    What counts is where a change has been since its home had it: what was there before then was a request. Where the
    clusters take each other for its home, it goes round a few times, and then no more.
    """
    if visited.count(target) >= _ROUNDS:
        return None
    if home not in visited:
        return None if target in visited else Stance.REQUEST
    if target in since(home, visited):
        return None
    return Stance.ECHO if target in visited else Stance.STATE


def since(home: str, visited: Sequence[str]) -> Sequence[str]:
    """The part of a path on which the home's word is: from where it last was there; all of it if it never was."""
    last = max((at for at, name in enumerate(visited) if name == home), default=0)
    return visited[last:]
