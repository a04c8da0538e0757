"""Origins: whose an object is that a refresh reads, and so what is to be done about it. Pure.

There is no event of it, so the object itself tells. Both ways a refresh brings only the word of the object's home; of
all else it can but ask: the home says it again.
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
    """Those of one refresh, for one target."""

    policy: Policy
    refresh: Refresh

    def of(self, item: Any, there: Any = None) -> dict[str, Any]:
        """The mark of what is written for an object, and where it has been. `there` is the target's, if it has gone."""
        if self.policy.both_ways:
            return self._both_ways(item, there)
        mark = replace(self.refresh.mark, created=getattr(item, "createTime", None) or 0)
        before = Mark.read(getattr(item, "parameters", None))
        visited = (before.source,) if before is not None else ()
        return {"mark": mark, "visited": (*visited, *self.refresh.visited)}

    def comes_from_target(self, item: Any) -> bool:
        """Whether it is the target's own, which it is not to get back; both ways it is compared all the same."""
        if self.policy.both_ways:
            return False
        mark = Mark.read(item.parameters)
        return mark is not None and mark.source == self.policy.cluster

    def is_ours(self, there: Any) -> bool:
        """Whether what the target has is there by the source's word, so that this may drop it."""
        if there is None:
            return False
        if self.policy.both_ways:
            return self.is_said(self.home(None, there))
        mark = Mark.read(there.parameters)
        return mark is not None and mark.source == self.refresh.mark.source

    # --- both ways

    def home(self, item: Any, there: Any) -> str:
        """The home of an object, by what of it is at the source and at the target, and by who had it said again; the
        smallest name, where they do not agree; "" where nobody knows.
        """
        mine = "" if item is None else first_home(item.parameters, self._source, relay=self.policy.relay)
        its = "" if there is None else first_home(there.parameters, self.policy.cluster or "", relay=self.policy.relay)
        return min(filter(None, (mine, its, self.refresh.home)), default="")

    def is_said(self, home: str) -> bool:
        """Whether the refresh brings the word of that home; one way it always does."""
        return not self.policy.both_ways or home in self.refresh.visited

    def is_over(self, found: Any, there: Any) -> bool:
        """Whether the table's home has another's table under the name by now, whose word is on its way here."""
        if there is None or not self.policy.both_ways:
            return False
        its = home_of(there.parameters, self.policy.cluster or "")
        return self.is_said(its) and its != home_of(found.parameters, self._source)

    def teller(self, found: Any, home: str) -> str:
        """Whose word goes on when that of a table's `home` has come here: that of whose it is by now at the source."""
        now = home if found is None else home_of(found.parameters, self._source)
        return now if self.is_said(now) else home

    def concerns_target(self, home: str) -> bool:
        """Whether the target is told of what has that home."""
        return self.policy.relay or home in {self._source, self.policy.cluster}

    def again(self, home: str, database: str, *, table: str = "", function: str = "") -> Iterator[Operation]:
        """Have it said again at the target: on its own behalf if it is the home, else on the way to or from that."""
        if self.policy.both_ways and (self.policy.relay or home == self.policy.cluster):
            way: dict[str, Any] = {"mark": self.refresh.mark, "visited": self.refresh.visited}
            way["words"] = max(1, self.refresh.words)
            yield SayAgain(database=database, table=table, function=function, home=home, **way)

    @property
    def _source(self) -> str:
        return self.refresh.visited[-1] if self.refresh.visited else self.refresh.mark.source

    def _both_ways(self, item: Any, there: Any) -> dict[str, Any]:
        """The mark is that of the home, whoever's it is; what that has not said is no more than a request."""
        refresh = self.refresh
        own = refresh.mark if refresh.mark.source == self._source else Mark(self._source, 0, 0)
        if isinstance(item, hive.Database):
            own = replace(own, born=0)  # it is a table of it that was born then
        parameters = getattr(there if item is None else item, "parameters", None)
        its = Mark.read(parameters)
        if its is None or first_home(parameters, self._source, relay=self.policy.relay) == own.source:
            its = replace(own, created=getattr(item, "createTime", None) or 0)
        asks = not self.is_said(its.source) or its.source == self.policy.cluster
        condition = Condition(Stance.REQUEST if asks else Stance.STATE, anew=refresh.anew, words=refresh.words)
        return {"mark": its, "visited": refresh.visited, "condition": condition}


def is_in_the_way(there: Any, wanted: Any) -> bool:
    """Whether the target has an earlier table of that name whose partitions cannot be in the one that is wanted."""
    mark = Mark.read(there.parameters) if there is not None else None
    earlier = mark is not None and 0 < mark.created < (wanted.createTime or 0)
    return earlier and keys_of(there) != keys_of(wanted)


def keys_of(table: Any) -> list[str]:
    """The names of its partition keys."""
    return [key.name for key in table.partitionKeys or ()]
