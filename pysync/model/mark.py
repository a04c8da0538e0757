"""Mark: who wrote an object at a target, and from which event. It is kept in the object's own parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

SOURCE_KEY = "pysync.source"
EVENT_KEY = "pysync.event"
OBJECT_KEY = "pysync.object"
MARK_KEYS = frozenset({SOURCE_KEY, EVENT_KEY, OBJECT_KEY})
"""The parameters of a mark."""

# The fourth number is optional: older releases did not write `born`.
_EVENT = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class Mark:
    """The origin of a database or table at a target.

    `epoch` (ms) names the queue file, `position` the event in it: together they order all events of a source. `created`
    is the object's createTime at the source (s); the target's server sets its own. `born` is the position of the event
    that gave the object its name, a create or a rename; 0 if that is not known.

    `object` is the object's name at the source, `db` or `db.table`, for a target that renames; "" if it does not, or if
    an older release wrote the mark. Two objects of the source may get one name there, and only one of them may have it:
    `rivals` are the others that the present settings give this name. `formerly` is the name before a rename at the
    source. These two are not written.
    """

    source: str
    epoch: int
    position: int
    created: int = 0
    born: int = 0
    object: str = ""
    formerly: str = field(default="", compare=False)
    rivals: frozenset[str] = field(default=frozenset(), compare=False)

    def parameters(self) -> dict[str, str]:
        """The mark as parameters of the object: `pysync.source`, `pysync.event`, and `pysync.object` if it is known."""
        found = {SOURCE_KEY: self.source, EVENT_KEY: f"{self.epoch}.{self.position}.{self.created}.{self.born}"}
        return {**found, OBJECT_KEY: self.object} if self.object else found

    def on(self, parameters: Mapping[str, str] | None) -> dict[str, str]:
        """These parameters with this mark in place of any other."""
        return {key: it for key, it in (parameters or {}).items() if key not in MARK_KEYS} | self.parameters()

    @classmethod
    def read(cls, parameters: Mapping[str, str] | None) -> Mark | None:
        """The mark in an object's parameters; None if pysync did not write the object."""
        found = _EVENT.fullmatch((parameters or {}).get(EVENT_KEY, ""))
        source = (parameters or {}).get(SOURCE_KEY)
        if found is None or not source:
            return None
        epoch, position, created, born = (int(part or 0) for part in found.groups())
        return cls(source, epoch, position, created, born, (parameters or {}).get(OBJECT_KEY, ""))

    def is_newer_than(self, other: Mark) -> bool:
        """Whether this mark's event came after the other's; both are of one source."""
        return (self.epoch, self.position) > (other.epoch, other.position)

    def is_kept_out_by(self, there: Mark) -> bool:
        """Whether the target's object with the mark `there` has the name of this one, and may keep it."""
        return there.object in self.rivals

    def is_of_another_than(self, there: Mark) -> bool:
        """Whether the target's object with the mark `there` is another one of the source, as far as names are known.

        A table is no other than its database: the drop of a database takes its tables along.
        """
        mine = {self.object, self.formerly} - {""}
        return bool(mine and there.object) and mine.isdisjoint({there.object, there.object.partition(".")[0]})

    def is_before_birth_of(self, other: Mark) -> bool:
        """Whether this mark's event came before the other object got its name; only known within a queue file."""
        return self.epoch == other.epoch and self.position < other.born

    def following(self, there: Mark | None) -> Mark:
        """The mark to write to an object that has the mark `there`: an object that is only altered keeps its birth."""
        if self.born or there is None or (self.source, self.epoch) != (there.source, there.epoch):
            return self
        return replace(self, born=there.born)
