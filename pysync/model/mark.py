"""Mark: who wrote an object at a target, and from which event. It is stored in the object's own parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

SOURCE_KEY = "pysync.source"
EVENT_KEY = "pysync.event"
OBJECT_KEY = "pysync.object"
TARGET_KEY = "pysync.target"
KEPT_KEY = "pysync.kept"
"""The parameter of an object that the source has dropped, and that a person has decided to keep; when (ms)."""
MARK_KEYS = frozenset({SOURCE_KEY, EVENT_KEY, OBJECT_KEY, TARGET_KEY, KEPT_KEY})
"""The parameters of a mark, and of what was decided of the object that has it."""

_EVENT = re.compile(r"\.".join([r"(\d{1,19})"] * 5), re.ASCII)


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
