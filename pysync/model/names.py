"""Names as the Hive Metastore stores them, and those of the states of a table at a target."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from pysync.base.errors import UsageError
from pysync.base.text import quoted

DEFAULT_CATALOG = "hive"
DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"

TABLE_STATES = (
    "in_sync",
    "behind",
    "parked",
    "held",
    "kept",
    "pinned",
    "foreign",
    "out_of_scope",
    "drifted",
    "dropped",
    "unknown",
)
"""What a target's state of a table can be; docs/status.md explains each."""

_QUOTED = re.compile("^`(.*)`$")
_PARTITION = re.compile(r"/(?=\*|[^/]*=)")

# Hive's FileUtils escapes these in partition names, besides the control characters.
_ESCAPES = {code: f"%{code:02X}" for code in (*range(1, 0x20), *map(ord, "\"#%'*/:=?\\{[]^\x7f"))}


def normalized(identifier: str) -> str:
    """An identifier as HMS stores it: trimmed, lower case (`StringUtils.normalizeIdentifier`)."""
    return identifier.strip().lower()


def without_quotes(name: str) -> str:
    """The name without the backquotes that HiveQL has around each part: `db`.`table` is db.table."""
    return ".".join(_QUOTED.sub(r"\1", part) for part in name.split(".")) if "`" in name else name


def is_default_catalog(name: str | None) -> bool:
    """Whether it is Hive's own catalog, in any case, or none is named. Only this catalog is replicated."""
    return not name or name == DEFAULT_CATALOG or normalized(name) == DEFAULT_CATALOG


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table within the default catalog, already normalized: build it with `of`."""

    database: str
    table: str

    @classmethod
    def of(cls, database: str, table: str) -> TableName:
        """The name as HMS stores it, in whatever case a client wrote it."""
        return cls(normalized(database), normalized(table))

    @classmethod
    def parse(cls, text: str) -> TableName:
        """Read `db.table`; UsageError for anything else."""
        parts = without_quotes(text.strip()).split(".")
        if len(parts) != 2 or not all(parts):
            raise UsageError(f"{quoted(text)} is not a table name", "write db.table")
        return cls.of(*parts)

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"


def partition_name(keys: Sequence[str], values: Sequence[str]) -> str:
    """The name that HMS gives a partition with these keys and values: `year=2026/city=a%2Fb`.

    Raises ValueError if there are not as many keys as values.
    """
    pairs = zip(keys, values, strict=True)
    return "/".join(f"{_escaped(key.lower())}={_escaped(value)}" for key, value in pairs)


def table_of(name: str) -> str:
    """The table of a partition `db.table/key=value/…`, or of all its partitions, `db.table/*`; else the name as it is.

    A table's own name may have slashes, but neither `=` nor `*`; each part of a partition's name has one.
    """
    return _PARTITION.split(name, maxsplit=1)[0]


def partition_values(name: str) -> list[str]:
    """The values in the name of a partition: the inverse of `partition_name`."""
    return [unquote(part.partition("=")[2]) for part in name.split("/")]


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES) if text else DEFAULT_PARTITION
