"""Athena's DDL statements, each built from quoted values and from Hive's types alone. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from pysync.base.text import count
from pysync.model.names import DEFAULT_PARTITION, TableName

# The one place where text becomes part of a statement: Hive's string literals and quoted identifiers. Pure.
#
# How Hive reads a literal back (BaseSemanticAnalyzer.unescapeSQLString) decides how one is written:
#
# - `''` within a literal is the end of one and the start of the next: the quote vanishes. Only a backslash keeps it;
# - `\0` followed by two octal digits is another character: NUL is always written with three digits;
# - `${name}` is a variable to Hive: a backslash before the brace is dropped by the parser, and no variable is left.
#
# An identifier has no backslash; a backtick in it is doubled. Hive's parser takes a pair of backticks off twice, so a
# name that begins and ends with one cannot be expressed.


MAX_BYTES = 262_144
"""The longest statement that Athena takes, in bytes of UTF-8."""

_ESCAPES = {
    "\\": r"\\",
    "'": r"\'",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\b": r"\b",
    "\x1a": r"\Z",
    "\x00": r"\000",
}
_SPECIAL = re.compile("|".join(map(re.escape, _ESCAPES)))
_PLACE = re.compile(r"[a-z0-9_]+")


class InexpressibleError(ValueError):
    """No statement can express this; the text says why."""


def string(text: str) -> str:
    """The literal that Hive reads as `text`. Raises InexpressibleError for what UTF-8 cannot carry."""
    _encodable(text)
    escaped = _SPECIAL.sub(lambda match: _ESCAPES[match[0]], text)
    return "'" + escaped.replace("${", "$\\{") + "'"


def identifier(name: str) -> str:
    """A column's or field's name in backticks. Raises InexpressibleError for one that Hive would read otherwise."""
    _encodable(name)
    if not name.strip():
        raise InexpressibleError("a name is empty")
    if name[0] == name[-1] == "`":
        raise InexpressibleError(f"the name {name!r} begins and ends with a backtick")
    if "." in name or ":" in name:
        raise InexpressibleError(f"the name {name!r} contains a dot or a colon")
    if "\x00" in name:
        raise InexpressibleError(f"the name {name!r} contains a NUL character")
    return "`" + name.replace("`", "``") + "`"


def place(*names: str) -> str:
    """A database's or table's name, quoted part by part. Raises InexpressibleError unless Athena documents it."""
    for name in names:
        if not _PLACE.fullmatch(name):
            raise InexpressibleError(f"the name {name!r} contains characters other than a-z, 0-9 and _")
    return ".".join(f"`{name}`" for name in names)


def properties(pairs: Mapping[str, str]) -> str:
    """`('a'='b', 'c'='d')`, by key; there is at least one."""
    return f"({', '.join(f'{string(key)}={string(value)}' for key, value in sorted(pairs.items()))})"


def listed(items: Iterable[str]) -> str:
    """`(a, b)`."""
    return f"({', '.join(items)})"


def size(statement: str) -> int:
    """Its length as Athena counts it, in bytes of UTF-8."""
    return len(statement.encode())


def fitting(statement: str) -> str:
    """The statement. Raises InexpressibleError when Athena would not take it for its length."""
    length = size(statement)
    if length > MAX_BYTES:
        raise InexpressibleError(f"the statement has {length} bytes; Athena accepts {MAX_BYTES}")
    return statement


def _encodable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InexpressibleError(f"{text!r:.80} contains half of a surrogate pair") from None


# Hive's types as statements write them, and the partition values that stay as they are in a typed column. Pure.
#
# A type comes as text and goes into a statement without quotes, so it is parsed and rewritten: whatever is not a
# type that Athena takes is refused. The names of a struct's fields are quoted, as `struct<date:int>` does not parse.


_PLAIN = frozenset(
    {"tinyint", "smallint", "int", "bigint", "boolean", "float", "double", "string", "binary", "timestamp", "date"}
)
_SIZED = re.compile(r"(char|varchar)\((\d+)\)")
_DECIMAL = re.compile(r"decimal(?:\((\d+)(?:,(\d+))?\))?")
_TOKEN = re.compile(r"\s*([<>,:]|[^<>,:()]+(?:\([\d\s,]*\))?)\s*")
_FIELD = re.compile(r"\w+")
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_WIDER = ("tinyint", "smallint", "int", "bigint")


def hive_type(text: str) -> str:
    """The type as a statement writes it. Raises InexpressibleError for what is not a type that Athena takes."""
    tokens = _tokens(text)
    written = _type(tokens, text)
    if tokens:
        raise InexpressibleError(f"{text!r:.80} is not a type")
    return written


def same_type(one: str | None, other: str | None) -> bool:
    """Whether two types are one: white space, case, and what `decimal` leaves out do not count."""
    return _canonical(one) == _canonical(other)


def is_readable_as(old: str, new: str) -> bool:
    """Whether Hive lets a column of type `old` become one of `new`: the same, a wider integer, or a string."""
    before, after = _canonical(old), _canonical(new)
    if before == after or (before == "float" and after == "double"):
        return True
    if before in _WIDER:
        return after == "string" or (after in _WIDER and _WIDER.index(before) < _WIDER.index(after))
    return after == "string" and (_SIZED.fullmatch(before) is not None or before in {"float", "double", "date"})


def keeps(kind: str, value: str) -> bool:
    """Whether a quoted partition value stays as it is in a column of this type.

    Hive reads it as that type and writes it again: `07` becomes `7`, `2020-1-2` becomes `2020-01-02`, a char is filled
    up with spaces. The empty value, the default partition's, and types whose text nobody promises are never kept.
    """
    if not value or value == DEFAULT_PARTITION:
        return False
    kind = _canonical(kind)
    varchar = re.fullmatch(r"varchar\((\d+)\)", kind)
    if varchar:
        return len(value) <= int(varchar[1])
    if _DECIMAL.fullmatch(kind):
        return _keeps_decimal(kind, value)
    check = _CHECKS.get(kind)
    return check is not None and check(kind, value)


def _tokens(text: str) -> list[str]:
    """The parts in reverse, to be popped."""
    tokens, at = [], 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise InexpressibleError(f"{text!r:.80} is not a type")
        tokens.append(token[1].strip())
        at = token.end()
    return tokens[::-1]


def _type(tokens: list[str], text: str) -> str:
    name = tokens.pop().lower() if tokens else ""
    if name == "struct":
        return f"struct<{_inner(tokens, text, _field)}>"
    if name == "array":
        return f"array<{_inner(tokens, text, _type, 1)}>"
    if name == "map":
        return f"map<{_inner(tokens, text, _type, 2)}>"
    return _primitive(name, text)


def _primitive(name: str, text: str) -> str:
    plain = re.sub(r"\s", "", name)
    decimal = _DECIMAL.fullmatch(plain)
    if decimal:
        return f"decimal({decimal[1] or 10},{decimal[2] or 0})"
    if name in _PLAIN or _SIZED.fullmatch(plain):
        return plain
    raise InexpressibleError(f"{text!r:.80} is not a type that Athena supports")


def _inner(tokens: list[str], text: str, part: Callable[[list[str], str], str], count: int | None = None) -> str:
    """What is between the angle brackets: parts with commas between them, `count` of them if there is a rule."""
    _expect(tokens, "<", text)
    parts = [part(tokens, text)]
    while tokens and tokens[-1] == ",":
        tokens.pop()
        parts.append(part(tokens, text))
    _expect(tokens, ">", text)
    if count not in {None, len(parts)}:
        raise InexpressibleError(f"{text!r:.80} is not a type")
    return ",".join(parts)


def _field(tokens: list[str], text: str) -> str:
    name = tokens.pop() if tokens else ""
    if not _FIELD.fullmatch(name):
        raise InexpressibleError(f"{text!r:.80} has a field name that Athena DDL does not accept")
    _expect(tokens, ":", text)
    return f"{identifier(name)}:{_type(tokens, text)}"


def _expect(tokens: list[str], token: str, text: str) -> None:
    if not tokens or tokens.pop() != token:
        raise InexpressibleError(f"{text!r:.80} is not a type")


def _canonical(text: str | None) -> str:
    plain = re.sub(r"\s", "", text or "").lower()
    return re.sub(r"\bdecimal(?!\()", "decimal(10,0)", plain)


def _keeps_text(_: str, __: str) -> bool:
    return True


def _keeps_integer(kind: str, value: str) -> bool:
    if not re.fullmatch(r"0|-?[1-9][0-9]{0,18}", value):
        return False
    limit: int = 2 ** (_BITS[kind] - 1)
    return -limit <= int(value) < limit


def _keeps_decimal(kind: str, value: str) -> bool:
    match = re.fullmatch(r"-?(0|[1-9][0-9]*)(?:\.([0-9]*[1-9]))?", value)
    limits = re.fullmatch(r"decimal\((\d+)(?:,(\d+))?\)", kind)
    if match is None or limits is None or value == "-0":
        return False
    precision, scale = int(limits[1]), int(limits[2] or 0)
    digits = 0 if match[1] == "0" else len(match[1])
    return len(match[2] or "") <= scale and digits <= precision - scale


def _keeps_date(_: str, value: str) -> bool:
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _keeps_timestamp(_: str, value: str) -> bool:
    seconds, _dot, fraction = value.partition(".")
    # Hive always writes a fraction, and cuts the zeros at its end: `.0` at least.
    if not re.fullmatch(r"0|[0-9]{0,8}[1-9]", fraction):
        return False
    try:
        return datetime.strptime(seconds, "%Y-%m-%d %H:%M:%S").isoformat(" ") == seconds
    except ValueError:
        return False


_CHECKS: dict[str, Callable[[str, str], bool]] = {
    "string": _keeps_text,
    "tinyint": _keeps_integer,
    "smallint": _keeps_integer,
    "int": _keeps_integer,
    "bigint": _keeps_integer,
    "date": _keeps_date,
    "timestamp": _keeps_timestamp,
}


# Athena's DDL statements, each built from values alone. Pure.
#
# Every statement may come twice: IF [NOT] EXISTS wherever Athena has it, and the others set fixed values. Names are
# always qualified. The statement runs in the table's database all the same, as Hive resolves a partition's table in
# the current database. All raise InexpressibleError for what cannot be expressed.


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
