"""`pysync dump` and `pysync load` between two real metastores that do not see each other."""

from __future__ import annotations

import json
import shutil
import signal
import uuid
from contextlib import closing
from pathlib import Path

import pytest

from pysync.config import load_config
from pysync.copy.copy_round import RECORD
from pysync.dump.index import open_dump
from pysync.dump.manifest import Within
from pysync.jobs import dumping, oneoff
from pysync.jobs.dumping import DumpRequest, dump_once
from pysync.jobs.loading import load_once
from pysync.metastore.client import Metastore
from pysync.model.names import TableName
from pysync.sidecar.shutdown import Shutdown
from tests.support import partition
from tests.support.dumps import Ends, create, fill
from tests.support.logged import LoggedMetastore
from tests.support.sidecars import assert_one_line

COPY = """\
copy = true
[spark]
settings = { "spark.driver.defaultJavaOptions" = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1" }
"""
PAGES = 520
"""Partitions of one table, that they come in more than one page."""


@pytest.fixture
def ends(tmp_path: Path, metastores) -> Ends:
    return Ends(tmp_path, metastores("source"), metastores("target"))


def test_a_dump_of_a_real_metastore_comes_to_another_name_there(shared_metastore, tmp_path: Path, monkeypatch) -> None:
    """The quick one: source and target are one metastore, only the names differ, and this process does it."""
    monkeypatch.setattr(Shutdown, "on_signals", lambda _: None)
    monkeypatch.setattr(oneoff, "collect_seldom", lambda: None)
    name = f"dump_{uuid.uuid4().hex[:8]}"
    fill(shared_metastore.uri, name, tables=1, large=3, key=False)  # no two of one name in one metastore
    ends = Ends(tmp_path, shared_metastore, shared_metastore)
    ends.write(f'policy = "{name}"\ndatabases = {{ {name} = "{name}_two" }}')
    config = load_config(ends.there)
    dump_once(ends.config, tmp_path / "dump", DumpRequest(), lambda *_: None)
    found = load_once(config, open_dump(tmp_path / "dump"), ["dr"], lambda _: None)
    assert (found.manifest.counts.tables, found.parked) == (3, {"dr": []})
    with closing(Metastore(shared_metastore.uri)) as there:
        assert there.tables(f"{name}_two") == ["large", "plain", "t000"]
        assert [it.functionName for it in there.functions(f"{name}_two")] == ["f"]
        assert there.partition_names(f"{name}_two", "large") == ["day=0", "day=1", "day=2"]
        assert there.database(f"{name}_two").description == "a test's é"
    queue = [path for path in (tmp_path / "queue").iterdir() if path.suffix == ".sock"]
    assert queue == [], "nothing is left running"


def test_dumps_of_what_changed_meanwhile_end_with_one_of_one_moment(shared_metastore, tmp_path: Path) -> None:
    name = f"dump_{uuid.uuid4().hex[:8]}"
    fill(shared_metastore.uri, name, tables=3, large=1, key=False)
    with closing(LoggedMetastore(shared_metastore.uri, 7)) as logged:
        ends = Ends(tmp_path, shared_metastore, shared_metastore)
        ends.write(f'policy = "{name}"')
        ends.here.write_text(ends.here.read_text().replace(str(shared_metastore.uri), str(logged.uri), 1))
        config, touched = load_config(ends.here), {f"{name}.plain"}

        def on_progress(table: str, *_: object) -> None:
            if table in touched:  # it changes while it is dumped the first time
                touched.remove(table)
                logged.touch(*table.split("."))
                logged.touch("out_of_scope", "t")

        first = dump_once(config, tmp_path / "first", DumpRequest(), on_progress)
        assert (first.upto, first.changed, first.counts.tables) == (7, 1, 5)
        second = dump_once(config, tmp_path / "second", DumpRequest(since=first.upto), on_progress)
        assert (second.upto, second.changed, second.counts.tables) == (9, 0, 1)


@pytest.mark.crash
def test_a_target_gets_what_the_source_has_and_loses_what_it_has_not(ends: Ends, tmp_path: Path, monkeypatch) -> None:
    """In one test for the metastores that it takes: the first dump, one of everything later, one of what changed."""
    fill(ends.source.uri, "sales", tables=3, large=PAGES)
    fill(ends.source.uri, "tmp", tables=1, large=1)
    with closing(Metastore(ends.source.uri)) as source, closing(Metastore(ends.target.uri)) as target:
        made = ends.dump(tmp_path / "one")
        assert made["counts"] == {
            "databases": 3, "tables": 8, "partitions": PAGES + 6 + 1 + 2, "functions": 2, "constraints": 2, "files": 0,
            "data_bytes": 0, "missing": 0, "not_taken": 0,
        }  # fmt: skip
        assert made["last_id"] is None, "it has no notification log"
        (loaded,) = ends.load(tmp_path / "one")["targets"]
        assert loaded == {
            "name": "dr",
            "tables": 8,
            "partitions": PAGES + 9,
            "brake": None,
            "parked": [],
            "left_out": 0,
        }
        assert ends.unequal() == []

        create(target, "sales", "theirs", 0)  # of nobody's source: to stay
        for name in ("t000", "plain"):
            source.call(lambda client, it=name: client.drop_table("sales", it, False))
        source.call(lambda client: client.drop_partition("sales", "large", ["7"], False))
        source.call(lambda client: client.drop_database("tmp", True, True))
        create(source, "sales", "another", 3)
        ends.dump(tmp_path / "two")
        ends.load(tmp_path / "two")
        assert {item.name for item in ends.unequal()} <= {"sales.theirs"}
        assert "theirs" in target.tables("sales")
        ends.load(tmp_path / "two")
        assert target.database("tmp") is None

        refused = ends.pysync("load", "-c", ends.there, tmp_path / "one")
        assert_one_line(refused, 1, "older than the state of target dr", "--force")
        assert "t000" not in target.tables("sales")

        _only_what_was_touched(ends, source, target, tmp_path, monkeypatch)


def _only_what_was_touched(ends: Ends, source: Metastore, target: Metastore, tmp_path: Path, monkeypatch) -> None:
    """As if there were a log: full up to 10, changes up to 20, and a dump from 10 on."""
    monkeypatch.setattr(dumping, "newest", lambda _: 10)
    monkeypatch.setattr(dumping, "newest_within", lambda *_: 20)
    touched = frozenset({TableName("sales", "t001"), TableName("sales", "gone")})
    monkeypatch.setattr(dumping, "touched_tables", lambda *_: touched)
    dump_once(ends.config, tmp_path / "full", DumpRequest(), lambda *_: None)
    there = source.table("sales", "t001")
    source.call(lambda client: client.add_partition(partition(there, ["new"])))
    source.call(lambda client: client.drop_table("sales", "t002", False))
    made = dump_once(ends.config, tmp_path / "more", DumpRequest(since=10), lambda *_: None)
    assert (made.since, made.upto, made.counts.tables, made.counts.partitions) == (10, 20, 1, 3)

    refused = ends.pysync("load", "-c", ends.there, tmp_path / "more")
    assert_one_line(refused, 1, "begins after notification 10, but target dr has loaded no dump")
    ends.load(tmp_path / "full")
    (loaded,) = ends.load(tmp_path / "more")["targets"]
    assert loaded["tables"] == 1
    assert {item.name for item in ends.unequal()} <= {"sales.theirs"}
    assert "t002" not in target.tables("sales"), "what is not listed any more is gone"
    assert len(target.partition_names("sales", "large")) == PAGES - 1, "what was not touched is as it was"
    refused = ends.pysync("load", "-c", ends.there, tmp_path / "full")
    assert_one_line(refused, 1, "it ends at notification 10, not 20")


@pytest.mark.crash
def test_drops_that_are_suppressed_and_what_is_out_of_a_dump_s_policy_stay(ends: Ends, tmp_path: Path) -> None:
    fill(ends.source.uri, "sales", tables=2, large=2)
    fill(ends.source.uri, "other", tables=1, large=2)
    ends.dump(tmp_path / "one")
    ends.load(tmp_path / "one")
    with closing(Metastore(ends.source.uri)) as source, closing(Metastore(ends.target.uri)) as target:
        source.call(lambda client: client.drop_table("sales", "t000", False))
        made = ends.dump(tmp_path / "two", "--policy", "sales.'.*'.'plain'")
        assert (made["counts"]["databases"], made["counts"]["tables"]) == (1, 2)
        ends.write('drops = "suppress"')
        ends.load(tmp_path / "two")
        assert "t000" in target.tables("sales")
        ends.write()
        ends.load(tmp_path / "two")
        assert target.tables("sales") == ["large", "plain", "t001"], "the one that is gone, and no other"
        assert len(target.tables("other")) == 3
        assert target.functions("other")


@pytest.mark.crash
def test_kills_of_dump_and_load_cost_no_more_than_another_start(ends: Ends, tmp_path: Path) -> None:
    fill(ends.source.uri, "sales", tables=12, large=PAGES)
    ends.dump(tmp_path / "older")
    fill(ends.source.uri, "tmp", tables=4, large=3)
    directory = tmp_path / "dump"
    for number in (1, 3, 5):
        ends.dump_killed(directory, number)
        refused = ends.pysync("load", "-c", ends.there, directory)
        assert_one_line(refused, 1, "holds no finished dump", "run pysync dump again")
    kept = {path: path.stat().st_mtime_ns for path in directory.glob("*.records")}
    assert len(kept) == 5
    ends.dump(directory)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "what was done is not done again"
    ends.pysync("load", "-c", ends.there, directory, crash="append.committed:1")
    refused = ends.pysync("load", "-c", ends.there, tmp_path / "older")
    assert_one_line(refused, 1, "older than the state of target dr: it began before the dump")
    for crash in ("append.committed:1", "apply.done:3", "advance.committed:1"):  # one move may be that of all windows
        assert ends.pysync("load", "-c", ends.there, directory, crash=crash).returncode == -signal.SIGKILL
    found = ends.load(directory)["targets"][0]
    assert found["parked"] == []
    assert ends.unequal() == []


def files_below(location: str) -> dict[str, bytes]:
    """The files of a directory, but the copier's records, by their paths in it."""
    directory = path_of(location)
    found = (it for it in directory.rglob("*") if it.is_file() and it.name != RECORD)
    return {str(it.relative_to(directory)): it.read_bytes() for it in found}


def path_of(location: str) -> Path:
    return Path(location.removeprefix("file:"))


def locations(uri: str, database: str) -> dict[str, str]:
    """Of all that has files of its own there, by names."""
    with closing(Metastore(uri)) as there:
        parts = {"/".join(["large", *it.values]): it.sd.location for it in there.partitions(database, "large")}
        return {"plain": there.table(database, "plain").sd.location, **parts}


def inodes(directory: Path) -> dict[str, int]:
    """By the files' names, which are the same when what is in flight is done; without the copier's records."""
    found = (it for it in directory.rglob("*") if it.is_file() and it.name != RECORD)
    return {str(it.relative_to(directory)).replace(".part/", "/"): it.stat().st_ino for it in found}


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_data_files_go_with_a_dump_and_come_before_the_metadata(ends: Ends, tmp_path: Path) -> None:
    """Killed on both sides, damaged, and carried to where nothing of the source is to be seen."""
    fill(ends.source.uri, "sales", tables=0, large=5)
    ends.write(COPY)
    here = locations(ends.source.uri, "sales")
    for number, location in enumerate(here.values()):
        (path_of(location) / "sub").mkdir(parents=True, exist_ok=True)
        for name in ("000000_0", "a b%2F.txt", "_SUCCESS", "sub/x y"):
            (path_of(location) / name).write_bytes(f"{number} {name}".encode() * 1000 * number)
    shutil.rmtree(path_of(here["large/3"]))
    for file in (emptied := path_of(here["large/4"])).rglob("*_0"):
        file.unlink()

    dump = tmp_path / "a dump %2F"
    ends.dump_killed_with_files(dump, after=2)
    copied = inodes(dump / "data")
    (emptied / "later").write_bytes(b"x")
    wanted = {name: files_below(location) for name, location in here.items()}
    made = ends.dump(dump, "--files", "copy")
    found = inodes(dump / "data")
    assert len(copied) == 15
    assert {name: found[name] for name in copied} == copied, "what was there is not copied again"
    assert made["counts"]["files"] == len(found) == sum(map(len, wanted.values()))
    assert made["counts"]["missing"] == 1

    dump = dump.rename(tmp_path / "carried to")
    assert_damage_is_found(ends, dump)
    for location in here.values():
        shutil.rmtree(path_of(location), ignore_errors=True)
    ends.write()
    refused = ends.pysync("load", "-c", ends.there, dump)
    assert_one_line(refused, 2, "the dump has data files, but target dr does not copy files", "--files none")
    ends.write(COPY)
    assert ends.pysync("load", "-c", ends.there, dump, crash="apply.done:4").returncode == -signal.SIGKILL
    assert ends.load(dump)["targets"][0]["parked"] == []
    there = locations(ends.target.uri, "sales")
    assert {name: files_below(location) for name, location in there.items()} == wanted
    before = inodes(ends.target.warehouse)
    assert ends.load(dump)["targets"][0]["tables"] == 2
    assert inodes(ends.target.warehouse) == before, "load twice, and the second time changes nothing"


def assert_damage_is_found(ends: Ends, dump: Path) -> None:
    """Neither another byte, nor a file less, gets through."""
    file = max((it for it in (dump / "data").rglob("*") if it.is_file()), key=lambda it: it.stat().st_size)
    data = file.read_bytes()
    file.write_bytes(data[:-1] + b"!")
    refused = ends.pysync("load", "-c", ends.there, dump)
    assert_one_line(refused, 1, f"{file.name.split()[0]}", "is damaged")
    file.unlink()
    refused = ends.pysync("load", "-c", ends.there, dump)
    assert_one_line(refused, 1, f"{file.name.split()[0]}", "cannot be read")
    file.write_bytes(data)


@pytest.mark.spark
def test_the_data_files_are_listed(shared_metastore, tmp_path: Path) -> None:
    name = f"dump_{uuid.uuid4().hex[:8]}"
    fill(shared_metastore.uri, name, tables=0, large=2, key=False)
    with closing(Metastore(shared_metastore.uri)) as there:
        plain = Path(there.table(name, "plain").sd.location.removeprefix("file:"))
        (part, other) = (Path(it.sd.location.removeprefix("file:")) for it in there.partitions(name, "large"))
    for at, (directory, file) in enumerate([(plain, "a b.txt"), (part, "000000_0"), (other, "_SUCCESS")]):
        directory.mkdir(parents=True, exist_ok=True)
        (directory / file).write_bytes(b"x" * at)
    ends = Ends(tmp_path, shared_metastore, shared_metastore)
    manifest = dump_once(
        ends.config, tmp_path / "dump", DumpRequest(Within(policy=name), files="list"), lambda *_: None
    )
    (listed,) = (tmp_path / "dump").glob("files-*.jsonl")
    found = [json.loads(line) for line in listed.read_text().splitlines()]
    assert manifest.counts.files == 3
    assert [(it["table"], it["path"].removeprefix("file:"), it["bytes"]) for it in found] == [
        ("large", str(part / "000000_0"), 1),
        ("large", str(other / "_SUCCESS"), 2),
        ("plain", str(plain / "a b.txt"), 0),
    ]
    assert found[0]["modified_ms"] == int((part / "000000_0").stat().st_mtime * 1000)
    open_dump(tmp_path / "dump")
