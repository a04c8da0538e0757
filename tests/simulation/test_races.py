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
    ("long-mesh", "a function that nobody heard of, in a database that gets another home", 201874): (
        Step("client", 0, 0, 0, 162),  # east: create database a
        Step("settle"),
        Step("client", 2, 135, 4, 234),  # north: drop database a cascade
        Step("client", 0, 75, 2, 94),  # east: create table a.u
        Step("late", 2, 20, 4, 207),  # north: create database a, and table a.v
        Step("unheard", 1, 168, 80, 92),  # west: create function a.f, and its metastore is killed
    ),
    ("long-ring", "partitions of a table in whose place comes another birth of its name", 501151): (
        Step("client", 2, 152, 0, 176),  # north: create database a
        Step("ship", 2, 181, 49, 97),
        Step("replay", 2, 183, 18, 226),
        Step("client", 2, 222, 2, 166),  # north: create table a.u
        Step("replay", 2, 35, 27, 220),
        Step("ship", 2, 134, 225, 247),
        Step("replay", 2, 190, 166, 4),
        Step("replay", 2, 164, 26, 99),
        Step("late", 0, 55, 2, 174),  # east: drop table a.u, create it again; heard in the other order
        Step("late", 2, 242, 2, 233),  # north: add partitions 3 and 1 to a.u, heard of later
    ),
    ("long-pair", "a birth whose drop nobody heard of, and a function", 2378): (
        Step("client", 0, 199, 4, 234),  # east: create database a
        Step("client", 0, 169, 4, 210),  # east: drop database a cascade
        Step("client", 1, 163, 4, 102),  # west: create database a
        Step("ship", 1, 63, 141, 193),
        Step("replay", 1, 195, 239, 16),
        Step("replay", 1, 35, 95, 86, call=5, within=(Step("client", 0, 47, 5, 67),)),
        Step("replay", 1, 29, 85, 87),
        Step("client", 0, 134, 2, 218),  # east: create function a.f
        Step("ship", 0, 67, 226, 26),
        Step("power", 0, 111, 23, 191),
    ),
    ("long-pair", "a birth whose drop nobody heard of, and a function of before", 8791): (
        Step("client", 0, 248, 0, 237),  # east: create database a
        Step("ship", 0, 209, 189, 132),
        Step("client", 0, 221, 1, 28),  # east: create database b
        Step("client", 0, 134, 3, 131),  # east: create function b.g
        Step("client", 1, 79, 5, 22),  # west: create database b
        Step("ship", 0, 157, 10, 120),
        Step("replay", 0, 172, 234, 232),
        Step("replay", 0, 238, 74, 239, call=3, within=(Step("ship", 0, 100, 189, 147),)),
        Step("ship", 1, 192, 184, 231),
        Step("client", 0, 203, 1, 138),  # east: drop database b cascade
        Step("power", 0, 168, 156, 182),
        Step("replay", 1, 162, 72, 74, call=3, within=(Step("client", 1, 46, 2, 16),)),
    ),
    ("long-pair", "a table that is dropped again after the clock was set back", 6889): (
        Step("client", 0, 0, 0, 242),  # east: create database a
        Step("client", 0, 0, 0, 132),  # east: create table a.t
        Step("settle"),
        Step("client", 0, 158, 0, 172),  # east: drop table a.t
        Step("jump", 1, 12, 75, 241),  # by an hour
        Step("client", 0, 7, 0, 224),  # east: create table a.t
        Step("client", 0, 192, 0, 39),  # east: drop table a.t
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
    ("ring", "a table of the home's comes over one with partitions", 61077): (
        Step("client", 0, 0, 0, 170),  # east: create database a
        Step("client", 0, 0, 0, 146),  # east: create table a.t v=146 external by ['k']
        Step("settle"),
        Step("client", 1, 232, 0, 51),  # west: rename table a.t to a.u
        Step("client", 1, 119, 0, 214),  # west: create table a.t v=214 managed by ['k']
        Step("client", 0, 189, 0, 222),  # east: alter table a.t columns ('x', 'y', 'z') {'CASCADE': 'true'}
        Step("client", 1, 115, 0, 176),  # west: add partitions ['3'] v=176 to a.t
        Step("client", 2, 0, 2, 147),  # north: create table a.u v=147 external by ['k']
    ),
    ("ring", "a table gives way to one whose counter had come before it", 61323): (
        Step("late", 2, 42, 0, 233),  # north: create database a, told after: create table a.t v=42 external by ['k']
        Step("client", 1, 218, 4, 19),  # west: create database a
        Step("client", 1, 87, 2, 64),  # west: create table a.u v=64 managed by ['k']
        Step("client", 1, 172, 2, 101),  # west: add partitions ['3', '1'] v=101 to a.u
        Step("late", 2, 52, 4, 114),  # north: create table a.v, told after: add partitions ['2', '3'] v=52 to a.v
        Step("client", 1, 163, 2, 58),  # west: rename table a.u to a.v
    ),
    ("ring", "two births of the same table, one of them with a partition", 63840): (
        Step("late", 2, 251, 4, 165),  # north: create database a, told after: create table a.v v=251 managed by ['k']
        Step("ship", 2, 64, 78, 88),
        Step("late", 0, 251, 4, 64),  # east: create database a, told after: create table a.v v=251 managed by ['k']
        Step("client", 2, 239, 4, 48),  # north: add partitions ['1'] v=48 to a.v
        Step("replay", 2, 110, 119, 132),
        Step("replay", 2, 30, 52, 99, call=4, within=(Step("client", 0, 208, 2, 253),)),
        Step("replay", 2, 178, 244, 21, call=5, within=(Step("client", 2, 47, 1, 90),)),
        Step("pass", 1, 204, 255, 98),
    ),
    ("ring", "a renamed table takes the partitions of another along", 63588): (
        Step("client", 0, 0, 0, 233),  # east: create database a
        Step("client", 0, 0, 0, 3),  # east: create table a.t v=3 external by ['k']
        Step("settle"),
        Step("client", 1, 94, 2, 255),  # west: create table a.u v=255 managed by ['k']
        Step("late", 0, 185, 0, 87),  # east: alter table a.t, told after: add partitions ['3', '1'] v=185 to a.t
        Step("client", 1, 105, 2, 41),  # west: add partitions ['3', '1'] v=41 to a.u
        Step("client", 2, 164, 0, 122),  # north: rename table a.t to a.u
    ),
    ("ring", "partitions and a cascade cross", 61055): (
        Step("client", 0, 0, 0, 1),  # east: create database a
        Step("client", 0, 0, 0, 208),  # east: create table a.t v=208 managed by ['k']
        Step("settle"),
        Step("client", 2, 115, 0, 243),  # north: add partitions ['1', '2'] v=243 to a.t
        Step("client", 1, 189, 0, 47),  # west: alter table a.t columns ('x', 'w') {'CASCADE': 'true'}
        Step("client", 1, 224, 0, 49),  # west: alter table a.t columns ('x', 'y')
    ),
    ("ring", "a function of a database that two clusters take each other for the home of", 60235): (
        Step("client", 0, 0, 0, 68),  # east: create database a
        Step("settle"),
        Step("client", 2, 166, 4, 251),  # north: create function a.g as C2
        Step("client", 1, 166, 2, 219),  # west: create function a.g as C1
        Step("late", 2, 101, 4, 224),  # north: drop database a cascade, told after: create database a
    ),
    ("ring", "those who have a database name another home than it bears", 61830): (
        Step("client", 1, 188, 2, 12),  # west: create database a
        Step("client", 0, 132, 1, 6),  # east: create database b
        Step("ship", 0, 120, 255, 177),
        Step("replay", 0, 80, 120, 155),
        Step("replay", 0, 97, 116, 104),
        Step("ship", 1, 71, 131, 21),
        Step("client", 0, 44, 4, 104),  # east: create database a
        Step("replay", 1, 237, 192, 236),
        Step("ship", 0, 44, 240, 73),
        Step("replay", 0, 70, 221, 181),
        Step("client", 1, 76, 0, 136),  # west: create table a.t v=136 external by ['k']
        Step("client", 2, 237, 0, 51),  # north: drop database a cascade
        Step("ship", 1, 196, 229, 177),
        Step("client", 0, 76, 1, 109),  # east: create table b.t v=109 managed by ['k']
        Step("replay", 1, 83, 19, 11, call=3, within=(Step("late", 1, 105, 0, 221),)),
        Step("client", 0, 97, 1, 54),  # east: rename table b.t to a.t
        Step("client", 0, 237, 2, 119),  # east: drop database a cascade
    ),
    ("mesh", "a renamed table is where the home has another's", 10157): (
        Step("client", 0, 0, 0, 157),  # east: create database a
        Step("client", 0, 0, 0, 107),  # east: create table a.t v=107 managed by ['k']
        Step("settle"),
        Step("client", 2, 239, 4, 190),  # north: create table a.v v=190 external by ['k']
        Step("ship", 2, 86, 206, 144),
        Step("replay", 2, 22, 140, 65),
        Step("client", 1, 63, 0, 46),  # west: rename table a.t to a.v
    ),
    ("pair", "partitions are added while both ends alter the columns", 20082): (
        Step("client", 0, 0, 0, 78),  # east: create database a
        Step("client", 0, 0, 0, 106),  # east: create table a.t v=106 managed by ['k']
        Step("settle"),
        Step("client", 0, 118, 4, 193),  # east: create table a.v v=193 managed by ['k']
        Step("ship", 0, 127, 226, 35),
        Step("replay", 0, 41, 59, 137),
        Step("client", 1, 80, 4, 230),  # west: add partitions ['3'] v=230 to a.v
        Step("client", 0, 20, 4, 63),  # east: alter table a.v columns ('x', 'w') {'CASCADE': 'true'}
        Step("client", 1, 122, 4, 11),  # west: alter table a.v columns ('x', 'w')
    ),
    ("long-ring", "partitions of a renamed table that its home has created anew", 6452): (
        Step("client", 0, 0, 0, 9),  # east: create database a
        Step("client", 0, 0, 0, 146),  # east: create table a.t v=146 external by ['k']
        Step("settle"),
        Step("client", 0, 227, 0, 232),  # east: drop table a.t
        Step("client", 1, 97, 0, 243),  # west: rename table a.t to a.u
        Step("client", 2, 47, 0, 135),  # north: add partitions ['1', '2'] v=135 to a.t
        Step("late", 0, 106, 0, 146),  # east: create table a.t, heard after: add partitions ['2', '3'] v=106 to a.t
    ),
}


@pytest.mark.parametrize(("name", "race", "seed"), RACES)
def test_at_rest_all_have_the_same(name: str, race: str, seed: int) -> None:
    topology, steps = TOPOLOGIES[name], RACES[name, race, seed]
    with stage():
        wrong = wrong_after(topology, seed, steps)
        story = Found(topology, seed, steps, wrong).as_text() if wrong else ""
    assert not wrong, story
