"""Some histories of what pysync promises: none may go wrong. `make simulate` runs a hundred thousand."""

from __future__ import annotations

import pytest

from tests.simulation.run import find, shrunk, wrong_after
from tests.simulation.stage import stage
from tests.simulation.topologies import (
    BRAKED,
    BRAKED_PAIR,
    BY_HAND,
    HANGING,
    LOADS,
    LONG_RING,
    MESH,
    ONE_WAY,
    PAIR,
    RESTORED,
    RING,
    TOPOLOGIES,
)

_PART = 100
FLAWLESS = (
    (ONE_WAY, 400),
    (BY_HAND, 100),
    (HANGING, 100),
    (LOADS, 100),
    (RESTORED, 100),
    (PAIR, 100),
    (RING, 100),
    (MESH, 100),
    (LONG_RING, 10),
    (BRAKED, 25),
    (BRAKED_PAIR, 30),
)
"""How many of each, more than a thousand in all. One of LONG_RING costs as much as forty of ONE_WAY."""


@pytest.mark.parametrize(
    ("name", "seeds"),
    [(it.name, range(at, min(at + _PART, most))) for it, most in FLAWLESS for at in range(0, most, _PART)],
)
def test_no_history_goes_wrong(name: str, seeds: range) -> None:
    with stage():
        found = (find(TOPOLOGIES[name], seed) for seed in seeds)
        wrong = next((it for it in found if it is not None), None)
        story = shrunk(wrong).as_text() if wrong else ""
    assert not wrong, story


def test_a_seed_is_the_same_history_with_the_same_end() -> None:
    topology = TOPOLOGIES["one-way"]
    steps = topology.workload.history(7, 2)
    assert steps == topology.workload.history(7, 2) != topology.workload.history(8, 2)
    with stage():
        stories: list[list[str]] = [[], []]
        for story in stories:
            wrong_after(topology, 7, steps, story)
    assert stories[0] == stories[1]
