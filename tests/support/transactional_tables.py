"""A transactional table: what Hive would have in its directories after writes, commits, compactions and cleaning."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from pysync.copy.increments import Arrived
from pysync.copy.snapshot_files import SnapshotFiles, snapshot_files
from pysync.model.file_differences import FileStatus, Pair
from pysync.model.locations import Transactional
from pysync.model.snapshot import Snapshot, Transactions

PAIR = Pair("file:/source/t", "file:/target/t")
NONE = Transactions(100)

Key = tuple[int, int]
"""A row: the write that made it, and a number."""


def listing(*names: str) -> list[FileStatus]:
    """Files of ten bytes each below the directory of the table."""
    return [FileStatus(PAIR, it, 10, 0) for it in names]


def _last_write(directory: str) -> int:
    """The last write id in the name: base_N, delta_X_Y, delta_X_Y_S."""
    numbers = re.findall("[0-9]{7}", directory)
    return int(numbers[-1])


@dataclass(frozen=True)
class Write:
    """The rows that a write brings and takes away; `alone`: it takes all others away."""

    added: frozenset[Key] = frozenset()
    deleted: frozenset[Key] = frozenset()
    alone: bool = False


@dataclass
class Table:
    """What Hive has of a table: the state of each write, the rows by directory, and the truth for each write.

    `directories` have (key, write) of rows and of deletes.
    """

    insert_only: bool = False
    states: dict[int, str] = field(default_factory=dict)
    directories: dict[str, set[tuple[Key, int]]] = field(default_factory=dict)
    changes: dict[int, Write] = field(default_factory=dict)
    compacted: set[str] = field(default_factory=set)

    @property
    def kind(self) -> Transactional:
        """As a Form has it."""
        return "insert_only" if self.insert_only else "full"

    def step(self, kind: str, number: int) -> None:
        """One of STEPS; `look` changes nothing, and so does what Hive's locks would not allow now."""
        writes = [it for it, state in self.states.items() if state == "open"]
        if kind in {"insert", "delete", "update", "overwrite"}:
            # All but inserts exclude other writers.
            if kind in {"delete", "update"} and self.insert_only:
                return
            if not writes or (kind == "insert" and not any(self._excludes(it) for it in writes)):
                self.begin(kind, number)
        elif kind in {"commit", "abort"} and writes:
            self.states[writes[number % len(writes)]] = {"commit": "committed", "abort": "aborted"}[kind]
        elif kind in {"minor", "major"}:
            self.compact(kind)
        elif kind == "clean":
            self.clean()
        elif kind == "truncate" and not writes:  # of Hive 3: it is no write
            self.directories.clear()
            self.changes.clear()

    def begin(self, kind: str, number: int) -> None:
        """A write of `number` rows begins: `insert`, `delete`, `update` (delete and insert in one) or `overwrite`."""
        write = len(self.states) + 1
        self.states[write] = "open"
        deleted = frozenset(sorted(self.rows())[:number]) if kind in {"delete", "update"} else frozenset[Key]()
        number = {"delete": 0, "update": len(deleted)}.get(kind, number)
        added = frozenset((write, it) for it in range(number))
        self.changes[write] = Write(added, deleted, kind == "overwrite")
        # Hive 4 gives the rows of an update another statement than what they replace.
        names = {"insert": "delta_{0:07}_{0:07}_0000", "update": "delta_{0:07}_{0:07}_0001", "overwrite": "base_{0:07}"}
        if kind in names:
            self.directories[names[kind].format(write)] = {(it, write) for it in added}
        if kind in {"delete", "update"}:
            self.directories[f"delete_delta_{write:07}_{write:07}_0000"] = {(it, write) for it in deleted}

    def _excludes(self, write: int) -> bool:
        return self.changes[write].alone or bool(self.changes[write].deleted)

    def rows(self, snapshot: Snapshot | None = None) -> set[Key]:
        """The rows that count, by the changes themselves."""
        rows = set[Key]()
        for write, it in self.changes.items():
            if self.states[write] == "committed" if snapshot is None else snapshot.has(write):
                rows = (set() if it.alone else rows - it.deleted) | it.added
        return rows

    def snapshot(self) -> Snapshot:
        """What its metastore knows now."""
        of = {it: tuple(w for w, state in self.states.items() if state == it) for it in ("open", "aborted")}
        return Snapshot(len(self.states), NONE, of["open"], of["aborted"])

    def compact(self, kind: str) -> None:
        """Bring together what is below the first open write, as a compactor does."""
        upto = min((w for w, state in self.states.items() if state == "open"), default=len(self.states) + 1) - 1
        now = replace(self.snapshot(), highest=upto, open=())
        directories = {name: it for name, it in self.directories.items() if _last_write(name) <= upto}
        if not upto or not directories:
            return
        files = snapshot_files(replace(self, directories=directories).files(), now, self.kind)
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

    def clean(self) -> None:
        """Remove what Hive takes for obsolete: what it would not read now, but for what is open."""
        now = self.snapshot()
        files = snapshot_files(self.files(), now, self.kind) if not now.open else None
        if files is not None:
            kept = {it.name for it in (*files.rows, *files.deletes)}
            self.directories = {name: rows for name, rows in self.directories.items() if name in kept}

    def files(self) -> list[FileStatus]:
        """All its files."""
        names = [f"{it}/bucket_00000" for it in self.directories]
        return listing(*names, *(f"{it}/_metadata_acid" for it in self.compacted & self.directories.keys()))

    def read(self, files: SnapshotFiles, arrived: Arrived | None = None) -> set[Key]:
        """The rows that a reader finds in these files; none of the writes that have `arrived`."""

        def counts(write: int) -> bool:
            has_come = arrived is not None and arrived.has_any(write, write)
            return self.insert_only or (files.snapshot.has(write) and not has_come)

        rows = {key for it in files.rows for key, write in self.directories[it.name] if counts(write)}
        return rows - {key for it in files.deletes for key, write in self.directories[it.name] if counts(write)}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["insert", "delete", "update", "overwrite"]), st.integers(0, 3)),
        st.tuples(st.sampled_from(["commit", "commit", "abort"]), st.integers(0, 2)),
        st.tuples(st.sampled_from(["minor", "major", "clean", "truncate", "look"]), st.just(0)),
    ),
    max_size=30,
)
"""Steps of a history; see `Table.step`."""
