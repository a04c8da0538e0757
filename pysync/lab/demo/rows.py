"""The rows that a Spark session finds in the tables of a metastore; as a process of its own it knows nothing else.

`python -m pysync.lab.demo.rows METASTORE WAREHOUSE DIRECTORY` prints them as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pysync.base.errors import PysyncError
from pysync.base.installation import install_extra
from pysync.targets.spark.session import AUTHENTICATED_LOCAL, log_settings, silence_refusals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


Rows = dict[str, list[str]]
"""The rows of each table, sorted; of one that cannot be read the error."""

_LONGEST_SECONDS = 300


@contextmanager
def spark_session(metastore: str, warehouse: Path, directory: Path) -> Iterator[SparkSession]:
    """A local Spark that uses the metastore at that address; its log goes to `directory`/spark.log.

    Raises PysyncError when pyspark is not installed.
    """
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra: only who uses Spark needs it
    except ImportError:
        raise PysyncError("the demo needs pyspark", install_extra("spark")) from None
    settings = log_settings(directory)
    builder = (
        SparkSession.builder.config(map=dict(AUTHENTICATED_LOCAL))
        .master("local[2]")
        .appName("pysync")
        .config("spark.sql.catalogImplementation", "hive")
        .config("spark.hadoop.hive.metastore.uris", metastore)
        .config("spark.sql.warehouse.dir", f"file:{warehouse}")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.hadoop.hive.exec.dynamic.partition.mode", "nonstrict")
        .config("spark.ui.showConsoleProgress", "false")
        .config(
            "spark.driver.extraJavaOptions",
            f"-Dlog4j2.configurationFile=file:{settings} -Dderby.system.home={directory}",
        )
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # pyspark leaves its launcher's pipes open
        session = builder.getOrCreate()
    silence_refusals(session)
    try:
        yield session
    finally:
        session.stop()


@dataclass(frozen=True, slots=True)
class RowsCompared:
    """The number of rows of a table at the source and at the target, and whether they are the same rows."""

    table: str
    source: int
    target: int
    equal: bool


def rows_in(spark: SparkSession) -> Rows:
    """All rows of all tables that the session sees."""
    rows: Rows = {}
    for database in spark.catalog.listDatabases():
        for table in spark.catalog.listTables(database.name):
            name = f"{database.name}.{table.name}"
            try:
                rows[name] = sorted(str(row) for row in spark.table(name).collect())
            except Exception as error:  # noqa: BLE001 - a table without its files
                rows[name] = [f"cannot be read: {type(error).__name__}"]
    return rows


def rows_at(metastore: str, warehouse: Path, directory: Path) -> Rows:
    """The same as a Spark of its own sees them. Raises PysyncError when it does not run."""
    directory.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", __name__, metastore, str(warehouse), str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST_SECONDS, check=False)
    if done.returncode:
        raise PysyncError("Spark cannot read the tables", f"the end of its output: {done.stderr.strip()[-500:]}")
    rows: Rows = json.loads(done.stdout.splitlines()[-1])
    return rows


def compare_rows(source: Rows, target: Rows) -> list[RowsCompared]:
    """Table by table; one that is only at one end has no rows at the other, and is not equal."""
    return [
        RowsCompared(name, len(source.get(name, ())), len(target.get(name, ())), source.get(name) == target.get(name))
        for name in sorted({*source, *target})
    ]


def main(metastore: str, warehouse: str, directory: str) -> None:
    """Print the rows."""
    with spark_session(metastore, Path(warehouse), Path(directory)) as spark:
        sys.stdout.write(json.dumps(rows_in(spark)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
