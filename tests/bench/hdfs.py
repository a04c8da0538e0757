"""Files copied from HDFS to HDFS, against Hadoop's own distcp; sizes by environment variables. Needs Maven.

PYSYNC_BENCH_HDFS_FILES (1000) small files and PYSYNC_BENCH_HDFS_GB (1) of large ones, on Hadoop's MiniDFSCluster.
distcp runs as it comes, without a YARN, its start counted; of pysync there is a row without that of Spark, which a
sidecar has running, and one with it and with all that is slower the first time. Each is done in turns, and the median
counts.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pysync.base.jars import copy_jar
from pysync.copy.copier import Copier
from pysync.copy.workers import SparkWorkers
from pysync.lab.java import find_java
from pysync.model.file_differences import Pair
from pysync.targets.settings import CopySettings
from pysync.targets.spark.session import SparkHost
from pysync.targets.spark_request import SparkRequest
from tests.bench.frame import Row, Say
from tests.versions.hadoop.hdfs import MiniHdfs
from tests.versions.hadoop.jars import HadoopJars, bring

_SMALL_BYTES = 4096
_LARGE_FILES = 4
_ROUNDS = 3
_MIB = 1024 * 1024
_DISTCP_SECONDS = 900
_CLOSING = "dfs.client.block.write.locateFollowingBlock"


def run(say: Say) -> Iterator[Row]:
    """The rows `hdfs.small.ratio` and `hdfs.large.ratio`, and what they come from. Raises NotBrought without Maven."""
    number = int(os.environ.get("PYSYNC_BENCH_HDFS_FILES", "1000"))
    gigabytes = float(os.environ.get("PYSYNC_BENCH_HDFS_GB", "1"))
    say("Hadoop's jars are brought")
    jars = bring()
    with tempfile.TemporaryDirectory(prefix="pysync-bench-") as place, MiniHdfs(jars, Path(place) / "hdfs") as hdfs:
        bench = _Bench(Path(place), hdfs.uri, jars, say)
        try:
            yield from bench.small(number)
            yield from bench.large(gigabytes)
        finally:
            bench.close()


class _Bench:
    def __init__(self, directory: Path, uri: str, jars: HadoopJars, say: Say) -> None:
        self._directory, self._uri, self._jars, self._say = directory, uri, jars, say
        self._settings = CopySettings()
        self._start()

    def close(self) -> None:
        self._copier.close()
        self._workers.close()

    def small(self, number: int) -> list[Row]:
        """Small files, in files a second."""
        self._say(f"{number} small files are written")
        self._make("small", number, _SMALL_BYTES)
        ours, cold, distcp = self._rounds("small")
        tuned = self._emptied(self._tuned_distcp, "small")
        return [
            Row("hdfs.small.ratio", distcp / ours, "x", goal=3.0, more_is_better=True),
            Row("hdfs.small.files_per_s", number / ours, "1/s", number / distcp),
            Row("hdfs.small.started_ratio", distcp / cold, "x"),
            Row("hdfs.small.started_files_per_s", number / cold, "1/s", number / distcp),
            Row("hdfs.small.tuned_distcp_files_per_s", number / tuned, "1/s"),
        ]

    def large(self, gigabytes: float) -> list[Row]:
        """Large files, in MB a second."""
        self._say(f"{gigabytes:g} GB are written")
        self._make("large", _LARGE_FILES, int(gigabytes * 1e9 / _LARGE_FILES))
        ours, cold, distcp = self._rounds("large")
        size = gigabytes * 1000
        return [
            Row("hdfs.large.ratio", distcp / ours, "x", goal=1.0, more_is_better=True),
            Row("hdfs.large.mb_per_s", size / ours, "MB/s", size / distcp),
            Row("hdfs.large.started_ratio", distcp / cold, "x"),
            Row("hdfs.large.started_mb_per_s", size / cold, "MB/s", size / distcp),
        ]

    def _start(self) -> None:
        directory = self._directory / f"spark-{time.monotonic_ns()}"
        directory.mkdir()
        self._workers = SparkWorkers(SparkHost(SparkRequest(None, ()), directory, [copy_jar()]))
        self._copier = Copier(self._workers, self._settings)

    def _make(self, what: str, number: int, size: int) -> None:
        """The files to copy, copied there; this also has Spark running."""
        local = self._directory / what
        local.mkdir()
        block = os.urandom(_MIB)
        for at in range(number):
            with (local / f"part-{at:05d}").open("wb") as file:
                for begin in range(0, size, _MIB):
                    file.write(block[: min(_MIB, size - begin)])
        self._copier.copy([Pair(f"file:{local}", f"{self._uri}/{what}")])

    def _rounds(self, what: str) -> tuple[float, float, float]:
        """The median seconds: ours, ours with the start of Spark, those of distcp."""
        found: dict[str, list[float]] = {"pysync": [], "pysync with its start": [], "distcp": []}
        ways = (self._copy, self._start_and_copy, self._distcp)
        for number in range(_ROUNDS):
            for (name, seconds), copy in zip(found.items(), ways, strict=True):
                self._say(f"{what} files, round {number + 1}: {name}")
                seconds.append(self._emptied(copy, what))
        ours, cold, distcp = (statistics.median(seconds) for seconds in found.values())
        return ours, cold, distcp

    def _emptied(self, copy: Callable[[str, str], float], what: str) -> float:
        os.sync()
        seconds = copy(what, "there")
        self._remove("there")
        return seconds

    def _copy(self, what: str, there: str) -> float:
        began = time.perf_counter()
        self._copier.copy([Pair(f"{self._uri}/{what}", f"{self._uri}/{there}")])
        return time.perf_counter() - began

    def _start_and_copy(self, what: str, there: str) -> float:
        self.close()
        began = time.perf_counter()
        self._start()
        self._copy(what, there)
        return time.perf_counter() - began

    def _distcp(self, what: str, there: str, *options: str) -> float:
        names = [f"{self._uri}/{what}", f"{self._uri}/{there}"]
        command = [str(find_java()), "-cp", self._jars.of_distcp(), "org.apache.hadoop.tools.DistCp", *options, *names]
        began = time.perf_counter()
        done = subprocess.run(
            command, cwd=self._directory, capture_output=True, text=True, check=False, timeout=_DISTCP_SECONDS
        )
        if done.returncode:
            raise RuntimeError(f"distcp failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return time.perf_counter() - began

    def _tuned_distcp(self, what: str, there: str) -> float:
        """As one would have it do its best here: as many files at once as pysync, and with as short waits."""
        settings = {"mapreduce.local.map.tasks.maximum": "16", f"{_CLOSING}.initial.delay.ms": "10"}
        return self._distcp(what, there, *(f"-D{key}={value}" for key, value in settings.items()))

    def _remove(self, name: str) -> None:
        from pyspark import SparkContext  # noqa: PLC0415 - slow to load

        context: Any = SparkContext._active_spark_context
        path = context._jvm.org.apache.hadoop.fs.Path(f"{self._uri}/{name}")
        path.getFileSystem(context._jvm.org.apache.hadoop.conf.Configuration()).delete(path, True)
