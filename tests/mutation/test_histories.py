"""Histories of the simulator as tests of mutants: a bounded number, a few in each test, none shrunk."""

from __future__ import annotations

import pytest

from tests.simulation.run import find
from tests.simulation.stage import stage
from tests.simulation.topologies import TOPOLOGIES

_EACH = 5
_PARTS = [(name, first) for name in TOPOLOGIES if not name.startswith("long-") for first in range(0, 20, _EACH)]


@pytest.mark.parametrize(("name", "first"), _PARTS)
def test_no_history_goes_wrong(name: str, first: int) -> None:
    with stage():
        found = (find(TOPOLOGIES[name], seed) for seed in range(first, first + _EACH))
        wrong = next((it for it in found if it is not None), None)
    assert wrong is None
