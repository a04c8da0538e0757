"""What a reader sees of a table whose files are overwritten all the time, on three file systems, by both layouts.

PYSYNC_LOOKS is how often it looks (200 unless given).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pysync.base.jars import copy_jar
from pysync.copy.copier import Copier
from pysync.copy.files import FilesFirst
from pysync.copy.workers import SparkWorkers
from pysync.lab.aws.server import EmbeddedAws
from pysync.lab.faulty import FaultySettings
from pysync.lab.java import find_java, find_spark_jars
from pysync.lab.memory.store import MemoryStore
from pysync.lab.memory.target import MemoryTarget
from pysync.model.locations import SourceFiles
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import PutDatabase, PutTable
from pysync.queue import EventQueue
from pysync.targets.spark.session import SparkHost
from pysync.targets.spark_request import SparkRequest
from tests.support import table
from tests.support.events import database
from tests.versions.conftest import Report
from tests.versions.hadoop.hdfs import MiniHdfs
from tests.versions.hadoop.jars import HadoopJars, bring
from tests.versions.releases import NotBrought

LOOKS = int(os.environ.get("PYSYNC_LOOKS", "200"))
FILES = 20
READER = Path(__file__).parent / "hadoop" / "Looks.java"
LAYOUTS = ("in_place", "versioned")


@dataclass(frozen=True, slots=True)
class Field:
    """A Spark that copies, and the places by the names of their schemes."""

    workers: SparkWorkers
    places: dict[str, str]
    settings: dict[str, str]
    class_path: str


@pytest.fixture(scope="module")
def jars(report: Report) -> HadoopJars:
    try:
        return bring()
    except NotBrought as error:
        report.missing["readers on HDFS and S3A"] = str(error)
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def field(jars: HadoopJars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    made = tmp_path_factory.mktemp
    with (
        pytest.MonkeyPatch.context() as patched,
        MiniHdfs(jars, made("hdfs")) as hdfs,
        EmbeddedAws(made("aws"), athena=False) as aws,
    ):
        patched.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
        patched.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        aws.client("s3").create_bucket(Bucket="lake")
        s3a = {
            "fs.s3a.endpoint": aws.url,
            "fs.s3a.endpoint.region": aws.region,
            "fs.s3a.path.style.access": "true",
        }
        settings = {
            "spark.jars": jars.of_s3a().replace(os.pathsep, ","),
            **{f"spark.hadoop.{key}": value for key, value in s3a.items()},
        }
        workers = SparkWorkers(SparkHost(SparkRequest(None, tuple(settings.items())), made("spark"), [copy_jar()]))
        places = {"file": f"file:{made('there')}", "hdfs": f"{hdfs.uri}/there", "s3a": "s3a://lake/there"}
        yield Field(workers, places, s3a, os.pathsep.join([jars.of_s3a(), f"{find_spark_jars()}/*"]))
        workers.close()


class Overwritten:
    """A table whose files are at `there`; `pointer` holds where a reader looks."""

    def __init__(self, field: Field, queue: EventQueue, directory: Path, there: str, layout: str) -> None:
        self.here, self.pointer, self.number = directory / "here", directory / "pointer", 0
        self.here.mkdir()
        settings = FaultySettings.model_validate(
            {
                "name": "dr",
                "kind": "faulty",
                "copy": {"layout": layout, "settle_seconds": 0},
                "locations": {"file:/": there},
            }
        )
        self.copier = Copier(field.workers, settings.copy_files)  # type: ignore[arg-type]
        self.target = MemoryTarget(settings, MemoryStore())
        self.target.apply(PutDatabase(database="d", definition=database("d"), mark=Mark("onprem", 1, 1)))
        self.target.bring_files_by(FilesFirst(self.copier, settings, queue.target("dr").data_versions))
        self.location = f"{there}/{layout}"

    def overwrite(self) -> None:
        """All files at the source are replaced; returns when they are at the target."""
        self.number += 1
        for file in self.here.iterdir():
            file.unlink()
        for at in range(FILES):
            (self.here / f"part-{self.number}-{at}").write_text(str(self.number))
        sources = {self.location: SourceFiles(f"file:{self.here}", removes_extras=True)}
        definition, mark = table("d", "t", location=self.location), Mark("onprem", 1, self.number + 1)
        self.target.apply(
            PutTable(table=TableName("d", "t"), definition=definition, sources=sources, mark=mark, creates=True)
        )
        unfinished = self.pointer.with_name("new")
        unfinished.write_text(self.target.table(TableName("d", "t")).sd.location)
        unfinished.replace(self.pointer)


@pytest.mark.timeout(600 + LOOKS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("scheme", ["file", "hdfs", "s3a"])
def test_a_reader_of_versions_sees_one_of_them(
    field: Field, report: Report, tmp_path: Path, scheme: str, layout: str
) -> None:
    queue = EventQueue(tmp_path / "queue", min_free_bytes=0)
    queue.target("dr").register()
    made = Overwritten(field, queue, tmp_path, field.places[scheme], layout)
    made.overwrite()
    settings = [f"{key}={value}" for key, value in field.settings.items()]
    command = [find_java(), "-cp", field.class_path, READER, made.pointer, str(FILES), str(LOOKS), *settings]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as reader:
        while reader.poll() is None:
            made.overwrite()
        output, errors = reader.communicate()
    made.copier.close()
    queue.close()
    assert reader.returncode == 0, errors[-2000:]
    report.looks[f"{scheme} {layout}"] = [made.number, *map(int, output.split())]
    if layout == "versioned":
        assert [int(it) for it in output.split()] == [LOOKS, 0, 0, 0]
