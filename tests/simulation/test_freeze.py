"""Frozen histories: the same code gives the same text, and a change of what a target does is seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pysync.journal import Record
from tests.simulation.__main__ import main
from tests.simulation.freeze import difference, differences, line_of, outcomes, path_of
from tests.simulation.stage import stage
from tests.simulation.topologies import TOPOLOGIES

RECORD = Record(
    at=0.0,
    target="west",
    operation="PutPartitions",
    outcome="applied",
    object="a.t",
    partitions=("k=1", "k=2"),
    partition_count=2,
    first_position=3,
    last_position=5,
)


@pytest.mark.parametrize("topology", ["one-way", "pair"])
def test_a_seed_is_frozen_to_the_same_text_each_time(topology: str) -> None:
    with stage():
        first, second, other = (outcomes(TOPOLOGIES[topology], seed) for seed in (7, 7, 8))
    assert first == second
    assert len(first) > 1
    assert first[-1] == "7 end: well"
    assert first != [line.replace("8 ", "7 ", 1) for line in other]


def test_processes_freeze_the_same_text_whatever_their_hashes_and_number_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = ["--topology", "one-way", "--from", "23", "--histories", "4"]
    for hashes, processes in (("1", "1"), ("4242", "2")):
        # Seed 25 has two tables that become due at once, in the order of a set if unsorted.
        monkeypatch.setenv("PYTHONHASHSEED", hashes)
        assert main([*seeds, "--processes", processes, "--freeze", str(tmp_path / hashes)]) == 0
    frozen = path_of(tmp_path / "1", "one-way").read_text()
    assert frozen == path_of(tmp_path / "4242", "one-way").read_text()
    assert [line for line in frozen.splitlines() if "end:" in line] == [f"{seed} end: well" for seed in range(23, 27)]


def test_a_line_says_where_what_and_how_it_ended() -> None:
    assert line_of("east", RECORD) == "east>west 3-5 PutPartitions a.t 2:k=1,k=2 applied"
    renamed = replace(RECORD, former="a.u", last_position=3, partitions=(), partition_count=0)
    assert line_of("east", renamed) == "east>west 3 PutPartitions a.u>a.t applied"


@pytest.mark.parametrize(
    "change", [{"outcome": "unchanged"}, {"first_position": 4}, {"operation": "DropPartitions"}, {"target": "north"}]
)
def test_another_outcome_operation_or_position_is_another_line(change: dict) -> None:
    assert line_of("east", replace(RECORD, **change)) != line_of("east", RECORD)


def test_a_comparison_names_the_seeds_that_differ_and_shows_the_shortest(tmp_path: Path) -> None:
    for name, changed in (("old", "applied"), ("new", "unchanged")):
        (tmp_path / name).mkdir()
        lines = ["1 CreateTable applied", f"1 PutTable {changed}", "2 PutTable applied", f"3 PutTable {changed}"]
        path_of(tmp_path / name, "pair").write_text("\n".join(lines) + "\n")
    old, new = tmp_path / "old", tmp_path / "new"
    (found,) = differences(old, new)
    assert found.startswith("pair: 2 of 3 histories differ, seeds 1 3\n")
    assert found.endswith("-3 PutTable applied\n+3 PutTable unchanged")
    assert difference(path_of(old, "pair"), path_of(old, "pair")) is None


def test_a_topology_that_one_side_lacks_differs(tmp_path: Path) -> None:
    path_of(tmp_path, "ring").write_text("1 end: well\n")
    (found,) = differences(tmp_path, tmp_path / "none")
    assert found.startswith("ring: 1 of 0 histories differ, seeds 1\n")
