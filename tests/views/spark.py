"""Sparks that run queries: the installed one in this process, an older one in an environment of its own.

This file is also the program of the older one, so it imports nothing but pyspark: each line of its input is a call as
JSON, each line of its output the answer.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

Read = tuple[Sequence[tuple[str, str]], Sequence[Sequence[Any]]]
"""The names and types of columns, and the rows."""


class LocalSpark:
    """The installed one. `directory` is for its files."""

    def __init__(self, directory: Path, settings: Mapping[str, str] | None = None) -> None:
        self.session = start_session(directory, settings)

    @property
    def version(self) -> str:
        """Its version."""
        return str(self.session.version)

    def run(self, statement: str) -> None:
        """Run a statement of DDL."""
        self.session.sql(statement)

    def read(self, database: str, name: str, query: str) -> Read:
        """The result of a query that others read as `name`: numbers as they are, other things as strings."""
        self.session.sql(f"use {database}")
        source = self.session.sql(query)
        source.createOrReplaceTempView(name)
        columns = [(it.name, it.dataType.simpleString()) for it in source.schema]
        return columns, [[_plain(it) for it in row] for row in source.collect()]

    def close(self) -> None:
        """End it."""
        self.session.stop()


class RemoteSpark:
    """One of another environment; `python` is that of it. `settings` come before those that are usual here."""

    def __init__(self, python: Path, directory: Path, settings: Mapping[str, str] | None = None) -> None:
        self._log = (directory.parent / f"{directory.name}.log").open("w", encoding="utf-8")
        self._process = subprocess.Popen(
            [str(python), __file__, str(directory), json.dumps(settings or {})],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=directory.parent,
        )

    @property
    def version(self) -> str:
        """Its version."""
        return str(self._ask("version"))

    def run(self, statement: str) -> None:
        """Run a statement of DDL."""
        self._ask("run", statement)

    def read(self, database: str, name: str, query: str) -> Read:
        """The same as of the other."""
        columns, rows = self._ask("read", database, name, query)
        return [(name, kind) for name, kind in columns], rows

    def close(self) -> None:
        """End it."""
        self._process.communicate()
        self._log.close()

    def _ask(self, call: str, *arguments: str) -> Any:
        if self._process.stdin is None or self._process.stdout is None:
            raise OSError("Spark has no pipe")
        self._process.stdin.write(json.dumps([call, *arguments]) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]


def _plain(value: Any) -> Any:
    """A value that JSON has; each kind of number in digits."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return [[_plain(key), _plain(it)] for key, it in value.items()]
    if isinstance(value, list | tuple):
        return [_plain(it) for it in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes | bytearray) else str(value)


def start_session(directory: Path, others: Mapping[str, str] | None = None) -> SparkSession:
    """A session for queries of a few rows, which take longer to compile than to run."""
    settings = {
        "spark.driver.memory": "1500m",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.sql.crossJoin.enabled": "true",
        "spark.sql.groupByOrdinal": "false",
        # Parquet files that Hive 2.3 reads.
        "spark.sql.parquet.writeLegacyFormat": "true",
        "spark.sql.parquet.outputTimestampType": "INT96",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:+UseSerialGC",
    }
    builder = SparkSession.builder.master("local[2]").appName("views")
    for name, value in {**settings, **(others or {})}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def _answer(spark: LocalSpark, call: str, arguments: Sequence[str]) -> dict[str, Any]:
    try:
        if call == "version":
            return {"result": spark.version}
        return {"result": spark.read(*arguments) if call == "read" else spark.run(*arguments)}
    except Exception as error:  # whatever Spark says of a query
        return {"error": str(error)}


if __name__ == "__main__":
    local = LocalSpark(Path(sys.argv[1]), json.loads(sys.argv[2]))
    for line in sys.stdin:
        name, *values = json.loads(line)
        print(json.dumps(_answer(local, name, values)), flush=True)
    local.close()
