"""Owners: whose an object at a target is, by the mark that it carries. One rule for all targets.

What pysync writes carries a mark (pysync.model.mark). An object without a mark, or with another source's, is adopted
only if the policy says so, and is never dropped. An object with the mark of a later event of the same queue is left as
it is. What another queue of the same source wrote has no order with the change at hand, and may be written.

Both ways the home of an object decides first (pysync.targets.apply.home_rule).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from pysync.model.mark import Mark
from pysync.model.struct_copies import copied
from pysync.model.table_formats import written


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
    existing_mark = Mark.read(parameters)
    if existing_mark is None or existing_mark.source != mark.source:
        return Ownership.FOREIGN
    if mark.is_blocked_by(existing_mark):
        return Ownership.RIVAL
    return Ownership.NEWER if mark.precedes(existing_mark) else Ownership.OWN


def ownership_for_drop(exists: bool, parameters: Mapping[str, str] | None, mark: Mark) -> Ownership:
    """What an object with these parameters is to a drop with this mark.

    An object that was created at the source after the dropped one is newer, whatever its event.
    """
    ownership = ownership_of(exists, parameters, mark)
    existing_mark = Mark.read(parameters)
    # A drop is of one object. Whatever other one has its name by now stays.
    if existing_mark is not None and existing_mark.source == mark.source and mark.is_of_another_than(existing_mark):
        return Ownership.RIVAL
    # A refresh that was queued before this drop may have read the newer object, and marked it with its own, older
    # position. Only the createTime distinguishes them.
    if (
        ownership is Ownership.OWN
        and existing_mark is not None
        and mark.created
        and existing_mark.created > mark.created
    ):
        return Ownership.NEWER
    return ownership


def ownership_of_part(parameters: Mapping[str, str] | None, mark: Mark) -> Ownership:
    """What an object without a mark is, by the mark of the table or database that it belongs to.

    A partition, constraint or function is newer only if its table or database was created at the source later, or got
    its name later. When the table or database was last written says nothing about its parts.
    """
    place_mark = Mark.read(parameters)
    if place_mark is None or place_mark.source != mark.source:
        return Ownership.FOREIGN
    if mark.is_blocked_by(place_mark):
        return Ownership.RIVAL
    newer = (mark.created and place_mark.created > mark.created) or mark.is_before_birth_of(place_mark)
    return Ownership.NEWER if newer else Ownership.OWN


def is_of_others(existing: Any, mark: Mark) -> bool:
    """Whether a table or database at a target is not from the source of the mark, or is another object of it."""
    return ownership_of(True, existing.parameters, mark) in {Ownership.FOREIGN, Ownership.RIVAL}


def created_of(table: Any) -> int:
    """The createTime of a table at the source (s); 0 if it is not known."""
    mark = Mark.read(table.parameters)
    return mark.created if mark is not None else 0


def stamped(definition: Any, mark: Mark) -> Any:
    """A copy of a database or table that carries the mark."""
    copy = copied(definition)
    copy.parameters = {**mark.on(copy.parameters), **written(copy.parameters)}
    return copy
