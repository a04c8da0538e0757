"""Data before metadata on real servers: who knows only the target finds all files of whatever the target tells of.

PYSYNC_COPY_CHANGES is how many changes there are (30 unless given).
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, partition, table, wait_until
from tests.support.sidecars import assert_one_line, pysync
from tests.support.stages import assert_converges, is_at_rest, wait_until_compared

pytestmark = pytest.mark.spark

KEYS = [("day", "string")]
CHANGES = int(os.environ.get("PYSYNC_COPY_CHANGES", "30"))
SECONDS = 180 + 3 * CHANGES
SHORT_LIFE = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
COPY = f"""\
copy = {{ settle_seconds = 0.5 }}
[spark]
settings = {{ "spark.driver.defaultJavaOptions" = "{SHORT_LIFE}" }}
"""
POLICIES = """\
policies = [{ name = "archive", include = ["archive*"], drops = "suppress" }, { name = "rest", include = ["*"] }]
"""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("copy"), options=POLICIES + COPY) as running:
        running.target.start()
        running.source.start()
        running.start_sidecar()
        wait_until_compared(running)
        yield running


@pytest.fixture
def source(stage: Stage) -> Iterator[Metastore]:
    with closing(Metastore(stage.source.uri)) as metastore:
        yield metastore


@pytest.fixture
def target(stage: Stage) -> Iterator[Metastore]:
    with closing(Metastore(stage.target.uri)) as metastore:
        yield metastore


def path_of(location: str) -> Path:
    return Path(unquote(urlsplit(location).path))


def days(metastore: Metastore, database: str) -> list[str]:
    """The partitions of its table `t`; none while that is not there yet, where a metastore only tells of an error."""
    return metastore.partition_names(database, "t") if metastore.table(database, "t") else []


def files_in(directory: Path) -> dict[str, bytes]:
    """The files that a reader looks at."""
    found: dict[str, bytes] = {}
    for it in directory.iterdir():
        if not it.name.startswith((".", "_")):
            with suppress(FileNotFoundError):  # the sidecar has removed it since it was listed
                found[it.name] = it.read_bytes()
    return found


def answer(stage: Stage, *command: str) -> Any:
    """What a command says; of one with --json the value."""
    done = pysync(*command, "-c", stage.config_file)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if "--json" in command else done.stdout


def removals(stage: Stage, name: str) -> list[str]:
    """The removals of one data file that the journal has of a table."""
    records = answer(stage, "actions", "--table", name, "--json")["records"]
    return [it["new"] for record in records for it in record["differences"] if it["field"] == "1 data file"]


def sealed(random_: random.Random) -> bytes:
    """Rows of which one can tell whether they are all there."""
    body = random_.randbytes(random_.randint(1, 200_000))
    return body + hashlib.sha256(body).digest()


def is_whole(content: bytes) -> bool:
    return hashlib.sha256(content[:-32]).digest() == content[-32:]


class Writer:
    """Changes the partitions of a table, as Hive and Spark do: files first, then the metastore."""

    def __init__(self, metastore: Metastore, name: str) -> None:
        self.metastore = metastore
        self.database = name
        self.random = random.Random(7)
        metastore.call(lambda c: c.create_table(table(name, "t", partition_keys=KEYS)))
        self.table = metastore.table(name, "t")
        self.days: list[str] = []
        self.number = 0

    def change(self) -> None:
        kind = self.random.choice(["add", "insert", "insert", "overwrite"]) if len(self.days) > 2 else "add"
        self.number += 1
        if kind == "add":
            self.add(f"2026-{self.number:03}")
        else:
            getattr(self, kind)(self.random.choice(self.days))

    def directory(self, day: str) -> Path:
        return path_of(self.table.sd.location) / f"day={day}"

    def write(self, directory: Path) -> Path:
        """A file that is there at once, as after a writer's commit."""
        self.number += 1
        unfinished = directory / f".hive-staging_{self.number}"
        unfinished.write_bytes(sealed(self.random))
        return unfinished.rename(directory / f"{self.number:06}_0")

    def add(self, day: str) -> None:
        self.directory(day).mkdir(parents=True)
        self.write(self.directory(day))
        part = partition(self.table, [day])
        part.sd.location = f"{self.table.sd.location}/day={day}"
        self.metastore.call(lambda c: c.add_partition(part))
        self.days.append(day)

    def insert(self, day: str) -> None:
        self.write(self.directory(day))
        self.tell(day)

    def overwrite(self, day: str) -> None:
        for old in list(self.directory(day).iterdir()):
            old.unlink()
        self.write(self.directory(day))
        self.tell(day)

    def tell(self, day: str) -> None:
        """What a writer does at last: new statistics."""
        part = self.metastore.partitions_by_name(self.database, "t", [f"day={day}"])[0]
        part.parameters["numFiles"] = str(self.number)
        self.metastore.call(lambda c: c.alter_partition(self.database, "t", part))


class Reader(threading.Thread):
    """Reads whatever the target tells of, again and again, and notes what was not as it should be."""

    def __init__(self, uri: str, database: str) -> None:
        super().__init__(daemon=True)
        self.uri = uri
        self.database = database
        self.looks = 0
        self.faults: list[str] = []
        self.ended = threading.Event()

    def run(self) -> None:
        with closing(Metastore(self.uri)) as metastore:
            while not self.ended.is_set():
                if metastore.table(self.database, "t") is not None:
                    names = metastore.partition_names(self.database, "t")
                    for part in metastore.partitions_by_name(self.database, "t", names):
                        self.read_once(path_of(part.sd.location))
                time.sleep(0.01)

    def read_once(self, directory: Path) -> None:
        self.looks += 1
        try:
            found = files_in(directory)
        except FileNotFoundError as error:
            if directory.is_dir() and Path(error.filename) != directory:
                return  # an old file, overwritten since it was listed
            self.faults.append(f"{directory} is not there")
            return
        if not found:
            self.faults.append(f"{directory} is empty")
        self.faults += [f"{directory}/{name} is not whole" for name, content in found.items() if not is_whole(content)]


def same_files(source: Metastore, target: Metastore, database: str) -> bool:
    names = source.partition_names(database, "t")
    pairs = zip(
        sorted(source.partitions_by_name(database, "t", names), key=lambda it: it.values),
        sorted(target.partitions_by_name(database, "t", names), key=lambda it: it.values),
        strict=True,
    )
    return all(files_in(path_of(one.sd.location)) == files_in(path_of(other.sd.location)) for one, other in pairs)


@pytest.mark.timeout(SECONDS + 120)
def test_a_reader_of_the_target_never_sees_a_partition_without_its_files(
    stage: Stage, source: Metastore, target: Metastore
) -> None:
    database = new_database(source, "stream")
    writer = Writer(source, database)
    reader = Reader(stage.target.uri, database)
    reader.start()
    for _ in range(CHANGES):
        writer.change()
        time.sleep(writer.random.random() * 0.3)
    assert_converges(stage, seconds=SECONDS)
    reader.ended.set()
    reader.join()
    assert reader.faults == []
    assert reader.looks > CHANGES
    assert same_files(source, target, database)
    status = stage.status()
    assert status["copy"]["replica"]["files"] >= len(writer.days)
    assert status["targets"][0]["parked"] == 0


@pytest.mark.smoke
def test_tables_their_overwrites_and_renames_come_with_their_files(
    stage: Stage, source: Metastore, target: Metastore
) -> None:
    database = new_database(source, "tables")
    made = table(database, "one", location=f"file:{stage.source.warehouse}/{database}.db/one")
    directory = path_of(made.sd.location)
    directory.mkdir(parents=True)
    (directory / "a").write_bytes(b"1")
    source.call(lambda c: c.create_table(made))
    wait_until(lambda: target.table(database, "one") is not None, seconds=120, what="the table")
    there = path_of(target.table(database, "one").sd.location)
    assert files_in(there) == {"a": b"1"}
    assert there != directory

    (directory / "a").unlink()
    (directory / "b").write_bytes(b"22")
    (there / "theirs").write_bytes(b"3")
    changed = source.table(database, "one")
    changed.parameters["numFiles"] = "2"
    answer(stage, "pause", "replica")
    source.call(lambda c: c.alter_table(database, "one", changed))
    wait_until(lambda: answer(stage, "plan", "--json")["targets"][0]["removes_files"], what="the plan")
    answer(stage, "resume", "replica")
    wait_until(lambda: files_in(there) == {"b": b"22", "theirs": b"3"}, seconds=120, what="the overwrite")
    wait_until(lambda: removals(stage, f"{database}.one") == [f"removed, the first: file:{there}/a"], what="the record")
    (there / "theirs").unlink()

    moved = directory.with_name("two")
    directory.rename(moved)
    changed.tableName, changed.sd.location = "two", f"file:{moved}"
    source.call(lambda c: c.alter_table(database, "one", changed))
    wait_until(lambda: target.table(database, "two") is not None, seconds=120, what="the rename")
    assert files_in(path_of(target.table(database, "two").sd.location)) == {"b": b"22"}


@pytest.mark.timeout(600)
def test_where_a_policy_suppresses_drops_an_overwrite_costs_no_file(
    stage: Stage, source: Metastore, target: Metastore
) -> None:
    database = new_database(source, "archive")
    writer = Writer(source, database)
    writer.add("1")
    wait_until(lambda: days(target, database), seconds=120, what="the partition")
    there = path_of(target.partitions_by_name(database, "t", ["day=1"])[0].sd.location)
    both = files_in(there)
    writer.overwrite("1")
    both |= files_in(writer.directory("1"))
    wait_until(lambda: files_in(there) == both, seconds=120, what="the new file")
    wait_until(lambda: is_at_rest(stage), seconds=120, what="the rest of the sidecar")
    copied = pysync("copy", f"{database}.t", "--delete", "-c", stage.config_file, "--json", seconds=180)
    assert json.loads(copied.stdout)["removed"] == 0
    verified = pysync("verify", database, "--data", "--repair", "-c", stage.config_file, seconds=240)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert files_in(there) == both
    assert len(both) == 2


@pytest.mark.smoke
def test_an_insert_event_alone_brings_the_files(stage: Stage, source: Metastore, target: Metastore) -> None:
    """With hive.metastore.dml.events writers tell of rows though nothing else has changed."""
    database = new_database(source, "inserts")
    writer = Writer(source, database)
    writer.add("1")
    wait_until(lambda: days(target, database), seconds=120, what="the partition")
    writer.write(writer.directory("1"))
    files = hive.FireEventRequestData(hive.InsertEventRequestData(filesAdded=["f"]))
    request = hive.FireEventRequest(True, files, database, "t", ["1"])
    source.call(lambda c: c.fire_listener_event(request))
    there = path_of(target.partitions_by_name(database, "t", ["day=1"])[0].sd.location)
    wait_until(lambda: files_in(there) == files_in(writer.directory("1")), seconds=120, what="the inserted rows")


@pytest.mark.timeout(600)
def test_rows_that_nobody_told_of_are_copied_by_hand(stage: Stage, source: Metastore, target: Metastore) -> None:
    database = new_database(source, "byhand")
    writer = Writer(source, database)
    writer.add("1")
    wait_until(lambda: days(target, database), seconds=120, what="the partition")
    wait_until(lambda: is_at_rest(stage), seconds=120, what="the rest of the sidecar")
    writer.write(writer.directory("1"))
    command = ["copy", f"{database}.t", "-c", stage.config_file, "--json"]
    done = pysync(*command, seconds=180)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["files"] == 1
    there = path_of(target.partitions_by_name(database, "t", ["day=1"])[0].sd.location)
    assert files_in(there) == files_in(writer.directory("1"))
    wrong = pysync("copy", "no.such", "-c", stage.config_file, seconds=180)
    assert_one_line(wrong, 2, "no.such")


@pytest.mark.timeout(600)
def test_verify_finds_files_that_differ_and_mends_them(stage: Stage, source: Metastore, target: Metastore) -> None:
    database = new_database(source, "drift")
    writer = Writer(source, database)
    for day in ("1", "2"):
        writer.add(day)
    wait_until(lambda: len(days(target, database)) == 2, seconds=120, what="the partitions")
    wait_until(lambda: is_at_rest(stage), seconds=120, what="the rest of the sidecar")
    command = ["verify", database, "--data", "-c", stage.config_file, "--json"]
    clean = pysync(*command, seconds=180)
    assert clean.returncode == 0, clean.stdout + clean.stderr
    first, second = (path_of(it.sd.location) for it in target.partitions_by_name(database, "t", ["day=1", "day=2"]))
    missing = next(first.iterdir())
    missing.unlink()
    (second / "nobodys").write_bytes(b"x")
    changed = next(it for it in second.iterdir() if it.name != "nobodys")
    changed.write_bytes(b"other")
    drifted = pysync(*command, seconds=180)
    assert drifted.returncode == 1, drifted.stderr
    (found,) = json.loads(drifted.stdout)["targets"][0]["differences"]
    assert (found["kind"], found["source"], found["result"]) == ("files", f"{database}.t", "different")
    text = {path_of(line.split(" ")[0]).name: line.split(" ")[1] for line in found["fields"]}
    assert text == {missing.name: "is", changed.name: "differs"}, "a file of others is no drift"
    mended = pysync(*command, "--repair", seconds=240)
    assert mended.returncode == 0, mended.stdout + mended.stderr
    assert files_in(first) == files_in(writer.directory("1"))
    (second / "nobodys").unlink()  # a repair leaves it
    assert files_in(second) == files_in(writer.directory("2"))


def test_a_partition_whose_files_went_before_they_were_copied_is_no_error(
    stage: Stage, source: Metastore, target: Metastore
) -> None:
    database = new_database(source, "gone")
    writer = Writer(source, database)
    part = partition(writer.table, ["1"])
    part.sd.location = f"file:{stage.source.warehouse}/{database}.db/elsewhere/day=1"
    source.call(lambda c: c.add_partition(part))
    path_of(part.sd.location).rmdir()
    source.call(lambda c: c.drop_partition(database, "t", ["1"], True))
    writer.add("2")
    wait_until(lambda: days(target, database) == ["day=2"], seconds=120, what="the other partition")
    assert stage.status()["targets"][0]["parked"] == 0


def test_a_table_at_a_directory_of_many_is_parked_and_costs_no_file_of_others(
    stage: Stage, source: Metastore, target: Metastore
) -> None:
    """With `CREATE TABLE … LOCATION` at the mapped prefix, or at the directory of the database."""
    database = new_database(source, "guests")
    wait_until(lambda: target.database(database) is not None, seconds=120, what="the database")
    theirs = [
        stage.target.warehouse / "home/bob/thesis",
        stage.target.warehouse / f"{database}.db/theirs/part-0",
        stage.target.warehouse / f"{database}.db/part-0",
    ]
    for file in theirs:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"theirs")
    here = stage.source.warehouse / f"{database}.db"
    here.mkdir(parents=True, exist_ok=True)
    (here / "part-0").write_bytes(b"ours")
    (here / "part-1").write_bytes(b"ours")
    for name, location in (("prefix", stage.source.warehouse), ("all", here)):
        made = table(database, name, location=f"file:{location}")
        source.call(lambda c, made=made: c.create_table(made))
    refused = {f"{database}.prefix", f"{database}.all"}
    wait_until(
        lambda: refused <= {it["table"] for it in answer(stage, "parked", "list", "replica", "--json")["tables"]},
        seconds=120,
        what="the parked tables",
    )
    assert [file.read_bytes() for file in theirs] == [b"theirs"] * 3
    assert sorted(it.name for it in theirs[-1].parent.iterdir()) == ["part-0", "theirs"]
    assert target.table(database, "prefix") is None
    assert target.table(database, "all") is None
