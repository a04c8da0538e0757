"""Writing anew, without a Spark: what is, what becomes of the definition, and when there is nothing to do."""

from __future__ import annotations

import copy
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given, settings
from hypothesis import strategies as st

from pysync.base.errors import UsageError
from pysync.copy.copier import Copier
from pysync.copy.copies import Copies
from pysync.copy.files import FilesFirst
from pysync.copy.reencoder import Reencoder
from pysync.copy.reencoding_job import ReencodingJob
from pysync.copy.requests import decode, encode
from pysync.copy.snapshot_files import snapshot_files
from pysync.copy.spark_reading import schema
from pysync.jobs.copying import _sources
from pysync.model.change import Change
from pysync.model.event import Event, Kind
from pysync.model.file_differences import FileDifference, FileStatus, Pair
from pysync.model.locations import Form, SourceFiles
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import PutPartitions, PutTable, RenameTable
from pysync.model.reencoding import Frame, alter, form_of, frame_of
from pysync.model.snapshot import Snapshot
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.translate import Translator
from pysync.targets.base import Rejected
from pysync.targets.settings import CopySettings, TargetSettings
from tests.support import SERDE, partition, table
from tests.support.data_versions import VersionsInMemory
from tests.support.refreshing import Hms, T, Target, apply
from tests.support.targets import FakeTarget
from tests.support.transactional_tables import NONE, listing

ORC = ("org.apache.hadoop.hive.ql.io.orc.OrcInputFormat", "org.apache.hadoop.hive.ql.io.orc.OrcSerde")
PARQUET = (
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
)
CSV = (table("d", "t").sd.inputFormat, "org.apache.hadoop.hive.serde2.OpenCSVSerde")
JSON = (table("d", "t").sd.inputFormat, "org.apache.hive.hcatalog.data.JsonSerDe")
FORM = Form("text", "parquet", (("id", "int"),), ",", "\\N")
PAIR = Pair("file:/here/t", "file:/there/t", FORM, removes_extras=True)


def made(stored=None, *, serde=None, columns=(("id", "int"),), keys=(), parameters=None, **storage):
    found = table("d", "t", location="file:/here/t", partition_keys=keys, parameters=parameters)
    if stored:
        found.sd.inputFormat, found.sd.serdeInfo.serializationLib = stored
    found.sd.serdeInfo.parameters = dict(serde or {})
    found.sd.cols = [hive.FieldSchema(name, kind, None) for name, kind in columns]
    for name, value in storage.items():
        setattr(found.sd, name, value)
    return found


def decided(found, to="parquet"):
    return form_of(found.sd, found.parameters, frame_of(found), to)


def configured(rewrite="parquet"):
    values = {"name": "x", "kind": "hms", "locations": {"file:/here": "file:/there"}, "copy": {"rewrite": rewrite}}
    return TargetSettings.model_validate(values)


# --- the decision


@pytest.mark.parametrize(
    ("found", "form"),
    [
        (made(), "text"),
        (made(ORC, columns=[("a", "array<struct<b:int>>")]), "orc"),
        (made(PARQUET, parameters={"spark.sql.sources.provider": "parquet"}), "parquet"),
        (made(JSON, columns=[("a", "array<int>")]), "json"),
        (made(CSV), None),
        (made(columns=[("a", "array<int>")]), None),
        (made(columns=[("a", "binary")]), None),
        (made(columns=[("a", "int"), ("A", "int")]), None),
        (made(JSON, columns=[("a", "struct<B:int>")]), None),
        (made(JSON, columns=[("a", "decimal(15,2)")]), "json"),
        (made(JSON, columns=[("a", "array<decimal(16,2)>")]), None),
        (made(ORC, columns=[("a", "uniontype<int,string>")]), None),
        (made(serde={"escape.delim": "\\"}), None),
        (made(serde={"unheard.of": "x"}), None),
        (made(serde={"field.delim": "é"}), None),
        (made(parameters={"serialization.encoding": "GBK"}), None),
        (made(parameters={"skip.footer.line.count": "1"}), None),
        (made(ORC, parameters={"skip.header.line.count": "1"}), None),
        (made(ORC, parameters={"skip.header.line.count": "0" * 5_000}), None),  # which Python refuses to read
        (made(ORC, parameters={"transactional": "TRUE"}), None),
        (made(ORC, parameters={"spark.sql.sources.provider": "orc"}), None),
        (made(ORC, parameters={"table_type": "ICEBERG"}), None),
        (made(ORC, numBuckets=4), None),
        (made(ORC, skewedInfo=hive.SkewedInfo(["id"], [["1"]], {})), None),
        (made(inputFormat=None), None),
        (made(location=None), None),
    ],
)
def test_only_what_spark_reads_as_hive_does_is_written_anew(found, form):
    answer = decided(found)
    assert (answer and answer.format) == form


def test_a_view_is_not():
    view = made(ORC)
    view.tableType = "VIRTUAL_VIEW"
    assert decided(view) is None


@pytest.mark.parametrize(
    ("serde", "parameters", "delimiter", "null"),
    [
        ({}, {}, "\x01", "\\N"),
        ({"serialization.format": "9"}, {}, "\t", "\\N"),
        ({"field.delim": "||"}, {"serialization.null.format": ""}, "|", ""),
        ({"field.delim": "200", "serialization.null.format": "-"}, {}, "2", "-"),
    ],
)
def test_fields_and_nulls_are_told_as_hives_serde_reads_them(serde, parameters, delimiter, null):
    form = decided(made(serde=serde, parameters=parameters))
    assert (form.delimiter, form.null) == (delimiter, null)


@settings(deadline=None)
@given(
    st.sampled_from([None, ORC, PARQUET, JSON, CSV]),
    st.dictionaries(st.sampled_from(["serialization.format", "field.delim", "escape.delim"]), st.text(max_size=3)),
    st.dictionaries(
        st.sampled_from(["skip.header.line.count", "transactional", "orc.compress", "mine"]),
        st.sampled_from(["", "0", "1", "true", "x"]),
    ),
    st.sampled_from(["parquet", "orc"]),
)
def test_what_was_altered_is_of_the_new_format_and_stays_so(stored, serde, parameters, to):
    found = made(stored, serde=serde, parameters=parameters)
    before = copy.deepcopy(found)
    form = decided(found, to)
    if form is None:
        return
    alter(found, form)
    again = decided(found, to)
    assert again is not None
    assert (again.format, again.columns) == (to, form.columns)
    once = copy.deepcopy(found)
    alter(found, again)
    assert found == once
    assert found.parameters.get("mine") == before.parameters.get("mine")
    assert "skip.header.line.count" not in found.parameters or form.format == to
    assert (found.sd.cols, found.sd.location) == (before.sd.cols, before.sd.location)


def test_the_schema_is_in_sparks_words():
    form = Form("orc", "orc", (("a`b", "struct<x:varchar(3)>"), ("c", "char (2)"), ("d", "decimal(3,1)")))
    assert schema(form) == "`a``b` struct<x:string>, `c` string, `d` decimal(3,1)"


# --- the definition on its way


def test_a_table_and_its_partitions_become_another_format_and_tell_where_from():
    mapping = NameMapping.of(configured())
    of = made(keys=[("k", "string")], parameters={"skip.header.line.count": "1"})
    part = partition(of, ["1"])
    part.sd.location = "file:/here/t/k=1"
    frame = mapping.frame(of)
    (table_from,) = mapping.apply_to(of).values()
    (part_from,) = mapping.apply_to_partition(part, frame).values()
    assert (table_from.location, part_from.location) == ("file:/here/t", "file:/here/t/k=1")
    assert (table_from.form.header, part_from.form.header) == (1, 1)
    assert (of.sd.inputFormat, part.sd.inputFormat) == (PARQUET[0], PARQUET[0])
    assert "skip.header.line.count" not in of.parameters


def test_events_of_partitions_bring_their_table_along():
    of, kept = made(keys=[("k", "string")]), made(keys=[("k", "string")], parameters={"transactional": "true"})
    for table_, expected in ((of, PARQUET[0]), (kept, kept.sd.inputFormat)):
        part = partition(table_, ["1"])
        part.sd.location = "file:/here/t/k=1"
        event = Event(Kind.ADD_PARTITION, "here", "i", 1, 0)
        change = NameMapping.of(configured()).apply(Change(event, 1, table=table_, after=[part]), table_)
        assert change.after[0].sd.inputFormat == expected
        form = Form("text", "parquet", (("id", "bigint"),), "\x01", "\\N") if table_ is of else None
        assert change.sources == {"file:/there/t/k=1": SourceFiles("file:/here/t/k=1", form, removes_extras=True)}


@pytest.mark.parametrize("how", ["parquet", None])
def test_a_partition_without_its_table_is_not_guessed(how):
    """Whoever forgets the table finds out with any target, not only with one that writes anew."""
    with pytest.raises(TypeError, match="the frame of its table"):
        NameMapping.of(configured(how)).apply_to(partition(made(), ["1"]))


def test_what_one_table_tells_is_forgotten_with_it():
    """Of two tables of one name, as after a drop, each partition is of its own."""
    mapping = NameMapping.of(configured())
    old = made(keys=[("k", "string")], parameters={"skip.header.line.count": "1"})
    new = made(keys=[("k", "string")], parameters={"transactional": "true"})
    frames = [mapping.frame(it) for it in (old, new, old)]
    found = []
    for frame in frames:
        part = partition(old, ["1"])
        part.sd.location = "file:/here/t/k=1"
        (files,) = mapping.apply_to_partition(part, frame).values()
        found.append(files.form and files.form.header)
    assert found == [1, None, 1]


HEADER = {"skip.header.line.count": "1"}


def stored(*, parameters=HEADER):
    """A source with one table of two partitions that tell nothing of the header."""
    source = Hms()
    of = source.add("db.t", "1", "2", parameters=dict(parameters))
    of.sd.location = "file:/here/t"
    for part in source.parts[TableName("db", "t")]:
        part.sd.location = f"file:/here/t/day={part.values[0]}"
    return source


@pytest.mark.parametrize(("parameters", "header"), [(HEADER, 1), ({"transactional": "true"}, None)])
def test_a_refresh_brings_partitions_with_what_their_table_tells(parameters, header):
    source, target = stored(parameters=parameters), Target()
    apply(source, target, T, locations={"file:/here": "file:/there"}, copy={"rewrite": "parquet"})
    (put,) = (it for it in target.applied if isinstance(it, PutPartitions))
    written = PARQUET[0] if header else CSV[0]
    assert [it.sd.inputFormat for it in (put.definition, *put.partitions)] == [written] * 3
    reported = {where: (files.location, files.form and files.form.header) for where, files in put.sources.items()}
    assert reported == {f"file:/there/t/day={day}": (f"file:/here/t/day={day}", header) for day in ("1", "2")}


def test_copying_by_hand_knows_of_partitions_what_their_table_tells():
    for parameters, header in ((HEADER, 1), ({"transactional": "true"}, None)):
        source = stored(parameters=parameters)
        work = SimpleNamespace(source=source, target=Target(), translator=Translator.of(configured()))
        found = dict(_sources(work, source.table("db", "t")))
        assert list(found) == ["file:/there/t/day=1", "file:/there/t/day=2"]
        assert [it.form and it.form.header for it in found.values()] == [header] * 2


def test_nothing_changes_where_both_ends_share_the_files_or_nothing_is_asked():
    same = {"file:/same": "file:/same"}
    cases = (("parquet", "file:/shared/t"), (None, "file:/here/t"), ("parquet", "file:///same/t"))
    for how, location in cases:
        found = made(location=location)
        values = configured(how).model_copy(update={"locations": {"file:/here": "file:/there", **same}})
        (files,) = NameMapping.of(values).apply_to(found).values()
        assert files.form is None
        assert found.sd.serdeInfo.serializationLib == SERDE


# --- what is there already


COPIED = "000000_0"
"""The file at the target that was copied byte for byte, before re-encoding was set."""


def job(source="f1", there=(), form=FORM, pair=PAIR):
    files = [FileStatus(pair, name, size, 0) for name, size in there]
    foreign = [it for it in files if it.name == "theirs"]
    target = FileDifference(pair, extras=[it for it in files if it not in foreign], foreign=foreign)
    return ReencodingJob(form, FileDifference(pair, exists=True, fingerprint=source), target)


def written(of, sizes=(3, 4)):
    names = [(f"part-{at:05}-{of.fingerprint}.snappy.parquet", size) for at, size in enumerate(sizes)]
    return [*names, (of.marker(FileStatus(PAIR, name, size, 9) for name, size in names), 0)]


def test_the_same_files_read_the_same_way_are_nothing_to_do():
    done = written(job())
    names = [name for name, _ in done]
    assert [it.name for it in job(there=done).done()] == names
    assert job(there=done[1:]).done() is None, "a file is missing"
    assert job(there=[(done[0][0], 1), *done[1:]]).done() is None, "a file has another size"
    beside_earlier = job(there=[*done, *written(job("f0"))]).done()
    assert [it.name for it in beside_earlier] == names, "what is left of an earlier job is not of this one"
    assert job("f2", done).done() is None, "the source has changed"
    assert job(there=done, form=Form("text", "parquet", (("id", "bigint"),), ",", "\\N")).done() is None


ACID = Form("orc", "parquet", (("id", "int"),), transactional="full")


def inserted(highest, there=(), form=ACID, **values):
    """A job whose source has a delta for each of these writes."""
    names = [f"delta_{it:07}_{it:07}_0000/bucket_00000" for it in range(1, highest + 1)]
    files = snapshot_files(listing(*names), Snapshot(highest, NONE, **values), "full")
    return replace(job(there=there, form=form), snapshot=files)


def test_an_increment_adds_to_what_the_marker_names():
    first = inserted(2)
    there = written(first)
    increment = inserted(3, there).increment()
    assert [it.last for it in increment.files.rows] == [3]
    assert [it.name for it in increment.data] == [name for name, _ in there[:-1]]
    assert inserted(3, there[:-1]).increment() is None, "without a marker nobody knows what is there"
    assert inserted(3, [*there, ("part-00009-0123456789abcdef.snappy.parquet", 5)]).increment() is None
    assert inserted(3, there, replace(ACID, columns=(("id", "bigint"),))).increment() is None
    assert inserted(3, there, replace(ACID, by_place=True)).increment() is None
    assert inserted(3, there, replace(ACID, created=1)).increment() is None, "another table of that name"


def test_an_increment_is_replaced_where_its_marker_cannot_say_what_arrived():
    first = inserted(60, aborted=tuple(range(2, 60)))
    marker = first.marker([])
    assert len(marker) < 100
    assert inserted(61, written(first)).increment() is None


def test_an_earlier_jobs_files_go_also_where_drops_are_suppressed_and_others_stay():
    old = written(job("f0"))
    there = [*old, (COPIED, 7), ("theirs", 7)]
    suppressed = job(there=there, pair=replace(PAIR, removes_extras=False))
    assert suppressed.superseded([]) == sorted(name for name, _ in old)
    assert job(there=there).superseded([]) == sorted([COPIED, *(name for name, _ in old)])
    assert job(there=there).foreign == ("file:/there/t/theirs",)


class Workers:
    """Directories without a Spark: answers surveys, notes what is published."""

    def __init__(self, source, there):
        self.source, self.there, self.steps = source, there, []

    def call(self, method, request):
        records = decode(request)
        if method == "publish":
            self.steps += records
            return encode([("done",)] * len(records))
        answer = []
        for number, (place, there) in enumerate(records[1:]):
            files = self.there if there == PAIR.target and place != PAIR.source else []
            answer += [("extra" if it[0] == COPIED else "foreign", number, *it) for it in files]
            answer.append(("pair", number, str(place != PAIR.source or self.source != "").lower(), self.source, 0))
        return encode(answer)


def rewriting(workers):
    return Reencoder(Copier(workers, CopySettings(settle_seconds=0)), workers, 0)


def test_a_second_run_writes_nothing_and_ends_what_a_killed_one_left():
    workers = Workers("f1", [*written(job()), ("000000_0", 1)])
    done = rewriting(workers).copy([PAIR])
    assert (done.files, done.same, done.removed) == (0, 2, 1)
    assert workers.steps == [
        ["delete", "file:/there/t/000000_0", "file:/there/t"],
        ["forget", "000000_0", "file:/there/t/.pysync-copied", "file:/there/t"],
    ]


def test_a_directory_that_the_source_has_not_is_told_and_nothing_is_taken_away():
    workers = Workers("", written(job()))
    assert rewriting(workers).copy([PAIR]).missing == (PAIR,)
    assert workers.steps == []


def test_a_copier_refuses_files_that_are_written_anew():
    copier = Copier(Workers("f1", []), CopySettings())
    for ask in (copier.survey, copier.copy):
        with pytest.raises(Rejected, match="cannot be compared byte for byte"):
            ask([PAIR])


# --- beside it


class Renamed(FakeTarget):
    def table(self, name):  # noqa: ARG002
        found = table("d", "t", location="file:/there/t", parameters=Mark("here", 1, 3, 100).parameters())
        return found if self.there else None

    there = True


class Noting:
    def __init__(self):
        self.asked = []

    def copy(self, pairs, *, removed, elsewhere):  # noqa: ARG002
        self.asked.extend(pairs)


def test_how_files_are_written_anew_goes_to_who_copies_with_where_they_are():
    copier, definition = Noting(), made(location="file:/there/t")
    sources, mark = {"file:/there/t": SourceFiles("file:/here/t", FORM, removes_extras=True)}, Mark("here", 1, 7, 100)
    operation = PutTable(table=TableName("d", "t"), definition=definition, sources=sources, mark=mark)
    FilesFirst(copier, configured(), VersionsInMemory()).bring(Renamed(), operation, lambda _: None, lambda _: None)
    assert copier.asked == [PAIR]


@pytest.mark.parametrize("there", [True, False])
def test_a_renamed_tables_partitions_are_taken_from_where_the_target_has_them(there):
    copier = Noting()
    definition = made(keys=[("k", "string")], location="file:/there/new")
    sources = {"file:/there/new": SourceFiles("file:/here/new", FORM, removes_extras=True)}
    target = Renamed()
    target.there = there
    mark = Mark("here", 1, 7, 100)
    operation = RenameTable(table=TableName("d", "t"), definition=definition, sources=sources, mark=mark)
    FilesFirst(copier, configured(), VersionsInMemory()).bring(target, operation, lambda _: None, lambda _: None)
    assert copier.asked == ([Pair("file:/there/t", "file:/there/new")] if there else [])


def test_files_of_a_dump_are_not_loaded_where_they_would_be_written_anew(tmp_path):
    copies = Copies([configured()], tmp_path, out_of=lambda copier: copier)
    with pytest.raises(UsageError, match="re-encodes files"):
        copies.opener(configured(), FakeTarget, VersionsInMemory())


def test_a_frame_that_is_not_plain_lets_nothing_be_written_anew():
    assert form_of(made(ORC).sd, {}, Frame(plain=False), "parquet") is None
