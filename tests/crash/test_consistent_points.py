"""A consistent point under load: the target shows what the source's database had at one moment, every time.

A client sets the parameter `v` of the tables t0 … t9, one after the other, to growing numbers: table number n % 10 gets
n. After every tenth it creates a table and drops the oldest, whose names tell the same. So a state of the database
belongs to one moment if and only if its numbers are ten in a row, and fit the other names.
"""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.control.client import ask
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import table
from tests.support.stages import assert_converges, wait_until_compared
from tests.support.waiting import release, waited

pytestmark = [pytest.mark.crash, pytest.mark.timeout(3600)]

DATABASES = ("one", "two", "three", "four")
BARRIERS = int(os.environ.get("PYSYNC_BARRIERS", "10"))  # of each; 50 in `make test SUITE=chaos`
REFRESHED = 15
TABLES = 10
KEPT = 3
"""So many tables of the second kind are there at a time: c5, c6, c7, then c6, c7, c8."""


class Counting:
    """A client of the source that makes the stream of one database, and knows how far it is."""

    def __init__(self, uri: str, database: str) -> None:
        self.database = database
        self.done = -1
        self.stopping = threading.Event()
        self._uri = uri
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.error: Exception | None = None

    def prepare(self) -> None:
        with Metastore(self._uri) as source:
            source.call(lambda client: client.create_database(hive.Database(name=self.database, parameters={})))
            for number in range(TABLES):
                self._create(source, f"t{number}", v=str(number - TABLES))
            for number in range(KEPT):
                self._create(source, f"c{number}")
        self._thread.start()

    def stop(self) -> None:
        self.stopping.set()
        self._thread.join(60)
        assert self.error is None, self.error

    def _run(self) -> None:
        try:
            with Metastore(self._uri) as source:
                for number in itertools.takewhile(lambda _: not self.stopping.is_set(), itertools.count()):
                    self._step(source, number)
                    self.done = number
        except Exception as error:
            self.error = error

    def _step(self, source: Metastore, number: int) -> None:
        name, oldest = f"t{number % TABLES}", number // TABLES
        altered: Any = source.table(self.database, name)
        altered.parameters["v"] = str(number)
        source.call(lambda client: client.alter_table(self.database, name, altered))
        if number % TABLES == 0:
            self._create(source, f"c{oldest + KEPT}")
            source.call(lambda client: client.drop_table(self.database, f"c{oldest}", False))

    def _create(self, source: Metastore, name: str, **parameters: str) -> None:
        source.call(lambda client: client.create_table(table(self.database, name, parameters=parameters)))


def state(target: Metastore, database: str) -> tuple[list[int], list[str]]:
    """The numbers of the tables t0 … t9 at the target, and the names of the others."""
    names = target.tables(database)
    found = target.tables_by_name(database, [name for name in names if name.startswith("t")])
    return [int(it.parameters["v"]) for it in found], sorted(name for name in names if name.startswith("c"))


def moment(numbers: list[int], others: list[str]) -> int:
    """After which step the source's database was in this state; fails if it never was."""
    assert len(numbers) == TABLES, numbers
    last = max(numbers)
    assert sorted(numbers) == list(range(last - TABLES + 1, last + 1)), f"of no moment: {sorted(numbers)}"
    first = last // TABLES + 1  # of those that are there after the step of the last multiple of ten
    after = {f"c{it}" for it in range(first, first + KEPT)}
    expected = [after]
    if last % TABLES == 0:  # within that step
        expected += [after | {f"c{first - 1}"}, after ^ {f"c{first - 1}", f"c{first - 1 + KEPT}"}]
    assert set(others) in expected, f"after step {last}: {others}"
    return last


@contextmanager
def counting(stage: Stage, databases: Sequence[str]) -> Iterator[list[Counting]]:
    clients = [Counting(stage.source.uri, it) for it in databases]
    for client in clients:
        client.prepare()
    try:
        yield clients
    finally:
        for client in clients:
            client.stop()


def barriers(
    stage: Stage, client: Counting, number: int, disturb: Callable[[int], object] = lambda _: None
) -> list[tuple[int, float, int]]:
    """Of each barrier the moment that the target showed, how long it took, and how many attempts.

    `disturb` is called at the begin of each.
    """
    directory, found = stage.config.queue.directory, []
    with Metastore(stage.target.uri) as target:
        for at in range(number):
            disturb(at)
            before, began = client.done, time.monotonic()
            reported = waited(directory, client.database, "replica", consistent=True, pin=60)
            assert reported["state"] == "there", reported
            seconds = time.monotonic() - began
            first = state(target, client.database)
            time.sleep(0.1)
            assert state(target, client.database) == first, "it moved while it was pinned"
            assert release(directory, reported), "it was pinned to the end"
            step = moment(*first)
            assert step >= before, f"the point is of step {step}; the source had {before} when it was asked for"
            found.append((step, seconds, reported["attempts"]))
    return found


def test_points_under_load_are_each_of_one_moment(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with Stage(tmp_path) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        wait_until_compared(stage)
        with counting(stage, (*DATABASES, "beside")) as clients, ThreadPoolExecutor() as pool:
            each = list(pool.map(lambda client: barriers(stage, client, BARRIERS), clients[:-1]))
        every = [it for found in each for it in found]
        assert len(every) == BARRIERS * len(DATABASES)
        assert all(at < later for found in each for (at, *_), (later, *_) in itertools.pairwise(found))
        seconds = sorted(it[1] for it in every)
        record_property("points", len(every))
        record_property("steps", sum(client.done for client in clients))
        record_property("attempts", sum(it[2] for it in every))
        record_property("seconds", {"p50": seconds[len(seconds) // 2], "max": seconds[-1]})
        assert_converges(stage)
        assert stage.status()["targets"][0]["pinned"] == []


def refresh(stage: Stage, database: str, number: int) -> None:
    """Somebody has a table of the database read at the source: it then shows more than the events do."""
    ask(stage.config.queue.directory, "refresh", tables=[f"{database}.t{number % TABLES}"], seen=True)


def test_tables_that_are_read_at_the_source_meanwhile_spoil_no_point(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        wait_until_compared(stage)
        dice = random.Random(7)

        def later(number: int) -> None:
            threading.Timer(dice.uniform(0, 3), refresh, (stage, "one", number)).start()

        with counting(stage, ["one"]) as (client,):
            found = barriers(stage, client, REFRESHED, later)
        assert len(found) == REFRESHED
        log = stage.sidecar_log.read_text()
        assert "changed again after it was read at the source" in log, "nothing was to be spoilt"
        assert_converges(stage)
