"""Home: the cluster where a database or table was born, and what a change of it is to another cluster. Pure.

For clusters that replicate to each other (docs/both-ways.md). A replica has its home in its mark; at its home an object
has no mark. The home's state counts; a change of a replica is a request to the home.

A database may have been created under one name at several clusters: these are its births, as far as they are known
where it is now. A drop of the database means the births that the dropping cluster knew; one that was still on its way
stays, and arrives.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

from pysync.model.mark import Mark

_ROUNDS = 4
"""The most times that one change may reach a cluster. Two are normal, three after a conflict; more is a loop."""

BIRTHS_KEY = "pysync.births"
"""The parameter of a database that lists the clusters where it was born, by comma, if there are several."""


class Stance(Enum):
    """What a change is to a target."""

    STATE = auto()  # the home's state: done, whatever the replica has become
    ECHO = auto()  # the home's answer to a change of this target: done if nothing newer was done there
    REQUEST = auto()  # a replica's change: done if the target still has what the replica had before it


@dataclass(frozen=True, slots=True)
class Condition:
    """What an operation has to find at a target where homes count (docs/both-ways.md).

    `stance` is None if it depends on the target's object: functions and constraints carry no mark. `before` are the
    states of the object at the source since the first event that the operation stands for, None where it was absent.
    `parts` are the same for each partition, by its values. A request without states overwrites nothing.
    `may_be_absent`: the object may also be absent. `place` is the home that a function's database has at the source.
    `chain_length` is the number of re-read requests (pysync.model.reread) that have led to it, each caused by the one
    before.
    """

    stance: Stance | None = Stance.STATE
    before: Sequence[Any | None] = ()
    parts: Mapping[tuple[str, ...], Sequence[Any | None]] = field(default_factory=dict)
    may_be_absent: bool = False
    place: str | None = None
    chain_length: int = 0


@dataclass(frozen=True, slots=True)
class Provenance:
    """The home and the path of the object that a change is about, and what the change is to the target.

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

    def goes_with(self, other: Provenance) -> bool:
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


def births_of(parameters: Mapping[str, str] | None, cluster: str) -> frozenset[str]:
    """The clusters where a database with these parameters, found at `cluster`, is known to be born."""
    mark = Mark.read(parameters)
    others = (parameters or {}).get(BIRTHS_KEY, "").split(",")
    return frozenset({cluster if mark is None else mark.source, *others} - {""})


def first_home(parameters: Mapping[str, str] | None, cluster: str, *, relay: bool) -> str:
    """The home of parts without a mark in a database: in a ring the smallest name of its births.

    In pairs it is the cluster that reported the database last: each reports its own births and drops.
    """
    # In a mesh the smallest birth may be of a database that is gone, and functions would wait for its cluster for ever.
    return min(births_of(parameters, cluster)) if relay else home_of(parameters, cluster)


def with_births(parameters: Mapping[str, str] | None, births: Collection[str]) -> dict[str, str]:
    """The parameters with these births; a single birth is not written."""
    others = {key: value for key, value in (parameters or {}).items() if key != BIRTHS_KEY}
    return others | ({BIRTHS_KEY: ",".join(sorted(births))} if len(births) > 1 else {})
