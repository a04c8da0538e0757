"""Statements of Spark's on a metastore, in a process of its own: a process can have one Spark.

`python -m tests.support.spark_sql METASTORE WAREHOUSE DIRECTORY` reads them from standard input, as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from pysync.lab.demo.rows import spark_session
from pysync.lab.demo.stage import Stage

_LONGEST_SECONDS = 240


def at_the_source(stage: Stage, *statements: str) -> None:
    """Run the statements with a Spark that knows only the source; it tells the metastore of every insert."""
    run_statements(stage.source.uri, stage.source.warehouse, stage.directory, *statements)


def run_statements(metastore: str, warehouse: Path, directory: Path, *statements: str) -> None:
    """Run the statements with a Spark that knows this metastore."""
    writes = directory / "spark-writes"
    writes.mkdir(exist_ok=True)
    place = [metastore, str(warehouse), str(writes)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.spark_sql", *place],
        input=json.dumps(statements),
        capture_output=True,
        text=True,
        timeout=_LONGEST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def _main(metastore: str, warehouse: str, directory: str) -> None:
    with spark_session(metastore, Path(warehouse), Path(directory)) as spark:
        spark.conf.set("spark.sql.statistics.size.autoUpdate.enabled", "true")
        for statement in json.load(sys.stdin):
            spark.sql(statement)


if __name__ == "__main__":
    _main(*sys.argv[1:])
