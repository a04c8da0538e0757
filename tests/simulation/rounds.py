"""Rounds: everybody takes the turns that there are, until nothing is left to do."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.clock import Clock
from tests.simulation.cluster import Cluster

_ROUND_SECONDS = 2.0
_QUIET_SECONDS = 8.0
_LONGEST_SECONDS = 240.0
_MOST_TURNS = 50


def settles(clusters: Sequence[Cluster], clock: Clock) -> bool:
    """Let everybody take turns; whether nothing is left to do for some seconds, within a few minutes."""
    quiet = begun = clock.seconds
    while clock.seconds - begun < _LONGEST_SECONDS:
        before = reported_changes(clusters)
        take(clusters)
        if busy(clusters) or reported_changes(clusters) != before:
            quiet = clock.seconds
        elif clock.seconds - quiet >= _QUIET_SECONDS:
            return True
        clock.seconds += _ROUND_SECONDS
    return False


def take(clusters: Sequence[Cluster]) -> None:
    """One round."""
    for cluster in clusters:
        for _ in range(_MOST_TURNS):
            if not (cluster.listener.spool and cluster.replicates):
                break
            cluster.listener.ship(cluster)
        if cluster.sidecar is not None:
            cluster.listener.report(cluster)
            cluster.sidecar.heal()
            _replay(cluster)


def reported_changes(clusters: Sequence[Cluster]) -> int:
    """How many changes the metastores have reported."""
    return sum(cluster.listener.changes for cluster in clusters)


def busy(clusters: Sequence[Cluster]) -> str:
    """Who has something to do; nothing if nobody has."""
    found = (it.name for it in clusters if it.sidecar and not (it.sidecar.resting and not it.listener.spool))
    return ", ".join(found)


def _replay(cluster: Cluster) -> None:
    for feed in cluster.sidecar.feeds if cluster.sidecar else ():
        for _ in range(_MOST_TURNS):
            if not feed.turn():
                break
