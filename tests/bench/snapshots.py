"""bench-snapshots: the rows of a transactional table, as Parquet, by Spark on local[2].

PYSYNC_BENCH_SNAPSHOT_ROWS (1,000,000) rows in four writes with a tenth of them deleted, against a Spark that reads the
same files without asking which rows count, and writes them; then a write of a hundredth more, against all of it.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pysync.base.jars import copy_jar
from pysync.copy.copier import Copier
from pysync.copy.reencoder import Reencoder
from pysync.copy.workers import SparkWorkers
from pysync.model.file_differences import Pair
from pysync.model.locations import Form
from pysync.model.snapshot import Snapshot, Transactions
from pysync.targets.settings import CopySettings
from pysync.targets.spark.session import SparkHost
from pysync.targets.spark_request import SparkRequest
from tests.bench.frame import Row, Say

_WRITES = 4
_ROUNDS = 3
_COLUMNS = (("id", "bigint"), ("name", "string"), ("amount", "double"))
_INSERT, _DELETE = 0, 2
_BUCKET = 1 << 29


def run(say: Say) -> Iterator[Row]:
    """The rows `snapshots.*`."""
    rows = int(os.environ.get("PYSYNC_BENCH_SNAPSHOT_ROWS", "1000000"))
    with tempfile.TemporaryDirectory(prefix="pysync-bench-") as place:
        bench = _Bench(Path(place), rows)
        try:
            yield from bench.rows(say)
        finally:
            bench.close()


class _Bench:
    """A table, and a target of it."""

    def __init__(self, directory: Path, number: int) -> None:
        self._source, self._target, self._number = directory / "source", directory / "target", number
        self._workers = SparkWorkers(SparkHost(SparkRequest("local[2]", ()), directory, [copy_jar()]))
        self._copier = Copier(self._workers, CopySettings(parallelism=2))
        self._reencoder = Reencoder(self._copier, self._workers, 0)

    def close(self) -> None:
        self._copier.close()
        self._workers.close()

    def rows(self, say: Say) -> Iterator[Row]:
        say(f"a table of {self._number:,} rows is written")
        for write in range(1, _WRITES + 1):
            self._write(_INSERT, write, self._number // _WRITES)
        self._write(_DELETE, _WRITES + 1, self._number // 10)
        whole, plain = list[float](), list[float]()
        for turn in range(_ROUNDS + 1):  # the first one is for the JVM
            say(f"all rows, round {turn}")
            plain.append(self._timed(self._read_plainly))
            shutil.rmtree(self._target)
            whole.append(self._timed(lambda: self._arrives(_WRITES + 1)))
            if turn < _ROUNDS:
                shutil.rmtree(self._target)
        more = list[float]()
        for turn in range(_ROUNDS):
            say(f"a hundredth more, round {turn + 1}")
            last = _WRITES + 2 + turn
            self._write(_INSERT, last, self._number // 100)
            more.append(self._timed(lambda last=last: self._arrives(last)))  # type: ignore[misc]
        all_rows, by_spark, increment = (statistics.median(it) for it in (whole[1:], plain[1:], more))
        yield Row("snapshots.whole.rows_per_second", self._number / all_rows, "rows/s")
        yield Row("snapshots.whole.ratio", all_rows / by_spark, "x of plain Spark", by_spark)
        yield Row("snapshots.increment.s", increment, "s", all_rows)
        yield Row("snapshots.increment.ratio", all_rows / increment, "x", goal=2.0, more_is_better=True)

    def _write(self, operation: int, write: int, number: int) -> None:
        """One write: rows `number` at a time, or the keys of so many rows of the first write that are deleted."""
        from pyspark.sql import functions as sql  # noqa: PLC0415 - an extra

        session = self._workers.host.session()
        row = "struct<" + ",".join(f"{name}:{kind}" for name, kind in _COLUMNS) + ">"
        values = sql.struct(sql.col("id"), sql.concat(sql.lit("name of "), sql.col("id")), sql.rand(7) * 1000)
        columns: dict[str, Any] = {
            "operation": sql.lit(operation),
            "originalTransaction": sql.lit(write if operation == _INSERT else 1).cast("bigint"),
            "bucket": sql.lit(_BUCKET),
            "rowId": sql.col("id"),
            "currentTransaction": sql.lit(write).cast("bigint"),
            "row": values.cast(row) if operation == _INSERT else sql.lit(None).cast(row),
        }
        frame = session.range(number).select(*(it.alias(name) for name, it in columns.items()))
        made = self._source.parent / "made"
        frame.coalesce(1).write.mode("overwrite").orc(f"file:{made}")
        prefix = "delete_" if operation == _DELETE else ""
        place = self._source / f"{prefix}delta_{write:07}_{write:07}_0000"
        place.mkdir(parents=True)
        next(made.glob("part-*")).rename(place / "bucket_00000")

    def _read_plainly(self) -> None:
        session = self._workers.host.session()
        files = [f"file:{it}" for it in self._source.glob("delta_*/bucket_00000")]
        whole = session.read.orc(files).where("operation = 0 and originalTransaction + bucket + rowId is not null")
        whole.where("currentTransaction > 0").select("row.*").coalesce(1).write.parquet(f"file:{self._target}")

    def _arrives(self, highest: int) -> None:
        form = Form("orc", "parquet", _COLUMNS, transactional="full", snapshot=Snapshot(highest, Transactions(1)))
        self._reencoder.copy([Pair(f"file:{self._source}", f"file:{self._target}", form, removes_extras=True)])

    def _timed(self, what: Callable[[], None]) -> float:
        began = time.perf_counter()
        what()
        return time.perf_counter() - began
