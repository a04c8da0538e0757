"""Home: the cluster where a database or table was born, and what a change of it is to another cluster. Pure.

For clusters that replicate to each other (docs/both-ways.md). A replica has its home in its mark; at its home an object
has no mark. The home's state counts; a change of a replica is a request to the home.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

from pysync.model.mark import Mark


class Stance(Enum):
    """What a change is to a target."""

    STATE = auto()  # the home's state: done, whatever the replica has become
    ECHO = auto()  # the home's answer to a change of this target: done if nothing newer was done there
    REQUEST = auto()  # a replica's change: done if the target still has what the replica had before it


_ROUNDS = 4
"""The most times that one change may reach a cluster. Two are normal, three after a conflict; more is a loop."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What an operation has to find at a target with `both_ways`.

    `stance` is None if it depends on the target's object: functions and constraints carry no mark. `before` are the
    states of the object at the source since the first event that the operation stands for, None where it was absent.
    `parts` are the same for each partition, by its values. A request without states overwrites nothing. With `anew` the
    object may also be absent. `place` is the home that a function's database has at the source. `words` is the number
    of words (pysync.model.again) that have led to it, each caused by the one before.
    """

    stance: Stance | None = Stance.STATE
    before: Sequence[Any | None] = ()
    parts: Mapping[tuple[str, ...], Sequence[Any | None]] = field(default_factory=dict)
    anew: bool = False
    place: str | None = None
    words: int = 0


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose object a change is about, and what the change is to the target.

    `mark` is the object's mark at the source; None if it was born there. `visited` is the path of the change. A `blind`
    request does not say what it found: if the object exists anywhere, that is a conflict. With `tables_alone` a dropped
    database stays, and only its tables are meant.
    """

    stance: Stance | None
    home: str
    visited: tuple[str, ...]
    mark: Mark | None = None
    blind: bool = False
    tables_alone: bool = False

    def goes_with(self, other: Whose) -> bool:
        """Whether two changes of one object may be folded into one operation."""
        return replace(self, mark=None) == replace(other, mark=None)


def home_of(parameters: Mapping[str, str] | None, cluster: str) -> str:
    """The home of an object with these parameters that is found at `cluster`."""
    mark = Mark.read(parameters)
    return cluster if mark is None else mark.source


def stance(home: str, visited: Sequence[str], target: str) -> Stance | None:
    """What a change of an object is to a target; None if the target has had it.

    `home` is the object's home, `visited` the path of the change. Only the path since the home had the change counts:
    before that it was a request. Clusters that disagree about the home would pass it round for ever, so its rounds are
    limited.
    """
    if visited.count(target) >= _ROUNDS:
        return None
    if home not in visited:
        return None if target in visited else Stance.REQUEST
    if target in since(home, visited):
        return None
    return Stance.ECHO if target in visited else Stance.STATE


def since(home: str, visited: Sequence[str]) -> Sequence[str]:
    """The part of a path since the home was on it last; the whole path if the home is not on it."""
    last = max((at for at, name in enumerate(visited) if name == home), default=0)
    return visited[last:]
