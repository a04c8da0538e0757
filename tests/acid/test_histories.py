"""Clients of a real Hive write, the sidecar and its Spark are killed: readers see committed snapshots only.

Each write that commits brings or changes three rows with one number, or takes them away. So in a snapshot each number
has all its rows, in one version, and none of a write that was aborted. PYSYNC_ACID_SECONDS is how long they write (60).
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from pyarrow import orc, parquet

from tests.acid.hive import abort
from tests.acid.replication import VERSIONS, Replication, replicated
from tests.acid.targets import Read
from tests.support import wait_for_value

SECONDS = int(os.environ.get("PYSYNC_ACID_SECONDS", "60"))
CLIENTS = 8
ROWS = 3
TABLES = ("changed", "parted", "added")
KINDS = (*["insert"] * 4, "update", "delete", "abort", "overwrite")
_NAMES = "number, place, version"
_COLUMNS = "number int, place int, version int"
_CREATE = {
    "changed": f"create table w.changed ({_COLUMNS}) stored as orc tblproperties('transactional'='true')",
    "parted": f"create table w.parted ({_COLUMNS}) partitioned by (d string) stored as orc "
    "tblproperties('transactional'='true')",
    "added": f"create table w.added ({_COLUMNS}) stored as parquet "
    "tblproperties('transactional'='true','transactional_properties'='insert_only')",
}
_ABORTED = -1  # times the number of a write that is aborted

Rows = list[tuple[int, int, int]]


@dataclass
class Writers:
    """Clients with a session each; `done` counts what they did, by kind."""

    of: Replication
    over: threading.Event = field(default_factory=threading.Event)
    done: Counter[str] = field(default_factory=Counter)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def run(self, seed: int) -> None:
        chosen, session = random.Random(seed), self.of.hive.session()
        while not self.over.is_set():
            table, kind = (
                chosen.choice(TABLES),
                chosen.choice(["insert"] * 4 + ["update", "delete", "abort", "overwrite"]),
            )
            if table == "added" and kind in {"update", "delete"}:
                continue
            statement = self._statement(chosen, table, kind)
            outcome = abort(session, statement) if kind == "abort" else str(session.run("default", statement))
            self.done[kind if outcome.startswith("OK") else f"{kind} refused"] += 1

    def compact(self) -> None:
        """Compactions and the cleaner, one after the other."""
        chosen, hive = random.Random(7), self.of.hive
        while not self.over.wait(2):
            table = chosen.choice(TABLES)
            what = f"w.{table} partition (d='{chosen.randrange(2)}')" if table == "parted" else f"w.{table}"
            with suppress(Exception):  # nothing to compact, or under way already
                hive.compact(what, chosen.choice(["minor", "major"]))
                hive.clean()
                self.done["compaction"] += 1

    def _statement(self, chosen: random.Random, table: str, kind: str) -> str:
        number = next(self.numbers)
        into = f"w.{table} partition (d='{number % 2}')" if table == "parted" else f"w.{table}"
        former = chosen.randrange(1, number + 1)
        if kind in {"insert", "abort"}:
            sign = _ABORTED if kind == "abort" else 1
            return f"insert into {into} values {self._rows(sign * number)}"
        if kind == "overwrite":
            rows = self._rows(number).replace("(", "select ").replace("),", " union all ").replace(")", "")
            return f"insert overwrite table {into} {rows}"
        if kind == "update":
            return f"update w.{table} set version = version + 1 where number = {former}"
        return f"delete from w.{table} where number = {former}"

    def _rows(self, number: int) -> str:
        return ",".join(f"({number},{at},0)" for at in range(ROWS))


class Readers:
    """A thread that looks at tables of targets in versions, and notes what no snapshot has."""

    def __init__(self, readers: dict[str, Read]) -> None:
        self._readers = readers
        self.over, self.looks = threading.Event(), Counter[str]()
        self.wrong: list[str] = []

    def run(self) -> None:
        chosen = random.Random(3)
        while not self.over.is_set():
            target, table = chosen.choice(sorted(self._readers)), chosen.choice(TABLES)
            try:
                definition, partitions = self._readers[target](table)
            except IndexError:
                continue  # it is not there yet
            for item in partitions if definition.partitionKeys else [definition]:
                rows = rows_of(definition, item)
                self.looks["rows" if rows else "empty"] += 1
                if fault := fault_of(rows):
                    self.wrong.append(f"{target}.{table} {item.sd.location}: {fault}")


def rows_of(definition: Any, item: Any) -> Rows:
    """The rows in the files that are listed now."""
    read = orc.read_table if "orc" in definition.sd.inputFormat.lower() else parquet.read_table
    files = sorted(Path(unquote(urlsplit(item.sd.location).path)).glob("[!._]*"))
    tables = [read(it) for it in files if it.is_file()]
    return [tuple(row.values()) for table in tables for row in table.select(["number", "place", "version"]).to_pylist()]  # type: ignore[misc]


def fault_of(rows: Rows) -> str:
    """What no committed snapshot has; empty if it may be one."""
    by_number: dict[int, list[tuple[int, int]]] = {}
    for number, at, version in rows:
        by_number.setdefault(number, []).append((at, version))
    for number, found in by_number.items():
        if number < 0:
            return f"a row of a write that was aborted: {number}"
        if sorted(at for at, _ in found) != list(range(ROWS)) or len({version for _, version in found}) > 1:
            return f"of {number}: {sorted(found)}"
    return ""


def test_the_check_notices_what_no_snapshot_has() -> None:
    whole = [(1, at, 2) for at in range(ROWS)]
    assert fault_of(whole) == ""
    for rows in (whole[1:], [*whole, (1, 0, 2)], [*whole[1:], (1, 0, 3)], [*whole, (-4, 0, 0)]):
        assert fault_of(rows)


@contextmanager
def threads(*targets: Callable[[], object]) -> Iterator[None]:
    running = [threading.Thread(target=it, daemon=True) for it in targets]
    for it in running:
        it.start()
    yield
    for it in running:
        it.join(300)
        assert not it.is_alive()


def children(process: int) -> list[int]:
    """The processes below one, by the kernel's list."""
    found = [int(it) for path in Path(f"/proc/{process}/task").glob("*/children") for it in path.read_text().split()]
    return [*found, *(it for child in found for it in children(child))]


def kill_spark(of: Replication) -> bool:
    """Kill the Java process of the sidecar's Spark; False if it has none."""
    below = children(of.stage.status()["pid"])
    java = [it for it in below if Path(f"/proc/{it}/comm").read_text().strip() == "java"]
    for it in java[-1:]:
        os.kill(it, signal.SIGKILL)
    return bool(java)


def kill_for(of: Replication, seconds: float, done: Counter[str]) -> None:
    """Kill the sidecar, or its Spark, now and then; each comes again."""
    chosen, until = random.Random(11), time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(chosen.uniform(5, 20))
        if chosen.random() < 0.5:
            of.stage.kill_sidecar()
            of.stage.start_sidecar()
            done["sidecar killed"] += 1
        else:
            done["Spark killed"] += kill_spark(of)


@pytest.mark.timeout(1200 + 3 * SECONDS)
@pytest.mark.parametrize("version", VERSIONS)
def test_readers_see_only_committed_snapshots(version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with replicated(version, tmp_path) as of:
        for statement in _CREATE.values():
            of.hive.run(statement)
        writers = Writers(of)
        readers = Readers({name: read for name, read in of.readers.items() if name != "replica"})
        clients = [lambda seed=seed: writers.run(seed) for seed in range(CLIENTS)]  # type: ignore[misc]
        with threads(readers.run):
            with threads(*clients, writers.compact):
                kill_for(of, SECONDS, writers.done)
                writers.over.set()
            wanted = {it: sorted(map(_ints, of.hive.rows("w", f"select {_NAMES} from {it}"))) for it in TABLES}
            for name, read in of.readers.items():
                wait_for_value(lambda read=read: _all_rows(read), wanted, seconds=300, what=f"the last rows at {name}")
            readers.over.set()
        with capsys.disabled():
            print(f"\n{version}: {dict(writers.done)}, looks {dict(readers.looks)}")
        assert readers.wrong == []
        assert readers.looks["rows"]


def _all_rows(read: Read) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for name in TABLES:
        try:
            definition, partitions = read(name)
            items = partitions if definition.partitionKeys else [definition]
            found[name] = sorted(row for it in items for row in rows_of(definition, it))
        except (IndexError, OSError):
            found[name] = []
    return found


def _ints(row: list[Any]) -> tuple[int, ...]:
    return tuple(map(int, row))
