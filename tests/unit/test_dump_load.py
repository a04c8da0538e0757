"""Loading a dump: a bootstrap that reads something else, and is noted for itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import structlog

from pysync.base.errors import PysyncError, UsageError
from pysync.config import Config
from pysync.dump.index import open_dump
from pysync.dump.read import DumpReader
from pysync.dump.write import DumpSelection
from pysync.jobs.loading import is_whole, load_once
from pysync.model.names import TableName
from pysync.model.operation import DropTable, PutPartitions, PutTable
from pysync.queue import EventQueue
from pysync.replay.drain import Drain
from pysync.replay.replayer import Replayer
from pysync.replay.window.leaving import replaced_json
from pysync.replay.window.translate import Translator
from pysync.resync import job
from pysync.resync.bootstrap import BootstrapOrigin, begin_bootstraps, bootstrap_status
from pysync.resync.refreshes import LIVING, Refreshes
from pysync.resync.triggers import Resyncs
from pysync.resync.wanted import EVERYTHING, everything
from pysync.sections import SourceConfig
from tests.support import wait_until
from tests.support.dumped import Source, write
from tests.support.events import settings
from tests.support.queues import Reopener
from tests.support.refreshing import Target


class Load:
    """A load of the dump in a directory to a target in memory, on a real queue."""

    def __init__(self, queue: EventQueue, directory: Path, stack: ExitStack, target: Target, **values: Any) -> None:
        whole, replaced = values.pop("whole", True), values.pop("replaced", "")
        wanted = settings(retry_max_seconds=0.01, **values)
        dump = open_dump(directory)
        origin = BootstrapOrigin(lambda: DumpReader(dump), id=directory.name, whole=whole, replaced=replaced)
        translator = Translator.of(wanted)
        self.queue, self.target = queue, target
        self.resyncs = Resyncs.of(
            queue,
            Refreshes(queue, "onprem"),
            wanted,
            translator,
            source=None,
            drain=lambda: self.drain,
            tables_per_second=1,  # a load has no pace
            origin=origin,
        )
        tally = self.resyncs.bootstrap.tally
        self.drain = Drain(Replayer(queue, wanted, translator, source=origin.opened, tally=tally), target.opener)
        queue.target("dr").register()
        stack.callback(self.stop)

    def begin(self) -> bool:
        return begin_bootstraps([self.resyncs.bootstrap])

    def run(self) -> dict[str, Any]:
        self.resyncs.job.start(only_asked=True)
        self.drain.start()
        wait_until(lambda: self.status()["state"] == "finished", seconds=60, what="the load")
        return self.status()

    def status(self) -> dict[str, Any]:
        found = bootstrap_status([self.resyncs.bootstrap])
        assert found is not None
        return found

    def stop(self) -> None:
        assert self.resyncs.job.worker.end(60)
        self.drain.stop()
        self.drain.join(10)


@pytest.fixture
def loads(reopen: Reopener, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Load]]:
    """Each call is a new process on the same queue."""
    monkeypatch.setattr(job, "_EVERY_SECONDS", 0.01)
    with ExitStack() as stack, structlog.testing.capture_logs():
        yield lambda directory, target, **values: Load(reopen(), directory, stack, target, **values)


def dumped(directory: Path, *names: str, tables: frozenset[TableName] | None = None) -> Path:
    source = Source(*names)
    source.add("db.days", "1", "2")
    write(directory, source, DumpSelection(EVERYTHING, tables))
    return directory


def test_a_load_puts_what_the_dump_has_and_drops_what_it_has_not(loads, tmp_path: Path) -> None:
    target = Target()
    target.has("db.gone")
    target.has("db.theirs", source=None)
    load = loads(dumped(tmp_path / "one", "db.a", "db.b"), target)
    assert load.begin()
    found = load.run()
    assert (found["targets"][0]["tables"], found["targets"][0]["partitions"]) == (3, 2)
    assert sorted(it.key for it in target.applied if isinstance(it, PutTable)) == ["db.a", "db.b", "db.days"]
    assert [len(it.partitions) for it in target.applied if isinstance(it, PutPartitions)] == [2]
    assert [it.key for it in target.applied if isinstance(it, DropTable)] == ["db.gone"]
    assert load.queue.notes.get(LIVING) is None, "the source was not read"


def test_of_a_dump_of_some_tables_only_those_are_read_and_none_of_the_others_dropped(loads, tmp_path: Path) -> None:
    target = Target()
    for name in ("db.a", "db.b", "db.gone"):
        target.has(name)
    directory = dumped(tmp_path / "one", "db.a", "db.b", tables=frozenset({TableName("db", "b")}))
    load = loads(directory, target, whole=False)
    load.begin()
    assert load.run()["targets"][0]["in_scope"] == 1
    assert [it.key for it in target.applied if isinstance(it, PutTable)] == ["db.b"]
    assert [it.key for it in target.applied if isinstance(it, DropTable)] == ["db.gone"]


def test_a_table_with_another_name_there_stays_though_the_dump_has_just_its_name(loads, tmp_path: Path) -> None:
    target = Target()
    target.has("other.z")
    directory = dumped(tmp_path / "one", "db.a", "db.b", "other.x", tables=frozenset({TableName("db", "b")}))
    load = loads(directory, target, whole=False, tables={"db.a": "other.z"})
    load.begin()
    load.run()
    assert [it.key for it in target.applied if isinstance(it, DropTable)] == []


def test_what_a_replaced_policy_leaves_is_dropped_after_everything_else(loads, tmp_path: Path) -> None:
    """Also after a stop in between, and only what the policy before took."""
    target = Target()
    for name in ("db.a", "db.b", "other.x"):
        target.has(name)
    target.has("db.theirs", source=None)
    replaced = replaced_json([{"policy": "db"}], [{"policy": "db.['b']"}])
    directory = dumped(
        tmp_path / "one", "db.a", "db.b", "db.theirs", "other.x", tables=frozenset({TableName("db", "b")})
    )
    loads(directory, target, whole=False, replaced=replaced).begin()
    load = loads(directory, target, whole=False, replaced=replaced)
    load.begin()
    load.run()
    changes = [it for it in target.applied if isinstance(it, PutTable | DropTable)]
    assert [(type(it), it.key) for it in changes] == [(PutTable, "db.b"), (DropTable, "db.a")]


@pytest.mark.parametrize("whole", [True, False])
def test_only_a_whole_dump_stands_for_the_comparison_with_a_new_target(loads, tmp_path: Path, whole) -> None:
    load = loads(dumped(tmp_path / "one"), Target(), whole=whole)
    load.queue.gaps.open("new:dr:1:0", "target dr is new")
    load.begin()
    load.run()
    load.queue.gaps.close_passed()
    assert (load.queue.gaps.unclosed() == []) is whole


def test_a_load_goes_on_with_its_own_dump_and_gives_another_one_up(loads, tmp_path: Path) -> None:
    first, second = dumped(tmp_path / "one", "db.a"), dumped(tmp_path / "two", "db.a", "db.b")
    assert loads(first, Target()).begin()
    assert not loads(first, Target()).begin(), "it goes on"
    load = loads(second, target := Target())
    assert load.begin()
    assert load.run()["targets"][0]["tables"] == 3
    assert "db.b" in {it.key for it in target.applied}


def test_a_dump_that_lacks_something_makes_nothing_parked_good(tmp_path: Path) -> None:
    with DumpReader(open_dump(dumped(tmp_path / "it", "db.a"))) as reader:
        assert [names.get("whole") for names in everything(reader, int)] == ["true", "true", None, None, "true"]
        assert {names.get("whole") for names in everything(reader, int, whole=False)} == {None}


@pytest.mark.parametrize(
    ("policy", "whole"), [("db.'a|days'", True), ("db", False), ("db.'b'", False), (None, False), ("nothing", True)]
)
def test_a_dumpis_whole_for_targets_that_take_no_more_than_it_has(tmp_path: Path, policy, whole) -> None:
    some = frozenset({TableName("db", "a"), TableName("db", "days")})
    dump = open_dump(dumped(tmp_path / "it", "db.a", "db.b", tables=some))
    config = Config.model_construct(source=SourceConfig(name="onprem"), targets=(settings(policy=policy),))
    assert is_whole(dump, config, ["dr"]) is whole


def test_a_dump_of_another_source_is_refused(tmp_path: Path) -> None:
    dump = open_dump(dumped(tmp_path / "it"))
    config = Config.model_construct(source=SourceConfig(name="elsewhere"), targets=(settings(),))
    with pytest.raises(UsageError, match="from source 'onprem', not from 'elsewhere'") as refused:
        load_once(config, dump, ["dr"], lambda _: None, force=True)
    assert isinstance(refused.value, PysyncError)
