"""Races of clusters that replicate to each other, which once ended with a difference: each as a written history."""

from __future__ import annotations

import pytest

from tests.simulation.history import History, Step
from tests.simulation.run import Found, wrong_after
from tests.simulation.stage import stage
from tests.simulation.topologies import TOPOLOGIES

RACES: dict[tuple[str, str, int], History] = {  # by topology, what they are about, and the seed of the lanes
    ("mesh", "a function of a database whose home is another at either end", 5032): (
        Step("client", 0, 0, 0, 163),  # east: create database a
        Step("settle"),
        Step("client", 1, 193, 2, 181),  # west: create table a.u
        Step("client", 0, 203, 4, 44),  # east: drop database a cascade
        Step("client", 0, 124, 4, 148),  # east: create database a
        Step("client", 1, 166, 4, 29),  # west: create function a.g
        Step("client", 2, 237, 0, 101),  # north: drop database a cascade
    ),
    ("pair", "two births of a table, and the source cannot be read", 20328): (
        Step("client", 1, 246, 4, 197),  # west: create database a
        Step("client", 0, 39, 0, 192),  # east: create database a
        Step("ship", 0, 55, 17, 182),
        Step("client", 1, 94, 2, 85),  # west: create table a.u
        Step("client", 1, 45, 2, 206),  # west: add partition 3 to a.u
        Step("away", 0, 190, 61, 12),  # calls from the sidecar of east to its metastore
        Step("client", 0, 156, 2, 183),  # east: create table a.u
        Step("replay", 0, 27, 99, 144),
        Step("ship", 0, 234, 65, 160),
        Step("replay", 0, 154, 193, 10),
    ),
    ("mesh", "two births of a table, and an answer gets lost", 21442): (
        Step("client", 0, 0, 0, 36),  # east: create database a
        Step("settle"),
        Step("unanswered", 2, 43, 180, 83),
        Step("client", 2, 62, 4, 45),  # north: create table a.v
        Step("ship", 2, 56, 85, 46),
        Step("replay", 2, 105, 121, 176, call=2, within=(Step("client", 1, 161, 5, 158),)),
        Step("client", 1, 104, 4, 72),  # west: create table a.v
        Step("client", 1, 138, 4, 2),  # west: add partition 3 to a.v
        Step("replay", 2, 193, 74, 156, call=4, within=(Step("client", 0, 216, 1, 139),)),
    ),
    ("ring", "a function comes after a later table has brought its database", 31092): (
        Step("client", 2, 30, 5, 32),  # north: create database b
        Step("client", 0, 14, 2, 44),  # east: create database a
        Step("client", 2, 32, 1, 154),  # north: create function b.f
        Step("client", 2, 14, 1, 125),  # north: create table b.t
        Step("ship", 0, 185, 127, 242),
        Step("replay", 0, 177, 33, 173),
        Step("client", 1, 14, 0, 122),  # west: create database a
        Step("replay", 0, 148, 47, 252, call=1, within=(Step("ship", 0, 124, 3, 245),)),
        Step("replay", 0, 50, 158, 95),
        Step("client", 1, 33, 4, 6),  # west: drop database a cascade
        Step("ship", 2, 70, 90, 78),
        Step("replay", 2, 37, 63, 180, call=6, within=(Step("client", 2, 30, 0, 164),)),
        Step("replay", 2, 255, 101, 133, call=3, within=(Step("replay", 0, 212, 124, 62),)),
        Step("client", 0, 33, 5, 152),  # east: drop database b cascade
    ),
}


@pytest.mark.parametrize(("name", "race", "seed"), RACES)
def test_at_rest_all_have_the_same(name: str, race: str, seed: int) -> None:
    topology, steps = TOPOLOGIES[name], RACES[name, race, seed]
    with stage():
        wrong = wrong_after(topology, seed, steps)
        story = Found(topology, seed, steps, wrong).told() if wrong else ""
    assert not wrong, story
