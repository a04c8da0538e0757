"""Athena's DDL statements, each built from values alone. Pure.

Every statement may come twice: IF [NOT] EXISTS wherever Athena has it, and the others set fixed values. Names are
always qualified. The statement runs in the table's database all the same, as Hive resolves a partition's table in the
current database. All raise InexpressibleError for what cannot be expressed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pysync.base.text import count
from pysync.model.names import TableName
from pysync.targets.athena.hive_types import hive_type, keeps
from pysync.targets.athena.quoting import (
    MAX_BYTES,
    InexpressibleError,
    fitting,
    identifier,
    listed,
    place,
    properties,
    size,
    string,
)

PARTITIONS_PER_ADD = 100
PARTITIONS_PER_DROP = 25
"""As many as the Glue API takes in one call. Athena documents no limit, but a DROP of 35 has failed there."""

S3 = "s3://"
# What java.net.URI takes: its own characters, escaped bytes, and others that are neither controls nor spaces.
_URI = re.compile(r"(?:[A-Za-z0-9_.!~*'();/?:@&=+$,#-]|%[0-9A-Fa-f]{2}|[^\x00-\xa0\s])+")


def summary(statement: str) -> str:
    """The beginning of a statement without anything quoted as a string: values may be secret."""
    return re.split(r"[('\n]", statement, maxsplit=1)[0].strip()[:120]


def subject(statement: str) -> str:
    """The database or table that a statement of this module is about: `` `db` `` or `` `db`.`t` ``."""
    match = re.search(r"`[a-z0-9_`.]+", statement)
    return match[0] if match else ""


def create_database(name: str, comment: str | None, location: str | None, pairs: Mapping[str, str]) -> str:
    """CREATE DATABASE."""
    parts = [f"CREATE DATABASE IF NOT EXISTS {place(name)}"]
    parts += [f"COMMENT {string(comment)}"] if comment else []
    parts += [f"LOCATION {_location(location)}"] if location else []
    parts += [f"WITH DBPROPERTIES {properties(pairs)}"] if pairs else []
    return fitting(" ".join(parts))


def set_database_properties(name: str, pairs: Mapping[str, str]) -> str:
    """ALTER DATABASE SET DBPROPERTIES: adds and replaces, removes none."""
    return fitting(f"ALTER DATABASE {place(name)} SET DBPROPERTIES {properties(pairs)}")


def drop_database(name: str) -> str:
    """DROP DATABASE, which must be empty."""
    return f"DROP DATABASE IF EXISTS {place(name)}"


def create_table(table: Any, pairs: Mapping[str, str]) -> str:
    """CREATE EXTERNAL TABLE with these properties; a comment among them goes where comments go."""
    storage, comment = table.sd, pairs.get("comment")
    rest = {key: value for key, value in pairs.items() if key != "comment" or not comment}
    parts = [f"CREATE EXTERNAL TABLE IF NOT EXISTS {_name(table)} {_columns(storage.cols)}"]
    parts += [f"COMMENT {string(comment)}"] if comment else []
    parts += [f"PARTITIONED BY {_columns(table.partitionKeys)}"] if table.partitionKeys else []
    parts += [_buckets(storage)] if storage.bucketCols else []
    parts += [_format(storage), f"LOCATION {_location(storage.location)}"]
    parts += [f"TBLPROPERTIES {properties(rest)}"] if rest else []
    return fitting(" ".join(parts))


def drop_table(name: TableName) -> str:
    """DROP TABLE; of an external one the files stay."""
    return f"DROP TABLE IF EXISTS {place(name.database, name.table)}"


def add_columns(table: Any, columns: Sequence[Any]) -> str:
    """ALTER TABLE ADD COLUMNS, at the end; partitions keep theirs."""
    return fitting(f"ALTER TABLE {_name(table)} ADD COLUMNS {_columns(columns)}")


def replace_columns(table: Any) -> str:
    """ALTER TABLE REPLACE COLUMNS: all of them; partitions keep theirs."""
    return fitting(f"ALTER TABLE {_name(table)} REPLACE COLUMNS {_columns(table.sd.cols)}")


def set_location(table: Any) -> str:
    """ALTER TABLE SET LOCATION; partitions keep theirs."""
    return fitting(f"ALTER TABLE {_name(table)} SET LOCATION {_new_location(table.sd.location)}")


def set_properties(table: Any, pairs: Mapping[str, str]) -> str:
    """ALTER TABLE SET TBLPROPERTIES: adds and replaces, removes none."""
    return fitting(f"ALTER TABLE {_name(table)} SET TBLPROPERTIES {properties(pairs)}")


def add_partitions(table: Any, partitions: Sequence[Any]) -> Iterator[str]:
    """ALTER TABLE ADD PARTITION, as few as hold them all."""
    head = f"ALTER TABLE {_name(table)} ADD IF NOT EXISTS"
    clauses = (f"{spec(table, it.values)} LOCATION {_location(it.sd.location)}" for it in partitions)
    yield from _packed(head, clauses, PARTITIONS_PER_ADD, " ")


def drop_partitions(table: Any, values: Iterable[Sequence[str]]) -> Iterator[str]:
    """ALTER TABLE DROP PARTITION, as few as hold them all. Each names all keys: fewer keys would match more."""
    head = f"ALTER TABLE {_name(table)} DROP IF EXISTS"
    yield from _packed(head, (spec(table, it) for it in values), PARTITIONS_PER_DROP, ", ")


def set_partition_location(table: Any, partition: Any) -> str:
    """ALTER TABLE PARTITION SET LOCATION."""
    clause = f"{spec(table, partition.values)} SET LOCATION {_new_location(partition.sd.location)}"
    return fitting(f"ALTER TABLE {_name(table)} {clause}")


def spec(table: Any, values: Sequence[str]) -> str:
    """PARTITION (key='value', ...). Values are always quoted, whatever their type."""
    keys = table.partitionKeys or ()
    if len(keys) != len(values):
        raise InexpressibleError(
            f"the partition has {count(len(values), 'value')}, but the table has {count(len(keys), 'partition key')}"
        )
    return f"PARTITION {listed(_assigned(key, value) for key, value in zip(keys, values, strict=True))}"


def _assigned(key: Any, value: str) -> str:
    if not keeps(key.type, value):
        raise InexpressibleError(
            f"Athena DDL would change the partition value {value!r:.80} of {key.name} (type {key.type})"
        )
    return f"{identifier(key.name.lower())}={string(value)}"


def _name(table: Any) -> str:
    return place(table.dbName, table.tableName)


def _columns(columns: Iterable[Any]) -> str:
    return listed(_column(column) for column in columns)


def _column(column: Any) -> str:
    comment = f" COMMENT {string(column.comment)}" if column.comment else ""
    return f"{identifier(column.name.lower())} {hive_type(column.type)}{comment}"


def _buckets(storage: Any) -> str:
    columns = listed(identifier(name.lower()) for name in storage.bucketCols)
    return f"CLUSTERED BY {columns} INTO {int(storage.numBuckets)} BUCKETS"


def _format(storage: Any) -> str:
    serde = storage.serdeInfo
    if serde is None or not (serde.serializationLib and storage.inputFormat and storage.outputFormat):
        raise InexpressibleError("the table has no serde, or no input or output format")
    given = f" WITH SERDEPROPERTIES {properties(serde.parameters)}" if serde.parameters else ""
    formats = f"INPUTFORMAT {string(storage.inputFormat)} OUTPUTFORMAT {string(storage.outputFormat)}"
    return f"ROW FORMAT SERDE {string(serde.serializationLib)}{given} STORED AS {formats}"


def _location(location: str | None) -> str:
    if not location or not location.startswith(S3):
        raise InexpressibleError(f"the location {location!r:.200} does not begin with {S3}")
    return string(location)


def _new_location(location: str | None) -> str:
    """A location for SET LOCATION, which Hive reads as a URI, as it does nowhere else."""
    if location and not _URI.fullmatch(location):
        raise InexpressibleError(f"SET LOCATION does not accept {location!r:.200}, which is not a URI")
    return _location(location)


def _packed(head: str, clauses: Iterable[str], most: int, separator: str) -> Iterator[str]:
    """Statements of the head and up to `most` clauses, none longer than Athena takes."""
    packed: list[str] = []
    length = size(head)
    for clause in clauses:
        more = size(clause) + len(separator)
        if packed and (len(packed) == most or length + more > MAX_BYTES):
            yield f"{head} {separator.join(packed)}"
            packed, length = [], size(head)
        packed.append(clause)
        length += more
        # Raises for a clause that is too long even alone.
        fitting(f"{head} {clause}")
    if packed:
        yield f"{head} {separator.join(packed)}"
