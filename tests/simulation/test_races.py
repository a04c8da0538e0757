"""Races of clusters that replicate to each other, which once ended with a difference: each as a written history."""

from __future__ import annotations

import pytest

from tests.simulation.history import History, Step
from tests.simulation.run import Found, wrong_after
from tests.simulation.stage import stage
from tests.simulation.topologies import TOPOLOGIES

RACES: dict[tuple[str, str], History] = {
    ("mesh", "a function of a database whose home is another at either end"): (
        Step("client", 0, 0, 0, 163),  # east: create database a
        Step("settle"),
        Step("client", 1, 193, 2, 181),  # west: create table a.u
        Step("client", 0, 203, 4, 44),  # east: drop database a cascade
        Step("client", 0, 124, 4, 148),  # east: create database a
        Step("client", 1, 166, 4, 29),  # west: create function a.g
        Step("client", 2, 237, 0, 101),  # north: drop database a cascade
    ),
}


@pytest.mark.parametrize(("name", "race"), RACES)
def test_at_rest_all_have_the_same(name: str, race: str) -> None:
    topology, steps = TOPOLOGIES[name], RACES[name, race]
    with stage():
        wrong = wrong_after(topology, 5032, steps)
        story = Found(topology, 5032, steps, wrong).told() if wrong else ""
    assert not wrong, story
