"""Copying, without a Spark: what is asked of it, in which order, and what becomes of its answers."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from pysync.base.errors import UsageError
from pysync.config import load_config
from pysync.copy.copier import Copier as FileCopier
from pysync.copy.copy_round import Round
from pysync.copy.files import FilesFirst
from pysync.copy.pack import pack
from pysync.copy.requests import CopyRefused, Failed, decode, differences, encode, files_missing
from pysync.lab.faulty import FaultySettings
from pysync.lab.memory.store import MemoryStore
from pysync.lab.memory.target import MemoryTarget
from pysync.model.change import Change
from pysync.model.difference import Difference
from pysync.model.event import Event, Kind
from pysync.model.file_differences import FileDifference as Survey
from pysync.model.file_differences import FileStatus, Pair
from pysync.model.locations import SourceFiles
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import DropTable, PutPartitions, PutTable, RenameTable
from pysync.replay.window.inserts import as_refresh
from pysync.replay.window.mapping import NameMapping
from pysync.targets.base import Outcome, Rejected, Unavailable
from pysync.targets.settings import CopySettings, TargetSettings
from tests.support import partition, table
from tests.support.data_versions import VersionsInMemory

PAIR = Pair("hdfs://a/t", "s3a://b/t", removes_extras=True)
MARK = Mark("here", 1, 7, 100)
NAMES = st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1)


def file(name: str = "f", size: int = 1, pair: Pair = PAIR, *, replaces: bool = False) -> FileStatus:
    return FileStatus(pair, name, size, 5, replaces)


def extra(name: str = "old", size: int = 1, pair: Pair = PAIR) -> FileStatus:
    return FileStatus(pair, name, size, 0)


# --- requests


@settings(deadline=None)
@given(st.lists(st.lists(NAMES, min_size=1)))
def test_any_name_survives_the_way_to_the_java_class(records):
    assert decode(encode(records)) == records


def test_a_survey_is_read():
    answer = encode(
        [
            ("copy", 0, "a b", 3, 9, "copied"),
            ("extra", 0, "old", 7),
            ("pair", 0, "true", -4, 2),
            ("pair", 1, "false", 17, 0),
        ]
    )
    first, second = differences([PAIR, Pair("x", "y")], answer)
    assert first.copies == [FileStatus(PAIR, "a b", 3, 9, replaces=True)]
    assert (first.extras, first.exists, first.fingerprint, first.same) == ([extra("old", 7)], True, "-4", 2)
    assert (second.exists, second.copies) == (False, [])


@pytest.mark.parametrize(("kind", "error"), [("refused", CopyRefused), ("unavailable", Failed)])
def test_what_the_file_system_refuses_is_told_from_what_it_cannot_do_now(kind, error):
    with pytest.raises(error, match="no such luck"):
        files_missing(encode([("done",), ("failed", kind, "no such luck")]))
    with pytest.raises(error, match="no such luck"):
        differences([PAIR], encode([("failed", 0, kind, "no such luck")]))


# --- pack


@settings(deadline=None)
@given(st.lists(st.integers(0, 10**10), max_size=900), st.integers(1, 64))
def test_every_file_is_in_one_task_and_the_largest_come_first(sizes, parallelism):
    files = [file(str(number), size) for number, size in enumerate(sizes)]
    tasks = list(pack(files, parallelism))
    assert sorted(it.name for task in tasks for it in task) == sorted(it.name for it in files)
    order = [it.size for task in tasks for it in task]
    assert order == sorted(sizes, reverse=True)
    assert all(task for task in tasks)


def test_small_files_go_together_and_large_ones_alone():
    files = [file(f"large{number}", 10**9) for number in range(2)] + [file(f"small{n}", 100) for n in range(1000)]
    tasks = list(pack(files, 2))
    assert [len(task) for task in tasks[:2]] == [1, 1]
    assert len(tasks) < 10


# --- the order in which readers see it


def test_new_files_come_before_old_ones_go_and_both_in_one_call():
    found = Survey(
        PAIR, exists=True, copies=[file("_SUCCESS"), file("b", replaces=True), file("a")], extras=[extra("z")]
    )
    run = Round([found], prefix=".pysync-copy-x-")
    ((call,),) = run.stages(())
    record = ("s3a://b/t/.pysync-copied", "s3a://b/t")
    assert (call[0], call[-1]) == (("record", "_SUCCESS", "b", "a", *record), ("forget", "z", *record))
    steps = [(step[0], step[-2].rpartition("/")[2]) for step in call[1:-1]]
    assert steps == [("rename", "a"), ("rename", "b"), ("rename", "_SUCCESS"), ("delete", "z")]
    assert all(step[1].startswith("s3a://b/t/.pysync-copy-x-") for step in call if step[0] == "rename")


def test_too_many_new_files_for_one_call_all_come_before_any_goes():
    found = Survey(PAIR, exists=True, copies=[file(str(number)) for number in range(1200)], extras=[extra()])
    records, first, then = Round([found], prefix=".p").stages(())
    assert [[step[0] for step in call] for call in records] == [["record"]]
    assert [len(call) for call in first] == [500, 500, 200]
    forget = ("forget", "old", f"{PAIR.target}/.pysync-copied", PAIR.target)
    assert then == [[("delete", "s3a://b/t/old", PAIR.target), forget]]


@pytest.mark.parametrize("name", ["part-00000-0123456789abcdef.snappy.parquet", ".pysync-remaining-0123456789abcdef-0"])
def test_re_encoded_files_go_when_files_are_copied_as_they_are_again(name):
    answer = encode([("foreign", 0, name, 7), ("foreign", 0, "theirs", 7), ("pair", 0, "true", 1, 0)])
    found = differences([replace(PAIR, removes_extras=False)], answer)
    run = Round(found, prefix=".p")
    assert [it.name for it in run.extras(found[0])] == [name]
    assert run.came_to(()).foreign == ("s3a://b/t/theirs",)


@pytest.mark.parametrize(("removes", "exists"), [(False, True), (True, False)])
def test_nothing_is_removed_where_drops_are_suppressed_or_the_directory_is_missing(removes, exists):
    pair = replace(PAIR, removes_extras=removes)
    run = Round([Survey(pair, exists=exists, extras=[extra(pair=pair)])], prefix=".p")
    assert run.stages(()) == []
    assert not run.removes_or_replaces(run.differences[0])


def test_what_changed_meanwhile_is_not_published_but_thrown_away():
    other = Pair("hdfs://a/u", "s3a://b/u")
    found = [Survey(PAIR, exists=True, copies=[file()]), Survey(other, exists=True, copies=[file(pair=other)])]
    run = Round(found, prefix=".p")
    ((call,),) = run.stages({PAIR})
    assert [step[2] for step in call if step[0] == "rename"] == ["s3a://b/u/f"]
    assert run.discards({PAIR}) == [("delete", "s3a://b/t/.p0", PAIR.target)]
    assert run.came_to({PAIR}).files == 1


# --- files first


class Copier:
    """Notes what is asked of it; `removes` so many files each time."""

    def __init__(self, removes: int = 0) -> None:
        self.asked = []
        self._removes = removes

    def copy(self, pairs, *, removed, elsewhere):  # noqa: ARG002
        self.asked.append(list(pairs))
        if self._removes:
            removed(self._removes, "file:/there/t/old")


class Owner:
    """A place that has one table, with these parameters."""

    def __init__(self, parameters=None):
        self.parameters = parameters

    def database(self, name):  # noqa: ARG002
        return None

    def table(self, name):  # noqa: ARG002
        return None if self.parameters is None else table("d", "t", parameters=self.parameters)


def brought(places, copier, how, operation, *, of_dump=False):
    """Have the files of an operation brought; returns what was asked of the copier."""
    FilesFirst(copier, how, VersionsInMemory(), of_dump=of_dump).bring(
        places, operation, lambda _: None, lambda _: None
    )
    return copier.asked


def target_with(settings, copier, parameters=None, *, keys=()):
    """A target in memory that has a table with these parameters, or none, and the copier for files."""
    target = MemoryTarget(settings, MemoryStore())
    target.store.create_database(hive.Database(name="d", parameters={}))
    if parameters is not None:
        target.store.create_table(table("d", "t", parameters=parameters, partition_keys=keys))
    target.bring_files_by(FilesFirst(copier, settings, VersionsInMemory()))
    return target


def asked(operation, *, there=None, **values):
    """What is asked of the copier before an operation, which may be refused, is applied; `there` as above."""
    copier = Copier()
    keys = [("k", "string")] if isinstance(operation, PutPartitions) else ()
    target = target_with(FaultySettings(name="x", kind="faulty", **values), copier, there, keys=keys)
    with suppress(Rejected):
        target.apply(operation)
    return copier.asked


def put_partition(mark, **values):
    of = table("d", "t", partition_keys=[("k", "string")])
    part = partition(of, ["1"])
    part.sd.location = "file:/there/t"
    sources = {"file:/there/t": SourceFiles("file:/here/t")}
    return PutPartitions(
        table=TableName("d", "t"), definition=of, partitions=(part,), sources=sources, mark=mark, **values
    )


SETTINGS = FaultySettings(name="x", kind="faulty")


@pytest.mark.parametrize(
    ("home", "there", "copies"),
    [
        ("west", None, True),
        ("west", Mark("west", 1, 3, 1).parameters(), True),
        ("west", {}, False),  # born at the target, whose name is the smaller one: it stays
        ("an-earlier-name", {}, True),  # the one at the target gives way
        ("east", {}, False),  # a change of a replica: files come from the home only
    ],
)
def test_both_ways_files_come_only_with_what_the_judge_lets_the_home_write(home, there, copies):
    copier = Copier()
    how = FaultySettings(name="east", kind="faulty", both_ways=True, on_conflict="adopt")
    target = target_with(how, copier, there)
    target.apply(replace(put(), mark=Mark(home, 1, 7, 1), visited=("west",)))
    assert bool(copier.asked) is copies


@pytest.mark.parametrize(("created", "copies"), [(1, True), (2, False)])
def test_both_ways_files_of_partitions_come_only_to_the_table_that_has_them(created, copies):
    copier = Copier()
    how = FaultySettings(name="east", kind="faulty", both_ways=True)
    target = target_with(how, copier, Mark("west", 1, 9, created).parameters(), keys=[("k", "string")])
    target.apply(put_partition(Mark("west", 1, 7, 1), visited=("west",)))
    assert bool(copier.asked) is copies


class Housed(Owner):
    """Its databases have their files in file:/there/d.db."""

    def database(self, name):  # noqa: ARG002
        return SimpleNamespace(locationUri="file:/there/d.db")


class Neighbours(Housed):
    """In d there are `theirs`, which is not ours; `ours`; and `moved`, which is not ours but elsewhere by now."""

    def table(self, name):
        own = Mark("here", 1, 3, 50).parameters()
        places = {"theirs": ("theirs", None), "ours": ("ours", own), "moved": ("away", None)}
        if name.table not in places:
            return None
        place, parameters = places[name.table]
        return table("d", name.table, location=f"file:/there/d.db/{place}", parameters=parameters)


@pytest.mark.parametrize(
    "location",
    ["file:/there/d.db", "file:///there//d.db/", "file:/there", "file:/there/d.db/t/..", "hdfs://a/home", "hdfs://a/"],
)
def test_nothing_is_copied_to_the_directory_of_a_database_or_to_a_mapped_prefix(location):
    places, copier = Housed(), Copier()
    policies = [{"name": "p", "policy": "d", "locations": {"hdfs://b": "hdfs://a/home"}}]
    values = {"name": "x", "kind": "hms", "policies": policies}
    how = TargetSettings.model_validate(values)
    definition = table("d", "t", location=location)
    sources = {location: SourceFiles("file:/here/t")}
    operation = PutTable(table=TableName("d", "t"), definition=definition, sources=sources, mark=MARK)
    with pytest.raises(Rejected, match="is not the directory of one table alone"):
        brought(places, copier, how, operation)
    assert copier.asked == []
    assert len(brought(places, copier, how, put("file:/there/t"))) == 1


@pytest.mark.parametrize(
    ("location", "of_others"),
    [
        ("file:/there/d.db/theirs", True),
        ("file:/there/d.db/theirs/sub", True),
        ("file:/there/d.db/ours", False),
        ("file:/there/d.db/none", False),
        ("file:/there/d.db/moved", False),
        ("file:/there/d.db/t/theirs", False),
        ("file:/elsewhere/theirs", False),
    ],
)
def test_nothing_is_copied_to_the_directory_of_a_table_of_others(location, of_others):
    places, copier = Neighbours(), Copier()
    definition, sources = table("d", "t", location=location), {location: SourceFiles("file:/here/t")}
    operation = PutTable(table=TableName("d", "t"), definition=definition, sources=sources, mark=MARK)
    if of_others:
        with pytest.raises(Rejected, match=r"d\.theirs at the target, which pysync has not written for this source"):
            brought(places, copier, SETTINGS, operation)
        assert copier.asked == []
    else:
        assert len(brought(places, copier, SETTINGS, operation)) == 1


@pytest.mark.parametrize("keys", [(), [("k", "string")]])
@pytest.mark.parametrize("location", ["file:/root/.ssh", "file:/there/../root/.ssh", "file:/theres/t"])
def test_a_load_writes_nothing_elsewhere_than_below_a_mapped_prefix(location, keys):
    places, copier = Owner(), Copier()
    values = {"name": "x", "kind": "hms", "locations": {"file:/here": "file:/there"}}
    how = TargetSettings.model_validate(values)
    with pytest.raises(Rejected, match=r"is not below a prefix in locations of target 'x'") as refused:
        brought(places, copier, how, put(location, partition_keys=keys), of_dump=True)
    assert refused.value.hint
    assert copier.asked == []
    brought(places, copier, how, put("file:/there/t"), of_dump=True)
    of = table("d", "t", location="file:/there/t", partition_keys=[("k", "string")])
    part = partition(of, ["1"])
    part.sd.location = location
    parts = PutPartitions(table=TableName("d", "t"), definition=of, partitions=(part,), mark=MARK)
    with pytest.raises(Rejected):
        brought(places, copier, how, parts, of_dump=True)
    assert len(copier.asked) == 1


def test_a_load_judges_a_table_of_spark_s_by_its_path():
    """Its location in the metastore is a placeholder."""
    copier = Copier()
    values = {"name": "x", "kind": "hms", "locations": {"file:/here": "file:/there"}}
    operation = put("file:/there/t-__PLACEHOLDER__", parameters={"spark.sql.sources.provider": "delta"})
    operation.definition.sd.serdeInfo.parameters = {"path": "file:/root/.ssh"}
    with pytest.raises(Rejected, match=r"file:/root/.ssh is not below a prefix"):
        brought(Owner(), copier, TargetSettings.model_validate(values), operation, of_dump=True)
    assert copier.asked == []


def put(location="file:/there/t", **more):
    definition = table("d", "t", location=location, **more)
    sources = {"file:/there/t": SourceFiles("file:/here/t", removes_extras=True)}
    return PutTable(table=TableName("d", "t"), definition=definition, sources=sources, mark=MARK)


class Looking(Copier):
    """Looks at the target when it is asked to copy."""

    def copy(self, pairs, *, removed, elsewhere):
        super().copy(pairs, removed=removed, elsewhere=elsewhere)
        self.there = self.target.table(TableName("d", "t"))


def test_the_files_are_copied_before_the_operation_is_applied():
    copier = Looking()
    copier.target = target_with(SETTINGS, copier)
    assert copier.target.apply(put()) is Outcome.APPLIED
    assert (copier.asked, copier.there) == ([[Pair("file:/here/t", "file:/there/t", removes_extras=True)]], None)


def test_the_files_of_a_table_that_needs_no_write_are_copied_too():
    copier = Copier()
    target = target_with(SETTINGS, copier)
    assert [target.apply(put()), target.apply(put())] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert len(copier.asked) == 2


@pytest.mark.parametrize("there", [None, MARK.parameters()])
def test_no_file_of_a_table_is_copied_or_removed_that_is_refused(there):
    """Before: a copy asked for ownership alone, removed what the source no longer had, and then the table was refused;
    every retry copied again.
    """
    copier = Copier()
    target = target_with(SETTINGS, copier, there)
    with pytest.raises(Rejected, match="is transactional"):
        target.apply(put(parameters={"transactional": "true"}))
    assert copier.asked == []


def test_no_file_comes_to_an_iceberg_table_with_a_commit_of_others():
    copier = Copier()
    iceberg = {"table_type": "ICEBERG", **MARK.parameters()}
    target = target_with(SETTINGS, copier, {**iceberg, "metadata_location": "file:/there/t/metadata/theirs.json"})
    with pytest.raises(Rejected, match="has a commit that is not from the source"):
        target.apply(put(parameters={**iceberg, "metadata_location": "file:/there/t/metadata/2.json"}))
    assert copier.asked == []


def test_removed_files_are_among_the_differences_also_of_what_fails():
    target = target_with(SETTINGS, Copier(removes=3))
    target.store.drop_database("d")
    with pytest.raises(Rejected):
        target.apply(put())
    assert target.take_differences() == [Difference("3 data files", None, "removed, the first: file:/there/t/old")]
    assert target.take_differences() == []


@pytest.mark.parametrize("publishes", [True, False])
def test_every_removal_of_files_is_told_also_one_that_fails_midway(publishes):
    def call(method, request):
        if method == "survey":
            return encode([("extra", 0, "old", 1), ("extra", 0, "older", 1), ("pair", 0, "true", "same", 0)])
        failed = ("failed", "failed", "the disk is full")
        return encode([("done",) if publishes else failed for _ in decode(request)])

    copier = FileCopier(SimpleNamespace(call=call), CopySettings(settle_seconds=0))
    reported = []
    with capture_logs() as logs, nullcontext() if publishes else pytest.raises(Unavailable):
        copier.copy([PAIR], removed=lambda *some: reported.append(some))
    copier.close()
    assert reported == [(2, "s3a://b/t/old")]
    assert [(it["event"], it["files"], it["first"]) for it in logs] == [("files_removed", *reported[0])]


def test_nothing_is_copied_where_source_and_target_share_the_files():
    assert asked(put("file:/shared/t")) == []


def test_nothing_is_copied_for_a_drop_a_view_or_a_partitioned_table():
    """The files of a partitioned table are those of its partitions."""
    assert asked(DropTable(table=TableName("d", "t"), mark=MARK)) == []
    assert asked(put(None)) == []
    assert asked(put(partition_keys=[("k", "string")])) == []


def test_the_files_of_partitions_and_of_a_renamed_table_are_copied():
    of = table("d", "t", partition_keys=[("k", "string")])
    part = partition(of, ["1"])
    part.sd.location = "file:/there/t"
    sources = {"file:/there/t": SourceFiles("file:/here/t", removes_extras=True)}
    common = {"table": TableName("d", "t"), "sources": sources, "mark": MARK}
    assert len(asked(PutPartitions(definition=of, partitions=(part,), **common), there=MARK.parameters())) == 1
    assert asked(RenameTable(definition=put().definition, **common)) == [[Pair("file:/here/t", "file:/there/t")]]


def test_the_files_of_what_is_not_ours_are_left_alone_unless_it_is_adopted():
    assert asked(put(), there={"EXTERNAL": "TRUE"}) == []
    assert len(asked(put(), there={"EXTERNAL": "TRUE"}, on_conflict="adopt")) == 1


def test_nothing_older_is_copied_over_what_a_later_event_has_written():
    newer = Mark("here", 1, 9, 100)
    assert asked(put(), there=newer.parameters()) == []
    assert len(asked(put(), there=Mark("here", 1, 3, 100).parameters())) == 1


@pytest.mark.parametrize(
    ("mark", "copies"),
    [
        (replace(MARK, position=9), True),  # when the table was last written says nothing about its partitions
        (replace(MARK, created=200), False),  # they are of the table that had the name before
        (replace(MARK, source="elsewhere"), False),
        (replace(MARK, object="d.other"), False),
    ],
)
def test_the_files_of_partitions_are_copied_if_they_belong_to_the_table_there(mark, copies):
    operation = put_partition(replace(MARK, rivals=frozenset({"d.other"})))
    assert bool(asked(operation, there=mark.parameters())) is copies


# --- where the files are at the source


def test_a_rewritten_location_remembers_the_source_files_only_for_targets_that_copy():
    mapping = {"file:/here": "file:/there"}
    for copies in (True, False):
        configured = TargetSettings.model_validate({"name": "x", "kind": "hms", "locations": mapping, "copy": copies})
        names = NameMapping.of(configured)
        found = names.apply_to(table("d", "t", location="file:/here/t"))
        assert found == ({"file:/there/t": SourceFiles("file:/here/t", removes_extras=True)} if copies else {})


def insert(attributes, after=(), of=None):
    event = Event(Kind.INSERT, "here", "i", 1, 0, attributes={"database": "d", "table": "t", **attributes})
    return Change(event, 1, table=of, after=list(after))


def test_an_insert_is_a_refresh_of_what_it_went_into():
    of = table("d", "t", partition_keys=[("k", "string")])
    names = [
        insert({}),
        insert({"partition.a": "1", "partition.b": "x y"}),
        insert({}, [partition(of, ["1/2"])], of),
    ]
    found = [as_refresh(change).event for change in names]
    assert {event.kind for event in found} == {Kind.REFRESH}
    assert [event.attributes.get("partitions") for event in found] == [None, "a=1/b=x y", "k=1%2F2"]


# --- settings


def test_the_short_form_takes_the_defaults():
    plain = TargetSettings.model_validate({"name": "x", "kind": "hms", "copy": True})
    assert plain.copy_files == TargetSettings.model_validate({"name": "x", "kind": "hms", "copy": {}}).copy_files
    assert TargetSettings.model_validate({"name": "x", "kind": "hms", "copy": False}).copy_files is None


CONFIG = """
[source]
name = "here"
[[targets]]
name = "one"
kind = "faulty"
copy = true
[[targets]]
name = "two"
kind = "faulty"
copy = { paralelism = 3 }
"""


def test_what_keeps_files_from_being_copied_is_told_by_its_key(tmp_path):
    path = tmp_path / "pysync.toml"
    path.write_text(CONFIG)
    with pytest.raises(UsageError, match=r"targets\[1\].copy.paralelism: unknown key"):
        load_config(path)
    path.write_text(CONFIG.replace("paralelism", "parallelism"))
    with pytest.raises(UsageError) as caught:
        load_config(path)
    assert "source.metastore: missing" in str(caught.value)
