"""Reading files by their definition, as Hive would. With Spark's own functions: executors need no Python."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pysync.model.locations import Form

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


ONE_SPLIT = str(1 << 40)
_PATTERN = re.compile(r"[\\{}\[\]*?]")
_SIZED = re.compile(r"\b(?:var)?char\s*\([0-9 ]+\)", re.IGNORECASE)
_LONGEST = 65535  # of a varchar
_NOT_UTF8 = "a line is not UTF-8"
_DATE = r"^\d{4}-\d{1,2}-\d{1,2}$"
_TIME = r"^\d{4}-\d{1,2}-\d{1,2}([ T].*)?$"

SETTINGS = {
    "spark.sql.ansi.enabled": "false",  # what is no number is NULL, as in Hive
    "spark.sql.caseSensitive": "false",
    "spark.sql.codegen.wholeStage": "true",  # the session's own jobs are too small for it
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",  # of a JSON object that says a thing twice
    "spark.sql.parquet.outputTimestampType": "INT96",  # what Hive reads
    "spark.sql.parquet.writeLegacyFormat": "true",  # decimals as Hive reads them
}


def prepared(session: SparkSession) -> SparkSession:
    """A session in the same Spark, with settings of its own."""
    child_session = session.newSession()
    for key, value in SETTINGS.items():
        child_session.conf.set(key, value)
    return child_session


def read(session: SparkSession, form: Form, files: Sequence[str]) -> DataFrame:
    """The rows of these files (none: no rows), with the columns of `form`; nothing runs yet. `session` was `prepared`.

    When it runs it fails on lines that are not UTF-8 or no JSON; fields that are not of their type are NULL.
    """
    if not files:
        return no_rows(session, form)
    if form.format in {"parquet", "orc"}:
        return session.read.format(form.format).schema(schema(form)).load(literally(files))
    lines = _lines(session, form.header, files)
    return lines.select(*(_of_text(form) if form.format == "text" else _of_json(form)))


def schema(form: Form) -> str:
    """The columns as a Spark schema."""
    return ", ".join(f"`{name.replace('`', '``')}` {spark_type(kind)}" for name, kind in form.columns)


def spark_type(kind: str) -> str:
    """A Hive type as a Spark type; chars and varchars become strings."""
    return _SIZED.sub("string", kind)


def literally(files: Sequence[str]) -> list[str]:
    """Patterns that match only these files. Spark's own switch for literal paths reads each file many times."""
    return [_PATTERN.sub(r"\\\g<0>", file) for file in files]


def no_rows(session: SparkSession, form: Form) -> DataFrame:
    """The columns without any row."""
    from pyspark.sql import functions as sql  # noqa: PLC0415 - an extra

    return session.range(0).select(sql.from_json(sql.lit("{}"), schema(form)).alias("row")).select("row.*")


def _lines(session: SparkSession, header: int, files: Sequence[str]) -> DataFrame:
    from pyspark.sql import Window  # noqa: PLC0415 - an extra
    from pyspark.sql import functions as sql  # noqa: PLC0415

    if header:  # each file whole in one task, so that its lines can be counted
        session.conf.set("spark.sql.files.maxPartitionBytes", ONE_SPLIT)
    lines = session.read.format("text").load(literally(files))
    if header:
        numbered = lines.select("value", sql.col("_metadata.file_path").alias("f")).withColumn(
            "n", sql.monotonically_increasing_id()
        )
        place = sql.row_number().over(Window.partitionBy("f").orderBy("n"))
        lines = numbered.withColumn("n", place).where(sql.col("n") > header)
    raw = sql.col("value").cast("binary")
    # Bytes that are not UTF-8 do not survive the way there and back.
    is_utf8 = sql.decode(raw, "UTF-8").cast("binary") == raw
    return lines.select(
        sql.when(is_utf8, sql.col("value")).otherwise(sql.raise_error(sql.lit(_NOT_UTF8))).alias("value")
    )


def _of_text(form: Form) -> list[Column]:
    from pyspark.sql import functions as sql  # noqa: PLC0415 - an extra

    # -1 keeps the empty cells at the end of a line.
    cells = sql.split("value", f"\\x{ord(form.delimiter):02x}", -1)
    columns = []
    for number, (name, kind) in enumerate(form.columns):
        cell = sql.get(cells, sql.lit(number))
        columns.append(_typed(sql.when(cell != sql.lit(form.null), cell), kind).alias(name))
    return columns


def _of_json(form: Form) -> list[Column]:
    """The columns of a JSON object, found by names in any case, as Hive does. Lists and maps are JSON within it."""
    from pyspark.sql import functions as sql  # noqa: PLC0415 - an extra

    strict = {"mode": "FAILFAST"}
    keyed = sql.transform_keys(sql.from_json("value", "map<string,string>", strict), lambda key, _: sql.lower(key))
    columns = []
    for name, kind in form.columns:
        cell = sql.element_at(keyed, sql.lit(name.lower()))
        nested = "<" in kind
        value = sql.from_json(cell, spark_type(kind), strict)
        columns.append((value if nested else _typed(cell, kind)).alias(name))
    return columns


def _typed(cell: Column, kind: str) -> Column:
    """The value that Hive makes of a text."""
    from pyspark.sql import functions as sql  # noqa: PLC0415 - an extra

    if kind == "string":
        return cell
    if kind.startswith(("char", "varchar")):
        return sql.substring(cell, 1, int(kind.partition("(")[2].rstrip(")") or _LONGEST))
    if kind == "boolean":
        lower = sql.lower(cell)
        return sql.when(lower == "true", sql.lit(True)).when(lower == "false", sql.lit(False))
    if kind in {"date", "timestamp"}:
        cell = sql.when(cell.rlike(_DATE if kind == "date" else _TIME), cell)
    return cell.cast(kind)
