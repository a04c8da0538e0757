"""Mark: who wrote an object at a target, from which event, and where the object was born. Kept in the object's
parameters.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

# Mark: who wrote an object at a target, and from which event. It is stored in the object's own parameters.


SOURCE_KEY = "pysync.source"
EVENT_KEY = "pysync.event"
OBJECT_KEY = "pysync.object"
TARGET_KEY = "pysync.target"
KEPT_KEY = "pysync.kept"
"""The parameter of an object that the source has dropped, and that a person has decided to keep; when (ms)."""
MARK_KEYS = frozenset({SOURCE_KEY, EVENT_KEY, OBJECT_KEY, TARGET_KEY, KEPT_KEY})
"""The parameters of a mark, and of what was decided of the object that has it."""

_EVENT = re.compile(r"(\d+)\.(\d+)\.(\d+)\.(\d+)\.(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes marks: one target of one queue.

    `epoch` (ms) identifies the queue's file. `life` is the present one of the lives of that file: each opening begins
    one. `ended` has the last position of each former life. `target` is the target's name in pysync.toml, `others` are
    the names of the queue's other targets.
    """

    epoch: int
    life: int = 0
    ended: Mapping[int, int] = field(default_factory=dict)
    target: str = ""
    others: frozenset[str] = frozenset()

    def wrote(self, mark: Mark) -> bool:
        """Whether this queue knows the event of a mark.

        It does not if another queue wrote the mark, or this one before an older copy of its file was restored: the
        copy does not know the lives that followed, nor events behind the end of its own last life.
        """
        if mark.epoch != self.epoch:
            return False
        return mark.life == self.life or mark.position <= self.ended.get(mark.life, -1)


@dataclass(frozen=True, slots=True)
class Mark:
    """The origin of a database or table at a target.

    `epoch` and `life` identify the queue and the life of it in which the object was written (see Writer), `position`
    the event. Positions are an order only among marks of one queue. `created` is the object's createTime at the source
    (s); the target's server sets its own. `born` is the position of the event that gave the object its name, a create
    or a rename; 0 if that is not known.

    `object` is the object's name at the source, `db` or `db.table`, and `target` the name of the target in pysync.toml;
    both are "" both ways, where a mark is the home's. Two objects of the source may get one name at the target, and
    only one of them may have it: `rivals` are the others that the present settings give this name. `formerly` is the
    name before a rename at the source. `writer` is who would write this mark. These three are not written.
    """

    source: str
    epoch: int
    position: int
    created: int = 0
    born: int = 0
    object: str = ""
    target: str = ""
    life: int = field(default=0, compare=False)
    formerly: str = field(default="", compare=False)
    rivals: frozenset[str] = field(default=frozenset(), compare=False)
    writer: Writer | None = field(default=None, compare=False, repr=False)

    def parameters(self) -> dict[str, str]:
        """The mark as parameters of the object: `pysync.source`, `pysync.event`, and those others that are known."""
        numbers = (self.epoch, self.position, self.created, self.born, self.life)
        parameters = {SOURCE_KEY: self.source, EVENT_KEY: ".".join(map(str, numbers))}
        names = {OBJECT_KEY: self.object, TARGET_KEY: self.target}
        return parameters | {key: name for key, name in names.items() if name}

    def on(self, parameters: Mapping[str, str] | None) -> dict[str, str]:
        """These parameters with this mark in place of any other."""
        return {key: it for key, it in (parameters or {}).items() if key not in MARK_KEYS} | self.parameters()

    @classmethod
    def read(cls, parameters: Mapping[str, str] | None) -> Mark | None:
        """The mark in an object's parameters; None if pysync did not write the object."""
        parameters = parameters or {}
        match = _EVENT.fullmatch(parameters.get(EVENT_KEY, ""))
        source = parameters.get(SOURCE_KEY)
        if match is None or not source:
            return None
        epoch, position, created, born, life = map(int, match.groups())
        name, target = parameters.get(OBJECT_KEY, ""), parameters.get(TARGET_KEY, "")
        return cls(source, epoch, position, created, born, name, target, life)

    def is_ordered_with(self, there: Mark) -> bool:
        """Whether the positions of this mark and of the target's object say which event came first.

        Only events of one queue have an order. Of a mark that another cluster has passed on the writer is not known,
        and that its queue was never restored is taken for granted.
        """
        if self.writer is not None:
            return self.writer.wrote(there)
        return self.epoch == there.epoch

    def precedes(self, there: Mark) -> bool:
        """Whether the target's object was written from a later event of the same queue; both are of one source."""
        return self.position < there.position and self.is_ordered_with(there)

    def follows(self, there: Mark) -> bool:
        """Whether the target's object was written from an earlier event of the same queue; both are of one source."""
        return self.position > there.position and self.is_ordered_with(there)

    def is_blocked_by(self, there: Mark) -> bool:
        """Whether the target's object with the mark `there` has the name of this one, and may keep it."""
        return there.object in self.rivals or self.is_of_another_target_than(there)

    def is_of_another_target_than(self, there: Mark) -> bool:
        """Whether another target of this queue has written the object `there`."""
        return self.writer is not None and there.target in self.writer.others

    def is_of_another_than(self, there: Mark) -> bool:
        """Whether the target's object with the mark `there` is another one of the source, as far as names are known.

        A table is no other than its database: the drop of a database takes its tables along.
        """
        mine = {self.object, self.formerly} - {""}
        return bool(mine and there.object) and mine.isdisjoint({there.object, there.object.partition(".")[0]})

    def is_before_birth_of(self, there: Mark) -> bool:
        """Whether this mark's event came before the other object got its name; only known within a queue."""
        return self.position < there.born and self.is_ordered_with(there)

    def following(self, there: Mark | None) -> Mark:
        """The mark to write to an object that has the mark `there`: an object that is only altered keeps its birth."""
        if self.born or there is None or self.source != there.source or not self.is_ordered_with(there):
            return self
        return replace(self, born=there.born)


# Home: the cluster where a database or table was born, and what a change of it is to another cluster. Pure.
#
# For clusters that replicate to each other (docs/both-ways.md). A replica has its home in its mark; at its home an
# object has no mark. The home's state counts; a change of a replica is a request to the home.


class Stance(Enum):
    """What a change is to a target."""

    STATE = auto()  # the home's state: done, whatever the replica has become
    ECHO = auto()  # the home's answer to a change of this target: done if nothing newer was done there
    REQUEST = auto()  # a replica's change: done if the target still has what the replica had before it


_ROUNDS = 4
"""The most times that one change may reach a cluster. Two are normal, three after a conflict; more is a loop."""


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


# Births: the clusters where a database was created under one name, as far as that is known where it is now. Pure.
#
# For clusters that replicate to each other (docs/both-ways.md). A drop of the database means the births that the
# dropping cluster knew; one that was still on its way stays, and arrives.


BIRTHS_KEY = "pysync.births"
"""The parameter of a database that lists the clusters where it was born, by comma, if there are several."""


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
