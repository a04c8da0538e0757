"""Ownership: whether an object at a target may be written. One rule for all targets.

What pysync writes carries a mark (pysync.model.mark). An object without a mark, or with another source's, is adopted
only if the policy says so, and is never dropped. An object with the mark of a later event of the same queue is left as
it is. What another queue of the same source wrote has no order with the change at hand, and may be written.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from pysync.model.mark import Mark


class Ownership(Enum):
    """What an object at the target is to the source that wants to write it."""

    ABSENT = auto()
    OWN = auto()  # written by this source, not later than the change at hand
    NEWER = auto()  # written by this source, from a later event: the change at hand is stale
    FOREIGN = auto()  # not written by this source
    RIVAL = auto()  # written by this source for another object, or by another target, under the same name


def ownership_of(exists: bool, parameters: Mapping[str, str] | None, mark: Mark) -> Ownership:
    """What an object with these parameters is to a put with this mark."""
    if not exists:
        return Ownership.ABSENT
    there = Mark.read(parameters)
    if there is None or there.source != mark.source:
        return Ownership.FOREIGN
    if mark.is_kept_out_by(there):
        return Ownership.RIVAL
    return Ownership.NEWER if mark.precedes(there) else Ownership.OWN


def ownership_for_drop(exists: bool, parameters: Mapping[str, str] | None, mark: Mark) -> Ownership:
    """What an object with these parameters is to a drop with this mark.

    An object that was created at the source after the dropped one is newer, whatever its event.
    """
    found = ownership_of(exists, parameters, mark)
    there = Mark.read(parameters)
    # A drop is of one object. Whatever other one has its name by now stays.
    if there is not None and there.source == mark.source and mark.is_of_another_than(there):
        return Ownership.RIVAL
    # A refresh that was queued before this drop may have read the newer object, and marked it with its own, older
    # position. Only the createTime tells them apart.
    if found is Ownership.OWN and there is not None and mark.created and there.created > mark.created:
        return Ownership.NEWER
    return found


def ownership_of_part(parameters: Mapping[str, str] | None, mark: Mark) -> Ownership:
    """What an object without a mark is, by the mark of the table or database that it belongs to.

    A partition, constraint or function is newer only if its table or database was created at the source later, or got
    its name later. When the table or database was last written says nothing about its parts.
    """
    there = Mark.read(parameters)
    if there is None or there.source != mark.source:
        return Ownership.FOREIGN
    if mark.is_kept_out_by(there):
        return Ownership.RIVAL
    newer = (mark.created and there.created > mark.created) or mark.is_before_birth_of(there)
    return Ownership.NEWER if newer else Ownership.OWN
