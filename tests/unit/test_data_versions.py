"""Versioned directories: a reader sees no file of a directory change, whatever happens, and none stays for ever."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pydantic import ValidationError
from structlog.testing import capture_logs

from pysync.copy.copy_round import Copied
from pysync.copy.files import FilesFirst
from pysync.lab.faulty import FaultySettings
from pysync.lab.memory.store import MemoryStore
from pysync.lab.memory.target import MemoryTarget
from pysync.model.data_versions import at_version, has_versions, version_in, version_name, without_version
from pysync.model.file_differences import Pair
from pysync.model.locations import SourceFiles
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import DropTable, PutDatabase, PutPartitions, PutTable, RenameTable
from pysync.queue import DataVersion, EventQueue
from pysync.replay.window.mapping import NameMapping
from pysync.sidecar import version_sweeper
from pysync.sidecar.version_sweeper import VersionSweeper
from pysync.targets.base import Outcome, Rejected
from pysync.targets.diff import differences
from pysync.targets.target import StoreTarget
from tests.support import partition, table
from tests.support.data_versions import VersionsInMemory
from tests.support.glue import Bench
from tests.support.queues import Reopener

HERE, THERE = "hdfs://here/wh", "hdfs://there/wh"
KEEP_SECONDS, LONG_SECONDS = 3600, 30 * 86_400
KEYS = [("k", "string")]


class Killed(BaseException):
    """The process is gone."""


class Disk:
    """Directories of files with their contents, and a copier for them that dies after so many steps."""

    def __init__(self) -> None:
        self.directories: dict[str, dict[str, str]] = {}
        self.steps_left: int | None = None

    def step(self) -> None:
        """Something that a kill can come before."""
        if self.steps_left is not None:
            self.steps_left -= 1
            if self.steps_left < 0:
                raise Killed

    def copy(self, pairs: Sequence[Pair], *, removed: object, elsewhere: Callable[[Pair], Pair | None]) -> Copied:  # noqa: ARG002
        for pair in pairs:
            there = self.directories.get(pair.target, {})
            if self._goes(pair, there):
                pair = elsewhere(pair) or pair  # noqa: PLW2901
            self._bring(pair)
        return Copied()

    def discard(self, target: str, directory: str, base: str) -> None:
        assert (target, without_version(directory)) == ("dr", base)
        for name in list(self.directories.get(directory, ())):
            self.step()
            del self.directories[directory][name]
        self.directories.pop(directory, None)

    def _goes(self, pair: Pair, there: dict[str, str]) -> bool:
        source = self.directories[pair.source]
        extras = pair.removes_extras and not there.keys() <= source.keys()
        return extras or any(source.get(name, content) != content for name, content in there.items())

    def _bring(self, pair: Pair) -> None:
        source, there = self.directories[pair.source], self.directories.setdefault(pair.target, {})
        for name, content in source.items():
            if there.get(name) != content:
                self.step()
                there[name] = content
        for name in there.keys() - source.keys() if pair.removes_extras else ():
            self.step()
            del there[name]


@dataclass(frozen=True)
class Look:
    """What a reader has found at one moment."""

    at: float
    directory: str
    files: dict[str, str]


class World:
    """A source with a table and a table with one partition, whose files are copied to a metastore in memory."""

    def __init__(self, target: StoreTarget | None = None) -> None:
        self.now, self.position, self.created = 1_000_000.0, 1, 5
        self.disk, self.store, self.versions = Disk(), MemoryStore(), KilledVersions()
        self.versions.step = self.disk.step
        self.sources = {"t": f"{HERE}/d.db/t", "p": f"{HERE}/d.db/p/k=1"}
        self.disk.directories |= {it: {} for it in self.sources.values()}
        self.parameters: dict[str, str] = {}
        self.looks: list[Look] = []
        self.removes_extras = True
        self.left: set[str] = set()
        """Directories of tables that were dropped: their files stay."""
        self.directory = "t"
        self.configure(layout="versioned")
        if target is not None:
            self._use(target)
        database = hive.Database(name="d", parameters={})
        self.target.apply(PutDatabase(database="d", definition=database, mark=Mark("onprem", 1, 1, 0)))

    def configure(self, **copy: Any) -> None:
        """As a new process with these settings."""
        self.settings = FaultySettings.model_validate(
            {"name": "dr", "kind": "faulty", "copy": copy, "locations": {HERE: THERE}}
        )
        self._use(MemoryTarget(self.settings, self.store))

    def _use(self, target: StoreTarget) -> None:
        self.target = target
        files = FilesFirst(self.disk, self.settings, self.versions, clock=lambda: self.now)
        self.target.bring_files_by(files)

    # --- the source

    def write(self, name: str, **files: str) -> None:
        self.disk.directories[self.sources[name]] |= files

    def overwrite(self, name: str, **files: str) -> None:
        self.disk.directories[self.sources[name]] = dict(files)

    # --- events

    def put(self, name: str) -> Outcome:
        """The event of a change, which may be delivered again."""
        if name == "t":
            return self.target.apply(PutTable(**self._common("t"), definition=self._table("t"), creates=True))
        self.target.apply(PutTable(**self._common("p"), definition=self._table("p"), creates=True))
        of = self._table("p")
        part = partition(of, ["1"])
        part.sd.location = f"{THERE}/d.db/p/k=1"
        return self.target.apply(PutPartitions(**self._common("p"), definition=of, partitions=(part,)))

    def rename(self, name: str, to: str) -> Outcome:
        definition = self._table(name)
        definition.tableName = to
        return self.target.apply(RenameTable(**self._common(name), definition=definition))

    def drop(self, name: str) -> Outcome:
        return self.target.apply(DropTable(**{it: self._common(name)[it] for it in ("table", "mark")}))

    def sweep(self) -> None:
        VersionSweeper(self.settings, self.versions, self.disk, lambda: None, lambda: self.now).turn()  # type: ignore[arg-type]

    def _common(self, name: str) -> dict[str, Any]:
        location = f"{THERE}/d.db/{self.directory if name == 't' else 'p/k=1'}"
        files = SourceFiles(self.sources[name], removes_extras=self.removes_extras)
        mark = Mark("onprem", 1, self.position, self.created, object=f"d.{name}", target="dr")
        return {"table": TableName("d", name), "sources": {location: files}, "mark": mark}

    def _table(self, name: str) -> Any:
        keys = KEYS if name == "p" else ()
        directory = self.directory if name == "t" else name
        made = table("d", name, location=f"{THERE}/d.db/{directory}", parameters=self.parameters, partition_keys=keys)
        made.createTime = self.created
        return made

    # --- readers

    def location(self, name: str) -> str:
        item = self.target.table(TableName("d", name))
        if item is not None and item.partitionKeys:
            item = next(iter(self.target.partitions(TableName("d", name))), None)
        return "" if item is None else str(item.sd.location)

    def look(self, name: str) -> Look:
        directory = self.location(name)
        self.looks.append(Look(self.now, directory, dict(self.disk.directories.get(directory, {}))))
        return self.looks[-1]

    def assert_no_reader_is_disturbed(self) -> None:
        for look in self.looks:
            if look.at + KEEP_SECONDS > self.now:
                assert look.files.items() <= self.disk.directories.get(look.directory, {}).items()

    def directories(self, name: str) -> set[str]:
        return {it for it in self.disk.directories if it.startswith(f"{THERE}/d.db/{name}/")}


class KilledVersions(VersionsInMemory):
    """A kill can come before each write."""

    step: Callable[[], None]

    def note(self, versions: Any) -> None:
        self.step()
        super().note(versions)

    def claim(self, now_ms: int, most: int) -> list[DataVersion]:
        self.step()
        return super().claim(now_ms, most)

    def forget(self, versions: Any) -> None:
        self.step()
        super().forget(versions)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    monkeypatch.setattr(version_sweeper, "target_kind", lambda _: SimpleNamespace(open=lambda _: made.target))
    return made


# --- names


@pytest.mark.parametrize(
    ("location", "version"),
    [
        ("s3a://b/t/pysync-1700000000000", "pysync-1700000000000"),
        ("file:/t/pysync-1700000000000/", "pysync-1700000000000"),
        ("file:/t/pysync-17", ""),
        ("file:/pysync-1700000000000/t", ""),
        ("pysync-1700000000000", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_a_location_says_whether_it_is_a_version(location: str | None, version: str) -> None:
    assert version_in(location) == version
    if version:
        assert without_version(str(location)) == str(location).rstrip("/").removesuffix(f"/{version}")


def test_a_new_version_has_a_greater_name_even_if_the_clock_goes_back() -> None:
    names = ["", version_name(1_700_000_000_000)]
    for now in (1_700_000_000_000, 1, 1_800_000_000_000):
        names.append(version_name(now, names[-1]))
    assert names == sorted(set(names))
    assert [version_in(f"file:/t/{it}") for it in names[1:]] == names[1:]


@pytest.mark.parametrize(
    ("parameters", "location", "expected"),
    [
        ({}, "file:/t", True),
        ({}, "file:/elsewhere", False),
        ({"table_type": "ICEBERG"}, "file:/t", False),
        ({"spark.sql.sources.provider": "delta"}, "file:/t", False),
        ({"spark.sql.sources.provider": "parquet"}, "file:/t", True),
        ({"storage_handler": "org.apache.paimon.hive.PaimonStorageHandler"}, "file:/t", False),
    ],
)
def test_only_files_that_a_location_leads_to_are_in_versions(
    parameters: dict[str, str], location: str, expected: bool
) -> None:
    made = table("d", "t", location="file:/t", parameters=parameters)
    assert has_versions(made, made, location) is expected


def test_a_definition_without_a_version_is_the_same_as_one_at_any() -> None:
    made = table("d", "t", location="file:/t")
    made.sd.serdeInfo.parameters = {"path": "file:/t", "x": "file:/t"}
    one, other = (at_version(made, f"pysync-170000000000{it}") for it in range(2))
    assert one.sd.serdeInfo.parameters == {"path": "file:/t/pysync-1700000000000", "x": "file:/t"}
    assert differences(made, one) == []
    assert differences(one, made) != []
    assert differences(one, other) != []
    assert made.sd.location == "file:/t"


def test_the_files_of_a_version_at_the_source_go_to_the_place_of_the_table() -> None:
    settings = FaultySettings.model_validate({"name": "x", "kind": "faulty", "copy": True, "locations": {HERE: THERE}})
    at_source = at_version(table("d", "t", location=f"{HERE}/t"), "pysync-1700000000000")
    sources = NameMapping.of(settings).apply_to(at_source)
    assert at_source.sd.location == f"{THERE}/t"
    assert {at: it.location for at, it in sources.items()} == {f"{THERE}/t": f"{HERE}/t/pysync-1700000000000"}
    shared = at_version(table("d", "t", location="s3a://b/t"), "pysync-1700000000000")
    NameMapping.of(settings).apply_to(shared)
    assert shared.sd.location == "s3a://b/t/pysync-1700000000000", "both ends read the same files"


def test_both_ways_there_are_no_versions() -> None:
    values = {"name": "dr", "kind": "faulty", "both_ways": True, "copy": {"layout": "versioned"}}
    with pytest.raises(ValidationError, match=r"both_ways = true does not work with copy\.layout"):
        FaultySettings.model_validate(values)


# --- a table, step by step


@pytest.mark.parametrize("name", ["t", "p"])
def test_files_are_added_to_a_version_and_changed_in_a_new_one(world: World, name: str) -> None:
    world.write(name, a="1")
    assert world.put(name) is Outcome.APPLIED
    first = world.location(name)
    assert version_in(first)
    world.position = 2
    world.write(name, b="2")
    assert world.put(name) is Outcome.UNCHANGED
    assert world.look(name) == Look(world.now, first, {"a": "1", "b": "2"})
    world.position, world.now = 3, world.now + 10
    world.overwrite(name, c="3")
    world.look(name)
    assert world.put(name) is Outcome.APPLIED
    assert world.look(name).files == {"c": "3"}
    assert world.location(name) > first
    world.assert_no_reader_is_disturbed()
    world.now += KEEP_SECONDS - 1
    world.sweep()
    world.assert_no_reader_is_disturbed()
    world.now += 1
    world.sweep()
    assert world.directories(name) == {world.location(name)}


def test_a_change_of_the_definition_keeps_the_version(world: World) -> None:
    world.write("t", a="1")
    world.put("t")
    before, world.position, world.parameters = world.location("t"), 2, {"comment": "new"}
    assert world.put("t") is Outcome.APPLIED
    assert world.location("t") == before
    assert world.rename("t", "u") is Outcome.APPLIED
    assert world.location("u") == before


def test_another_try_of_an_event_goes_on_with_the_directory_that_it_has_begun(world: World) -> None:
    world.write("t", a="1")
    world.put("t")
    world.position = 2
    world.overwrite("t", b="1", c="2", d="3")
    world.disk.steps_left = 3
    with pytest.raises(Killed):
        world.put("t")
    begun = world.directories("t") - {world.location("t")}
    world.disk.steps_left, world.now = None, world.now + 60
    world.put("t")
    assert {world.location("t")} == begun


def test_an_event_that_is_delivered_again_changes_no_version_that_readers_see(world: World) -> None:
    for files in ({"a": "1"}, {"b": "2"}, {"b": "3"}):
        world.overwrite("t", **files)
        world.put("t")
        assert world.look("t").files == files
        world.assert_no_reader_is_disturbed()


def test_what_is_not_removed_stays_in_one_directory(world: World) -> None:
    """With drops = "suppress": else an overwrite would hide what the target keeps."""
    world.removes_extras = False
    world.write("t", a="1", b="1")
    world.put("t")
    before, world.position = world.location("t"), 2
    world.overwrite("t", b="2")
    world.put("t")
    assert world.look("t") == Look(world.now, before, {"a": "1", "b": "2"})


def test_a_table_whose_location_changes_has_a_version_there(world: World) -> None:
    world.write("t", a="1")
    world.put("t")
    world.look("t")
    world.position, world.directory = 2, "elsewhere"
    world.put("t")
    assert without_version(world.location("t")) == f"{THERE}/d.db/elsewhere"
    assert world.look("t").files == {"a": "1"}
    world.now += LONG_SECONDS
    world.sweep()
    assert len(world.directories("t")) == 1, "the old files stay, as they do in place"


def test_a_renamed_table_at_glue_has_the_version_that_it_had() -> None:
    """Glue renames no table: another one is created."""
    world = World(target=Bench().target(copy={"layout": "versioned"}, unreadable_locations="keep"))
    world.write("t", a="1")
    world.put("t")
    before, world.position = world.location("t"), 2
    assert world.rename("t", "u") is Outcome.APPLIED
    assert (world.location("u"), world.location("t")) == (before, "")


def test_in_place_files_change_where_they_are_also_in_a_version(world: World) -> None:
    world.write("t", a="1")
    world.put("t")
    before, world.position = world.location("t"), 2
    world.configure(layout="in_place")
    world.overwrite("t", b="2")
    world.put("t")
    assert world.look("t") == Look(world.now, before, {"b": "2"})


def test_files_that_were_copied_in_place_stay_when_the_layout_changes(world: World) -> None:
    world.configure(layout="in_place")
    world.write("t", a="1")
    world.put("t")
    before = world.look("t")
    assert before.directory == f"{THERE}/d.db/t"
    world.configure(layout="versioned")
    world.position = 2
    world.overwrite("t", b="2")
    world.put("t")
    assert world.look("t").files == {"b": "2"}
    world.assert_no_reader_is_disturbed()


# --- what is removed


def test_what_an_object_has_is_not_removed_nor_that_of_one_which_is_gone(world: World) -> None:
    world.write("t", a="1")
    world.put("t")
    world.now += LONG_SECONDS
    world.sweep()
    assert world.look("t").files == {"a": "1"}
    world.position = 2
    world.overwrite("t", b="2")
    world.put("t")
    world.drop("t")
    world.now += LONG_SECONDS
    world.sweep()
    assert len(world.directories("t")) == 2, "a drop keeps files"
    assert world.versions.rows == {}


def test_a_version_that_a_renamed_table_has_outlasts_a_new_table_of_the_former_name(world: World) -> None:
    world.write("t", a="1")
    world.put("t")
    before = world.location("t")
    version = next(iter(world.versions.rows.values()))
    world.versions.note([replace(version, position=0, until_ms=0)])  # as after a write that did not succeed
    world.position = 2
    world.rename("t", "u")
    world.position, world.directory, world.created, world.now = 3, "elsewhere", 9, world.now + 1
    world.put("t")
    world.sweep()
    assert (world.location("u"), world.disk.directories[before]) == (before, {"a": "1"})


def test_what_may_not_be_removed_is_logged_and_left(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write("t", a="1")
    world.put("t")
    world.position = 2
    world.overwrite("t", b="2")
    world.put("t")
    world.now += LONG_SECONDS

    def refuse(*_: str) -> None:
        raise Rejected("permission denied")

    monkeypatch.setattr(world.disk, "discard", refuse)
    with capture_logs() as logs:
        world.sweep()
    assert [(it["event"], it["reason"]) for it in logs] == [("version_left", "permission denied")]
    assert world.versions.rows == {}


def test_nothing_is_removed_at_a_target_that_is_paused(world: World) -> None:
    world.write("t", a="1")
    world.put("t")
    world.now += LONG_SECONDS
    VersionSweeper(world.settings, world.versions, world.disk, lambda: "by hand", lambda: world.now).turn()  # type: ignore[arg-type]
    assert world.versions.rows


# --- any history


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "overwrite", "change", "alter", "put", "put", "again", "wait", "sweep", "drop"]),
        st.sampled_from(["t", "p"]),
        st.integers(0, 12),
    ),
    min_size=5,
    max_size=30,
)


@hypothesis_settings(deadline=None, max_examples=200)
@given(STEPS)
def test_whatever_happens_no_reader_is_disturbed_and_nothing_stays_for_ever(steps: list[tuple[str, str, int]]) -> None:
    world = World()
    with pytest.MonkeyPatch.context() as patch, capture_logs():
        patch.setattr(version_sweeper, "target_kind", lambda _: SimpleNamespace(open=lambda _: world.target))
        for number, (step, name, value) in enumerate(steps):
            _take(world, step, name, value, number)
            world.look(name)
            world.assert_no_reader_is_disturbed()
        for name in ("t", "p"):
            world.position += 1
            world.put(name)
            assert world.look(name).files == world.disk.directories[world.sources[name]]
        world.assert_no_reader_is_disturbed()
        world.now += LONG_SECONDS
        world.sweep()
        for name in ("t", "p"):
            former = {look.directory for look in world.looks if f"/{name}/" in look.directory}
            assert world.directories(name) - former - world.left <= {world.location(name)}


def _take(world: World, step: str, name: str, value: int, number: int) -> None:
    files = {f"f{it}": f"{number}" for it in range(value % 3 + 1)}
    if step in {"write", "change"}:
        world.write(name, **({f"g{number}": "1"} if step == "write" else files))
    elif step == "overwrite":
        world.overwrite(name, **files)
    elif step == "alter":
        world.parameters = {"comment": str(number)}
    elif step in {"put", "again"}:
        world.position += step == "put"
        world.disk.steps_left = value if value < 8 else None
        with suppress(Killed):
            world.put(name)
        world.disk.steps_left = None
    elif step == "wait":
        world.now += value * 900
    elif step == "sweep":
        world.disk.steps_left = value if value < 8 else None
        with suppress(Killed):
            world.sweep()
        world.disk.steps_left = None
    else:
        world.position += 1
        world.left |= world.directories(name)
        world.drop(name)
        world.position, world.created = world.position + 1, world.created + 1


# --- in the queue's file


def test_versions_outlast_a_restart_and_are_renamed_and_forgotten_with_their_target(reopen: Reopener) -> None:
    def version(number: int, position: int = 0) -> DataVersion:
        return DataVersion(f"file:/t/pysync-{number:013}", "file:/t", "d", "t", "", number, position)

    queue: EventQueue = reopen()
    queue.target("dr").register()
    queue.target("dr").data_versions.note([version(1, 7), version(2, 7), version(3), version(9)])
    queue.target("dr").data_versions.note([replace(version(2), until_ms=4)])
    versions = reopen().target("dr").data_versions
    assert versions.claim(3, 10) == [version(1, 7), version(3)]
    assert versions.below("file:/t") == [version(1), replace(version(2), until_ms=4), version(3), version(9)]
    versions.forget([version(1), version(3)])
    assert versions.claim(8, 1) == [replace(version(2), until_ms=4)]
    queue = reopen()
    queue.target("dr").rename("lake")
    assert queue.target("lake").data_versions.claim(99, 1) == [replace(version(2), until_ms=4)]
    queue.target("lake").forget()
    assert queue.target("lake").data_versions.claim(99, 9) == []
