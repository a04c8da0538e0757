"""Two clusters that change the same names, and whose sidecars are killed; the suite chaos is longer, and has three."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.federation import federation
from tests.support.rounds import play

pytestmark = pytest.mark.crash


@pytest.mark.timeout(900)
def test_two_clusters_come_to_rest_and_are_equal(tmp_path: Path) -> None:
    with federation(tmp_path, "east", "west") as clusters:
        play(clusters, 20.0, seed=1)
