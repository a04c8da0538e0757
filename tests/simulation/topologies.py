"""Who replicates to whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.simulation.clients import CHOICES, MORE_TABLES, TABLES, Client, numbers_of
from tests.simulation.history import FAULTS, Workload

NAMES = ("east", "west", "north")


@dataclass(frozen=True, slots=True, eq=False)
class Topology:
    """`targets` are the targets of each cluster, `settings` those of every target; `work` is done at the writers."""

    name: str
    targets: Mapping[str, tuple[str, ...]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    work: Workload = field(default_factory=Workload)

    @property
    def clusters(self) -> tuple[str, ...]:
        """The names of the clusters."""
        return NAMES[: 1 + max(NAMES.index(it) for ends in self.targets.values() for it in ends)]

    @property
    def both_ways(self) -> bool:
        """Whether a cluster is both source and target."""
        return len(self.targets) > 1

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables in each database."""
        return MORE_TABLES if self.is_braked else TABLES

    @property
    def is_braked(self) -> bool:
        """Whether removals may be held."""
        return "max_drops" in self.settings

    @property
    def workload(self) -> Workload:
        """What its histories are made of."""
        return replace(self.work, writers=tuple(range(len(self.clusters))) if self.both_ways else (0,))


ONE_WAY = Topology("one-way", {"east": ("west",)})
BY_HAND = Topology("by-hand", ONE_WAY.targets, {"out_of_scope": "drop"}, Workload(acts=("rescope", "make", "trim")))
_BUT_JUMPS = tuple(kind for kind in FAULTS if kind != "jump")  # the guard of a load goes by the time of day
LOADS = Topology("loads", ONE_WAY.targets, work=Workload(acts=("dump", "load"), kinds=_BUT_JUMPS))
_BUT_FUNCTIONS = numbers_of(*set(CHOICES) - {Client._function})
RESTORED = Topology(  # a function alone, or two threads at once, do not show that their source is older
    "restored",
    ONE_WAY.targets,
    work=Workload(_BUT_FUNCTIONS, acts=("backup", "restore"), kinds=_BUT_JUMPS, overlaps=False),
)
_OF_ONE_TABLE = numbers_of(*set(CHOICES) - {Client._drop_database, Client._rename})
HANGING = Topology(  # 16 events may be under way
    "hanging", ONE_WAY.targets, {"lanes": 2, "window": 1}, Workload(_OF_ONE_TABLE, most=40, acts=("hang",))
)
PAIR = Topology("pair", {"east": ("west",), "west": ("east",)})
MESH = Topology("mesh", {"east": ("west", "north"), "west": ("east", "north"), "north": ("east", "west")})
RING = Topology("ring", {"east": ("west",), "west": ("north",), "north": ("east",)})
_ADOPTING = {"on_conflict": "adopt"}
FORMER = {f"{it.name}-adopt": Topology(f"{it.name}-adopt", it.targets, _ADOPTING) for it in (PAIR, MESH, RING)}
"""Without a home rule: each side adopts what it finds."""

_BOTH_WAYS = {**_ADOPTING, "both_ways": True}
WITH_HOMES = (  # a mesh needs no relay: each has a way to each
    Topology("pair", PAIR.targets, _BOTH_WAYS),
    Topology("mesh", MESH.targets, {**_BOTH_WAYS, "relay": False}),
    Topology("ring", RING.targets, _BOTH_WAYS),
)
_LONG = Workload(most=30)  # topologies of their own: with another workload a seed is another history
LONG = tuple(replace(it, name=f"long-{it.name}", work=_LONG) for it in WITH_HOMES)
LONG_RING = LONG[-1]
_TIGHT = {
    "max_drops": "6 per 1h",
    "max_drops_per_window": 5,
    "max_drop_share": 0.5,
    "max_drop_share_from": 4,
    "parked_retry_seconds": 4,
    "window": 8,
}
_REMOVING = (
    *(numbers_of(Client._drop) * 3),
    *(numbers_of(Client._drop_database) * 6),
    *(numbers_of(Client._rename) * 2),
    *(numbers_of(Client._recreate) * 2),
    *numbers_of(Client._drop_partition),
    *numbers_of(Client._add_partitions, Client._alter, Client._function),
)
_BRAKED = Workload(
    _REMOVING,
    most=30,
    tables=tuple(range(2 * len(MORE_TABLES))),
    prepared=0.9,
    acts=("decide", "decide", "release", "compare", "trim"),
    kinds=_BUT_JUMPS,
    fills=2,
)
BRAKED = Topology("braked", {"east": ("west", "north")}, _TIGHT, _BRAKED)
BRAKED_PAIR = Topology("braked-pair", PAIR.targets, {**_BOTH_WAYS, **_TIGHT}, _BRAKED)
TOPOLOGIES = {
    it.name: it for it in (ONE_WAY, BY_HAND, HANGING, LOADS, RESTORED, *WITH_HOMES, *LONG, BRAKED, BRAKED_PAIR)
}
"""Those of `make simulate`: nothing may go wrong in them."""
