"""The same tables for an engine that is the judge, and for a real Trino behind an embedded Glue; and views on them.

A view of Hive has the rows that Hive gives, a view of Spark those of Spark.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

from hmsclient.genthrift.hive_metastore import ttypes as hive
from pyspark.sql import SparkSession

from pysync.hiveql.differences import DIFFERENCES
from pysync.lab.aws import EmbeddedAws
from pysync.model.definition import VIEW_DATABASE_KEY
from pysync.targets.glue import GlueSettings, GlueStore
from pysync.targets.source_hive import Release, SourceHive
from pysync.views.spark import HiveRules, rules_of
from pysync.views.translation import accepted_in, is_presto
from pysync.views.versions import VERSIONS, rules_in
from tests.views.bring import bring, make_environment
from tests.views.equal import ALIKE, Alike, difference, differing_columns
from tests.views.hive import Hive, HiveRefused
from tests.views.spark import LocalSpark, Read, RemoteSpark
from tests.views.trino import CATALOG, Failed, Trino

_BUCKET = "views"
SETTINGS: dict[str, Release] = {"hive-2.3.10": "2.3", "hive-3.1.3": "3.1", "hive-4.2.0": "4"}
"""What `hive_version` is for the Hives among the judges."""
_FAILING = frozenset({"json-text", "odd-time", "odd-url"})
"""The differences without which a view is translated, and fails at some values."""
_OLDER_SPARKS = {"spark-3.5": "pyspark==3.5.8"}
JUDGES: Sequence[str] = (*SETTINGS, *_OLDER_SPARKS, "spark-4")
"""The engines that say which rows a view has; spark-4 is the installed one."""


@dataclass
class Outcome:
    """What became of a view: `equal`, `refused`, `wrong`, or `unread` if its own engine cannot read it.

    `accepted`: it is refused, and equal but for differences that a person may accept.
    """

    name: str
    kind: str
    reason: str = ""
    text: str = ""
    needs_version: bool = False
    """Whether it is translated only because the setting says which version of Hive it is of."""
    of_spark: bool = False
    columns: Sequence[int] = ()
    """The places, behind the first column, of those that are wrong, where the first is a key of the rows."""


@dataclass
class World:
    """A context manager. `judge` is one of JUDGES, `directory` is for files."""

    judge: str
    directory: Path
    zone: str | None = None
    """The time zone of a Hive that judges, if pysync is told it; else it is UTC."""
    has_hard_table: bool = False
    """Whether the table of hard values is there."""
    _stack: ExitStack = field(default_factory=ExitStack)
    _numbers: Iterator[int] = field(default_factory=count)

    def __enter__(self) -> World:
        self.home = bring()
        aws = self._stack.enter_context(EmbeddedAws(self.directory / "aws", athena=False))
        keys = {name: value for name, value in aws.environment().items() if name != "AWS_ENDPOINT_URL"}
        self._stack.enter_context(patch.dict(os.environ, keys))
        self._s3 = aws.client("s3")
        self._s3.create_bucket(Bucket=_BUCKET)
        settings: dict[str, Any] = {"name": "lake", "kind": "glue", "region": aws.region, "endpoint_url": aws.url}
        self._glue = self._store(GlueSettings(**settings), SourceHive(SETTINGS.get(self.judge), self.zone))
        self._of_any_version = self._store(GlueSettings(**settings), SourceHive(None, self.zone))
        accepting = GlueSettings(**settings, views_accept=tuple(DIFFERENCES))
        self._accepting = self._store(accepting, SourceHive(SETTINGS.get(self.judge), self.zone))
        self.spark = LocalSpark(self.directory / "spark")
        self._stack.callback(self.spark.close)
        self._start_judge()
        (self.directory / "trino").mkdir()
        self.trino = self._stack.enter_context(Trino(self.home, self.directory / "trino", aws.url))
        return self

    def _store(self, settings: GlueSettings, hive: SourceHive) -> GlueStore:
        settings.use_source_hive(hive)
        store = GlueStore(settings)
        self._stack.callback(store.close)
        return store

    def _start_judge(self) -> None:
        self._hive: Hive | None = None
        self._asked: LocalSpark | RemoteSpark = self.spark
        if self.judge in SETTINGS:
            self._hive = Hive(self.judge.removeprefix("hive-"), self.directory / "hive", self.zone or "UTC")
            self._stack.callback(self._hive.close)
        elif self.judge in _OLDER_SPARKS:
            python = make_environment(self.judge, [_OLDER_SPARKS[self.judge]])
            self._asked = RemoteSpark(python, self.directory / self.judge)
            self._stack.callback(self._asked.close)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def rules(self) -> HiveRules:
        """Those by which the judge's views are translated."""
        if self.judge in SETTINGS:
            return rules_in(SETTINGS[self.judge], self.zone)
        return rules_of(hive.Table(parameters={**_OF_SPARK, _CREATED_BY: self._asked.version})) or VERSIONS["2.3"]

    def next_number(self) -> int:
        """One that no other view has in its name."""
        return next(self._numbers)

    # --- what is there

    def create_database(self, name: str) -> None:
        """A database, everywhere."""
        if self._hive is not None:
            self._hive.rows("default", f"create database {name}")
        for spark in {self.spark, self._asked}:
            spark.run(f"create database {name}")
        self._glue.create_database(self._glue.as_stored(hive.Database(name=name, parameters={})))

    def create_table(self, database: str, name: str, columns: str, files: Path) -> None:
        """A table of Parquet files, everywhere; `columns` as in Hive's DDL."""
        if self._hive is not None:
            self._hive.rows(
                database, f"create external table {name} ({columns}) stored as parquet location 'file:{files}'"
            )
        for spark in {self.spark, self._asked}:
            spark.run(f"create table {database}.{name} ({columns}) using parquet location '{files}'")
        for file in files.glob("*.parquet"):
            self._s3.upload_file(str(file), _BUCKET, f"{database}/{name}/{file.name}")
        self._glue.create_table(self._glue.as_stored(_table(database, name, columns)))

    def make_table(self, database: str, name: str, statement: str) -> None:
        """A table that a Hive makes by a statement, with copies of its files, for Trino."""
        assert self._hive is not None
        self._hive.rows(database, statement)
        table = self._hive.table(database, name)
        for file in Path(urlsplit(table.sd.location).path).glob("[!._]*"):
            self._s3.upload_file(str(file), _BUCKET, f"{database}/{name}/{file.name}")
        table.sd.location = f"s3://{_BUCKET}/{database}/{name}"
        self._glue.create_table(self._glue.as_stored(table))

    def copy_table(self, table: Any, files: Path) -> list[str]:
        """A table that some engine has registered, with copies of its files, for Trino; what pysync says is lost."""
        place = f"s3://{_BUCKET}/{table.dbName}/{table.tableName}"
        for file in files.glob("part-*"):
            self._s3.upload_file(str(file), _BUCKET, f"{table.dbName}/{table.tableName}/{file.name}")
        table.sd.location, table.sd.serdeInfo.parameters["path"] = place, place
        stored = self._glue.as_stored(table)
        self._glue.create_table(stored)
        return self._glue.lost(stored)

    # --- views

    def try_view(self, database: str, name: str, query: str) -> Outcome:
        """Create the view where the judge is, and compare the rows that it and Trino read."""
        if self._hive is None:
            return self._try_view_of_spark(database, name, query)
        try:
            self._hive.rows(database, f"create view {name} as {query}")
            wanted = self._hive.rows(database, f"select * from {name}")
        except HiveRefused as error:
            return Outcome(name, "unread", str(error).splitlines()[0])
        return self._compare(self._hive.table(database, name), wanted)

    def try_accepted(
        self, database: str, name: str, query: str, difference: str, alike: Alike | None = None
    ) -> Outcome:
        """The same for a view that is refused, or fails, unless one difference is accepted: nothing else differs.

        `alike` says what may differ so; by default what is in ALIKE.
        """
        if self._hive is None:
            raise TypeError("only views of Hive are tried with differences")
        try:
            self._hive.rows(database, f"create view {name} as {query}")
            wanted = self._hive.rows(database, f"select * from {name}")
        except HiveRefused as error:
            return Outcome(name, "unread", str(error).splitlines()[0])
        view = self._hive.table(database, name)
        kept = self._accepting.as_stored(view)
        found = list(accepted_in(kept.viewOriginalText))
        is_needless = difference not in _FAILING and is_presto(self._glue.as_stored(view).viewOriginalText)
        if is_needless or found != [difference]:
            return Outcome(name, "refused", f"accepted: {found}; {self._accepting.lost(kept)}")
        self._glue.create_table(kept)
        reason, columns = self._difference(kept, wanted, alike or ALIKE[difference])
        return Outcome(name, "wrong" if reason else "equal", reason, kept.viewOriginalText, columns=columns)

    def try_accepting(self, database: str, outcome: Outcome) -> Outcome:
        """The same for a view of a Hive that was refused, with all differences accepted."""
        if self._hive is None or outcome.kind != "refused":
            return outcome
        kept = self._accepting.as_stored(self._hive.table(database, outcome.name))
        found = accepted_in(kept.viewOriginalText)
        if not found:
            return outcome
        self._glue.drop_tables([kept], delete_data=False)
        self._glue.create_table(kept)
        wanted = self._hive.rows(database, f"select * from {outcome.name}")
        wrong, _ = self._difference(kept, wanted, lambda one, other: any(ALIKE[it](one, other) for it in found))
        kind, reason = ("wrong", wrong) if wrong else ("accepted", f"{outcome.reason}; accepted: {', '.join(found)}")
        return Outcome(outcome.name, kind, reason, kept.viewOriginalText)

    def try_view_of_both(self, database: str, name: str, query: str) -> Outcome:
        """Rows by Spark, which is faster; for values that all read alike.

        It is a view of Hive, unless Hive does not compile it, or only one version's has known rows.
        """
        if self._hive is None:
            return self._try_view_of_spark(database, name, query)
        try:
            self._hive.rows(database, f"create view {name} as {query}")
        except HiveRefused:
            return self._try_view_of_spark(database, name, query)
        view = self._hive.table(database, name)
        if not is_presto(self._of_any_version.as_stored(view).viewOriginalText):
            return self._try_view_of_spark(database, name, query)
        read = self._read(self.spark, database, name, query)
        return read if isinstance(read, Outcome) else self._compare(view, read[1])

    def _try_view_of_spark(self, database: str, name: str, query: str) -> Outcome:
        """The same for a view of Spark that is not in ANSI mode."""
        read = self._read(self._asked, database, name, query)
        if isinstance(read, Outcome):
            return read
        columns = [hive.FieldSchema(name, kind) for name, kind in read[0]]
        texts = {"viewOriginalText": query, "viewExpandedText": query, "tableType": "VIRTUAL_VIEW"}
        storage = hive.StorageDescriptor(cols=columns, serdeInfo=hive.SerDeInfo(parameters={}))
        properties = {**_OF_SPARK, VIEW_DATABASE_KEY: database, _CREATED_BY: self._asked.version}
        view = hive.Table(dbName=database, tableName=name, sd=storage, parameters=properties, **texts)
        return self._compare(view, read[1])

    def _read(self, spark: LocalSpark | RemoteSpark, database: str, name: str, query: str) -> Read | Outcome:
        try:
            return spark.read(database, name, query)
        except Exception as error:
            return Outcome(name, "unread", str(error).splitlines()[0])

    def _compare(self, view: Any, wanted: Sequence[Sequence[Any]]) -> Outcome:
        """Put the view into Glue, and compare its rows in Trino; also as it is without the setting, if that differs."""
        outcome = Outcome(view.tableName, "equal", of_spark=VIEW_DATABASE_KEY in (view.parameters or {}))
        plain, kept = self._of_any_version.as_stored(view), self._glue.as_stored(view)
        if not is_presto(kept.viewOriginalText):
            self._glue.create_table(kept)
            outcome.kind, outcome.reason = "refused", "; ".join(self._glue.lost(kept)).removeprefix(_TOLD)
            return outcome
        outcome.needs_version = not is_presto(plain.viewOriginalText)
        for it in {it.viewOriginalText: it for it in (plain, kept) if is_presto(it.viewOriginalText)}.values():
            if outcome.text:
                self._glue.drop_tables([it], delete_data=False)
            self._glue.create_table(it)
            outcome.text = it.viewOriginalText
            outcome.reason, outcome.columns = self._difference(it, wanted)
            if outcome.reason:
                outcome.kind = "wrong"
                break
        return outcome

    def reads(self, database: str, query: str) -> bool:
        """Whether the judge has rows for a query."""
        if self._hive is None:
            return not isinstance(self._read(self._asked, database, "query", query), Outcome)
        try:
            self._hive.rows(database, query)
        except HiveRefused:
            return False
        return True

    def answers(self, database: str, name: str, columns: Sequence[str]) -> bool:
        """Whether Trino has rows for these columns of a view."""
        try:
            self.trino.rows(f'select {", ".join(columns)} from {CATALOG}."{database}"."{name}"')
        except Failed:
            return False
        return True

    def _difference(
        self, view: Any, wanted: Sequence[Sequence[Any]], alike: Alike = lambda *_: False
    ) -> tuple[str, Sequence[int]]:
        """What differs, in a few words, and in which columns; neither if the rows are the same."""
        try:
            found = self.trino.rows(f'select * from {CATALOG}."{view.dbName}"."{view.tableName}"')
        except Failed as error:
            return str(error), ()
        types = [it.type for it in view.sd.cols]
        reason = difference(types, wanted, found, alike)
        return reason, differing_columns(types, wanted, found, alike) if reason else ()


_CREATED_BY = "spark.sql.create.version"
_OF_SPARK = {"view.catalogAndNamespace.numParts": "2", "view.sqlConfig.spark.sql.ansi.enabled": "false"}
_TOLD = "view: its text remains HiveQL, which Athena cannot run; view: not translated: "
_PARQUET = "org.apache.hadoop.hive.ql.io.parquet"


def _table(database: str, name: str, columns: str) -> Any:
    fields = [hive.FieldSchema(*it.split(" ", 1)) for it in split_columns(columns)]
    storage = hive.StorageDescriptor(
        cols=fields,
        location=f"s3://{_BUCKET}/{database}/{name}",
        inputFormat=f"{_PARQUET}.MapredParquetInputFormat",
        outputFormat=f"{_PARQUET}.MapredParquetOutputFormat",
        serdeInfo=hive.SerDeInfo(serializationLib=f"{_PARQUET}.serde.ParquetHiveSerDe", parameters={}),
    )
    parameters = {"EXTERNAL": "TRUE"}
    return hive.Table(
        dbName=database, tableName=name, sd=storage, parameters=parameters, tableType="EXTERNAL_TABLE", partitionKeys=[]
    )


def split_columns(columns: str) -> list[str]:
    """Each with its type."""
    return re.split(r", (?=\w+ )", columns)


def write_rows(spark: SparkSession, columns: str, rows: tuple[str, ...], files: Path) -> None:
    """Rows, as SQL writes them, into Parquet files."""
    types = dict(it.split(" ", 1) for it in split_columns(columns))
    values = ", ".join(f"({row})" for row in rows)
    casts = ", ".join(f"cast({name} as {kind}) as {name}" for name, kind in types.items())
    frame = spark.sql(f"select {casts} from values {values} as v({', '.join(types)})")
    frame.coalesce(1).write.parquet(str(files))
