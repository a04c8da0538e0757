"""Origins: the home of an object that a refresh reads, and what follows from it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.home import Condition, Stance, first_home, home_of
from pysync.model.mark import Mark
from pysync.model.operation import Operation, Refresh, RequestReread


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins for one refresh and one target. One way all that the source has is the source's, but echoes.

    `cluster` and `relays` are those of the target's direction.
    """

    refresh: Refresh
    cluster: str
    relays: bool

    @property
    def source(self) -> str:
        """The cluster that is read."""
        return self.refresh.visited[-1] if self.refresh.visited else self.refresh.mark.source

    def of(self, item: Any, there: Any = None) -> dict[str, Any]:  # noqa: ARG002
        """The mark and path for writing an object. `there` is the target's object, if the source has none."""
        mark = replace(self.refresh.mark, created=getattr(item, "createTime", None) or 0)
        before = Mark.read(getattr(item, "parameters", None))
        visited = (before.source,) if before is not None else ()
        return {"mark": mark, "visited": (*visited, *self.refresh.visited)}

    def of_function(self, home: str, at_source: Any, there: Any) -> dict[str, Any]:  # noqa: ARG002
        """The same for a function of a database, once its `home` has confirmed it."""
        return self.of(at_source, there)

    def comes_from_target(self, item: Any) -> bool:
        """Whether the object is the target's own, which it must not get back."""
        mark = Mark.read(item.parameters)
        return mark is not None and mark.source == self.cluster

    def is_ours(self, there: Any) -> bool:
        """Whether the target has the object from the source, so that this refresh may drop it."""
        mark = None if there is None else Mark.read(there.parameters)
        return mark is not None and mark.source == self.refresh.mark.source

    def home(self, item: Any, there: Any) -> str:  # noqa: ARG002
        """The home of an object, as source, target and the sender of a re-read request know it; "" if nobody does."""
        return self.source

    def brings_state_of(self, home: str) -> bool:  # noqa: ARG002
        """Whether the refresh brings the state of that home; else it can only request a reread."""
        return True

    def is_over(self, at_source: Any, there: Any) -> bool:  # noqa: ARG002
        """Whether the home of the target's table has given up the name to another cluster's table, which will come."""
        return False

    def state_home(self, at_source: Any, home: str) -> str:  # noqa: ARG002
        """Whose state is passed on for a table of `home`: that of the table's present home, if it was sent too."""
        return home

    def concerns_target(self, home: str) -> bool:  # noqa: ARG002
        """Whether the target gets objects of that home."""
        return True

    def request_reread(self, home: str, database: str, *, table: str = "", function: str = "") -> Iterator[Operation]:  # noqa: ARG002
        """Have it read again at the target if that is its home, else on the way to or from the home."""
        return iter(())


class HomeOrigins(Origins):
    """Both ways. No event has the home of an object that is read, so the object itself must.

    A refresh brings only the state of an object's home. For all other objects it can only request a reread.
    """

    __slots__ = ()

    def of(self, item: Any, there: Any = None) -> dict[str, Any]:
        """The mark is the home's. What the home has not confirmed is only a request."""
        refresh = self.refresh
        # The refresh of an operation's table (pysync.replay.window.plan) has the mark of the home, which may be a third
        # cluster.
        own = refresh.mark if refresh.mark.source == self.source else Mark(self.source, 0, 0)
        if isinstance(item, hive.Database):
            own = replace(own, born=0)  # the refresh may be of a table in it, whose birth that is
        parameters = getattr(there if item is None else item, "parameters", None)
        mark = Mark.read(parameters)
        if mark is None or first_home(parameters, self.source, relay=self.relays) == own.source:
            mark = replace(own, created=getattr(item, "createTime", None) or 0)
        asks = not self.brings_state_of(mark.source) or mark.source == self.cluster
        condition = Condition(
            Stance.REQUEST if asks else Stance.STATE, may_be_absent=refresh.needed, chain_length=refresh.chain_length
        )
        return {"mark": mark, "visited": refresh.visited, "condition": condition}

    def of_function(self, home: str, at_source: Any, there: Any) -> dict[str, Any]:
        """The mark is that of `home`.

        The mark of the database at the source may name another home: clusters that created the database at the same
        time need not know of each other yet.
        """
        origin = self.of(at_source, there)
        if origin["mark"].source == home:
            return origin
        return origin | {
            "mark": replace(self.refresh.mark, source=home, born=0),
            "condition": Condition(None, place=home, chain_length=self.refresh.chain_length),
        }

    def comes_from_target(self, item: Any) -> bool:  # noqa: ARG002
        """Never: the target's own objects are compared, too."""
        return False

    def is_ours(self, there: Any) -> bool:
        """If the refresh brings the state of its home."""
        return there is not None and self.brings_state_of(self.home(None, there))

    def home(self, item: Any, there: Any) -> str:
        """If source, target and the sender of a re-read request disagree, it is the smallest name."""
        mine = "" if item is None else first_home(item.parameters, self.source, relay=self.relays)
        theirs = "" if there is None else first_home(there.parameters, self.cluster, relay=self.relays)
        return min(filter(None, (mine, theirs, self.refresh.home)), default="")

    def brings_state_of(self, home: str) -> bool:
        """If the refresh has been there."""
        return home in self.refresh.visited

    def is_over(self, at_source: Any, there: Any) -> bool:
        """If the refresh brings the state of the home that the target knows, and the source knows another one."""
        home = None if there is None else home_of(there.parameters, self.cluster)
        return home is not None and self.brings_state_of(home) and home != home_of(at_source.parameters, self.source)

    def state_home(self, at_source: Any, home: str) -> str:
        """The home that the table has at the source, if the refresh brings that."""
        now = home if at_source is None else home_of(at_source.parameters, self.source)
        return now if self.brings_state_of(now) else home

    def concerns_target(self, home: str) -> bool:
        """In pairs the target gets a third cluster's objects from that cluster itself."""
        return self.relays or home in {self.source, self.cluster}

    def request_reread(self, home: str, database: str, *, table: str = "", function: str = "") -> Iterator[Operation]:
        """Unless it concerns a third cluster in pairs."""
        if self.relays or home == self.cluster:
            way: dict[str, Any] = {"mark": self.refresh.mark, "visited": self.refresh.visited}
            way["chain_length"] = max(1, self.refresh.chain_length)
            yield RequestReread(database=database, table=table, function=function, home=home, **way)


def is_in_the_way(there: Any, wanted: Any) -> bool:
    """Whether the target has an earlier table of that name, whose partitions do not fit the wanted one."""
    mark = Mark.read(there.parameters) if there is not None else None
    earlier = mark is not None and 0 < mark.created < (wanted.createTime or 0)
    return earlier and keys_of(there) != keys_of(wanted)


def keys_of(table: Any) -> list[str]:
    """The names of its partition keys."""
    return [key.name for key in table.partitionKeys or ()]
