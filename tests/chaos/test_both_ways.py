"""Eight clients at each of several clusters, all on the same names, while sidecars are killed: rest, and equal ends.

PYSYNC_ROUNDS and PYSYNC_SECONDS: how many rounds, and how long the clients work in each. `make test SUITE=chaos` does
three of three minutes.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.federation import federation
from tests.support.rounds import play

ROUNDS = int(os.environ.get("PYSYNC_ROUNDS", "1"))
SECONDS = float(os.environ.get("PYSYNC_SECONDS", "20"))


@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    ("names", "ring"), [(("east", "west"), False), (("east", "west", "north"), True)], ids=["pair", "ring"]
)
def test_clusters_that_change_the_same_names_come_to_rest_and_are_equal(
    tmp_path: Path, names: tuple[str, ...], ring: bool
) -> None:
    with federation(tmp_path, *names, ring=ring) as clusters:
        for number in range(ROUNDS):
            play(clusters, SECONDS, seed=number)
