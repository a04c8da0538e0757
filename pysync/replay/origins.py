"""Origins: the home of an object that a refresh reads, and what follows from it. Pure.

No event tells it, so the object itself does. Both ways a refresh brings only the state of an object's home. For all
other objects it can only ask the home to say them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.births import first_home
from pysync.model.home import Condition, Stance, home_of
from pysync.model.mark import Mark
from pysync.model.operation import Operation, Refresh, SayAgain
from pysync.replay.policy import Policy


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins for one refresh and one target."""

    policy: Policy
    refresh: Refresh

    def of(self, item: Any, there: Any = None) -> dict[str, Any]:
        """The mark and path for writing an object. `there` is the target's object, if the source has none."""
        if self.policy.both_ways:
            return self._both_ways(item, there)
        mark = replace(self.refresh.mark, created=getattr(item, "createTime", None) or 0)
        before = Mark.read(getattr(item, "parameters", None))
        visited = (before.source,) if before is not None else ()
        return {"mark": mark, "visited": (*visited, *self.refresh.visited)}

    def of_function(self, home: str, found: Any, there: Any) -> dict[str, Any]:
        """The same for a function of a database, once its `home` has said it.

        The mark of the database at the source may name another home: clusters that created the database at the same
        time need not know of each other yet.
        """
        origin = self.of(found, there)
        if not self.policy.both_ways or origin["mark"].source == home:
            return origin
        return origin | {
            "mark": replace(self.refresh.mark, source=home, born=0),
            "condition": Condition(None, place=home, words=self.refresh.words),
        }

    def comes_from_target(self, item: Any) -> bool:
        """Whether the object is the target's own, which it must not get back; both ways it is compared."""
        if self.policy.both_ways:
            return False
        mark = Mark.read(item.parameters)
        return mark is not None and mark.source == self.policy.cluster

    def is_ours(self, there: Any) -> bool:
        """Whether the target has the object from the source, so that this refresh may drop it."""
        if there is None:
            return False
        if self.policy.both_ways:
            return self.is_said(self.home(None, there))
        mark = Mark.read(there.parameters)
        return mark is not None and mark.source == self.refresh.mark.source

    # --- both ways

    def home(self, item: Any, there: Any) -> str:
        """The home of an object, as source, target and the speaker of a word know it; "" if nobody does.

        If they disagree, it is the smallest name.
        """
        mine = "" if item is None else first_home(item.parameters, self.source, relay=self.policy.relay)
        its = "" if there is None else first_home(there.parameters, self.policy.cluster or "", relay=self.policy.relay)
        return min(filter(None, (mine, its, self.refresh.home)), default="")

    def is_said(self, home: str) -> bool:
        """Whether the refresh brings the state of that home; one way it always does."""
        return not self.policy.both_ways or home in self.refresh.visited

    def is_over(self, found: Any, there: Any) -> bool:
        """Whether the home of the target's table has given up the name to another cluster's table, which will come."""
        if there is None or not self.policy.both_ways:
            return False
        its = home_of(there.parameters, self.policy.cluster or "")
        return self.is_said(its) and its != home_of(found.parameters, self.source)

    def teller(self, found: Any, home: str) -> str:
        """Whose state is passed on for a table of `home`: that of the table's present home, if it was said too."""
        now = home if found is None else home_of(found.parameters, self.source)
        return now if self.is_said(now) else home

    def concerns_target(self, home: str) -> bool:
        """Whether the target gets objects of that home."""
        return self.policy.relay or home in {self.source, self.policy.cluster}

    def again(self, home: str, database: str, *, table: str = "", function: str = "") -> Iterator[Operation]:
        """Have it said again at the target: by the target if it is the home, else on the way to or from the home."""
        if self.policy.both_ways and (self.policy.relay or home == self.policy.cluster):
            way: dict[str, Any] = {"mark": self.refresh.mark, "visited": self.refresh.visited}
            way["words"] = max(1, self.refresh.words)
            yield SayAgain(database=database, table=table, function=function, home=home, **way)

    @property
    def source(self) -> str:
        """The cluster that is read."""
        return self.refresh.visited[-1] if self.refresh.visited else self.refresh.mark.source

    def _both_ways(self, item: Any, there: Any) -> dict[str, Any]:
        """The mark is the home's. What the home has not said is only a request."""
        refresh = self.refresh
        # The refresh of an operation's table (pysync.replay.whole) has the mark of the home, which may be a third
        # cluster.
        own = refresh.mark if refresh.mark.source == self.source else Mark(self.source, 0, 0)
        if isinstance(item, hive.Database):
            own = replace(own, born=0)  # the refresh may be of a table in it, whose birth that is
        parameters = getattr(there if item is None else item, "parameters", None)
        its = Mark.read(parameters)
        if its is None or first_home(parameters, self.source, relay=self.policy.relay) == own.source:
            its = replace(own, created=getattr(item, "createTime", None) or 0)
        asks = not self.is_said(its.source) or its.source == self.policy.cluster
        condition = Condition(Stance.REQUEST if asks else Stance.STATE, anew=refresh.anew, words=refresh.words)
        return {"mark": its, "visited": refresh.visited, "condition": condition}


def is_in_the_way(there: Any, wanted: Any) -> bool:
    """Whether the target has an earlier table of that name, whose partitions do not fit the wanted one."""
    mark = Mark.read(there.parameters) if there is not None else None
    earlier = mark is not None and 0 < mark.created < (wanted.createTime or 0)
    return earlier and keys_of(there) != keys_of(wanted)


def keys_of(table: Any) -> list[str]:
    """The names of its partition keys."""
    return [key.name for key in table.partitionKeys or ()]
