"""A round of rivals against kills of sidecars, and what has to be true after it."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from tests.support import wait_until
from tests.support.federation import CALM_SECONDS, PATIENCE_SECONDS, Cluster, differences, rest
from tests.support.rivals import DATABASES, Rival

CLIENTS = 8
PAUSE_SECONDS = 0.15
REST_SECONDS = 120.0
"""How long after the last client's change there may be another one: 30 s, and what a busy machine needs to catch up."""


def play(clusters: Sequence[Cluster], seconds: float, seed: int) -> None:
    """Eight clients at each cluster for so long; then all is at rest, equal, and `pysync verify` finds no drift."""
    chance = random.Random(seed)
    killed = sum(cluster.kills for cluster in clusters)
    rivals = [
        Rival(cluster.uri, cluster.directory.parent / "warehouse", 1000 * seed + 100 * at + client, PAUSE_SECONDS)
        for at, cluster in enumerate(clusters)
        for client in range(CLIENTS)
    ]
    for rival in rivals:
        rival.start()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(min(chance.uniform(2.0, 8.0), max(0.0, until - time.monotonic())))
        _kill(chance.choice(clusters), chance)
    for rival in rivals:
        rival.stop()
    for rival in rivals:
        rival.join(PATIENCE_SECONDS)
    ended = time.monotonic()
    for cluster in clusters:
        wait_until(cluster.answers, seconds=PATIENCE_SECONDS, what=f"the sidecar of {cluster.here}")
    took = rest(clusters, CALM_SECONDS, PATIENCE_SECONDS + seconds) - ended
    found = differences(clusters, DATABASES)
    conflicts = {cluster.here: cluster.conflicts() for cluster in clusters}
    done, kills = sum(rival.done for rival in rivals), sum(cluster.kills for cluster in clusters) - killed
    print(  # noqa: T201
        f"\nround {seed}: {done} changes by {len(rivals)} clients in {seconds:g} s, {kills} kills; "
        f"at rest {took:.1f} s after the last of them; conflicts so far {conflicts}; {len(found)} differences"
    )
    assert found == [], "\n".join(found)
    drift = "".join(cluster.verified() for cluster in clusters)
    assert drift == "", drift
    assert took < REST_SECONDS
    assert done > seconds


def _kill(cluster: Cluster, chance: random.Random) -> None:
    cluster.kill()
    time.sleep(chance.uniform(0.0, 1.0))
    cluster.start()
