"""With `drops = "suppress"` in a policy, copied files that the source no longer has stay, whatever event comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pysync.copy.copy_round import Copied
from pysync.copy.files import FilesFirst
from pysync.lab.faulty import FaultySettings
from pysync.lab.memory import MemoryMetastore, MemoryStore, MemoryTarget
from pysync.model.event import Kind
from pysync.model.file_differences import Pair
from pysync.model.mark import Writer
from pysync.model.operation import Refresh
from pysync.model.struct_copies import copied
from pysync.model.wire import decode_event, encode_event
from pysync.queue import EventQueue, Queued
from pysync.replay.drain import Drain
from pysync.replay.refresh import Refresher
from pysync.replay.replayer import Replayer
from pysync.replay.window.blocks import Blocks
from pysync.replay.window.draft import draft
from pysync.replay.window.translate import Translator
from pysync.sidecar.plans import plans_of
from pysync.sidecar.why import EndsReader
from tests.support import partition, table
from tests.support.data_versions import VersionsInMemory
from tests.support.events import append, database, event
from tests.support.targets import FakeTarget
from tests.support.worlds import Clock, Cluster

HERE, THERE = "hdfs://here/wh", "hdfs://there/wh"
POLICIES = [
    # At the target, tables of `live` are in `archive`: only the name at the source may decide.
    {"name": "archive", "include": ["archive"], "drops": "suppress", "databases": {"archive": "vault"}},
    {"name": "rest", "include": ["*"], "databases": {"live": "archive"}},
]
DAYS = [("day", "string")]


def configured(**values: Any) -> FaultySettings:
    given = {"name": "dr", "kind": "faulty", "copy": True, "locations": {HERE: THERE}, "policies": POLICIES}
    return FaultySettings.model_validate(given | values)


class Copier:
    """Notes where it copies to, and whether it would remove files there."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bool]] = []

    def copy(self, pairs: Sequence[Pair], *, removed: object = None, elsewhere: object = None) -> Copied:  # noqa: ARG002
        self.asked += [(it.target.removeprefix(f"{THERE}/"), it.removes_extras) for it in pairs]
        return Copied()


class Replication:
    """A source with the databases `archive` and `live`, and a target that gets its files from a copier."""

    def __init__(self, **values: Any) -> None:
        settings = configured(**values)
        self.source, self.copier, self.translator = Cluster("onprem", Clock()), Copier(), Translator.of(settings)
        self.target = MemoryTarget(settings, MemoryStore())
        self.target.bring_files_by(FilesFirst(self.copier, settings, VersionsInMemory()))
        self._refresher = Refresher(self._reads, self.translator, lambda *_: None)
        self._taken = 0
        for name in ("archive", "live"):
            self.source.client.create_database(database(name, locationUri=f"{HERE}/{name}.db"))

    @contextmanager
    def _reads(self) -> Iterator[MemoryMetastore]:
        yield MemoryMetastore(self.source.store)

    def create(self, name: str, *days: str) -> None:
        """A table, at a place of its name, and its partitions."""
        of, it = name.split(".")
        made = table(of, it, location=f"{HERE}/{name}", partition_keys=DAYS if days else ())
        self.source.client.create_table(made)
        for day in days:
            self.add_partition(name, day)

    def add_partition(self, name: str, day: str) -> None:
        of, it = name.split(".")
        made = self.source.hms.table(of, it)
        part = partition(made, [day])
        part.sd.location = f"{made.sd.location}/{day}"
        self.source.client.add_partitions_req(hive.AddPartitionsRequest(of, it, [part], True))

    def alter(self, name: str, *, new_name: str = "", **parameters: str) -> None:
        of, it = name.split(".")
        wanted = copied(self.source.hms.table(of, it))
        wanted.parameters |= parameters
        wanted.dbName, wanted.tableName = (new_name or name).split(".")
        self.source.client.alter_table_with_environment_context(of, it, wanted, None)

    def report(self, name: str, kind: Kind) -> None:
        """An event that has only the name of a table: of inserted rows, or a refresh."""
        of, it = name.split(".")
        named = event(kind, attributes={"database": of, "table": it, "created": "0"})
        self.source.events.append(Queued(len(self.source.events) + 1, encode_event(named), 0))

    def replay(self, most: int = 100) -> None:
        while events := self.source.events[self._taken : self._taken + most]:
            found = draft(events, self.translator, Writer(1), Blocks())
            assert not found.refused, found.refused[0].reason
            for operation in (operation for work in found.works for operation in work.operations):
                if isinstance(operation, Refresh):
                    self._refresher.apply(self.target, operation)
                else:
                    self.target.apply(operation)
            self._taken += len(found.events)


def _made(kind: Kind | None, **values: Any) -> dict[str, bool]:
    """What is copied of a table with, and one without partitions in each database, by their events or by others."""
    found = Replication(**values)
    names = [f"{of}.{it}" for of in ("archive", "live") for it in ("t", "p")]
    for name in names:
        found.create(name, *(["1"] if name.endswith("p") else []))
    found.replay()
    if kind is not None:
        found.copier.asked.clear()
        for name in names:
            found.report(name, kind)
        found.replay()
    return dict(found.copier.asked)


@pytest.mark.parametrize("kind", [None, Kind.INSERT, Kind.REFRESH])
def test_files_are_removed_but_for_those_of_a_policy_that_suppresses_drops(kind: Kind | None) -> None:
    assert _made(kind) == {"archive.t": False, "archive.p/1": False, "live.t": True, "live.p/1": True}


@pytest.mark.parametrize(("target", "policy", "removes"), [("suppress", "apply", True), ("trash", "suppress", False)])
def test_a_policy_has_its_own_word_whatever_the_target_says(target: str, policy: str, removes: bool) -> None:
    policies = [{"name": "archive", "include": ["archive"], "drops": policy}, {"name": "rest", "include": ["*"]}]
    assert _made(None, drops=target, policies=policies)["archive.t"] is removes


@pytest.mark.parametrize("kind", [None, Kind.REFRESH])
def test_a_target_that_suppresses_drops_loses_no_file(kind: Kind | None) -> None:
    assert set(_made(kind, drops="suppress", policies=[]).values()) == {False}


@given(
    st.lists(st.tuples(st.sampled_from(["alter", "partition", "rename", "insert"]), st.booleans()), max_size=8),
    st.integers(1, 9),
)
@hypothesis_settings(deadline=None)
def test_no_file_goes_of_a_table_that_was_in_the_policy_all_the_time(steps: list[tuple[str, bool]], most: int) -> None:
    """However the events fold; a table of the other policy is altered, and renamed there, in the same windows."""
    found = Replication()
    names = {True: "archive.t", False: "live.t"}
    for name in names.values():
        found.create(name, "1")
    for number, (step, is_first) in enumerate(steps):
        name = names[is_first]
        if step == "partition":
            found.add_partition(name, f"new{number}")
        elif step == "insert":
            found.report(name, Kind.INSERT)
        elif step == "alter":
            found.alter(name, number=str(number))
        else:
            names[is_first] = f"{name.partition('.')[0]}.t{number}"
            found.alter(name, new_name=names[is_first])
    found.replay(most)
    removals = {removes for place, removes in found.copier.asked if place.startswith("archive.")}
    assert removals == {False}
    assert ("live.t/1", True) in found.copier.asked


@pytest.mark.parametrize(("old", "new", "removes"), [("archive.t", "live.t", True), ("live.t", "archive.t", False)])
def test_a_table_that_is_renamed_into_another_policy_is_treated_as_that_one_says(
    old: str, new: str, removes: bool
) -> None:
    found = Replication()
    found.create(old)
    found.replay()
    found.copier.asked.clear()
    found.alter(old, new_name=new)
    found.alter(new, note="altered")
    found.replay()
    assert found.copier.asked[-1] == (old, removes), "it is in the same place"


@pytest.mark.parametrize(
    ("name", "kind", "values", "removes"),
    [
        ("archive.t", None, {}, False),
        ("archive.t", Kind.REFRESH, {}, False),
        ("archive.t", None, {"copy": {"rewrite": "orc"}}, True),  # re-encoded files are replaced
        ("archive.t", Kind.REFRESH, {"copy": {"rewrite": "orc"}}, True),
        ("live.t", None, {}, True),
        ("live.t", Kind.REFRESH, {}, True),
        ("live.t", None, {"mode": "shadow"}, False),
        ("live.t", Kind.REFRESH, {"copy": False}, False),
    ],
)
def test_a_plan_says_whether_files_are_removed(
    name: str, kind: Kind | None, values: dict[str, Any], removes: bool, tmp_path: Path
) -> None:
    found = Replication()
    found.create(name)
    if kind is not None:
        found.source.events.clear()
        found.report(name, kind)
    settings = configured(**values)
    queue = EventQueue(tmp_path, min_free_bytes=0)
    try:
        queue.target("dr").register()
        append(queue, *(decode_event(it.data) for it in found.source.events))
        drain = Drain(Replayer(queue, settings, Translator.of(settings)), FakeTarget().opener)
        (plan,) = plans_of([drain], queue, EndsReader(None))
        assert plan["operations"] > 0
        assert plan["removes_files"] is removes
    finally:
        queue.close()
