"""The rule of homes: what may be done to an object at a target with `both_ways`. `BothWaysJudge` carries it out.

It depends on the object's home, and on the state that the operation's condition expects there (docs/both-ways.md). For
other targets the mark alone decides (pysync.targets.apply.owners).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pysync.model.home import Condition, Stance, births_of, first_home, home_of, stance
from pysync.model.mark import Mark
from pysync.model.operation import DropDatabase, DropTable, LeaveTable, Operation
from pysync.targets.apply.judge import DEFAULT, Verdict
from pysync.targets.apply.owners import Ownership, ownership_for_drop, ownership_of, ownership_of_part
from pysync.targets.hive import is_another

OnConflict = Literal["adopt", "skip", "park"]

_CONFLICTS = {"adopt": Verdict.DO, "skip": Verdict.FOREIGN, "park": Verdict.PARK}
_OF_HOME = {
    Ownership.OWN: Verdict.DO,
    Ownership.NEWER: Verdict.STALE,
    Ownership.FOREIGN: Verdict.FOREIGN,
    Ownership.RIVAL: Verdict.FOREIGN,
}


@dataclass(frozen=True, slots=True)
class HomeRule:
    """The state of an object at its home is right; a change of a replica is a request to the home.

    `cluster` is the target's. `same` says whether its second argument is what the first describes. `relay` is whether
    the target takes objects whose home is neither end.
    """

    cluster: str
    on_conflict: OnConflict
    same: Callable[[Any, Any], bool]
    relay: bool = True

    def put(self, operation: Operation, wanted: Any, existing: Any | None) -> Verdict:
        """Judge by home and condition. Of two objects that were born under one name the smaller cluster's stays."""
        condition = self.condition_of(operation)
        home, existing_home = operation.mark.source, self.home(existing)
        if condition.stance is not Stance.STATE:
            verdict = self._conflict_if_unseen(home, condition, self._by_condition(condition, wanted, existing))
            return (
                Verdict.DO
                if verdict is Verdict.UNCHANGED and self._lacks_mark(condition, home, existing_home)
                else verdict
            )
        if existing is None or existing_home is None:
            return Verdict.DO
        if existing_home == home:
            return (
                Verdict.DO
                if _is_passed_on(operation)
                else _OF_HOME[ownership_of(True, existing.parameters, operation.mark)]
            )
        if existing_home in operation.visited:  # that cluster passed this on, so its own object of the name is gone
            return Verdict.DO
        if home > existing_home:  # the smaller name stays; of a third cluster's object only that cluster may decide
            # Two that were born equal may have different partitions, so that is a conflict as well.
            is_conflict = existing_home != self.cluster or (condition.before and _has_parts(wanted))
            return Verdict.CONFLICT if is_conflict else self._by_request(condition, wanted, existing)
        return Verdict.DO if self.same(wanted, existing) else _CONFLICTS[self.on_conflict]

    def drop(self, operation: Operation, existing: Any | None) -> Verdict:
        """A drop by the home, or its echo, removes only an object of that home: a newer one here was born here.

        A request drops only the state that it saw.
        """
        condition = self.condition_of(operation)
        if existing is None:
            return Verdict.UNCHANGED
        if self.home(existing) != operation.mark.source:
            return Verdict.FOREIGN
        if condition.stance is Stance.REQUEST:
            return self._by_request(condition, None, existing)
        return _OF_HOME[ownership_for_drop(True, existing.parameters, operation.mark)]

    def drop_table(self, operation: DropTable | LeaveTable, existing: Any | None) -> Verdict:
        """The same for a table, whose create may have been folded with the drop.

        Alone the create would have become the table that is there now, or a conflict with it, which all clusters have
        to hear of.
        """
        verdict_of_drop, befores = self.drop(operation, existing), self.condition_of(operation).before
        # Only if the window contains the create, too; otherwise that was judged before.
        if verdict_of_drop is not Verdict.FOREIGN or None not in befores or befores[-1] is None:
            return verdict_of_drop
        created = befores[-1]
        verdict = self.put(operation, created, existing)
        if verdict is Verdict.DO and is_another(created, existing):
            return Verdict.PARK
        return verdict if verdict is not Verdict.UNCHANGED else Verdict.FOREIGN

    def known(self, operation: DropDatabase) -> frozenset[str]:
        """The births of a database that were known to the cluster that dropped it."""
        dropped = self.condition_of(operation).before[-1:]
        if not dropped or dropped[0] is None:
            # A drop that a refresh found missing at the source does not say which births were known there.
            return frozenset({operation.mark.source, *operation.visited})
        return births_of(dropped[0].parameters, operation.visited[-1])

    def unseen(self, operation: DropDatabase, existing: Any) -> frozenset[str]:
        """The births of the database that were not known to the cluster that dropped it.

        If the drop has been to the target already, the target's own birth is a newer one, and counts as not known.
        """
        known = self.known(operation) - ({self.cluster} & set(operation.visited))
        mark = Mark.read(existing.parameters)
        if mark is not None and any(_is_older(it, mark) for it in self.condition_of(operation).before[-1:]):
            known -= {mark.source}
        return births_of(existing.parameters, self.cluster) - known

    def parts(self, operation: Operation, place: Any) -> Verdict:
        """Judge a change of parts (partitions, constraints, functions) by the home of their table or database."""
        stance_of_change = self.stance(operation, place)
        if stance_of_change is None:
            return Verdict.STALE
        home = self.home(place)
        if stance_of_change is Stance.REQUEST or home == self.cluster:
            return Verdict.DO
        if home != operation.mark.source:
            return (
                Verdict.DO if self._depends_on_place(operation) or stance_of_change is Stance.ECHO else Verdict.FOREIGN
            )
        return _OF_HOME[ownership_of_part(place.parameters, operation.mark)]

    def part(self, operation: Operation, place: Any, wanted: Any | None, existing: Any | None) -> Verdict:
        """Judge one part by itself."""
        if wanted is None and existing is None:
            return Verdict.UNCHANGED
        stance_of_change = self.stance(operation, place)
        if stance_of_change is Stance.STATE or (
            stance_of_change is Stance.ECHO and _is_of_former_birth(place, operation.mark)
        ):
            return Verdict.DO
        condition = operation.condition or Condition()
        values = getattr(wanted if wanted is not None else existing, "values", None)
        before = condition.before if values is None else condition.parts.get(tuple(values), ())
        condition = Condition(stance_of_change, before, may_be_absent=condition.may_be_absent)
        home = self.home_within(place) if self._depends_on_place(operation) else operation.mark.source
        return self._conflict_if_unseen(home, condition, self._by_condition(condition, wanted, existing))

    def is_unseen_request(self, operation: Operation) -> bool:
        """Whether it is a request that the home has not seen yet."""
        return self.condition_of(operation).stance is Stance.REQUEST and operation.mark.source != self.cluster

    def _conflict_if_unseen(self, home: str, condition: Condition, verdict: Verdict) -> Verdict:
        """The verdict; CONFLICT for a request that finds its result here already, unless this is its home.

        Else the home would never hear of it.
        """
        done = verdict is Verdict.UNCHANGED and condition.stance is Stance.REQUEST and len(condition.before) > 0
        return Verdict.CONFLICT if done and home != self.cluster else verdict

    def mark(self, operation: Operation, existing: Any | None) -> Mark | None:
        """The mark to write: the home's, and none at home. A request leaves the mark that is there."""
        home, existing_home = operation.mark.source, self.home(existing)
        is_request = self.condition_of(operation).stance is Stance.REQUEST
        if (
            existing is not None
            and existing_home is not None
            and (is_request or (existing_home == self.cluster and home > existing_home))
        ):
            return None if existing_home == self.cluster else Mark.read(existing.parameters)
        if home == self.cluster:
            return None
        return operation.mark.following(Mark.read(existing.parameters) if existing is not None else None)

    def condition_of(self, operation: Operation) -> Condition:
        """The condition of an operation.

        An operation without one is a request if this cluster is its home, else the home's state.
        """
        if operation.condition is not None and operation.condition.stance is not None:
            return operation.condition
        at_home = operation.mark.source == self.cluster
        return Condition(Stance.REQUEST if at_home else Stance.STATE)

    def home(self, existing: Any | None) -> str | None:
        """The home of the target's object; None if there is none."""
        return None if existing is None else home_of(existing.parameters, self.cluster)

    def home_within(self, place: Any) -> str:
        """The home of parts without a mark in the database or table `place`."""
        return first_home(place.parameters, self.cluster, relay=self.relay)

    def stance(self, operation: Operation, place: Any) -> Stance | None:
        """What a change of a part is to the target; None if the target has had it."""
        if not self._depends_on_place(operation):
            return self.condition_of(operation).stance
        visited = operation.visited
        home = self.home_within(place)
        if getattr(place, "name", None) == DEFAULT:  # born everywhere: all on the way agree on the smallest name
            home = min((self.cluster, *visited))
        elif operation.condition is not None and operation.condition.place is not None:
            home = min(home, operation.condition.place)  # born at both ends: each end may know another home
        # In pairs the target gets a third cluster's objects from that cluster itself.
        if not self.relay and home not in {visited[-1], self.cluster}:
            return None
        return stance(home, visited, self.cluster)

    def agrees(self, operation: Operation, place: Any) -> bool:
        """Whether source and target have the same view of the home of a part of the database `place`."""
        stated = operation.condition.place if operation.condition is not None else None
        return stated in {None, self.home_within(place)}

    def _depends_on_place(self, operation: Operation) -> bool:
        return operation.condition is not None and operation.condition.stance is None

    def _lacks_mark(self, condition: Condition, home: str, existing_home: str | None) -> bool:
        # The echo says that the smaller cluster has become the home, so the object needs its mark though nothing else
        # differs.
        return condition.stance is Stance.ECHO and existing_home is not None and home < existing_home

    def _by_condition(self, condition: Condition, wanted: Any | None, existing: Any | None) -> Verdict:
        if condition.stance is Stance.REQUEST:
            return self._by_request(condition, wanted, existing)
        if self._is_as_wanted(wanted, existing):
            return Verdict.UNCHANGED
        return Verdict.DO if self._is_among(condition.before, existing) else Verdict.STALE

    def _by_request(self, condition: Condition, wanted: Any | None, existing: Any | None) -> Verdict:
        if self._is_among(condition.before, existing) or (condition.may_be_absent and existing is None):
            return Verdict.DO
        return Verdict.UNCHANGED if self._is_as_wanted(wanted, existing) else Verdict.CONFLICT

    def _is_among(self, states: Sequence[Any | None], existing: Any | None) -> bool:
        if existing is None:
            return None in states
        return any(it is not None and self.same(it, existing) for it in states)

    def _is_as_wanted(self, wanted: Any | None, existing: Any | None) -> bool:
        if wanted is None or existing is None:
            return wanted is existing
        return self.same(wanted, existing)


def _is_passed_on(operation: Operation) -> bool:
    """Whether a cluster on the way from the home has read the state again, so that no event of the home's orders it.

    Everything of that home comes by that way, so what comes now is newer than what is there.
    """
    return operation.mark.epoch == 0


def _is_of_former_birth(place: Any, mark: Mark) -> bool:
    """Whether the home has created the table again since it wrote the one that is there: no part of it can be newer."""
    place_mark = Mark.read(place.parameters)
    if place_mark is None or place_mark.source != mark.source or 0 in {place_mark.created, mark.created}:
        return False
    return place_mark.created != mark.created and mark.follows(place_mark)


def _has_parts(table: Any) -> bool:
    """Whether two equal tables of that name may each have partitions of their own."""
    return bool(getattr(table, "partitionKeys", None))


def _is_older(dropped: Any | None, mark: Mark) -> bool:
    """Whether the dropped object was born before the object with the mark, at the same home."""
    dropped_mark = Mark.read(getattr(dropped, "parameters", None))
    return dropped_mark is not None and dropped_mark.source == mark.source and dropped_mark.is_before_birth_of(mark)
