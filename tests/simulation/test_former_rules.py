"""What the simulator finds where each of two clusters adopts what the other sends: so it can find such faults."""

from __future__ import annotations

import pytest

from tests.simulation.clients import Client, numbers_of
from tests.simulation.history import Workload
from tests.simulation.run import find, shrunk
from tests.simulation.stage import stage
from tests.simulation.topologies import FORMER

ONE_TABLE = {"tables": (0,), "faults": 0.0, "prepared": 1.0}
FAULTS = {
    "a function that is created and dropped comes and goes for ever": (
        Workload(numbers_of(Client._function), **ONE_TABLE),
        "it does not come to rest",
    ),
    "a partition that is added and dropped rises again": (
        Workload(numbers_of(Client._add_partitions, Client._drop_partition), **ONE_TABLE),
        "what the clients of east left has changed: a.t/",
    ),
    "a drop does not cross back": (
        Workload(numbers_of(Client._drop), writers=(1,), most=1, **ONE_TABLE),
        "east and west differ: a.t: only at the first",
    ),
    "two alters at once change places": (
        Workload(numbers_of(Client._alter), writers=(0, 1), most=3, **ONE_TABLE),
        "east and west differ: a.t: parameters",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_faults_of_the_former_rules_are_found(name: str) -> None:
    workload, wrong = FAULTS[name]
    with stage():
        tried = (find(FORMER["pair-adopt"], seed, workload) for seed in range(100))
        found = next((it for it in tried if it is not None and it.wrong.startswith(wrong)), None)
        assert found is not None
        assert len(shrunk(found).steps) <= 7
