"""Copying on a real HDFS and to s3a, with jars as a user would add them; the rest: tests/integration/test_copy.py.

Run by `make test SUITE=versions`, which brings Hadoop's MiniDFSCluster and hadoop-aws from Maven Central.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext

from pysync.base.jars import copy_jar
from pysync.copy.copier import Copier
from pysync.copy.workers import SparkWorkers
from pysync.lab.aws.server import EmbeddedAws
from pysync.model.file_differences import Pair
from pysync.targets.base import Rejected, Unavailable
from pysync.targets.settings import CopySettings
from pysync.targets.spark.session import SparkHost
from pysync.targets.spark_request import SparkRequest
from tests.support import wait_until
from tests.versions.conftest import Report
from tests.versions.hadoop.hdfs import MiniHdfs
from tests.versions.hadoop.jars import HadoopJars, bring
from tests.versions.hadoop.stores import Bucket, Directory, HadoopDirectory, Store, Tree, numbered
from tests.versions.releases import NotBrought

KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "a/Secret+that-nobody-may-see"
ODD = {name: os.urandom(1 + 999 * at) for at, name in enumerate(["plain", "a b%20c", "Zürich/ß.txt", "x+y&z=ä#1"])}
TREE = {**ODD, "day=2026-01-01/part-0": os.urandom(3_000_000), "day=2026-01-02/empty": b"", "_SUCCESS": b""}
BLOCK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Field:
    """What all tests here run on."""

    workers: SparkWorkers
    hdfs: tuple[str, str]
    s3: Any
    directory: Path


@pytest.fixture(scope="module")
def jars(report: Report) -> HadoopJars:
    try:
        return bring()
    except NotBrought as error:
        report.missing["with HDFS and S3A"] = str(error)
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def field(jars: HadoopJars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    """Two clusters, an S3, and a Spark whose environment alone knows the credentials."""
    made = tmp_path_factory.mktemp
    with (
        pytest.MonkeyPatch.context() as patched,
        MiniHdfs(jars, made("one")) as one,
        MiniHdfs(jars, made("other")) as other,
        EmbeddedAws(made("aws"), athena=False) as aws,
    ):
        patched.setenv("AWS_ACCESS_KEY_ID", KEY)
        patched.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        aws.client("s3").create_bucket(Bucket="lake")
        settings = {
            "spark.driver.defaultJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            "spark.jars": jars.of_s3a().replace(os.pathsep, ","),
            "spark.hadoop.fs.s3a.endpoint": aws.url,
            "spark.hadoop.fs.s3a.endpoint.region": aws.region,
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.viewfs.mounttable.all.link./one": f"{one.uri}/mounted",
        }
        directory = made("spark")
        workers = SparkWorkers(SparkHost(SparkRequest(None, tuple(settings.items())), directory, [copy_jar()]))
        workers.call("survey", "time\t.pysync-copy-\n")
        yield Field(workers, (one.uri, other.uri), aws.client("s3"), directory)
        workers.close()


@pytest.fixture
def copier(field: Field) -> Iterator[Copier]:
    made = Copier(field.workers, CopySettings(settle_seconds=0))
    yield made
    made.close()


def place(field: Field, kind: str, name: str, directory: Path) -> Store:
    """A place for a tree: in one of the clusters, `s3a`, or a directory of this machine."""
    if kind == "s3a":
        return Bucket(field.s3, "lake", name)
    if kind == "file":
        return Directory(directory / name)
    root = field.hdfs[kind == "other hdfs"] if "hdfs" in kind else "viewfs://all/one"
    return HadoopDirectory(f"{root}/{name}", directory / "scratch")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("hdfs", "hdfs"),
        ("hdfs", "other hdfs"),
        ("hdfs", "s3a"),
        ("s3a", "file"),
        ("s3a", "hdfs"),
        ("file", "viewfs"),
        ("s3a", "s3a"),
    ],
)
def test_a_tree_is_copied_and_then_only_what_changed(
    field: Field, copier: Copier, source: str, target: str, tmp_path: Path
) -> None:
    name = f"{source}-{target}".replace(" ", "-")
    here, there = place(field, source, f"{name}-from", tmp_path), place(field, target, f"{name}-to", tmp_path)
    pair = Pair(here.uri, there.uri, removes_extras=True)
    here.put(TREE)
    old_times(here)
    assert copier.copy([pair]).files == len(TREE)
    assert there.tree() == TREE
    again = copier.copy([pair])
    assert (again.files, again.same) == (0, len(TREE))
    changed = {"plain": b"other", "new": b"new"}
    here.put(changed)
    here.remove("a b%20c")
    assert copier.copy([replace(pair, removes_extras=False)]).files == 2
    assert there.tree() == {**TREE, **changed}
    assert copier.copy([pair]).removed == 1
    assert there.tree() == here.tree()


def old_times(store: Store) -> None:
    """Of an object store times are whole seconds: what is copied within that of its writing looks older than it is."""
    if isinstance(store, Directory):
        for path in store.path.rglob("*"):
            os.utime(path, (1e9, 1e9))


def test_what_is_copied_keeps_its_time_on_hdfs(field: Field, copier: Copier, tmp_path: Path) -> None:
    here, there = (HadoopDirectory(f"{root}/times", tmp_path / "scratch") for root in field.hdfs)
    here.put({"a": b"1", "b": b"2"})
    copier.copy([Pair(here.uri, there.uri)])
    assert there.times() == here.times()


@pytest.mark.parametrize("kind", ["file", "hdfs"])
def test_a_spark_that_is_killed_leaves_nothing_to_see_and_the_next_one_ends_the_work(
    field: Field, kind: str, tmp_path: Path
) -> None:
    here, there = place(field, "hdfs", f"killed-{kind}", tmp_path), place(field, kind, f"killed-{kind}-to", tmp_path)
    tree = numbered(6, 300_000)
    here.put(tree)
    pair = Pair(here.uri, there.uri)
    slow = Copier(field.workers, CopySettings(settle_seconds=0, max_mb_per_second=0.05))
    failures: list[BaseException] = []

    def copy() -> None:
        try:
            slow.copy([pair])
        except Unavailable as error:
            failures.append(error)

    running = threading.Thread(target=copy)
    running.start()
    wait_until(lambda: any(name.startswith(".pysync-copy-") for name in there.tree()), seconds=180)
    SparkContext._gateway.proc.kill()
    running.join(300)
    assert len(failures) == 1
    fast = Copier(field.workers, CopySettings(settle_seconds=0))
    field.workers.call("survey", "time\tnobody\n")
    assert visible(there.tree()) == {}
    assert fast.copy([pair]).files == len(tree)
    assert there.tree() == tree
    slow.close()
    fast.close()


def visible(tree: Tree) -> Tree:
    return {name: content for name, content in tree.items() if not name.startswith(".pysync-copy-")}


def test_checksums_of_hdfs_tell_what_is_the_same_whatever_the_blocks(field: Field, tmp_path: Path) -> None:
    """Hadoop's checksums of one content differ with the size of its blocks: then the bytes count."""
    here = place(field, "hdfs", "sums", tmp_path)
    there = HadoopDirectory(f"{field.hdfs[1]}/sums", tmp_path / "other", {"dfs.blocksize": str(BLOCK)})
    content = os.urandom(3 * BLOCK + 7)
    tree = {"large": content, "small": b"1234", "other": b"here"}
    here.put(tree)
    copier = Copier(field.workers, CopySettings(settle_seconds=0, compare="checksum"))
    try:
        for place_there, changed in ((there, "other"), (place(field, "s3a", "sums", tmp_path), "small")):
            pair = Pair(here.uri, place_there.uri)
            assert copier.copy([pair]).files == 3
            place_there.put({**tree, changed: b"diff"})
            done = copier.copy([pair])
            assert (done.files, done.same) == (1, 2)
            assert place_there.tree() == tree
    finally:
        copier.close()


def test_a_file_where_a_directory_should_be_is_refused(field: Field, copier: Copier, tmp_path: Path) -> None:
    here = place(field, "hdfs", "in-the-way", tmp_path)
    here.put({"a": b"1"})
    there = HadoopDirectory(f"{field.hdfs[1]}/way", tmp_path / "way")
    there.put({"file": b"2"})
    with pytest.raises(Rejected, match="file"):
        copier.copy([Pair(here.uri, f"{there.uri}/file")])


@pytest.mark.parametrize("kind", ["hdfs", "viewfs"])
def test_nothing_goes_where_what_should_come_cannot(field: Field, copier: Copier, kind: str, tmp_path: Path) -> None:
    here, there = place(field, "hdfs", f"kept-{kind}", tmp_path), place(field, kind, f"kept-{kind}-to", tmp_path)
    here.put({"a": b"x", "b": b"y"})
    there.put({"a/old": b"old", "gone": b"old"})
    with pytest.raises(Rejected, match="directory"):
        copier.copy([Pair(here.uri, there.uri, removes_extras=True)])
    assert {"a/old", "gone"} <= set(there.tree())


def test_credentials_are_in_no_command_line_and_in_no_log(field: Field, copier: Copier, tmp_path: Path) -> None:
    there = place(field, "s3a", "secret", tmp_path)
    here = place(field, "file", "secret-from", tmp_path)
    here.put({"a": b"1"})
    assert copier.copy([Pair(here.uri, there.uri)]).files == 1
    with pytest.raises((Rejected, Unavailable)) as error:
        copier.copy([Pair(here.uri, "s3a://no-such-bucket/t")])
    seen = [str(error.value).encode(), *command_lines()]
    seen += [it.read_bytes() for it in field.directory.rglob("*") if it.is_file() and it.suffix != ".jar"]
    assert any(b"org.apache.spark" in it for it in seen)
    assert not [it[:200] for it in seen if SECRET.encode() in it]


def command_lines() -> list[bytes]:
    """Of all processes of this machine that can be read."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes())
        except OSError:
            continue
    return found
