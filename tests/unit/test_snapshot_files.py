"""Which files of a transactional table hold the rows of a snapshot, whatever was written and compacted since."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.copy.requests import CopyRefused
from pysync.copy.snapshot_files import SnapshotTooOld, snapshot_files
from pysync.model.file_differences import FileStatus, Pair
from pysync.model.snapshot import Snapshot, Transactions

PAIR = Pair("file:/source/t", "file:/target/t")
NONE = Transactions(100)


def listing(*names):
    return [FileStatus(PAIR, it, 10, 0) for it in names]


def chosen(snapshot, *names):
    files = snapshot_files(listing(*names), snapshot)
    return [it.name for it in files.rows], [it.name for it in files.deletes]


def last_write(directory):
    """The last write id in the name: base_N, delta_X_Y, delta_X_Y_S."""
    numbers = re.findall("[0-9]{7}", directory)
    return int(numbers[-1])


@dataclass
class Table:
    """What Hive has of a table: the state of each write, the rows by directory, and the truth for each write.

    A row is its key: the write that made it, and a number. `directories` have (key, write) of rows and of deletes.
    """

    states: dict[int, str] = field(default_factory=dict)
    directories: dict[str, set[tuple[tuple[int, int], int]]] = field(default_factory=dict)
    changes: dict[int, tuple[str, set[tuple[int, int]]]] = field(default_factory=dict)
    compacted: set[str] = field(default_factory=set)

    def begin(self, kind, number):
        write = len(self.states) + 1
        self.states[write] = "open"
        keys = {(write, it) for it in range(number)} if kind != "delete" else set(sorted(self.rows())[:number])
        self.changes[write] = (kind, keys)
        name = {"insert": "delta_{0:07}_{0:07}_0000", "delete": "delete_delta_{0:07}_{0:07}_0000"}
        self.directories[name.get(kind, "base_{0:07}").format(write)] = {(it, write) for it in keys}
        return write

    def rows(self, snapshot=None):
        """The rows that count, by the changes themselves."""
        rows = set()
        for write, (kind, keys) in self.changes.items():
            if self.states[write] == "committed" if snapshot is None else snapshot.has(write):
                rows = rows - keys if kind == "delete" else keys | (rows if kind == "insert" else set())
        return rows

    def snapshot(self):
        of = {it: tuple(w for w, state in self.states.items() if state == it) for it in ("open", "aborted")}
        return Snapshot(len(self.states), NONE, of["open"], of["aborted"])

    def compact(self, kind):
        """Bring together what is below the first open write, as a compactor does."""
        upto = min((w for w, state in self.states.items() if state == "open"), default=len(self.states) + 1) - 1
        now = replace(self.snapshot(), highest=upto, open=())
        directories = {name: it for name, it in self.directories.items() if last_write(name) <= upto}
        if not upto or not directories:
            return
        files = snapshot_files(replace(self, directories=directories).files(), now)
        if kind == "major":
            self.compacted.add(f"base_{upto:07}")
            self.directories[f"base_{upto:07}"] = {(key, key[0]) for key in self.read(files)}
            return
        firsts = [it.first for it in (*files.rows, *files.deletes) if not it.name.startswith("base_")]
        for prefix, of in (("delta", files.rows), ("delete_delta", files.deletes)):
            content = {it for d in of if not d.name.startswith("base_") for it in self.directories[d.name]}
            if firsts:
                name = f"{prefix}_{min(firsts):07}_{upto:07}"
                self.directories[name] = {it for it in content if now.has(it[1])}

    def clean(self):
        """Remove what Hive takes for obsolete: what it would not read now, but for what is open."""
        now = self.snapshot()
        files = snapshot_files(self.files(), now) if not now.open else None
        if files is not None:
            kept = {it.name for it in (*files.rows, *files.deletes)}
            self.directories = {name: rows for name, rows in self.directories.items() if name in kept}

    def files(self):
        names = [f"{it}/bucket_00000" for it in self.directories]
        return listing(*names, *(f"{it}/_metadata_acid" for it in self.compacted & self.directories.keys()))

    def read(self, files):
        has = files.snapshot.has
        rows = {key for it in files.rows for key, write in self.directories[it.name] if has(write)}
        return rows - {key for it in files.deletes for key, write in self.directories[it.name] if has(write)}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["insert", "delete", "overwrite"]), st.integers(0, 3)),
        st.tuples(st.sampled_from(["commit", "commit", "abort"]), st.integers(0, 2)),
        st.tuples(st.sampled_from(["minor", "major", "clean", "look"]), st.just(0)),
    ),
    max_size=30,
)


@given(STEPS)
def test_whatever_happens_a_snapshot_has_the_rows_that_were_committed_or_is_too_old(steps):
    table, snapshots = Table(), [Table().snapshot()]
    for kind, number in steps:
        writes = [it for it, state in table.states.items() if state == "open"]
        if kind in {"insert", "delete", "overwrite"}:
            # An overwrite and a delete exclude other writers, as Hive's locks do.
            if not writes or (kind == "insert" and all(table.changes[it][0] == "insert" for it in writes)):
                table.begin(kind, number)
        elif kind in {"commit", "abort"} and writes:
            table.states[writes[number % len(writes)]] = {"commit": "committed", "abort": "aborted"}[kind]
        elif kind in {"minor", "major"}:
            table.compact(kind)
        elif kind == "clean":
            table.clean()
        elif kind == "look":
            snapshots.append(table.snapshot())
        for it in snapshots:
            try:
                files = snapshot_files(table.files(), it)
            except SnapshotTooOld:
                continue
            assert table.read(files) == table.rows(it)
    if not any(state == "open" for state in table.states.values()):
        assert table.read(snapshot_files(table.files(), table.snapshot())) == table.rows()


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
    files = snapshot_files(listing(*names), Snapshot(2, NONE))
    assert ([it.name for it in files.rows], files.files) == (["base_0000002"], [])


def test_writes_that_the_metastore_does_not_know_are_not_taken_for_none():
    with pytest.raises(SnapshotTooOld, match="knows of no writes"):
        chosen(Snapshot(0, NONE), "delta_0000001_0000001_0000/bucket_00000")
    assert chosen(Snapshot(0, NONE), "000000_0") == ([""], [])


def test_a_file_that_a_streaming_writer_has_not_finished_is_refused():
    with pytest.raises(CopyRefused, match="streaming"):
        chosen(Snapshot(1, NONE), "delta_0000001_0000001/bucket_00000_flush_length")


def test_later_writes_do_not_change_the_fingerprint_and_other_rows_do():
    names = ("delta_0000001_0000001_0000/bucket_00000", "delta_0000002_0000002_0000/bucket_00000")
    later = snapshot_files(listing(*names, "delta_0000003_0000003_0000/bucket_00000"), Snapshot(2, NONE))
    assert later.fingerprint == snapshot_files(listing(*names), Snapshot(2, NONE)).fingerprint
    wide = listing("delta_0000001_0000002/bucket_00000")
    fingerprints = {snapshot_files(wide, it).fingerprint for it in (Snapshot(2, NONE), Snapshot(2, NONE, open=(2,)))}
    assert len(fingerprints) == 2
