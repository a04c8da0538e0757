"""Increments: rows are added at a target only where that alone brings it to the snapshot."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.copy.increments import Arrived, files_added
from pysync.copy.snapshot_files import SnapshotTooOld, snapshot_files
from pysync.model.snapshot import Snapshot
from tests.support.transactional_tables import NONE, STEPS, Table, listing


@given(st.booleans(), STEPS)
def test_what_has_arrived_and_what_is_added_are_the_rows_of_the_snapshot(insert_only, steps):
    table = Table(insert_only)
    targets = [(set(), Arrived.of(state(table.snapshot())))]
    for kind, number in steps:
        table.step(kind, number)
        try:
            files = snapshot_files(table.files(), table.snapshot(), table.kind)
        except SnapshotTooOld:
            continue
        rows = table.read(files)
        for has, arrived in targets:
            if (more := files_added(files, arrived, table.kind)) is not None:
                new = table.read(more, arrived)
                assert (has | new, has & new) == (rows, set())
        if kind == "look":
            targets.append((rows, Arrived.parse(Arrived.of(files).as_text())))


def state(snapshot, *names):
    return snapshot_files(listing(*(f"{it}/bucket_00000" for it in names)), snapshot, "full")


def added(before, now, kind="full"):
    files = files_added(now, Arrived.of(before), kind)
    return None if files is None else [it.name for it in files.rows]


ONE, TWO, THREE, FOUR = (f"delta_000000{it}_000000{it}_0000" for it in range(1, 5))
ONE_TO_THREE = "delta_0000001_0000003"
THREE_TO_FOUR = "delta_0000003_0000004"
DELETED = "delete_delta_0000002_0000002_0000"
BASE = "base_0000001"


@pytest.mark.parametrize(
    ("highest", "before", "now", "expected"),
    [
        (1, [ONE], [ONE], []),
        (1, [ONE], [ONE, TWO, THREE], [TWO, THREE]),
        (0, [], [ONE], [ONE]),
        (1, [BASE], [BASE, TWO], [TWO]),
        (2, [ONE, TWO, DELETED], [ONE, TWO, DELETED, THREE], [THREE]),
        (2, [BASE, DELETED], [BASE, DELETED, THREE], [THREE]),
        (2, [BASE, DELETED], [BASE, THREE], None),
        (2, [ONE, TWO], [ONE_TO_THREE], [ONE_TO_THREE]),
        (1, [ONE], [ONE, TWO, DELETED], None),
        (1, [ONE], [BASE, TWO], None),
        (2, [ONE, TWO], [THREE], None),
        (1, [BASE], [THREE], None),
    ],
)
def test_new_rows_are_added_where_nothing_else_has_come(highest, before, now, expected):
    assert added(state(Snapshot(highest, NONE), *before), state(Snapshot(3, NONE), *now)) == expected


def test_a_write_that_was_open_is_added_when_it_is_committed():
    before = state(Snapshot(3, NONE, open=(2,)), ONE, TWO, THREE)
    assert added(before, state(Snapshot(3, NONE), ONE, TWO, THREE)) == [TWO]
    lowest = state(Snapshot(3, NONE, open=(1,)), ONE, TWO)
    assert added(lowest, state(Snapshot(3, NONE), ONE, TWO)) == [ONE]


def test_a_snapshot_that_lacks_what_has_arrived_adds_nothing():
    newer = state(Snapshot(3, NONE), ONE, TWO, THREE)
    assert added(newer, state(Snapshot(2, NONE), ONE, TWO, THREE)) is None
    assert added(newer, state(Snapshot(3, NONE, open=(2,)), ONE, TWO, THREE)) is None


def test_rows_without_write_ids_are_added_by_whole_files_alone():
    before, now = state(Snapshot(2, NONE), ONE, TWO), Snapshot(4, NONE)
    assert added(before, state(now, ONE, TWO, THREE_TO_FOUR), "insert_only") == [THREE_TO_FOUR]
    assert added(before, state(now, ONE_TO_THREE, FOUR), "insert_only") is None


@pytest.mark.parametrize("text", ["", "b0l1h1", "b0123456789abcdefl1", "b0123456789abcdefl1h2x", "x"])
def test_a_text_that_nobody_has_written_says_nothing(text):
    assert Arrived.parse(text) is None
