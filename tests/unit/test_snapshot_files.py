"""Which files of a transactional table hold the rows of a snapshot, whatever was written and compacted since."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.copy.requests import CopyRefused
from pysync.copy.snapshot_files import SnapshotTooOld, snapshot_files
from pysync.model.snapshot import Snapshot, Transactions
from tests.support.transactional_tables import NONE, STEPS, Table, listing


def chosen(snapshot, *names):
    files = snapshot_files(listing(*names), snapshot, "full")
    return [it.name for it in files.rows], [it.name for it in files.deletes]


@given(st.booleans(), STEPS)
def test_whatever_happens_a_snapshot_has_the_rows_that_were_committed_or_is_too_old(insert_only, steps):
    table, snapshots = Table(insert_only), [Table().snapshot()]
    for kind, number in steps:
        table.step(kind, number)
        if kind == "look":
            snapshots.append(table.snapshot())
        for it in snapshots:
            try:
                files = snapshot_files(table.files(), it, table.kind)
            except SnapshotTooOld:
                continue
            assert table.read(files) == table.rows(it)
    if not any(state == "open" for state in table.states.values()):
        assert table.read(snapshot_files(table.files(), table.snapshot(), table.kind)) == table.rows()


def test_a_wider_delta_covers_those_that_it_was_made_of():
    names = ("delta_0000001_0000001_0000/bucket_00000", "delta_0000002_0000002_0000/bucket_00000")
    assert chosen(Snapshot(3, NONE), *names, "delta_0000001_0000002/bucket_00000") == (["delta_0000001_0000002"], [])


def test_all_statements_of_one_write_count():
    names = [f"delta_0000001_0000001_000{it}/bucket_00000" for it in range(3)]
    deletes = "delete_delta_0000001_0000001_0000/bucket_00000"
    rows, deleted = chosen(Snapshot(1, NONE), *names, deletes)
    assert (len(rows), deleted) == (3, ["delete_delta_0000001_0000001_0000"])


def test_what_a_compactor_has_not_committed_does_not_count():
    names = ("delta_0000001_0000001_0000/bucket_00000", "base_0000001_v0000007/bucket_00000")
    assert chosen(Snapshot(1, Transactions(9, open=(7,))), *names)[0] == ["delta_0000001_0000001_0000"]
    assert chosen(Snapshot(1, Transactions(9)), *names)[0] == ["base_0000001_v0000007"]


def test_a_base_that_a_later_transaction_may_have_made_needs_another_snapshot():
    with pytest.raises(SnapshotTooOld):
        chosen(Snapshot(1, Transactions(6)), "base_0000001_v0000007/bucket_00000")
    with pytest.raises(SnapshotTooOld):
        chosen(Snapshot(2, NONE, open=(2,)), "delta_0000001_0000001_0000/bucket_00000", "base_0000002/bucket_00000")
    with pytest.raises(SnapshotTooOld):
        chosen(Snapshot(1, Transactions(9, open=(7,))), "base_0000001_v0000007/bucket_00000")


def test_what_a_compactor_has_read_must_be_there_until_it_has_committed():
    snapshot = Snapshot(5, Transactions(9, open=(7,)))
    compacted, base = "delta_0000003_0000005_v0000007/bucket_00000", "base_0000002/bucket_00000"
    with pytest.raises(SnapshotTooOld, match="is gone"):
        chosen(snapshot, base, compacted)
    with pytest.raises(SnapshotTooOld, match="is gone"):
        chosen(snapshot, base, "delete_" + compacted)
    inputs = ["delta_0000003_0000003_0000/bucket_00000", "delta_0000005_0000005_0000/bucket_00000"]
    assert chosen(snapshot, base, compacted, *inputs)[0] == ["base_0000002", *(it.split("/")[0] for it in inputs)]


def test_an_aborted_overwrite_hides_nothing():
    names = ("delta_0000001_0000001_0000/bucket_00000", "base_0000002/bucket_00000")
    assert chosen(Snapshot(2, NONE, aborted=(2,)), *names)[0] == ["delta_0000001_0000001_0000"]


def test_a_base_without_a_visible_file_hides_what_came_before_it():
    names = ("000000_0", "delta_0000001_0000001_0000/bucket_00000", "base_0000002/_orc_acid_version")
    files = snapshot_files(listing(*names), Snapshot(2, NONE), "full")
    assert ([it.name for it in files.rows], files.files) == (["base_0000002"], [])


def test_writes_that_the_metastore_does_not_know_are_not_taken_for_none():
    with pytest.raises(SnapshotTooOld, match="knows of no writes"):
        chosen(Snapshot(0, NONE), "delta_0000001_0000001_0000/bucket_00000")
    assert chosen(Snapshot(0, NONE), "000000_0") == ([""], [])


def test_rows_of_later_writes_that_a_compactor_has_brought_in_need_another_snapshot():
    wide = listing("delta_0000001_0000003/000000_0")
    for snapshot in (Snapshot(2, NONE), Snapshot(3, NONE, open=(2,))):
        with pytest.raises(SnapshotTooOld, match="later writes"):
            snapshot_files(wide, snapshot, "insert_only")
        assert len(snapshot_files(wide, snapshot, "full").rows) == 1, "each row says what write it is of"
    assert len(snapshot_files(wide, Snapshot(3, NONE, aborted=(2,)), "insert_only").rows) == 1


def test_a_file_that_a_streaming_writer_has_not_finished_is_refused():
    with pytest.raises(CopyRefused, match="streaming"):
        chosen(Snapshot(1, NONE), "delta_0000001_0000001/bucket_00000_flush_length")


def test_later_writes_do_not_change_the_fingerprint_and_other_rows_do():
    names = ("delta_0000001_0000001_0000/bucket_00000", "delta_0000002_0000002_0000/bucket_00000")
    later = snapshot_files(listing(*names, "delta_0000003_0000003_0000/bucket_00000"), Snapshot(2, NONE), "full")
    assert later.fingerprint == snapshot_files(listing(*names), Snapshot(2, NONE), "full").fingerprint
    wide = listing("delta_0000001_0000002/bucket_00000")
    fingerprints = {
        snapshot_files(wide, it, "full").fingerprint for it in (Snapshot(2, NONE), Snapshot(2, NONE, open=(2,)))
    }
    assert len(fingerprints) == 2
