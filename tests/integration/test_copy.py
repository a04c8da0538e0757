"""Copying with a real Spark: byte for byte, only what differs, nothing half done."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark import SparkContext

from pysync.base.jars import copy_jar
from pysync.copy.copier import Copier
from pysync.copy.copy_round import RECORD, Copied
from pysync.copy.iceberg import IcebergCopier
from pysync.copy.workers import SparkWorkers
from pysync.model.file_differences import Pair
from pysync.targets.base import Rejected, Unavailable
from pysync.targets.settings import CopySettings
from pysync.targets.spark.session import SparkHost
from pysync.targets.spark_request import SparkRequest

pytestmark = pytest.mark.spark

ODD_NAMES = ["plain", "a b%20c", "Zürich/ß.txt", "tab\tnew\nline", "day=2026-01-01/part-0", "_SUCCESS", "x+y&z=ä?#"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory behind the file system `s3a://lake`."""
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory, lake: Path) -> Iterator[SparkWorkers]:
    settings = {
        "spark.driver.defaultJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "spark.hadoop.fs.s3a.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme",
        "spark.hadoop.fs.viewfs.overload.scheme.target.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
        "spark.hadoop.fs.viewfs.mounttable.lake.linkFallback": f"file://{lake}",
        "spark.hadoop.fs.viewfs.mounttable.all.link./mounted": f"file://{lake}/behind",
    }
    workers = SparkWorkers(
        SparkHost(SparkRequest(None, tuple(settings.items())), tmp_path_factory.mktemp("spark"), [copy_jar()])
    )
    yield workers
    workers.close()


class Place:
    """Two directories and a copier between them."""

    def __init__(self, workers: SparkWorkers, directory: Path, **settings) -> None:
        self.here, self.there = directory / "here", directory / "there"
        self.here.mkdir()
        self.pair = Pair(f"file:{self.here}", f"file:{self.there}", removes_extras=True)
        self.copier = Copier(workers, CopySettings(**{"settle_seconds": 0, **settings}))

    def copy(self, *, removes_extras: bool = True) -> Copied:
        return self.copier.copy([replace(self.pair, removes_extras=removes_extras)])

    def write(self, name: str, content: bytes) -> None:
        path = self.here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def files_below(self, below: Path | None = None) -> dict[str, bytes]:
        top = below or self.there
        files = (it for it in sorted(top.rglob("*")) if it.is_file() and it.name != RECORD)
        return {str(it.relative_to(top)): it.read_bytes() for it in files}


@pytest.fixture
def place(spark: SparkWorkers, tmp_path: Path) -> Iterator[Place]:
    made = Place(spark, tmp_path)
    yield made
    made.copier.close()


@pytest.mark.smoke
def test_every_file_arrives_byte_for_byte_and_a_second_time_none_is_copied(place: Place) -> None:
    for number, name in enumerate(ODD_NAMES):
        place.write(name, os.urandom(number * 1000))
    place.write("large", os.urandom(3_000_000))
    first = place.copy()
    assert place.files_below() == place.files_below(place.here)
    assert (first.files, first.same) == (len(ODD_NAMES) + 1, 0)
    again = place.copy()
    assert (again.files, again.same, again.bytes) == (0, len(ODD_NAMES) + 1, 0)
    status = place.copier.tally.status()
    assert (status["files"], status["bytes"], status["files_left"]) == (first.files, first.bytes, 0)


@pytest.mark.smoke
def test_only_what_changed_is_copied_again_and_what_went_is_removed(place: Place) -> None:
    for name in ("stays", "changes", "grows", "goes"):
        place.write(name, b"1234")
    place.copy()
    place.write("changes", b"4321")
    os.utime(place.here / "changes", (time.time() + 5, time.time() + 5))
    place.write("grows", b"12345")
    (place.here / "goes").unlink()
    assert place.copy(removes_extras=False).files == 2
    assert "goes" in place.files_below()
    assert place.copy().removed == 1
    assert place.files_below() == {"stays": b"1234", "changes": b"4321", "grows": b"12345"}


def test_files_go_only_from_those_directories_of_a_call_whose_drops_are_applied(place: Place) -> None:
    elsewhere = place.there.with_name("elsewhere")
    pairs = [place.pair, replace(place.pair, target=f"file:{elsewhere}", removes_extras=False)]
    place.write("goes", b"1")
    place.copier.copy(pairs)
    (place.here / "goes").unlink()
    place.write("comes", b"2")
    done = place.copier.copy(pairs)
    assert (done.files, done.removed, done.first_removed) == (2, 1, f"file:{place.there}/goes")
    assert place.files_below() == {"comes": b"2"}
    assert place.files_below(elsewhere) == {"comes": b"2", "goes": b"1"}


def test_an_empty_directory_is_there_afterwards(place: Place) -> None:
    assert place.copy().files == 0
    assert place.there.is_dir()


def test_what_writers_have_under_way_is_not_copied(place: Place) -> None:
    for name in ("_temporary/0/part", ".hive-staging_hive_1/f", ".spark-staging-1/f", "d/_temporary/f", ".a.crc"):
        place.write(name, b"x")
    place.write("a", b"x")
    place.copy()
    assert list(place.files_below()) == ["a"]


def test_what_a_killed_run_has_left_is_removed(place: Place) -> None:
    place.write("a", b"x")
    (place.there / "sub").mkdir(parents=True)
    for left in (".pysync-copy-0123abcd-0-0", "sub/.pysync-copy-0123abcd-0-1"):
        (place.there / left).write_bytes(b"half a fi")
    place.copy(removes_extras=False)
    assert place.files_below() == {"a": b"x"}


def test_a_version_is_removed_with_all_in_it_and_nothing_that_it_links_to(place: Place) -> None:
    version = place.there / "pysync-1700000000000"
    (version / "sub").mkdir(parents=True)
    (version / "sub" / "a").write_bytes(b"x")
    (place.there / "b").write_bytes(b"y")
    (version / "link").symlink_to(place.there / "b")
    for _ in range(2):
        place.copier.discard(f"file:{version}", f"file:{place.there}")
        assert [it.name for it in place.there.iterdir()] == ["b"]
    for other in (place.there, place.there / "b", version / "pysync-1700000000000"):
        with pytest.raises(Rejected, match="no directory of pysync's"):
            place.copier.discard(f"file:{other}", f"file:{place.there}")


def test_an_iceberg_table_is_refused_where_spark_has_no_iceberg(place: Place, spark: SparkWorkers) -> None:
    iceberg = IcebergCopier(place.copier, spark)
    pointer = f"{place.pair.target}/metadata/1.json"
    with pytest.raises(Rejected, match=r"Spark has no Iceberg.*spark\.jars\.packages"):
        iceberg.bring(place.pair, pointer, None)
    with pytest.raises(Rejected, match="is not below its location"):
        iceberg.bring(place.pair, "file:/elsewhere/metadata/1.json", None)
    iceberg.bring(place.pair, pointer, pointer)
    assert not place.there.exists() or not list(place.there.iterdir())


def test_where_files_would_go_all_are_copied_elsewhere(place: Place) -> None:
    for name in ("stays", "goes"):
        place.write(name, b"1234")
    new = replace(place.pair, target=f"file:{place.there}-new", replaces=True)
    assert place.copier.copy([place.pair], elsewhere=lambda _: new).files == 2
    place.write("comes", b"1")
    assert place.copier.copy([place.pair], elsewhere=lambda _: new).files == 1, "added where the others are"
    (place.here / "goes").unlink()
    assert place.copier.copy([place.pair], elsewhere=lambda it: None if it.replaces else new).files == 2
    assert [*place.files_below()] == ["comes", "goes", "stays"]
    assert [*place.files_below(place.there.with_name("there-new"))] == ["comes", "stays"]


def test_a_directory_that_is_not_there_empties_nothing(place: Place) -> None:
    place.write("a", b"x")
    place.copy()
    (place.here / "a").unlink()
    place.here.rmdir()
    assert place.copy().missing == (place.pair,)
    assert place.files_below() == {"a": b"x"}
    place.here.mkdir()
    assert place.copy().removed == 1


@pytest.mark.parametrize(("compare", "copied"), [("size", 0), ("time", 1), ("checksum", 1)])
def test_how_files_are_compared(spark: SparkWorkers, tmp_path: Path, compare: str, copied: int) -> None:
    place = Place(spark, tmp_path, compare=compare)
    place.write("a", b"1234")
    place.copy()
    place.write("a", b"4321")
    os.utime(place.here / "a", (time.time() + 5, time.time() + 5))
    assert place.copy().files == copied
    os.utime(place.here / "a", (time.time() + 9, time.time() + 9))
    assert place.copy().files == (1 if compare == "time" else 0)
    place.copier.close()


def test_another_file_system_is_reached_with_the_settings_of_the_session(
    spark: SparkWorkers, lake: Path, tmp_path: Path
) -> None:
    place = Place(spark, tmp_path)
    for name in ("a b", "day=1/part-0"):
        place.write(name, name.encode())
    there, pair = lake / "t", replace(place.pair, target="s3a://lake/t")
    assert place.copier.copy([pair]).files == 2
    assert (there / "day=1" / "part-0").read_bytes() == b"day=1/part-0"
    place.write("a b", b"other")
    (place.here / "day=1" / "part-0").unlink()
    done = place.copier.copy([pair])
    assert (done.files, done.removed) == (1, 1)
    assert (there / "a b").read_bytes() == b"other"
    place.copier.close()


def test_a_view_of_several_file_systems_is_written_and_read(lake: Path, place: Place) -> None:
    (lake / "behind").mkdir()
    place.write("changes", b"1")
    place.write("day=1/goes", b"2")
    view = "viewfs://all/mounted/t"
    there = replace(place.pair, target=view)
    assert place.copier.copy([there]).files == 2
    place.write("changes", b"other")
    (place.here / "day=1" / "goes").unlink()
    done = place.copier.copy([there])
    assert (done.files, done.removed) == (1, 1)
    assert place.files_below(lake / "behind" / "t") == {"changes": b"other"}
    assert place.copier.copy([Pair(view, place.pair.target)]).files == 1
    assert place.files_below() == {"changes": b"other"}


def test_a_file_that_vanishes_between_the_survey_and_the_copy_is_no_error(place: Place, monkeypatch) -> None:
    place.write("stays", b"x")
    place.write("goes", b"y")
    copy_some = place.copier._copy_some

    def vanish_first(*arguments):
        (place.here / "goes").unlink(missing_ok=True)
        return copy_some(*arguments)

    monkeypatch.setattr(place.copier, "_copy_some", vanish_first)
    place.copy()
    assert place.files_below() == {"stays": b"x"}


def test_what_is_overwritten_at_the_source_is_waited_out_before_anything_goes(spark: SparkWorkers, tmp_path) -> None:
    """The copy begins when the old file is gone already and the new one is not there yet."""
    place = Place(spark, tmp_path, settle_seconds=1.5)
    place.write("old", b"old")
    place.copy()
    (place.here / "old").unlink()
    seen = []
    ended = threading.Event()

    def watch() -> None:
        while not ended.is_set():
            seen.append(any(not it.name.startswith(".") for it in place.there.iterdir()))

    threads = [threading.Timer(0.7, place.write, ("new", b"new")), threading.Thread(target=watch)]
    for thread in threads:
        thread.start()
    done = place.copy()
    ended.set()
    for thread in threads:
        thread.join()
    assert place.files_below() == {"new": b"new"}
    assert (done.files, done.removed) == (1, 1)
    assert all(seen), "there was a moment without any file"
    place.copier.close()


def test_the_rate_is_kept_below_the_limit(spark: SparkWorkers, tmp_path: Path) -> None:
    place = Place(spark, tmp_path, max_mb_per_second=2, parallelism=1)
    place.write("a", os.urandom(1_000_000))
    began = time.monotonic()
    place.copy()
    assert time.monotonic() - began >= 0.45
    place.copier.close()


def test_what_will_never_go_is_refused_and_what_cannot_be_reached_is_waited_for(place: Place) -> None:
    place.write("a", b"x")
    place.there.write_bytes(b"a file in the way")
    with pytest.raises((Rejected, Unavailable), match="there"):
        place.copy()
    with pytest.raises(Unavailable, match="nowhere"):
        place.copier.copy([Pair(place.pair.source, "hdfs://nowhere.invalid/t")])
    place.there.unlink()
    assert place.copy().files == 1


def test_nothing_goes_where_what_should_come_cannot(place: Place) -> None:
    place.write("a", b"x")
    (place.there / "a").mkdir(parents=True)
    (place.there / "a" / "old").write_bytes(b"old")
    with pytest.raises(Rejected, match="a directory"):
        place.copy()
    assert place.files_below() == {"a/old": b"old"}


def test_a_spark_that_dies_is_started_again(spark: SparkWorkers, place: Place) -> None:
    place.write("a", b"x")
    place.copy()
    SparkContext._gateway.proc.kill()
    place.write("b", b"y")
    with pytest.raises(Unavailable):
        place.copy()
    assert place.copy().files == 1
    assert place.files_below() == {"a": b"x", "b": b"y"}
