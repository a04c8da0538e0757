"""Whether an object at a target may be written: the one rule for all targets.

What pysync writes carries a mark (pysync.model.mark). An object without one, or with another source's, is adopted only
if the policy says so, and is never dropped; an object that carries a newer mark of the same source is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from pysync.model.mark import Mark
from pysync.model.operation import PutPartitions, TableOperation
from pysync.targets.settings import TargetSettings


class Ownership(Enum):
    """What an object at the target is to the source that wants to write it."""

    ABSENT = auto()
    OWN = auto()  # written by this source, not later than the change at hand
    NEWER = auto()  # written by this source, from a later event: the change at hand is stale
    FOREIGN = auto()  # not written by this source


def ownership_of(exists: bool, parameters: Mapping[str, str] | None, mark: Mark) -> Ownership:
    """Where an object with these parameters stands to a put with this mark."""
    if not exists:
        return Ownership.ABSENT
    there = Mark.read(parameters)
    if there is None or there.source != mark.source:
        return Ownership.FOREIGN
    return Ownership.NEWER if there.is_newer_than(mark) else Ownership.OWN


def ownership_for_drop(exists: bool, parameters: Mapping[str, str] | None, mark: Mark) -> Ownership:
    """The same for a drop: what was created at the source after the dropped object is newer, whatever its event."""
    found = ownership_of(exists, parameters, mark)
    there = Mark.read(parameters)
    if found is Ownership.OWN and there is not None and mark.created and there.created > mark.created:
        return Ownership.NEWER
    return found


def ownership_of_part(parameters: Mapping[str, str] | None, mark: Mark) -> Ownership:
    """Where an object that has no mark of its own stands, by the mark of what it belongs to.

    A partition, constraint or function is newer only if its table or database was created at the source later, or got
    its name later: when that was last written says nothing about its parts.
    """
    there = Mark.read(parameters)
    if there is None or there.source != mark.source:
        return Ownership.FOREIGN
    newer = (mark.created and there.created > mark.created) or mark.is_before_birth_of(there)
    return Ownership.NEWER if newer else Ownership.OWN


def may_write(settings: TargetSettings, operation: TableOperation, there: Any | None) -> bool:
    """Whether the table `there` takes a put or a rename: it is not newer, and if another's, it is to be adopted."""
    if there is not None and isinstance(operation, PutPartitions):
        found = ownership_of_part(there.parameters, operation.mark)
    else:
        found = ownership_of(there is not None, there and there.parameters, operation.mark)
    if found is Ownership.FOREIGN:
        return settings.on_conflict == "adopt"
    return found in {Ownership.ABSENT, Ownership.OWN}
