"""Dumps: what is written comes back, nothing damaged is read, and a run goes on where one was killed."""

from __future__ import annotations

import io
import os
import re
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import HealthCheck, given
from hypothesis import settings as bounds
from hypothesis import strategies as some
from thrift.transport.TTransport import TMemoryBuffer

from pysync.base.errors import PysyncError, UsageError
from pysync.dump import pieces as pieces_of
from pysync.dump.index import open_dump
from pysync.dump.manifest import DumpCounts, Piece, Within, read_manifest, scope_of
from pysync.dump.pieces import MANIFEST, UNFINISHED, opened
from pysync.dump.read import DumpReader
from pysync.dump.record import HEAD, DumpDamaged, DumpRecord, Reply, What, framed, records
from pysync.dump.replies import ReplyRecorder, answer
from pysync.dump.taken import Taken
from pysync.dump.write import DumpSelection, changes_since, newest, newest_within, touched_tables
from pysync.jobs import dumping
from pysync.jobs.dumping import DumpRequest
from pysync.jobs.load_guard import _since_by_notes, refuse_unfit, since_by_queue
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreUnavailable
from pysync.model import idl
from pysync.model.names import TableName
from pysync.model.wire import encode
from pysync.queue import note_of
from pysync.resync.refreshes import Refreshes
from pysync.resync.wanted import EVERYTHING, RefreshScope, everything
from tests.support.dumped import ASKED, Source, filled, write
from tests.support.notifications import row, served

# --- what is written comes back

names = some.text(min_size=1, max_size=5)


@given(some.sampled_from(What), names, names, some.lists(names), some.lists(some.tuples(names, some.binary())))
def test_records_come_back(what, database, table, listed, replies) -> None:
    record = DumpRecord(what, database, table, tuple(listed), tuple(Reply(*it) for it in replies))
    data = HEAD + framed(record) + framed(DumpRecord(What.END))
    assert [found for _, found in records(data)] == [record, DumpRecord(What.END)]


@given(some.data())
def test_bytes_that_are_no_records_are_refused_and_nothing_else(data) -> None:
    whole = HEAD + framed(DumpRecord(What.TABLE, "db", "t", replies=(Reply("get_table_req", b"abc"),))) * 2
    at = data.draw(some.integers(0, len(whole) - 1))
    changed = whole[:at] + data.draw(some.binary(max_size=3)) + whole[at + 1 :]
    for damaged in (changed, whole[:at]):
        with suppress(DumpDamaged):
            assert all(isinstance(record, DumpRecord) for _, record in records(damaged))


days = some.lists(some.text("abc/ =%é", min_size=1, max_size=4), unique=True, max_size=7)


@bounds(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some.dictionaries(some.sampled_from(["db.a", "db.b", "e.a", "f.long_name"]), days), some.integers(1, 3000))
def test_what_is_read_of_a_dump_is_what_the_source_had(tmp_path_factory, monkeypatch, tables, size) -> None:
    monkeypatch.setattr(pieces_of, "PIECE_BYTES", size)
    monkeypatch.setattr(pieces_of.os, "fsync", lambda _: None)
    monkeypatch.setattr("pysync.dump.write.PARTITIONS_PER_CALL", 3)
    source = Source()
    for name, values in tables.items():
        source.add(name, *values)
    directory = tmp_path_factory.mktemp("dump")
    manifest = write(directory / "it", source)
    assert manifest.counts == DumpCounts(
        databases=len(source.bases), tables=len(tables), partitions=sum(map(len, tables.values()))
    )
    with DumpReader(open_dump(directory / "it")) as reader:
        assert list(everything(reader, int)) == list(everything(source, int))
        for database in source.databases():
            assert reader.database(database) == source.database(database)
            assert reader.tables(database) == source.tables(database)
        for name in source.found:
            wanted = source.partition_names(name.database, name.table)
            assert reader.table(name.database, name.table) == source.found[name]
            assert reader.partition_names(name.database, name.table) == wanted
            for some_names in (wanted[:3], wanted[1:5], []):
                its = reader.partitions_by_name(name.database, name.table, some_names)
                assert its == source.partitions_by_name(name.database, name.table, some_names)


def test_functions_and_constraints_come_too(tmp_path: Path) -> None:
    source = filled()
    key = idl.SQLUniqueConstraint(table_db="db", table_name="plain", column_name="id", key_seq=1, uk_name="uk")
    result = idl.struct("r", idl.part(0, "success", idl.struct("a", idl.parts(1, "c", idl.SQLUniqueConstraint))))
    answered = idl.struct("a", idl.parts(1, "c", idl.SQLUniqueConstraint))(c=[key])

    def constraints(of: Any) -> dict[Any, list[Any]]:
        if of.tableName != "plain":
            return {}
        source.kept.append(Reply("get_unique_constraints", encode(result(success=answered))))
        return {idl.SQLUniqueConstraint: [key]}

    source.constraints = constraints
    assert write(tmp_path / "it", source).counts.constraints == 1
    with DumpReader(open_dump(tmp_path / "it")) as reader:
        assert reader.functions("db") == source.made
        assert reader.constraints(reader.table("db", "plain")) == {idl.SQLUniqueConstraint: [key]}
        assert reader.constraints(reader.table("other", "t")) == {}


def test_fields_that_this_pysync_does_not_know_are_kept() -> None:
    """The bytes of an answer of a newer Hive, as they came."""
    text = (99, 11, "news", "UTF8", None)
    newer = type("Database", (hive.Database,), {"thrift_spec": (*hive.Database.thrift_spec, text)})
    item = newer(name="db")
    item.news = "of a later version"
    result = idl.struct("get_database_result", idl.part(0, "success", newer))
    data = encode(result(success=item))
    name = b"get_database"
    sent = b"\x80\x01\x00\x02" + len(name).to_bytes(4, "big") + name + b"\x00\x00\x00\x00" + data
    recorder = ReplyRecorder("thrift://127.0.0.1:1")
    client = SimpleNamespace(_iprot=SimpleNamespace(trans=TMemoryBuffer(sent)))
    found = recorder._taped(lambda client: client.recv_get_database(), client)
    (reply,) = recorder.taken()
    assert (found.name, reply) == ("db", Reply("get_database", data))
    assert b"of a later version" in reply.data
    assert answer(reply).name == "db"


def test_an_answer_to_a_call_that_nobody_knows_is_refused() -> None:
    with pytest.raises(DumpDamaged, match="shutdown"):
        answer(Reply("shutdown", b"\0"))


# --- what is dumped of a scope


def test_of_what_is_out_of_scope_there_are_the_names_and_no_more(tmp_path: Path) -> None:
    source = filled()
    scope = RefreshScope(lambda name: name == "db", lambda name: str(name) == "db.days")
    write(tmp_path / "it", source, DumpSelection(scope))
    assert source.read == ["db.days"] * 2
    dump = open_dump(tmp_path / "it")
    with DumpReader(dump) as reader:
        assert reader.databases() == ["db", "default", "other"]
        assert (reader.tables("db"), reader.tables("other")) == (["days", "plain"], ["t"])
        assert [reader.database(name) is None for name in reader.databases()] == [False, True, True]
        assert reader.table("db", "plain") is None
        assert [it.functionName for it in reader.functions("other")] == ["f"], "of a database without its own, names"
    assert list(dump.tables()) == [TableName("db", "days")]


def test_scopes_are_those_of_any_target() -> None:
    scope = scope_of([Within(policy="a.'t.*'.'tmp'"), Within(include=("b",), exclude=("b.x",))])
    asked = ["a.t1", "a.tmp", "a.x", "b.y", "b.x", "c.t1"]
    assert [name for name in asked if scope.table(TableName.parse(name))] == ["a.t1", "b.y"]
    with pytest.raises(UsageError, match=r"cannot read the policy 'a\.b\.c': column 4: found '\.c'"):
        scope_of([Within(policy="a.b.c")])


@pytest.mark.parametrize(
    ("policy", "place"),
    [
        ("", "column 1: found the end"),
        ("sales.", "column 7: found the end"),
        (" sales x", "column 8: found 'x'"),
        ("sales.['a' x]", "column 12: found 'x]'"),
        ("sales.['a'", "column 11: found the end"),
        ("sales.['a'].b", "column 13: found 'b'"),
        ("sales.['a'].['b', c]", "column 19: found 'c]'"),
        ("['a']", "column 1: found \"['a']\""),
    ],
)
def test_a_policy_that_cannot_be_read_names_the_place(policy: str, place: str) -> None:
    with pytest.raises(UsageError, match=re.escape(place)):
        scope_of([Within(policy=policy)])


def test_what_vanishes_or_becomes_another_on_the_way(tmp_path: Path) -> None:
    source = filled()
    source.hooks["db.plain"] = lambda: source.found.pop(TableName("db", "plain"))
    first = source.partition_names("db", "days")

    times = count(200)

    def another() -> None:
        source.add("db.days", "9", created=next(times))

    source.partition_names = lambda *_: (source.hooks.update({"db.days": another}), first)[1]
    write(tmp_path / "it", source)
    with DumpReader(open_dump(tmp_path / "it")) as reader:
        assert reader.tables("db") == ["days", "plain"]
        assert reader.table("db", "plain") is None
        assert reader.table("db", "days") is None, "it became another each time"
    source = filled()
    times = count(200)
    source.hooks["db.days"] = lambda: source.hooks.update({"db.days": another})
    write(tmp_path / "two", source)
    with DumpReader(open_dump(tmp_path / "two")) as reader:
        assert reader.table("db", "days").createTime == 200
        assert reader.partition_names("db", "days") == ["day=9"]


# --- damage


def test_every_byte_of_a_manifest_counts(tmp_path: Path) -> None:
    data = write(tmp_path / "it", filled()).to_bytes()
    for at in range(len(data)):
        with pytest.raises(DumpDamaged):
            read_manifest(io.BytesIO(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]))


def test_no_manifest_is_read_to_an_end_that_is_too_far(tmp_path: Path) -> None:
    with (tmp_path / MANIFEST).open("wb") as file:
        file.truncate(20 * 1024**3)  # of which the file system keeps nothing
    with pytest.raises(DumpDamaged, match=r"manifest\.json is damaged: it has more than 64 MiB"):
        open_dump(tmp_path)


def test_no_file_is_read_that_is_larger_than_any_that_is_written(tmp_path: Path) -> None:
    manifest = write(tmp_path / "it", filled())
    piece = manifest.pieces[0].model_copy(update={"bytes": 20 * 1024**3})
    os.truncate(tmp_path / "it" / piece.name, piece.bytes)
    (tmp_path / "it" / MANIFEST).write_bytes(manifest.model_copy(update={"pieces": (piece,)}).to_bytes())
    with pytest.raises(DumpDamaged, match=rf"{piece.name} is larger than any that pysync writes: 20 GiB"):
        open_dump(tmp_path / "it")


def test_a_table_that_no_dump_can_hold_is_refused_while_it_is_dumped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces_of, "MOST_BYTES", 100)
    with pytest.raises(PysyncError, match="the answers about one table are too large for a dump"):
        write(tmp_path / "it", filled())


def test_a_file_that_is_damaged_or_not_there_is_named(tmp_path: Path) -> None:
    good = tmp_path / "good"
    write(good, filled())
    for path in sorted(good.iterdir()):
        data = path.read_bytes()
        flipped = (data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in range(0, len(data), 31))
        for damaged in (*flipped, data[:-1], b"", data + b"\n"):
            path.write_bytes(damaged)
            with pytest.raises(PysyncError, match=path.name) as refused:
                open_dump(good)
            assert "\n" not in str(refused.value)
        path.unlink()
        with pytest.raises(PysyncError, match=path.name):
            open_dump(good)
        path.write_bytes(data)
    open_dump(good)


def test_a_dump_of_a_newer_version_is_refused_as_such() -> None:
    data = ASKED.to_bytes().replace(b'"version": 1', b'"version": 4')
    with pytest.raises(DumpDamaged, match=r"version is 4.*upgrade"):
        read_manifest(io.BytesIO(data))


def test_a_file_that_changes_after_the_check_is_waited_for(tmp_path: Path) -> None:
    """MetastoreUnavailable, for which a target waits: nothing is parked for it."""
    write(tmp_path / "it", filled())
    reader = DumpReader(open_dump(tmp_path / "it"))
    path = next((tmp_path / "it").glob("*.records"))
    data = path.read_bytes()
    path.write_bytes(data[:40])
    with pytest.raises(MetastoreUnavailable, match="has changed"):
        reader.table("other", "t")
    path.write_bytes(data)
    assert reader.table("other", "t") is not None
    reader.close()


# --- going on


def stopped_after(directory: Path, source: Source, tables: int) -> None:
    """A run that dies once so many tables were asked for."""

    def fails() -> None:
        raise MetastoreUnavailable("away")

    for name in ["db.days", "db.plain", "other.t"][tables:]:
        source.hooks[name] = fails
    with pytest.raises(MetastoreUnavailable):
        write(directory, source)
    source.hooks.clear()


@pytest.mark.parametrize("tables", [0, 1, 2])
def test_a_second_run_goes_on_where_the_first_ended(tmp_path: Path, monkeypatch, tables: int) -> None:
    monkeypatch.setattr(pieces_of, "PIECE_BYTES", 1)
    source = filled()
    stopped_after(tmp_path / "it", source, tables)
    with pytest.raises(PysyncError, match=r"no finished dump.*to continue"):
        open_dump(tmp_path / "it")
    source.read.clear()
    manifest = write(tmp_path / "it", source, id="a2", upto=9)
    assert sorted(set(source.read)) == ["db.days", "db.plain", "other.t"][tables:]
    assert (manifest.id, manifest.upto) == ("a1", 7), "it is as old as its beginning"
    write(tmp_path / "whole", source)
    assert (tmp_path / "it" / UNFINISHED).exists() is False
    with DumpReader(open_dump(tmp_path / "it")) as one, DumpReader(open_dump(tmp_path / "whole")) as other:
        assert list(everything(one, int)) == list(everything(other, int))
        assert one.partitions_by_name("db", "days", ["day=1"]) == other.partitions_by_name("db", "days", ["day=1"])
    assert manifest.counts == read_manifest(io.BytesIO((tmp_path / "whole" / MANIFEST).read_bytes())).counts


def test_of_a_run_that_was_damaged_meanwhile_the_good_files_before_it_are_kept(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(pieces_of, "PIECE_BYTES", 1)
    source = filled()
    stopped_after(tmp_path / "it", source, 2)
    files = sorted((tmp_path / "it").glob("*.records"))
    last = next(path for path in files if b"plain" in path.read_bytes() and b"get_table_req" in path.read_bytes())
    last.write_bytes(b"garbage")
    source.read.clear()
    write(tmp_path / "it", source)
    assert sorted(set(source.read)) == ["db.plain", "other.t"]
    assert len(list(open_dump(tmp_path / "it").tables())) == 3


def test_a_directory_with_something_else_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path / "done", filled())
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "mine").write_text("x")
    stopped_after(tmp_path / "begun", filled(), 1)
    for name, words, changes in [
        ("done", "holds a finished dump", {}),
        ("foreign", "not a dump", {}),
        ("begun", "other options", {"within": (Within(policy="db"),)}),
    ]:
        before = sorted((tmp_path / name).iterdir())
        with pytest.raises(UsageError, match=words):
            write(tmp_path / name, filled(), **changes)
        assert [it for it in sorted((tmp_path / name).iterdir()) if it.name != "lock"] == [
            it for it in before if it.name != "lock"
        ]
    with (
        opened(tmp_path / "begun", ASKED),
        pytest.raises(PysyncError, match="another pysync dump"),
        opened(tmp_path / "begun", ASKED),
    ):
        pass


def test_a_file_is_of_bounded_size(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(pieces_of, "PIECE_BYTES", 2000)
    source = Source(*(f"db.t{number:03}" for number in range(50)))
    manifest = write(tmp_path / "it", source)
    assert len(manifest.pieces) > 5
    assert all(piece.bytes < 4000 for piece in manifest.pieces)
    assert [piece.name for piece in manifest.pieces] == sorted(piece.name for piece in manifest.pieces)


# --- the notification log


def test_how_far_a_dump_of_changes_goes() -> None:
    rows = [row(1), row(2), row(3), row(3, message="two of one id"), row(4), row(5)]
    with served(rows) as log, Metastore(log.uri) as source:
        found = {
            "all": newest_within(source, EVERYTHING, 0, None, None),
            "to": newest_within(source, EVERYTHING, 1, 3, None),
            "beyond": newest_within(source, EVERYTHING, 1, 99, None),
            "one": newest_within(source, EVERYTHING, 1, None, 1),
            "limit": newest_within(source, EVERYTHING, 1, None, 2),
            "many": newest_within(source, EVERYTHING, 1, None, 50),
            "both": newest_within(source, EVERYTHING, 1, 2, 3),
        }
        assert found == {"all": 5, "to": 3, "beyond": 5, "one": 2, "limit": 3, "many": 5, "both": 2}
        with pytest.raises(PysyncError, match=r"does not hold all notifications after 9.*--from"):
            newest_within(source, EVERYTHING, 9, None, None)
        log.log.rows = log.log.rows[2:]
        with pytest.raises(PysyncError, match="does not hold all notifications after 1"):
            newest_within(source, EVERYTHING, 1, None, None)


def test_changes_that_came_while_a_dump_was_written_are_counted_within_its_scope() -> None:
    rows = [row(1), row(2), row(3), row(4), replace(row(4), database="other", table="x")]
    shop = scope_of([Within(include=("shop.*",))])
    with served(rows) as log, Metastore(log.uri) as source:
        found = [changes_since(source, EVERYTHING, at) for at in (4, 3, 1)]
        assert (found, changes_since(source, shop, 1)) == ([0, 2, 4], 0)
        log.log.rows = log.log.rows[2:]
        assert changes_since(source, EVERYTHING, 1) is None, "the log does not reach back that far"


def test_a_source_without_a_log_has_no_newest_notification() -> None:
    with served([]) as log, Metastore(log.uri) as source:
        assert newest(source) is None
        with pytest.raises(PysyncError, match="is empty"):
            newest_within(source, EVERYTHING, 0, None, None)
        log.refuse = hive.MetaException("not for you")
        assert newest(source) is None


def test_touched_tables_are_those_up_to_the_last_and_some_before_the_first() -> None:
    rows = [replace(row(at), database="db", table=f"t{at}", kind="CREATE_TABLE") for at in range(1, 301)]
    with served(rows) as log, Metastore(log.uri) as source:
        found = {int(name.table[1:]) for name in touched_tables(source, 200, 250)}
    assert found == set(range(101, 251))


@pytest.mark.parametrize("wanted", [DumpRequest(to=3), DumpRequest(limit=3), DumpRequest(since=3, to=2)])
def test_options_that_make_no_sense_are_refused(wanted: DumpRequest) -> None:
    with pytest.raises(UsageError, match="--from"):
        wanted.check()


# --- whether a dump fits what a target has


def unfit(queue: Any, **changes: Any) -> str:
    manifest = ASKED.model_copy(update=changes)
    if reason := _since_by_notes(queue, manifest, "dr"):
        return reason
    try:
        refuse_unfit(queue, manifest, "dr")
    except PysyncError as error:
        return str(error)
    return ""


def test_a_dump_must_follow_what_a_target_has(reopen) -> None:
    queue = reopen()
    assert unfit(queue) == ""
    assert "has loaded no dump" in unfit(queue, since=3)
    queue.notes.put(note_of("dr", "load"), Taken(id="x", upto=7, began_at=100.0, within=(Within(),)).model_dump_json())
    assert [unfit(queue, upto=upto) for upto in (7, 8, None)] == ["", "", ""]
    assert "ends at notification 6, not 7" in unfit(queue, upto=6)
    assert "it began before the dump" in unfit(queue, began_at=99.0)
    assert "it began before the dump" in unfit(queue, began_at=99.0, upto=None)
    assert unfit(queue, began_at=99.0, upto=8) == "", "the log's own order counts"
    assert [unfit(queue, since=since, upto=9) for since in (0, 7)] == ["", ""]
    assert "begins after notification 8" in unfit(queue, since=8, upto=9)
    assert "another scope" in unfit(queue, since=7, upto=9, within=(Within(policy="db"),))
    assert unfit(queue, upto=9, within=(Within(policy="db"),)) == "", "one of everything may have any scope"
    queue.notes.put(
        note_of("dr", "load:begun"), Taken(id="y", upto=11, began_at=102.0, within=(Within(),)).model_dump_json()
    )
    assert "ends at notification 9, not 11" in unfit(queue, since=7, upto=9), "the target may have some of that"
    assert [unfit(queue, since=7, upto=12), unfit(queue, since=8, upto=12)[:16]] == ["", "the dump begins "]
    queue.notes.put(note_of("dr", "load:begun"), "of a newer pysync")
    queue.notes.put("notification-log:onprem", '{"last": 8, "seen": []}')
    assert "pysync has read up to notification 8" in unfit(queue)


def test_a_queue_knows_what_came_in_since_a_dump_was_begun(reopen) -> None:
    """Changes that a listener told of, and comparisons with the living source; not what another load asked for."""
    queue = reopen()  # its clock stands at 1000 s
    queue.intake.append("jvm", 1, "another", b"x")
    queue.intake.append("sidecar", 1, "onprem", b"x")
    queue.intake.append("notification-log:onprem", 1, "onprem", b"x")
    since = partial(since_by_queue, queue, ASKED.model_copy(update={"began_at": 999.0}))
    assert since("dr") is None
    queue.intake.append("jvm2", 1, "onprem", b"x")
    assert since("dr") is None, "a target that is new has none of it"
    queue.target("dr").register()
    assert "the last change of the source arrived at" in since("dr")
    later = ASKED.model_copy(update={"began_at": 1001.0})
    assert since_by_queue(queue, later, "dr") is None
    Refreshes(queue, "onprem").ask([{"database": "db"}], live_source=False)
    assert since_by_queue(queue, later, "dr") is None
    Refreshes(queue, "onprem").ask([{"database": "db"}])
    assert "compared with the source" in since_by_queue(queue, later, "dr")


def test_a_piece_s_name_cannot_lead_out_of_the_directory() -> None:
    with pytest.raises(ValueError, match="pattern"):
        Piece(name="../../etc-000001.x", bytes=0, sha256="0" * 64)


def test_a_source_without_an_address_is_not_dumped(tmp_path: Path) -> None:
    config = SimpleNamespace(source_access=lambda: None, targets=())
    with pytest.raises(UsageError, match="address"):
        dumping.dump_once(config, tmp_path / "it", DumpRequest(), lambda *_: None)
    assert not (tmp_path / "it").exists()
