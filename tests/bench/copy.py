"""bench-copy: files copied by Spark on local[2], against the tools at hand; sizes by environment variables.

PYSYNC_BENCH_COPY_GB (8) of large files against `cp -r`; PYSYNC_BENCH_COPY_FILES (5000) small ones against Hadoop's own
sequential FileUtil.copy in one JVM, with `cp -r` shown beside; and everything once more, with nothing changed. Each is
done three times, in turns, and the median counts; the page cache is as it comes, what was written is flushed before.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pysync.base.jars import copy_jar
from pysync.copy.copier import Copier
from pysync.copy.workers import SparkWorkers
from pysync.lab.java import find_java, find_spark_jars
from pysync.model.file_differences import Pair
from pysync.targets.settings import CopySettings
from pysync.targets.spark.session import SparkHost
from pysync.targets.spark_request import SparkRequest
from tests.bench.frame import Row, Say

_LARGE_FILES = 16
_SMALL_BYTES = 16 * 1024
_ROUNDS = 3
_MIB = 1024 * 1024
_ROOM = 3.5  # the source, and two copies of it at a time

_JAVA = """
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;

/** Copies a directory, prints how long that took in seconds: once to warm up, then once in earnest. */
class Sequential {
    public static void main(String[] names) throws Exception {
        Configuration settings = new Configuration();
        FileSystem files = FileSystem.getLocal(settings);
        FileUtil.copy(files, new Path(names[0]), files, new Path(names[2]), false, settings);
        long began = System.nanoTime();
        FileUtil.copy(files, new Path(names[1]), files, new Path(names[2]), false, settings);
        System.out.println((System.nanoTime() - began) / 1e9);
    }
}
"""


def run(say: Say) -> Iterator[Row]:
    """The rows `copy.large.ratio`, `copy.small.ratio` and `copy.again.ratio`, and the seconds that they come from."""
    size = float(os.environ.get("PYSYNC_BENCH_COPY_GB", "8"))
    number = int(os.environ.get("PYSYNC_BENCH_COPY_FILES", "5000"))
    with tempfile.TemporaryDirectory(prefix="pysync-bench-") as place:
        bench = _Bench(Path(place), say)
        bench.make(size, number)
        try:
            yield from bench.rows()
        finally:
            bench.close()


class _Bench:
    def __init__(self, directory: Path, say: Say) -> None:
        self._directory = directory
        self._say = say
        settings = CopySettings(parallelism=2)
        self._workers = SparkWorkers(SparkHost(SparkRequest("local[2]", ()), directory, [copy_jar()]))
        self._copier = Copier(self._workers, settings)

    def close(self) -> None:
        self._copier.close()
        self._workers.close()

    def make(self, gigabytes: float, number: int) -> None:
        """The files to copy. Raises OSError where the disk has no room for them."""
        needed = gigabytes * 1e9 * _ROOM
        free = shutil.disk_usage(self._directory).free
        if free < needed:
            raise OSError(f"{needed / 1e9:.0f} GB of free disk needed, {free / 1e9:.0f} there: PYSYNC_BENCH_COPY_GB=…")
        self._say(f"{gigabytes:g} GB and {number} small files are written")
        block = os.urandom(_MIB)
        for name in ("large", "small", "warm"):
            (self._directory / name).mkdir()
        for at in range(_LARGE_FILES):
            with (self._directory / "large" / f"part-{at}").open("wb") as file:
                for _ in range(int(gigabytes * 1e9 / _LARGE_FILES / _MIB)):
                    file.write(block)
        for at in range(number):
            (self._directory / "small" / f"part-{at}").write_bytes(block[:_SMALL_BYTES])
        for at in range(200):
            (self._directory / "warm" / f"part-{at}").write_bytes(block[:_SMALL_BYTES])

    def rows(self) -> list[Row]:
        self._say("Spark starts")
        for _ in range(3):
            self._emptied(lambda there: self._copy("warm", there))
        large, large_cp, _ = self._compare("large", {"cp": self._cp})
        small, small_cp, hadoop = self._compare("small", {"cp": self._cp, "hadoop": self._sequential})
        first, again = self._twice()
        return [
            Row("copy.large.ratio", large_cp / large, "x", goal=0.8, more_is_better=True),
            Row("copy.large.s", large, "s", large_cp),
            Row("copy.small.ratio", hadoop / small, "x", goal=1.8, more_is_better=True),
            Row("copy.small.s", small, "s", hadoop),
            Row("copy.small.cp_s", small_cp, "s"),
            Row("copy.again.ratio", first / again, "x", goal=20.0, more_is_better=True),
            Row("copy.again.s", again, "s", first),
        ]

    def _compare(self, what: str, others: dict[str, Callable[[str, Path], float]]) -> tuple[float, float, float]:
        """The median seconds: ours, those of `cp`, those of `hadoop` (0: not asked for)."""
        found: dict[str, list[float]] = {"pysync": [], "cp": [], "hadoop": []}
        for number in range(_ROUNDS):
            for name, copy in {"pysync": self._copy, **others}.items():
                self._say(f"{what} files, round {number + 1}: {name}")
                found[name].append(self._emptied(lambda there, copy=copy: copy(what, there)))
        return (
            statistics.median(found["pysync"]),
            statistics.median(found["cp"]),
            statistics.median(found["hadoop"] or [0.0]),
        )

    def _twice(self) -> tuple[float, float]:
        """All files to one place: the first time, and the median of three times more."""
        self._say("all files, and all files again")
        there = self._directory / "there"

        def both() -> float:
            return self._copy("large", there / "large") + self._copy("small", there / "small")

        os.sync()
        first = both()
        again = [both() for _ in range(_ROUNDS)]
        shutil.rmtree(there)
        return first, statistics.median(again)

    def _emptied(self, copy: Callable[[Path], float]) -> float:
        there = self._directory / "there"
        os.sync()
        seconds = copy(there)
        shutil.rmtree(there)
        return seconds

    def _copy(self, what: str, there: Path) -> float:
        began = time.perf_counter()
        self._copier.copy([Pair(f"file:{self._directory / what}", f"file:{there}")])
        return time.perf_counter() - began

    def _cp(self, what: str, there: Path) -> float:
        began = time.perf_counter()
        subprocess.run(["cp", "-r", self._directory / what, there], check=True)
        return time.perf_counter() - began

    def _sequential(self, what: str, there: Path) -> float:
        source = self._directory / "Sequential.java"
        source.write_text(_JAVA)
        there.mkdir()
        command = [find_java(), "-cp", f"{find_spark_jars()}/*", source, self._directory / "warm"]
        done = subprocess.run([*command, self._directory / what, there], check=True, capture_output=True, text=True)
        return float(done.stdout.split()[-1])
