"""A client changes something at a replica, and its metastore is killed before the listener hears of it.

No event tells of the change: the comparison that follows has the home say again what counts, whatever it is of.
"""

from __future__ import annotations

import pytest

from tests.simulation.history import Step
from tests.simulation.run import find, story, wrong_after
from tests.simulation.stage import stage
from tests.simulation.topologies import TOPOLOGIES

BOTH_WAYS = ("pair", "mesh", "ring")
BORN = (
    *(Step("client", a=a, b=0, c=c) for a, c in ((0, 0), (0, 171), (103, 110), (30, 60))),
    Step("settle"),
)
"""The database a, its table t with a partition, and its function f are created at the first cluster; all have them."""

LOST = {  # what a client does there: numbers for tests.simulation.clients
    "a partition is added": (103, 0, 0),
    "a partition is dropped": (6, 0, 2),
    "a table is altered": (14, 0, 7),
    "a table is dropped": (90, 90, 18),
    "a table is dropped and created": (25, 0, 3),
    "a table is renamed": (95, 0, 185),
    "a function is created": (30, 0, 61),
    "a function is dropped": (30, 0, 60),
    "a database is dropped": (33, 0, 0),
}
SEEDS = [
    ("ring", 72),
    ("ring", 90),
    ("ring", 254),
    ("ring", 256),
    ("mesh", 90),
    ("pair", 374),
    ("ring", 7496),
    ("ring", 7864),
    ("ring", 5468),
    ("long-ring", 1651),
    ("long-ring", 1806),
    ("long-ring", 4352),
    ("long-ring", 7113),
    ("long-ring", 7651),
    ("long-ring", 8317),
    ("long-ring", 1179),
    ("long-ring", 3776),
    ("long-ring", 8798),
]


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("what", LOST)
@pytest.mark.parametrize("name", BOTH_WAYS)
def test_it_comes_to_rest_with_the_same_everywhere(name: str, what: str, at: int) -> None:
    topology = TOPOLOGIES[name]
    a, b, c = LOST[what]
    steps = (*BORN, Step("unheard", at, a, b, c))
    with stage():
        wrong = wrong_after(topology, 0, steps)
        reported = "\n".join(story(topology, 0, steps))
    assert not wrong, f"{reported}\n{wrong}"


@pytest.mark.parametrize(("name", "seed"), SEEDS)
def test_a_history_that_went_wrong(name: str, seed: int) -> None:
    with stage():
        found = find(TOPOLOGIES[name], seed)
        reported = found.as_text() if found else ""
    assert not reported, reported
