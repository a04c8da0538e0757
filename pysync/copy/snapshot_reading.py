"""Reading the rows of a snapshot of a transactional table. With Spark's own functions: executors need no Python.

A file of a write has six columns: what the write did (`operation`), the key of the row (`originalTransaction`,
`bucket`, `rowId`), the write that did it (`currentTransaction`), and the row itself. A row that was deleted stays in
its file, and its key is in a file of another directory. A file from before the table was transactional, or that LOAD
DATA brought, has rows alone: their place among the files of their bucket makes the key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pysync.copy.increments import Arrived
from pysync.copy.requests import CopyRefused
from pysync.copy.snapshot_files import RowFiles, SnapshotFiles
from pysync.copy.spark_reading import ONE_SPLIT, literally, no_rows, read, spark_type
from pysync.model.file_differences import FileStatus
from pysync.model.locations import Form
from pysync.model.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_KEY = ("originalTransaction", "bucket", "rowId")
_WRITE = "currentTransaction"
_INSERT, _DELETE = 0, 2
_OF_WRITE = re.compile(r"bucket_[0-9]{1,9}(?:_[0-9]{1,9})?")
_WITHOUT_KEYS = re.compile(r"([0-9]{1,9})_[0-9]{1,9}(?:_copy_[0-9]{1,9})?")
_BY_PLACE = re.compile(r"_col[0-9]{1,9}")  # how Hive 2 names all columns
_VERSION_OF_BUCKET = 1 << 29  # BucketCodec.V1 of Hive: the number of the bucket is 16 bits further down


def read_snapshot(session: SparkSession, form: Form, files: SnapshotFiles, arrived: Arrived | None = None) -> DataFrame:
    """The rows, with the columns of `form`; nothing runs yet. `session` was `prepared`.

    `files` of an increment (`files_added`) are read without the rows of the writes that have `arrived`.
    Raises CopyRefused for files that nobody can read by what their names say; what runs fails on rows of Hive 2's
    format.
    """
    if form.transactional == "insert_only":
        return read(session, form, [file.source for directory in files.rows for file in directory.files])
    # Of a file of a write, ORC would look for `bucket` and the like among the columns of the row.
    session.conf.set("spark.sql.orc.filterPushdown", "false")
    if any(_without_keys(it.files) for it in files.rows):
        # Each file is read whole in one task, so that its rows can be counted.
        session.conf.set("spark.sql.files.maxPartitionBytes", ONE_SPLIT)
    parts = [part for it in files.rows for part in _parts(session, form, it)]
    if not parts:
        return no_rows(session, form)
    rows = reduce(lambda one, other: one.unionByName(other), parts).where(_is_in(files.snapshot))
    if arrived is not None:
        rows = rows.where(~_is_among(arrived))
    deleted = [file for it in files.deletes for file in it.files]
    if deleted:
        keys = _of_writes(session, deleted, _DELETE).where(_is_in(files.snapshot)).select(*_KEY)
        rows = rows.join(keys, list(_KEY), "left_anti")
    return rows.select("values.*")


def _parts(session: SparkSession, form: Form, directory: RowFiles) -> Iterator[DataFrame]:
    """The rows of a directory with their keys, the write, and the columns of `form` as one: `values`."""
    from pyspark.sql import functions as sql  # noqa: PLC0415 - an extra

    with_keys = [it for it in directory.files if _OF_WRITE.fullmatch(_name(it))]
    if with_keys:
        rows = _of_writes(session, with_keys, _INSERT)
        yield rows.select(*_KEY, _WRITE, _values(form, rows.schema["row"].dataType.names, "row."))
    starts = dict[int, int]()
    for file in _without_keys(directory.files):
        bucket = _bucket(file)
        rows = _orc(session, [file]).coalesce(1).withColumn("#", sql.monotonically_increasing_id())
        start = starts.get(bucket, 0)
        starts[bucket] = start + _orc(session, [file]).count()
        number = _VERSION_OF_BUCKET | bucket << 16 | max(directory.statement, 0)
        yield rows.select(
            sql.lit(directory.last).cast("bigint").alias(_KEY[0]),
            sql.lit(number).cast("int").alias(_KEY[1]),
            (sql.col("#") + start).alias(_KEY[2]),
            sql.lit(directory.last).cast("bigint").alias(_WRITE),
            _values(form, [it for it in rows.columns if it != "#"], ""),
        )


def _without_keys(files: Iterable[FileStatus]) -> list[FileStatus]:
    return sorted((it for it in files if not _OF_WRITE.fullmatch(_name(it))), key=lambda it: (_bucket(it), it.name))


def _bucket(file: FileStatus) -> int:
    match = _WITHOUT_KEYS.fullmatch(_name(file))
    if match is None:
        raise CopyRefused(f"{file.source}: Hive gives files of a transactional table no such name")
    return int(match[1])


def _name(file: FileStatus) -> str:
    return file.name.rpartition("/")[2]


def _orc(session: SparkSession, files: Sequence[FileStatus]) -> DataFrame:
    """The rows of files of one directory, which have one schema."""
    return session.read.orc(literally([it.source for it in files]))


def _of_writes(session: SparkSession, files: Sequence[FileStatus], operation: int) -> DataFrame:
    """The rows of files of writes, all six columns of them.

    Spark's reader fails on such files where one of the columns is not wanted: it takes the schema for that of the row.
    So each has a condition.
    """
    from pyspark.sql import functions as sql  # noqa: PLC0415 - an extra

    # Hive before 3 writes the new state of a row as an operation of its own.
    older = sql.raise_error(sql.lit("a file in the format of Hive 2: compact the table (major) before"))
    is_known = sql.when(sql.col("operation") == operation, sql.lit(True)).otherwise(older.cast("boolean"))
    is_whole = reduce(lambda one, other: one & other, (sql.col(it).isNotNull() for it in (*_KEY, _WRITE)))
    row = sql.col("row")
    return _orc(session, files).where(is_known & is_whole & (row.isNull() if operation == _DELETE else row.isNotNull()))


def _is_in(snapshot: Snapshot) -> Column:
    from pyspark.sql import functions as sql  # noqa: PLC0415 - an extra

    without = [*snapshot.open, *snapshot.aborted]
    is_early = sql.col(_WRITE) <= snapshot.highest
    return is_early & ~sql.col(_WRITE).isin(without) if without else is_early


def _is_among(arrived: Arrived) -> Column:
    from pyspark.sql import functions as sql  # noqa: PLC0415 - an extra

    is_between = sql.col(_WRITE).between(arrived.lowest, arrived.highest)
    return is_between & ~sql.col(_WRITE).isin(list(arrived.without)) if arrived.without else is_between


def _values(form: Form, names: Sequence[str], prefix: str) -> Column:
    """The columns of the table, of a file with columns of these names; a column that the file lacks is NULL.

    Hive 4 finds columns by their places, Hive 3 by their names.
    """
    from pyspark.sql import functions as sql  # noqa: PLC0415 - an extra

    by_place = form.by_place or all(map(_BY_PLACE.fullmatch, names))
    by_name = {it.lower(): it for it in names}
    columns: list[Column] = []
    for place, (name, kind) in enumerate(form.columns):
        source = (names[place] if place < len(names) else None) if by_place else by_name.get(name.lower())
        value = sql.lit(None) if source is None else sql.col(f"{prefix}`{source.replace('`', '``')}`")
        columns.append(value.cast(spark_type(kind)).alias(name))
    return sql.struct(*columns).alias("values")
