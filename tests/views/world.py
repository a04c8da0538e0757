"""The same tables for a real Hive, Spark, and a real Trino behind an embedded Glue; and views on them.

A view of Hive has the rows that Hive gives, a view of Spark those of Spark.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any
from unittest.mock import patch

from hmsclient.genthrift.hive_metastore import ttypes as hive
from pyspark.sql import SparkSession

from pysync.lab.aws import EmbeddedAws
from pysync.lab.aws.hive import Refused
from pysync.model.names import TableName
from pysync.targets.glue import GlueSettings, GlueStore
from pysync.views.spark import DATABASE as SPARK_DATABASE
from pysync.views.translation import is_presto
from tests.views.equal import difference
from tests.views.hive import rows, start_hive
from tests.views.trino import CATALOG, Failed, Trino

_BUCKET = "views"


@dataclass
class Outcome:
    """What became of a view: `equal`, `refused`, `wrong`, or `unread` if its own engine cannot read it."""

    name: str
    kind: str
    reason: str = ""
    text: str = ""
    needs_version: bool = False
    """Whether it is translated only because the setting says which version of Hive it is of."""


@dataclass
class World:
    """A context manager. `home` is what `bring` brought, `directory` is for its files."""

    home: Path
    directory: Path
    _stack: ExitStack = field(default_factory=ExitStack)
    _numbers: Iterator[int] = field(default_factory=count)

    def __enter__(self) -> World:
        aws = self._stack.enter_context(EmbeddedAws(self.directory / "aws", athena=False))
        keys = {name: value for name, value in aws.environment().items() if name != "AWS_ENDPOINT_URL"}
        self._stack.enter_context(patch.dict(os.environ, keys))
        self._s3 = aws.client("s3")
        self._s3.create_bucket(Bucket=_BUCKET)
        settings: dict[str, Any] = {"name": "lake", "kind": "glue", "region": aws.region, "endpoint_url": aws.url}
        self.glue = GlueStore(GlueSettings(**settings, hive_version="2.3"))
        self._stack.callback(self.glue.close)
        self._of_any_version = GlueStore(GlueSettings(**settings))
        self._stack.callback(self._of_any_version.close)
        self._hive = start_hive(self.home, self.directory / "hive")
        self._stack.callback(self._hive.close)
        self.spark = _spark(self.directory / "spark")
        self._stack.callback(self.spark.stop)
        (self.directory / "trino").mkdir()
        self.trino = self._stack.enter_context(Trino(self.home, self.directory / "trino", aws.url))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def next_number(self) -> int:
        """One that no other view has in its name."""
        return next(self._numbers)

    # --- what is there

    def create_database(self, name: str) -> None:
        """A database, everywhere."""
        self._hive.run("default", f"create database {name}")
        self.spark.sql(f"create database {name}")
        self.glue.create_database(self.glue.as_stored(hive.Database(name=name, parameters={})))

    def create_table(self, database: str, name: str, columns: str, files: Path) -> None:
        """A table of Parquet files, everywhere; `columns` as in Hive's DDL."""
        self._hive.run(database, f"create external table {name} ({columns}) stored as parquet location 'file:{files}'")
        self.spark.sql(f"create table {database}.{name} ({columns}) using parquet location '{files}'")
        for file in files.glob("*.parquet"):
            self._s3.upload_file(str(file), _BUCKET, f"{database}/{name}/{file.name}")
        table = self._hive.table(database, name)
        table.sd.location = f"s3://{_BUCKET}/{database}/{name}"
        self.glue.create_table(self.glue.as_stored(table))

    def try_view_of_hive(self, database: str, name: str, query: str) -> Outcome:
        """Create the view in Hive, and compare the rows that Hive and Trino read in it."""
        try:
            self._hive.run(database, f"create view {name} as {query}")
            wanted = rows(self._hive, database, f"select * from {name}")
        except Refused as error:
            return Outcome(name, "unread", str(error).splitlines()[0])
        return self._compare(self._hive.table(database, name), wanted)

    def try_view_of_spark(self, database: str, name: str, query: str) -> Outcome:
        """The same for a view of Spark that is not in ANSI mode; at the target its name has a prefix."""
        try:
            schema, wanted = self._read_by_spark(database, name, query)
        except Exception as error:
            return Outcome(name, "unread", str(error).splitlines()[0])
        columns = [hive.FieldSchema(it.name, it.dataType.simpleString()) for it in schema]
        texts = {"viewOriginalText": query, "viewExpandedText": query, "tableType": "VIRTUAL_VIEW"}
        storage = hive.StorageDescriptor(cols=columns, serdeInfo=hive.SerDeInfo(parameters={}))
        properties = {**_OF_SPARK, SPARK_DATABASE: database, "spark.sql.create.version": self.spark.version}
        view = hive.Table(dbName=database, tableName=f"spark_{name}", sd=storage, parameters=properties, **texts)
        return self._compare(view, wanted)

    def try_view_of_both(self, database: str, name: str, query: str) -> Outcome:
        """Rows by Spark, which is faster; for values that all read alike.

        It is a view of Hive, unless Hive does not compile it, or only one version's has known rows.
        """
        try:
            self._hive.run(database, f"create view {name} as {query}")
        except Refused:
            return self.try_view_of_spark(database, name, query)
        view = self._hive.table(database, name)
        if not is_presto(self._of_any_version.as_stored(view).viewOriginalText):
            return self.try_view_of_spark(database, name, query)
        try:
            _, wanted = self._read_by_spark(database, name, query)
        except Exception as error:
            return Outcome(name, "unread", str(error).splitlines()[0])
        return self._compare(view, wanted)

    def _read_by_spark(self, database: str, name: str, query: str) -> tuple[Any, list[list[Any]]]:
        """Its columns and rows; other views read it by its name."""
        self.spark.sql(f"use {database}")
        source = self.spark.sql(query)
        source.createOrReplaceTempView(name)
        return source.schema, [list(row) for row in source.collect()]

    def _compare(self, view: Any, wanted: list[list[Any]]) -> Outcome:
        """Put the view into Glue, and compare its rows in Trino."""
        name, database = view.tableName, view.dbName
        kept = self.glue.as_stored(view)
        self.glue.create_table(kept)
        if not is_presto(kept.viewOriginalText):
            return Outcome(name, "refused", "; ".join(self.glue.lost(kept)).removeprefix(_TOLD))
        try:
            found = self.trino.rows(f'select * from {CATALOG}."{database}"."{name}"')
        except Failed as error:
            return Outcome(name, "wrong", str(error), kept.viewOriginalText)
        reason = difference([it.type for it in kept.sd.cols], wanted, found)
        needs_version = not is_presto(self._of_any_version.as_stored(view).viewOriginalText)
        return Outcome(name, "wrong" if reason else "equal", reason, kept.viewOriginalText, needs_version)

    def table(self, database: str, name: str) -> Any:
        """What Glue has of it."""
        return self.glue.table(TableName(database, name))


_OF_SPARK = {"view.catalogAndNamespace.numParts": "2", "view.sqlConfig.spark.sql.ansi.enabled": "false"}
_TOLD = "view: its text remains HiveQL, which Athena cannot run; view: not translated: "


def _spark(directory: Path) -> SparkSession:
    settings: Mapping[str, str] = {
        "spark.driver.memory": "1500m",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        # Queries of a few rows: to compile them takes longer than to run them.
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
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def write_rows(spark: SparkSession, columns: str, rows: tuple[str, ...], files: Path) -> None:
    """Rows, as SQL writes them, into Parquet files."""
    names = ", ".join(it.split(" ")[0] for it in re.split(r", (?=\w+ )", columns))
    values = ", ".join(f"({row})" for row in rows)
    types = dict(it.split(" ", 1) for it in re.split(r", (?=\w+ )", columns))
    casts = ", ".join(f"cast({name} as {kind}) as {name}" for name, kind in types.items())
    frame = spark.sql(f"select {casts} from values {values} as v({names})")
    frame.coalesce(1).write.parquet(str(files))
