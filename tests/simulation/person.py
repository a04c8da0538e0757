"""A person who decides about what the targets hold, and has them compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pysync.queue import Removal
from tests.simulation.cluster import Cluster
from tests.simulation.feed import Feed
from tests.simulation.history import Step
from tests.simulation.losses import Losses

Edge = tuple[str, str]
"""Who replicates to whom."""


class Person:
    """What a person does at the targets of all sidecars that run, and the losses of each of these."""

    def __init__(self, clusters: Sequence[Cluster], losses: Mapping[Edge, Losses]) -> None:
        self._clusters, self.losses = clusters, losses

    def feeds(self) -> Iterator[tuple[Edge, Feed]]:
        """Those that run."""
        for cluster in self._clusters:
            for feed in cluster.sidecar.feeds if cluster.sidecar else ():
                yield (cluster.name, feed.name), feed

    def decide(self, step: Step) -> str:
        """Decide about all that is held at one target, about one database, or about every other object."""
        if not (feeds := list(self.feeds())):
            return "nobody is there to decide about anything"
        edge, feed = feeds[step.a % len(feeds)]
        held = feed.brake.held()
        if not held:
            return f"{edge[1]} holds nothing"
        chosen = (held, [it for it in held if it.database == held[0].database], held[step.b % 2 :: 2])[step.b // 2 % 3]
        return self._decide(edge, feed, chosen, keep=bool(step.c % 2))

    def release(self, step: Step) -> str:
        """Keep something no longer."""
        if not (feeds := list(self.feeds())):
            return "nobody is there to release anything"
        edge, feed = feeds[step.a % len(feeds)]
        kept = feed.brake.kept()
        return self._release(edge, feed, kept[step.b % 2 :: 1 + step.b // 2 % 2])

    def compare(self, step: Step) -> str:
        """Have all targets of a cluster compared."""
        running = [it for it in self._clusters if it.sidecar is not None]
        if not running:
            return "nobody is there to compare anything"
        cluster = running[step.a % len(running)]
        assert cluster.sidecar is not None
        return cluster.sidecar.healer.refresh([])

    def let_all_go(self) -> bool:
        """Let everything go that is held or kept, and compare; whether there was anything."""
        found = False
        for edge, feed in self.feeds():
            if held := feed.brake.held():
                self._decide(edge, feed, held, keep=False)
            if kept := feed.brake.kept():
                self._release(edge, feed, kept)
            found = found or bool(held or kept)
        for number in range(len(self._clusters)):
            self.compare(Step("compare", 0, number))
        return found

    def _decide(self, edge: Edge, feed: Feed, chosen: Sequence[Removal], *, keep: bool) -> str:
        rows = feed.brake.decide([it.object for it in chosen], keep=keep)
        self.losses[edge].decided(rows, keep=keep)
        feed.retry_soon()
        return f"a person has {edge[1]} {'keep' if keep else 'drop'} {', '.join(it.object for it in rows)}"

    def _release(self, edge: Edge, feed: Feed, chosen: Sequence[Removal]) -> str:
        if not chosen:
            return f"{edge[1]} keeps nothing of that"
        rows = feed.brake.release([it.object for it in chosen])
        self.losses[edge].released(rows)
        return f"a person has {edge[1]} keep no longer {', '.join(it.object for it in rows)}"
