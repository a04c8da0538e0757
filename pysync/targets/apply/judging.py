"""Judging: what may be done to an object at a target with both_ways, and how its home is asked for its state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import structlog

from pysync.model.again import Again
from pysync.model.mark import Condition, Mark, Stance, births_of, first_home, home_of, since, stance
from pysync.model.operation import DatabaseOperation, DropDatabase, DropTable, Operation, SayAgain
from pysync.targets.apply.judge import DEFAULT, Ownership, Verdict, ownership_for_drop, ownership_of, ownership_of_part
from pysync.targets.base import Outcome
from pysync.targets.hive import is_another
from pysync.targets.store import SaysWords
from pysync.targets.watched import WatchedStore

# Judging: what may be done to an object at a target with `both_ways`. Pure; `BothWaysJudge` carries it out.
#
# It depends on the object's home, and on what the operation's condition asks of the state that is there (docs/both-
# ways.md). For other targets the mark alone decides: pysync.targets.apply.judge.


OnConflict = Literal["adopt", "skip", "park"]

_CONFLICTS = {"adopt": Verdict.DO, "skip": Verdict.FOREIGN, "park": Verdict.PARK}
_OF_HOME = {
    Ownership.OWN: Verdict.DO,
    Ownership.NEWER: Verdict.STALE,
    Ownership.FOREIGN: Verdict.FOREIGN,
    Ownership.RIVAL: Verdict.FOREIGN,
}


@dataclass(frozen=True, slots=True)
class BothWays:
    """The state of an object at its home is right; a change of a replica is a request to the home.

    `cluster` is the target's. `same` says whether its second argument is what the first describes. `relay` is whether
    the target takes objects whose home is neither end.
    """

    cluster: str
    on_conflict: OnConflict
    same: Callable[[Any, Any], bool]
    relay: bool = True

    def put(self, operation: Operation, wanted: Any, there: Any | None) -> Verdict:
        """Judge by home and condition. Of two objects that were born under one name the smaller cluster's stays."""
        asked = self.asked(operation)
        home, its = operation.mark.source, self.home(there)
        if asked.stance is not Stance.STATE:
            found = self._heard(home, asked, self._by_condition(asked, wanted, there))
            return Verdict.DO if found is Verdict.UNCHANGED and self._lacks_mark(asked, home, its) else found
        if there is None or its is None:
            return Verdict.DO
        if its == home:
            return (
                Verdict.DO
                if _is_passed_on(operation)
                else _OF_HOME[ownership_of(True, there.parameters, operation.mark)]
            )
        if its in operation.visited:  # that cluster passed this on, so its own object of the name is gone
            return Verdict.DO
        if home > its:  # the smaller name stays; of a third cluster's object only that cluster may decide
            # Two that were born equal may have different partitions, so that is a conflict as well.
            meet = its != self.cluster or (asked.before and _has_parts(wanted))
            return Verdict.CONFLICT if meet else self._by_request(asked, wanted, there)
        return Verdict.DO if self.same(wanted, there) else _CONFLICTS[self.on_conflict]

    def drop(self, operation: Operation, there: Any | None) -> Verdict:
        """A drop by the home, or its echo, removes only an object of that home: a newer one here was born here.

        A request drops only the state that it saw.
        """
        asked = self.asked(operation)
        if there is None:
            return Verdict.UNCHANGED
        if self.home(there) != operation.mark.source:
            return Verdict.FOREIGN
        if asked.stance is Stance.REQUEST:
            return self._by_request(asked, None, there)
        return _OF_HOME[ownership_for_drop(True, there.parameters, operation.mark)]

    def drop_table(self, operation: DropTable, there: Any | None) -> Verdict:
        """The same for a table, whose create may have been folded with the drop.

        Alone the create would have become the table that is there now, or a conflict with it, which all clusters have
        to hear of.
        """
        found, befores = self.drop(operation, there), self.asked(operation).before
        # Only if the window contains the create, too; otherwise that was judged before.
        if found is not Verdict.FOREIGN or None not in befores or befores[-1] is None:
            return found
        born = befores[-1]
        verdict = self.put(operation, born, there)
        if verdict is Verdict.DO and is_another(born, there):
            return Verdict.PARK
        return verdict if verdict is not Verdict.UNCHANGED else Verdict.FOREIGN

    def known(self, operation: DropDatabase) -> frozenset[str]:
        """The births of a database that were known to the cluster that dropped it."""
        dropped = self.asked(operation).before[-1:]
        if not dropped or dropped[0] is None:
            # A drop that a refresh found missing at the source does not say which births were known there.
            return frozenset({operation.mark.source, *operation.visited})
        return births_of(dropped[0].parameters, operation.visited[-1])

    def unseen(self, operation: DropDatabase, there: Any) -> frozenset[str]:
        """The births of the database that were not known to the cluster that dropped it.

        If the drop has been to the target already, the target's own birth is a newer one, and counts as not known.
        """
        known = self.known(operation) - ({self.cluster} & set(operation.visited))
        mark = Mark.read(there.parameters)
        if mark is not None and any(_is_older(it, mark) for it in self.asked(operation).before[-1:]):
            known -= {mark.source}
        return births_of(there.parameters, self.cluster) - known

    def parts(self, operation: Operation, place: Any) -> Verdict:
        """Judge a change of parts (partitions, constraints, functions) by the home of their table or database."""
        its = self.stance(operation, place)
        if its is None:
            return Verdict.STALE
        home = self.home(place)
        if its is Stance.REQUEST or home == self.cluster:
            return Verdict.DO
        if home != operation.mark.source:
            return Verdict.DO if self._asks_place(operation) or its is Stance.ECHO else Verdict.FOREIGN
        return _OF_HOME[ownership_of_part(place.parameters, operation.mark)]

    def part(self, operation: Operation, place: Any, wanted: Any | None, there: Any | None) -> Verdict:
        """Judge one part by itself."""
        if wanted is None and there is None:
            return Verdict.UNCHANGED
        its = self.stance(operation, place)
        if its is Stance.STATE or (its is Stance.ECHO and _is_of_former_birth(place, operation.mark)):
            return Verdict.DO
        asked = operation.condition or Condition()
        values = getattr(wanted if wanted is not None else there, "values", None)
        before = asked.before if values is None else asked.parts.get(tuple(values), ())
        asked = Condition(its, before, anew=asked.anew)
        home = self.home_within(place) if self._asks_place(operation) else operation.mark.source
        return self._heard(home, asked, self._by_condition(asked, wanted, there))

    def is_on_its_way(self, operation: Operation) -> bool:
        """Whether it is a request that the home has not seen yet."""
        return self.asked(operation).stance is Stance.REQUEST and operation.mark.source != self.cluster

    def _heard(self, home: str, asked: Condition, found: Verdict) -> Verdict:
        """The verdict; CONFLICT for a request that finds its result here already, unless this is its home.

        Else the home would never hear of it.
        """
        done = found is Verdict.UNCHANGED and asked.stance is Stance.REQUEST and len(asked.before) > 0
        return Verdict.CONFLICT if done and home != self.cluster else found

    def mark(self, operation: Operation, there: Any | None) -> Mark | None:
        """The mark to write: the home's, and none at home. A request leaves the mark that is there."""
        home, its = operation.mark.source, self.home(there)
        asks = self.asked(operation).stance is Stance.REQUEST
        if there is not None and its is not None and (asks or (its == self.cluster and home > its)):
            return None if its == self.cluster else Mark.read(there.parameters)
        if home == self.cluster:
            return None
        return operation.mark.following(Mark.read(there.parameters) if there is not None else None)

    def asked(self, operation: Operation) -> Condition:
        """The condition of an operation.

        An operation without one is a request if this cluster is its home, else the home's state.
        """
        if operation.condition is not None and operation.condition.stance is not None:
            return operation.condition
        at_home = operation.mark.source == self.cluster
        return Condition(Stance.REQUEST if at_home else Stance.STATE)

    def home(self, there: Any | None) -> str | None:
        """The home of the target's object; None if there is none."""
        return None if there is None else home_of(there.parameters, self.cluster)

    def home_within(self, place: Any) -> str:
        """The home of parts without a mark in the database or table `place`."""
        return first_home(place.parameters, self.cluster, relay=self.relay)

    def stance(self, operation: Operation, place: Any) -> Stance | None:
        """What a change of a part is to the target; None if the target has had it."""
        if not self._asks_place(operation):
            return self.asked(operation).stance
        visited = operation.visited
        home = self.home_within(place)
        if getattr(place, "name", None) == DEFAULT:  # born everywhere: all on the way agree on the smallest name
            home = min((self.cluster, *visited))
        elif operation.condition is not None and operation.condition.place is not None:
            home = min(home, operation.condition.place)  # born at both ends: each end may know another home
        # In pairs the target hears of a third cluster's objects from that cluster itself.
        if not self.relay and home not in {visited[-1], self.cluster}:
            return None
        return stance(home, visited, self.cluster)

    def agrees(self, operation: Operation, place: Any) -> bool:
        """Whether source and target have the same view of the home of a part of the database `place`."""
        said = operation.condition.place if operation.condition is not None else None
        return said in {None, self.home_within(place)}

    def _asks_place(self, operation: Operation) -> bool:
        return operation.condition is not None and operation.condition.stance is None

    def _lacks_mark(self, asked: Condition, home: str, its: str | None) -> bool:
        # The echo says that the smaller cluster has become the home, so the object needs its mark though nothing else
        # differs.
        return asked.stance is Stance.ECHO and its is not None and home < its

    def _by_condition(self, asked: Condition, wanted: Any | None, there: Any | None) -> Verdict:
        if asked.stance is Stance.REQUEST:
            return self._by_request(asked, wanted, there)
        if self._is_so(wanted, there):
            return Verdict.UNCHANGED
        return Verdict.DO if self._is_one_of(asked.before, there) else Verdict.STALE

    def _by_request(self, asked: Condition, wanted: Any | None, there: Any | None) -> Verdict:
        if self._is_one_of(asked.before, there) or (asked.anew and there is None):
            return Verdict.DO
        return Verdict.UNCHANGED if self._is_so(wanted, there) else Verdict.CONFLICT

    def _is_one_of(self, states: Sequence[Any | None], there: Any | None) -> bool:
        if there is None:
            return None in states
        return any(it is not None and self.same(it, there) for it in states)

    def _is_so(self, wanted: Any | None, there: Any | None) -> bool:
        if wanted is None or there is None:
            return wanted is there
        return self.same(wanted, there)


def _is_passed_on(operation: Operation) -> bool:
    """Whether a cluster on the way from the home has read the state anew, so that no event of the home's orders it.

    Everything of that home comes by that way, so what comes now is newer than what is there.
    """
    return operation.mark.epoch == 0


def _is_of_former_birth(place: Any, mark: Mark) -> bool:
    """Whether the home has created the table anew since it wrote the one that is there: no part of it can be newer."""
    its = Mark.read(place.parameters)
    if its is None or its.source != mark.source or 0 in {its.created, mark.created}:
        return False
    return its.created != mark.created and mark.follows(its)


def _has_parts(table: Any) -> bool:
    """Whether two equal tables of that name may each have partitions of their own."""
    return bool(getattr(table, "partitionKeys", None))


def _is_older(dropped: Any | None, mark: Mark) -> bool:
    """Whether the dropped object was born before the object with the mark, at the same home."""
    its = Mark.read(getattr(dropped, "parameters", None))
    return its is not None and its.source == mark.source and its.is_before_birth_of(mark)


# Asking: how the home of an object is asked to say its state again (docs/both-ways.md).


log = structlog.get_logger(__name__)


class Asking:
    """Sends words (pysync.model.again) through a target. Each method returns the outcome of the operation."""

    def __init__(self, store: WatchedStore, rule: BothWays) -> None:
        if not isinstance(store.reads, SaysWords):
            raise TypeError(f"{type(store.reads).__name__} cannot go both ways: it has no method say")
        self.store, self.rule, self._speaker = store, rule, store.reads

    def say_again(self, operation: SayAgain) -> Outcome:
        """Tell all clusters to read an object anew: as its home, or else on the path that the operation took.

        It is sent by creating and dropping a function (pysync.model.again).
        """
        # At its home the word begins anew: before that it was only a question.
        path = () if operation.home == self.rule.cluster else since(operation.home, operation.visited)
        word = Again(operation.database, operation.table, operation.function, operation.home, path, operation.words)
        self._say(word, operation)
        return Outcome.APPLIED if operation.home in path else self._conflict(operation, operation.home)

    def for_table(self, operation: Operation, there: Any | None) -> Outcome:
        """Have the home say the table again; `there` is the target's table, if it has one."""
        database, _, table = operation.key.partition(".")
        if there is not None:
            database, table = there.dbName, there.tableName
        home = self.rule.home(there) or operation.mark.source
        return self._ask(operation, home, database, table=table)

    def for_place(self, operation: DatabaseOperation, place: Any | None, function: str = "") -> Outcome:
        """The same for the database `place`, or a function in it."""
        known = self.rule.home_within(place) if function else self.rule.home(place)
        stated = operation.condition.place if operation.condition is not None else None
        home = min(filter(None, (known, stated)), default=operation.mark.source)
        return self._ask(operation, home, operation.database, function=function)

    def for_functions(self, operation: DatabaseOperation, place: Any) -> None:
        """The same for each function in the database `place`."""
        for function in self.store.reads.functions(operation.database):
            self.for_place(operation, place, function.functionName)

    def _ask(self, operation: Operation, home: str, database: str, **what: str) -> Outcome:
        """Say a word that begins here: the path of the conflicting change is not its own."""
        words = 1 + (operation.condition.words if operation.condition is not None else 0)
        self._say(Again(database, home=home, words=words, **what), operation)
        return self._conflict(operation, home)

    def _say(self, word: Again, operation: Operation) -> None:
        # The words about one conflict are limited: clusters that take each other for the home would go on for ever.
        if word.is_worth_saying:
            self._speaker.say(word.told_by(",".join(operation.visited)))

    def _conflict(self, operation: Operation, home: str) -> Outcome:
        """Log the change that was not made, and whose state stays."""
        log.warning(
            "conflict_found",
            target=self.store.settings.name,
            object=operation.key,
            change=type(operation).__name__,
            home=home,
            stays=self.rule.cluster,
            path=",".join(operation.visited),
        )
        return Outcome.CONFLICT
