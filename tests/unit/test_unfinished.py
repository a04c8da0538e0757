"""A table that is read whole at the source, and whose reading ends early: it comes whole all the same."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.faulty import FaultySettings
from pysync.lab.memory import MemoryMetastore, MemoryStore, MemoryTarget
from pysync.model.mark import Mark, Writer
from pysync.model.names import TableName
from pysync.model.operation import DropTable, Operation, PutPartitions, Refresh
from pysync.replay.apply import Applier
from pysync.replay.batch import Batch, Job
from pysync.replay.lanes import Again, Lane
from pysync.replay.progress import Progress
from pysync.replay.recording import Recorder
from pysync.replay.refresh import Refresher
from pysync.replay.unfinished import Unfinished
from pysync.replay.visible import Visible, same_clock
from pysync.replay.window.blocks import Blocks
from pysync.replay.window.draft import draft
from pysync.replay.window.translate import Translator
from pysync.targets.base import Outcome, Unavailable
from tests.support import partition, table
from tests.support.worlds import Clock, Cluster

NAME = TableName("db", "t")
MARK = Mark("east", 1, 7)


class Killed(BaseException):
    """The process dies."""


class Ends(MemoryTarget):
    """A target that fails at partitions, as often as there are errors."""

    def __init__(self, settings: FaultySettings, store: MemoryStore) -> None:
        super().__init__(settings, store)
        self.errors: list[BaseException] = []

    def apply(self, operation: Operation) -> Outcome:
        if isinstance(operation, PutPartitions) and self.tables("db") and self.errors:
            raise self.errors.pop(0)
        return super().apply(operation)


class Bench:
    """A source with a table of three partitions, and a target that has its database alone."""

    def __init__(self) -> None:
        self.settings = FaultySettings(name="west", kind="faulty")
        self.east = Cluster("east", Clock())
        self.target = Ends(self.settings, MemoryStore(lambda _: None, Clock()))
        self.kept: str | None = None
        self.begin()
        self.call(lambda client: client.create_database(hive.Database("db", "", "file:/w/db", {})))
        self.apply()
        self.owner = table("db", "t", partition_keys=[("k", "string")])
        self.call(lambda client: client.create_table(self.owner))
        for value in "123":
            self.add(value)

    def begin(self) -> None:
        """A new process."""
        translator = Translator.of(self.settings)
        refresher = Refresher(self._source, translator, lambda *_: True)
        unfinished = Unfinished(self._keep, self.kept)
        args = (self.settings, Progress("west", "faulty"), threading.Event(), refresher)
        recorder = Recorder(self.settings.name, translator.mapping, None)
        visible = Visible(args[1].latency, same_clock)
        parts = {"unfinished": unfinished, "recorder": recorder, "visible": visible}
        self.applier = Applier(*args, is_removed_later=lambda *_: False, **parts)
        self.translator = translator

    def call(self, request: Any) -> None:
        self.east.hms.call(request)

    def add(self, value: str) -> None:
        request = hive.AddPartitionsRequest("db", "t", [partition(self.owner, [value])], True, False)
        self.call(lambda client: client.add_partitions_req(request))

    def apply(self) -> None:
        """Replay the last event, with as many tries as it takes."""
        found = draft(self.east.events[-1:], self.translator, Writer(1), Blocks())
        for job in Batch(found, Blocks(), attempts=3).left:
            while not self._is_applied(job):
                pass

    def values(self) -> list[str]:
        return sorted(it.values[0] for it in self.target.partitions(NAME))

    def _is_applied(self, job: Job) -> bool:
        try:
            self.applier.apply(Lane(lambda: self.target), job)
        except Again:
            return False
        return True

    def _keep(self, text: str) -> None:
        self.kept = text

    @contextmanager
    def _source(self) -> Iterator[Any]:
        yield MemoryMetastore(self.east.store)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_table_that_is_not_there_comes_whole(bench: Bench) -> None:
    bench.apply()
    assert bench.values() == ["1", "2", "3"]
    assert bench.kept == "[]"


def test_it_comes_whole_though_the_process_dies_in_the_middle(bench: Bench) -> None:
    bench.target.errors = [Killed()]
    with pytest.raises(Killed):
        bench.apply()
    assert (bench.target.tables("db"), bench.values()) == (["t"], [])
    bench.begin()
    bench.apply()
    assert bench.values() == ["1", "2", "3"]
    assert bench.kept == "[]"


def test_it_comes_whole_though_the_target_goes_away_in_the_middle(bench: Bench) -> None:
    bench.target.errors = [Unavailable("away"), Unavailable("still away")]
    bench.apply()
    assert bench.values() == ["1", "2", "3"]


def test_what_is_there_in_part_is_nothing_any_more_once_it_is_dropped(bench: Bench) -> None:
    bench.target.errors = [Killed()]
    with pytest.raises(Killed):
        bench.apply()
    bench.begin()
    bench.call(lambda client: client.drop_table("db", "t", False))
    bench.apply()
    assert (bench.target.tables("db"), bench.kept) == ([], "[]")


def test_only_what_tells_a_part_of_a_table_is_held() -> None:
    unfinished = Unfinished(saved='["db.t"]')
    origin: dict[str, Any] = {"mark": MARK, "visited": ("east",)}
    put = PutPartitions(table=NAME, definition=None, partitions=(), **origin)
    assert unfinished.has_table_of(put)
    assert not unfinished.has_table_of(
        PutPartitions(table=TableName("db", "u"), definition=None, partitions=(), **origin)
    )
    assert not unfinished.has_table_of(DropTable(table=NAME, **origin))
    assert not unfinished.has_table_of(
        Refresh(source_database="db", database="db", source_table=NAME, table=NAME, **origin)
    )
