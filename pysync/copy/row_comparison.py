"""Row comparison: whether the files that were re-encoded have the rows that those of the source have. Reads only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class RowSum:
    """How many rows there are, and the sum of a hash of each: the same for the same rows in any order."""

    rows: int
    sum: int

    def __str__(self) -> str:
        return f"{self.rows:,} rows with the checksum {self.sum & 0xFFFFFFFFFFFFFFFF:016x}"


def row_sum(rows: DataFrame) -> RowSum:
    """The sum of these rows; runs a job of Spark, and raises what that raises."""
    from pyspark.sql import functions as sql  # noqa: PLC0415 - an extra

    # Spark hashes no maps; their text has the keys in the order in which they are in the file.
    columns = [sql.to_json(it) if "map<" in kind else sql.col(it) for it, kind in _quoted(rows)]
    hashed = rows.select(sql.xxhash64(*columns).cast("decimal(20,0)").alias("hash"))
    number, total = hashed.agg(sql.count("*"), sql.sum("hash")).collect()[0]
    return RowSum(number, int(total or 0))


def _quoted(rows: DataFrame) -> list[tuple[str, str]]:
    """The columns with their types, by names that Spark takes literally."""
    return [(f"`{name.replace('`', '``')}`", kind) for name, kind in rows.dtypes]
