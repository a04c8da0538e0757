"""Histories that went wrong once, as short as they got: they must not go wrong again, whatever a seed means by then."""

from __future__ import annotations

import pytest

from tests.simulation.clients import Client, numbers_of
from tests.simulation.history import History, Step
from tests.simulation.run import wrong_after
from tests.simulation.stage import stage
from tests.simulation.topologies import TOPOLOGIES

_RELEASED_DURING_A_RETRY: History = (
    Step("fill"),
    Step("settle"),
    Step("age"),
    Step("client", 0, 33, 6, 122),
    Step("ship", 0, 47, 100, 251),
    Step("replay", 0, 101, 223, 199, call=2, within=(Step("client", 0, 33, 0, 67),)),
    Step("decide", 0, 241, 78, 27),
    Step("replay", 0, 187, 232, 237),
    Step("release", 0, 73, 117, 4),
)
_RETRY_BEFORE_COMPARISON: History = (
    Step("late", 0, 17, 4, 76),
    Step("ship", 0, 188, 81, 49),
    Step("replay", 0, 101, 133, 79, call=5, within=(Step("client", 0, 180, 5, 158),)),
    Step("replay", 0, 231, 190, 103),
    Step("replay", 0, 139, 36, 234, call=4, within=(Step("client", 0, 0, 2, 192),)),
    Step("ship", 0, 152, 236, 142),
    Step("replay", 0, 185, 62, 78),
    Step("power", 0, 135, 90, 201),
)
_PARTITION_OF_A_FORMER_TABLE: History = (
    Step("client", 0, 4, 1, 1),
    Step("late", 0, 24, 5, 255),
    Step("client", 0, 0, 13, 32),
    Step("client", 0, 29, 5, 21),
    Step("client", 0, 27, 13, 229),
)
_DROP = numbers_of(Client._drop)[0]
_CLOCK_SET_BACK: History = (
    Step("client"),
    Step("client"),
    Step("settle"),
    Step("jump", 0, 1),
    *(Step("client", 0, _DROP) for _ in ("drop", "create", "drop")),
)
_LOADED_BEFORE_ITS_EVENTS: History = (
    Step("client", 0, 0, 0, 254),
    Step("client", 0, 0, 0, 51),
    Step("settle"),
    Step("client", 0, 81, 0, 184),
    Step("client", 0, 96, 0, 250),
    Step("client", 0, 108, 0, 70),
    Step("dump", 0, 217, 98, 222),
    Step("load", 0, 148, 74, 236),
)
_REFUSED_BEHIND_WHAT_FAILS: History = (
    Step("client", 0, 0, 0, 136),
    Step("client", 0, 16, 2, 173),
    Step("late", 0, 25, 3, 174),
    Step("hang", 0, 43, 254, 101),
)
_RETRY_BEHIND_A_REFRESH: History = (
    Step("client", 0, 20, 0, 172),
    Step("ship", 0, 114, 11, 28),
    Step("late", 0, 21, 1, 47),
    Step("ship", 0, 59, 188, 246),
    Step("client", 0, 10, 5, 46),
    Step("client", 0, 20, 3, 123),
    Step("late", 0, 9, 2, 95),
    Step("pass", 1, 17, 67, 179),
    Step("client", 0, 10, 0, 113),
    Step("client", 0, 21, 3, 229),
    Step("late", 0, 14, 4, 208),
    Step("hang", 0, 208, 172, 40),
    Step("client", 0, 0, 0, 85),
    Step("client", 0, 10, 1, 229),
    Step("client", 0, 14, 5, 181),
)
_LOADED_WITHOUT_ITS_DATABASE: History = (
    Step("client", 0, 173, 2, 254),
    Step("client", 0, 30, 0, 123),
    Step("ship", 0, 185, 171, 228),
    Step("client", 0, 169, 4, 215),
    Step("load", 0, 14, 106, 175),
    Step("client", 0, 169, 2, 150),
    Step("load", 0, 236, 30, 150),
)
_LOADED_BEFORE_ITS_DATABASE: History = (
    Step("client", 0, 0, 0, 167),
    Step("settle"),
    Step("client", 0, 30, 0, 72),
    Step("client", 0, 101, 4, 96),
    Step("dump", 0, 209, 0, 37),
    Step("late", 0, 88, 0, 232),
    Step("load", 0, 56, 167, 201),
)
_NEW_DROPS_BESIDE_A_HOLD: History = (
    Step("client", 0, 22, 8, 166),
    Step("client", 0, 16, 2, 38),
    Step("client", 0, 18, 12, 48),
    Step("late", 0, 21, 6, 210),
    Step("client", 0, 21, 4, 237),
    Step("client", 0, 26, 8, 180),
    Step("ship", 0, 25, 92, 104),
    Step("ship", 0, 90, 209, 144),
    Step("compare", 0, 181, 156, 184),
    Step("client", 0, 1, 0, 87),
    Step("client", 0, 21, 9, 47),
    Step("heal", 0, 241, 23, 41),
    Step("client", 0, 33, 6, 210),
)
_TABLE_OF_A_HELD_PARTITION_DROPPED: History = (
    Step("fill"),
    Step("fill", 1, 1),
    Step("settle"),
    Step("late", 0, 1, 7, 243),
    Step("client", 0, 33, 12, 91),
    Step("ship", 0, 151, 57, 138),
    Step("replay", 0, 249, 116, 90),
    Step("decide", 0, 192, 170, 218),
    Step("client", 1, 33, 1, 56),
)
_RENAMED_INTO_A_DROPPED_DATABASE: History = (
    Step("client", 0, 0, 0, 77),
    Step("client", 0, 0, 0, 103),
    Step("settle"),
    Step("client", 0, 239, 3, 54),
    Step("client", 1, 189, 1, 136),
    Step("ship", 1, 161, 172, 180),
    Step("replay", 1, 102, 169, 102),
    Step("client", 1, 27, 0, 71),
    Step("replay", 1, 188, 187, 198),
    Step("client", 0, 203, 3, 16),
)
_KEPT_TABLE_MADE_ANEW: History = (
    Step("fill"),
    Step("settle"),
    Step("client", 0, 33, 2, 26),
    Step("kill", 1, 50, 225, 209),
    Step("client", 1, 23, 5, 210),
    Step("client", 0, 24, 10, 245),
    Step("ship", 1, 120, 208, 150),
    Step("client", 1, 31, 3, 112),
    Step("ship", 0, 248, 143, 114),
    Step("replay", 0, 169, 177, 191),
    Step("ship", 1, 71, 199, 190),
    Step("decide", 0, 205, 159, 73),
    Step("client", 0, 1, 2, 133),
)
FOUND: dict[str, tuple[str, int, History]] = {
    "what is parked is tried again while the comparison of everything is next": (
        "one-way",
        7411,
        _RETRY_BEFORE_COMPARISON,
    ),
    "a table is renamed, its name taken again, and a load brings both before their events": (
        "loads",
        202994,
        _LOADED_BEFORE_ITS_EVENTS,
    ),
    "a load removes the database of a function before its events, and the source has it again": (
        "loads",
        7542,
        _LOADED_WITHOUT_ITS_DATABASE,
    ),
    "the same, and it has tables by then": ("loads", 8743, _LOADED_BEFORE_ITS_DATABASE),
    "a refused event waits to be parked behind a table that fails": ("hanging", 9, _REFUSED_BEHIND_WHAT_FAILS),
    "the retry of one table waits for the refresh of another, which fails": ("hanging", 9210, _RETRY_BEHIND_A_REFRESH),
    "a table is dropped, created and dropped when the clock was set back": ("one-way", 1, _CLOCK_SET_BACK),
    "the reason of a hold ends as more drops come, and together they exceed a limit": (
        "braked",
        60001197,
        _NEW_DROPS_BESIDE_A_HOLD,
    ),
    "a client drops the table of a held partition at the target": (
        "braked-pair",
        60000117,
        _TABLE_OF_A_HELD_PARTITION_DROPPED,
    ),
    "kept tables are released after the retry of their database's drop was judged": (
        "braked",
        91005140,
        _RELEASED_DURING_A_RETRY,
    ),
    "a table without partitions has the name of one whose partition is added late": (
        "braked",
        91006050,
        _PARTITION_OF_A_FORMER_TABLE,
    ),
    "both ways a kept table's home makes another one of that name": ("braked-pair", 70005147, _KEPT_TABLE_MADE_ANEW),
    "a replica is renamed into a database that its home drops": ("pair", 70002326, _RENAMED_INTO_A_DROPPED_DATABASE),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_went_wrong_once_goes_well(name: str) -> None:
    topology, seed, steps = FOUND[name]
    with stage():
        assert wrong_after(TOPOLOGIES[topology], seed, steps) is None
