"""Journal: records are written in their order, found by their names, and dropped where nobody can write them."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from pysync.base.errors import PysyncError
from pysync.journal import Journal, Query, Reader, Record, writer
from pysync.journal.file import VERSION
from pysync.model.difference import Difference

MIB = 1024 * 1024
EVERYTHING = Query()


def record(name: str = "db.t", **values: Any) -> Record:
    known: dict[str, Any] = {"at": 1.0, "operation": "PutTable", "outcome": "applied", "target": "dr", "object": name}
    return Record(**{**known, **values})


def opened(file: Path, **values: Any) -> Journal:
    return Journal(file, **{"keep": 1e12, "max_bytes": 100 * MIB, **values})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


@pytest.fixture
def journal(file: Path) -> Iterator[Journal]:
    with closing(opened(file)) as journal:
        yield journal


def write(journal: Journal, *records: Record) -> None:
    for each in records:
        journal.append(each)
    journal.write()


def objects(file: Path, limit: int = 1000, **query: Any) -> list[str]:
    return [it.object for it in Reader(file).records(Query(**query), limit)]


def test_a_record_comes_back_as_it_was(journal: Journal, file: Path) -> None:
    whole = record(
        "dr.new",
        source_object="db.new",
        former="dr.old",
        source_former="db.old",
        operation="RenameTable",
        partitions=("day=1", "day=2"),
        partition_count=130,
        first_position=5,
        last_position=9,
        events=4,
        committed_at=1.5,
        captured_at=1.75,
        attempts=3,
        milliseconds=12.5,
        reason="why\nnot",
        differences=(Difference("sd.location", "a", None),),
        who="uid 0 (command line)",
    )
    write(journal, whole, record())
    second, first = Reader(file).records(EVERYTHING, 10)
    assert (first.id, second.id) == (1, 2)
    for name in Record.__dataclass_fields__:
        assert name == "id" or getattr(first, name) == getattr(whole, name)
    assert first.as_json()["differences"] == [{"field": "sd.location", "old": "a", "new": None}]
    assert second.as_json()["source_object"] is None


def test_records_are_found_by_every_name_that_they_have(journal: Journal, file: Path) -> None:
    renamed = record("dr.new", source_object="db.new", former="dr.old", source_former="db.old", operation="RenameTable")
    write(journal, record("other.t"), renamed, record("db.t"))
    for name in ("dr.new", "db.new", "dr.old", "db.old", "dr"):
        assert objects(file, names=[name]) == ["dr.new"]
    assert objects(file, names=["db"]) == ["db.t", "dr.new"]
    assert objects(file, names=["db", "dr", "db.t"]) == ["db.t", "dr.new"], "each comes once"
    assert objects(file, names=["t"]) == []
    assert [it.object for it in Reader(file).renames("db.old")] == ["dr.new"]
    assert Reader(file).renames("db.t") == []


def test_a_file_that_is_not_there_has_no_records(file: Path) -> None:
    assert Reader(file).records(EVERYTHING, 10) == []
    assert Reader(file).renames("db.t") == []


def test_nobody_else_may_read_it(journal: Journal, file: Path) -> None:
    write(journal, record())
    assert {stat.S_IMODE(it.stat().st_mode) for it in file.parent.iterdir()} == {0o600}
    assert len(list(file.parent.iterdir())) == 3, "the log and its index have that mode, too"


def test_a_reader_sees_what_was_written_while_the_journal_is_open_and_after(file: Path) -> None:
    journal = opened(file)
    write(journal, record("a.a"))
    assert objects(file) == ["a.a"]
    journal.append(record("b.b"))
    journal.close()
    assert objects(file) == ["b.b", "a.a"], "the end writes what waits"
    assert {stat.S_IMODE(it.stat().st_mode) for it in file.parent.iterdir()} == {0o600}, "whatever a reader leaves"


def test_a_file_can_be_read_at_every_moment_of_its_beginning(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: at one moment it had a version and no curves, and `history` failed."""
    looks: list[int] = []

    class Observed(sqlite3.Connection):
        def execute(self, *arguments: Any) -> sqlite3.Cursor:
            with pytest.MonkeyPatch.context() as unobserved:
                unobserved.setattr(sqlite3, "connect", connect)
                reader = Reader(file)
                looks.append(len(reader.records(EVERYTHING, 1)))
                assert (reader.points("dr", 60, 0), reader.slowest("dr")) == ([], [])
            return super().execute(*arguments)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", partial(connect, factory=Observed))
    with closing(opened(file)) as journal:
        write(journal, record())
    assert looks.index(1) > 10, "that many statements begin the file"


def test_ids_go_on_after_a_restart(file: Path) -> None:
    for name in ("a.a", "b.b"):
        with closing(opened(file)) as journal:
            write(journal, record(name))
    assert [it.id for it in Reader(file).records(EVERYTHING, 10)] == [2, 1]


def test_a_journal_of_many_threads_has_every_record_once(journal: Journal, file: Path) -> None:
    def append(lane: int) -> None:
        for number in range(200):
            journal.append(record(f"db.t{lane}_{number}"))

    threads = [threading.Thread(target=append, args=(lane,)) for lane in range(4)]
    for thread in threads:
        thread.start()
    journal.write()
    for thread in threads:
        thread.join()
    journal.write()
    assert sorted(objects(file)) == sorted(f"db.t{lane}_{number}" for lane in range(4) for number in range(200))


# --- paging

NAMES = st.sampled_from(["a.x", "a.y", "b.x", "c.z"])
RECORDS = st.lists(
    st.builds(
        record,
        NAMES,
        target=st.sampled_from(["dr", "lake"]),
        outcome=st.sampled_from(["applied", "unchanged", "parked", "foreign"]),
        source_object=st.one_of(st.just(""), NAMES),
        former=st.one_of(st.just(""), NAMES),
    ),
    max_size=40,
)
QUERIES = st.builds(
    Query,
    target=st.sampled_from([None, "dr", "lake", "gone"]),
    outcome=st.sampled_from([None, "applied", "parked", "stale"]),
    notable=st.booleans(),
    names=st.lists(st.sampled_from(["a", "b", "a.x", "c.z", "no.such"]), max_size=3),
    since=st.one_of(st.none(), st.integers(0, 45).map(float)),
    until=st.one_of(st.none(), st.integers(0, 45).map(float)),
    before=st.one_of(st.none(), st.integers(0, 45)),
    after=st.one_of(st.none(), st.integers(0, 45)),
)


def wanted(it: Record, query: Query) -> bool:
    return (
        query.target in {None, it.target}
        and query.outcome in {None, it.outcome}
        and not (query.notable and it.outcome in {"applied", "unchanged"})
        and (not query.names or bool(it.names & set(query.names)))
        and (query.since is None or it.at >= query.since)
        and (query.until is None or it.at < query.until)
        and (query.before is None or it.id < query.before)
        and (query.after is None or it.id > query.after)
    )


@given(records=RECORDS, query=QUERIES, size=st.integers(1, 7))
def test_pages_hold_what_was_asked_for_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record], query: Query, size: int
) -> None:
    file = tmp_path_factory.mktemp("journal") / "journal.db"
    with closing(opened(file)) as journal:
        for number, each in enumerate(records):
            journal.append(record(each.object, **{**_values(each), "at": float(number)}))
        journal.write()
    reader = Reader(file)
    every = reader.records(EVERYTHING, 1000)
    assert [it.id for it in every] == list(range(len(records), 0, -1))
    found: list[Record] = []
    asked = query
    while page := reader.records(asked, size):
        found += page
        asked = Query(**{**_values(query), "before": page[-1].id})
    assert found == [it for it in every if wanted(it, query)]


def _values(it: Any) -> dict[str, Any]:
    return {name: getattr(it, name) for name in it.__dataclass_fields__ if name != "id"}


# --- how long records are kept


def test_records_that_are_too_old_go_and_the_newest_stays(file: Path) -> None:
    now = [100.0]
    with closing(opened(file, keep=10.0, clock=lambda: now[0])) as journal:
        write(journal, *(record(f"db.t{at}", at=float(at)) for at in range(85, 100)))
        assert objects(file) == [f"db.t{at}" for at in range(99, 89, -1)]
        now[0] = 1000.0
        write(journal)
        assert objects(file) == ["db.t99"], "or its id would be used again"
        assert objects(file, names=["db.t90"]) == []
        write(journal, record("db.next", at=1000.0))
        assert [it.id for it in Reader(file).records(EVERYTHING, 10)] == [16]
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*) FROM names").fetchone() == (2,), "nothing is left in the index"


def test_a_journal_stays_within_its_size(file: Path) -> None:
    with closing(opened(file, max_bytes=MIB)) as journal:
        for part in range(20):
            write(journal, *(record(f"db.t{part}_{number}", reason="x" * 500) for number in range(500)))
        for _ in range(20):
            journal.write()
        kept = Reader(file).records(EVERYTHING, 10_000)
    assert kept[0].object == "db.t19_499"
    assert 500 < len(kept) < 3000
    assert [it.id for it in kept] == list(range(kept[0].id, kept[-1].id - 1, -1)), "the oldest went"
    assert file.stat().st_size < 8 * MIB


# --- what goes wrong


def test_a_record_waits_until_it_is_on_disk(file: Path) -> None:
    waiting: list[int] = []

    def is_tight() -> bool:  # asked while records are being written
        waiting.append(journal.status()["waiting"])
        return False

    with closing(opened(file, is_tight=is_tight)) as journal:
        journal.append(record("db.t"))
        journal.write()
        assert waiting[0] == 1
        assert journal.status()["waiting"] == 0


def test_nothing_waits_for_a_disk_that_is_full_and_the_oldest_records_go(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_MOST_WAITING", 10)
    tight = [True]
    with closing(opened(file, is_tight=lambda: tight[0])) as journal:
        for number in range(25):
            journal.append(record(f"db.t{number}"))
            if number % 7 == 0:
                with pytest.raises(PysyncError, match="nearly full"):
                    journal.write()
        assert journal.status() == {"file": str(file), "waiting": 10, "dropped": 15}
        assert not file.exists()
        tight[0] = False
        with capture_logs() as logs:
            journal.write()
            journal.write()
    assert [it for it in logs if it["event"] == "journal_incomplete"] == [
        {"event": "journal_incomplete", "dropped": 15, "log_level": "warning"}
    ]
    assert objects(file) == [f"db.t{number}" for number in range(24, 14, -1)]


GARBAGE = {
    "no database": b"this is no database " * 100,
    "an empty header": bytes(4096),
    "half a header": b"SQLite format 3\0" + bytes(20),
}


@pytest.mark.parametrize("what", GARBAGE)
def test_a_damaged_file_is_set_aside_and_a_new_one_begun(file: Path, what: str) -> None:
    for _ in range(2):  # a second one takes the place of the first
        file.write_bytes(GARBAGE[what])
        with closing(opened(file)) as journal:
            journal.append(record())
            with capture_logs() as logs, pytest.raises(PysyncError):
                journal.write()
            assert [it["event"] for it in logs] == ["journal_damaged"]
            journal.write()
        assert objects(file) == ["db.t"]
        aside = file.with_name("journal.db.damaged")
        assert aside.read_bytes() == GARBAGE[what]
        assert len(list(file.parent.glob("*damaged*"))) == 1


def test_a_file_that_is_damaged_while_it_is_open_is_set_aside(journal: Journal, file: Path) -> None:
    write(journal, *(record(f"db.t{number}") for number in range(2000)))
    journal._close()
    content = bytearray(file.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    file.write_bytes(content)
    for _ in range(3):
        try:
            write(journal, record("db.new"))
        except PysyncError:
            continue
    assert "db.new" in objects(file)


@pytest.mark.parametrize(
    "statement", [f"PRAGMA user_version = {VERSION + 1}", "DROP TABLE names", "ALTER TABLE records RENAME who TO whom"]
)
def test_a_file_of_another_release_is_set_aside(file: Path, statement: str) -> None:
    with closing(opened(file)) as journal:
        write(journal, record("db.old"))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(statement)
    if "names" not in statement:
        with pytest.raises(PysyncError, match="cannot read the journal"):
            objects(file)
    with closing(opened(file)) as journal:
        journal.append(record())
        with pytest.raises(PysyncError):
            journal.write()
        journal.write()
    assert objects(file) == ["db.t"]


def test_a_file_that_is_deleted_while_it_is_open_is_begun_anew(journal: Journal, file: Path) -> None:
    write(journal, record("db.a"))
    for it in file.parent.iterdir():
        it.unlink()
    write(journal, record("db.b"))
    assert objects(file) == ["db.b"]


def test_where_no_file_can_be_the_journal_waits_and_holds_nobody(file: Path) -> None:
    file.mkdir()
    journal = opened(file)
    journal.append(record())
    for _ in range(2):
        with pytest.raises(PysyncError, match="cannot write"):
            journal.write()
    with pytest.raises(PysyncError, match="cannot read the journal"):
        objects(file)
    journal.close()
    file.rmdir()
    with closing(journal):
        journal.write()
    assert objects(file) == ["db.t"], "what waited was kept"


def test_a_file_that_another_process_has_locked_is_waited_for(
    journal: Journal, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_LOCK_SECONDS", 0.01)
    write(journal, record("db.a"))
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        journal._close()
        with pytest.raises(PysyncError, match="locked"):
            write(journal, record("db.b"))
    write(journal)
    assert objects(file) == ["db.b", "db.a"]


def test_odd_names_are_found_as_they_are_written(journal: Journal, file: Path) -> None:
    names = ["db.<script>", "db.'; --", "db.\x1b[31m", "db.\u202eabc", f"db.{'x' * 128}", "db.%", "db.*", "a.b.c"]
    write(journal, *map(record, names))
    assert [objects(file, names=[name]) for name in names] == [[name] for name in names]


def test_a_record_that_cannot_be_kept_is_dropped_and_spoils_no_other(journal: Journal, file: Path) -> None:
    odd = [record("db.odd", first_position=2**70), record("db.odd", reason=b"?"), record("db.odd", at=[1])]
    odd.append(record("db.odd", milliseconds={}))
    write(journal, record("db.a"), *odd, record("db.b"))
    write(journal, record("db.c"))
    assert [it for it in objects(file) if it != "db.odd"] == ["db.c", "db.b", "db.a"]
    assert journal.status()["waiting"] == 0
    assert journal.status()["dropped"] >= 3


def test_a_file_that_cannot_be_set_aside_ends_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> Path:
        raise PermissionError("read-only")

    monkeypatch.setattr("pysync.journal.file.set_aside", refuse)
    file.write_bytes(GARBAGE["no database"])
    journal = opened(file)
    journal.append(record())
    for _ in range(2):
        with pytest.raises(PysyncError, match="cannot write"):
            journal.write()
    journal.close()


def test_records_are_written_once_though_trimming_fails(
    journal: Journal, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr("pysync.journal.file.pages", fail)
        with pytest.raises(PysyncError, match="disk I/O error"):
            write(journal, record("db.a"))
    write(journal, record("db.b"))
    assert objects(file) == ["db.b", "db.a"]


def test_bytes_that_are_no_text_spoil_nothing(journal: Journal, file: Path) -> None:
    write(journal, record("db.a"), record("db.\udcff", reason="\udc80", partitions=("\udcff",)), record("db.c"))
    assert objects(file) == ["db.c", "db.\\udcff", "db.a"]
    assert objects(file, names=["db.\\udcff"]) == ["db.\\udcff"]
