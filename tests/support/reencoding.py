"""Directories whose files a real Spark reads and writes again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pysync.base.jars import copy_jar
from pysync.copy.copier import Copier
from pysync.copy.copy_round import RECORD, Copied
from pysync.copy.reencoder import Reencoder
from pysync.copy.workers import SparkWorkers
from pysync.model.file_differences import Pair
from pysync.model.locations import Form
from pysync.targets.settings import CopySettings
from pysync.targets.spark.session import SparkHost
from pysync.targets.spark_request import SparkRequest


@contextmanager
def spark_workers(directory: Path) -> Iterator[SparkWorkers]:
    """A Spark of this process; `directory` is for its log."""
    settings = {"spark.driver.defaultJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}
    workers = SparkWorkers(SparkHost(SparkRequest(None, tuple(settings.items())), directory, [copy_jar()]))
    yield workers
    workers.close()


class Place:
    """Two directories, and what writes the one anew into the other."""

    def __init__(self, workers: SparkWorkers, directory: Path) -> None:
        self.workers = workers
        self.here, self.there = directory / "here [a]{b}*", directory / "there"
        self.here.mkdir()
        self.copier = Copier(workers, CopySettings(settle_seconds=0))
        self.rewriter = Reencoder(self.copier, workers, 0)

    def anew(self, form: Form, *, removes_extras: bool = True) -> Copied:
        return self.rewriter.copy([Pair(f"file:{self.here}", f"file:{self.there}", form, removes_extras)])

    def names(self) -> list[str]:
        """All that is at the target but Hadoop's checksums and the record of copied files."""
        found = (it.name for it in self.there.rglob("*"))
        return sorted(it for it in found if not it.endswith(".crc") and it != RECORD)

    def rows(self, kind: str = "parquet") -> list[tuple[Any, ...]]:
        found = self.workers.host.session().read.format(kind).load(f"file:{self.there}")
        return sorted((tuple(row) for row in found.collect()), key=str)
