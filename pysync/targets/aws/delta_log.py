"""Delta's log: the newest schema in the directory _delta_log of a table, as columns of Hive."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Protocol

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.targets.aws import checkpoint

# The schema in a Delta table's log, as columns of Hive. Pure.


_TYPES = {
    "binary": "binary",
    "boolean": "boolean",
    "byte": "tinyint",
    "date": "date",
    "double": "double",
    "float": "float",
    "integer": "int",
    "long": "bigint",
    "short": "smallint",
    "string": "string",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp",
}
_DECIMAL = re.compile(r"decimal\(\d+,-?\d+\)")
# Delta stores char and varchar as strings, and keeps the type that was declared beside the column.
_DECLARED_KEY = "__CHAR_VARCHAR_TYPE_STRING"
_DECLARED = re.compile(r"(var)?char\(\d+\)")
_IN_TYPE = re.compile(r"[^:,<>\s`]+")
"""The names of fields that a type of Hive can have."""


class NoSchema(Exception):
    """Why a log gives no columns, for people; `it` is the log."""


def columns_of(schema: str) -> list[Any]:
    """The FieldSchemas of a schema in Delta's JSON, in its order, partition columns among them. Raises NoSchema."""
    try:
        fields = json.loads(schema)["fields"]
        return [_column(field) for field in fields]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise NoSchema("its schema is not one of Delta") from error


def _column(field: Mapping[str, Any]) -> Any:
    metadata = field.get("metadata") or {}
    declared, comment = str(metadata.get(_DECLARED_KEY, "")), metadata.get("comment")
    kind = declared if _DECLARED.fullmatch(declared) else _type(field["type"])
    return hive.FieldSchema(str(field["name"]).lower(), kind, None if comment is None else str(comment))


def _type(kind: Any) -> str:
    if isinstance(kind, str):
        return _plain_type(kind.replace(" ", ""))
    if kind["type"] == "array":
        return f"array<{_type(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{_type(kind['keyType'])},{_type(kind['valueType'])}>"
    if kind["type"] == "struct":
        return f"struct<{','.join(field_of(it['name'], _type(it['type'])) for it in kind['fields'])}>"
    raise NoSchema(f"Hive has no type {kind['type']}")


def _plain_type(kind: str) -> str:
    if kind in _TYPES or _DECIMAL.fullmatch(kind):
        return _TYPES.get(kind, kind)
    raise NoSchema(f"Hive has no type {kind}")


def field_of(name: Any, kind: str) -> str:
    """A field of a struct in Hive's words, `name:type`. Raises NoSchema if Hive has no such name."""
    plain = str(name).lower()
    if not _IN_TYPE.fullmatch(plain):
        raise NoSchema(f"Hive has no struct with a field {plain!r}")
    return f"{plain}:{kind}"


# The newest schema in a Delta table's log: the directory `_delta_log` of the table.
#
# Each commit is a file of JSON lines. One that changes the schema has the table's metadata; the others do not. So the
# versions are looked through from the newest on, down to the last checkpoint, which has the metadata in any case.
# There may be a checksum file beside a commit, which has the metadata, too, and then one file is all that is read.


DIRECTORY = "_delta_log"
_POINTER = "_last_checkpoint"
_FILE = re.compile(r"(\d{20})\.(crc|json|checkpoint\..*(?:json|parquet))")
_ORDER = ("crc", "json")  # then checkpoints
_MOST_VERSIONS = 1000
"""More commits than writers leave between two checkpoints."""
MOST_BYTES = 32 * 1024 * 1024
"""What is taken from a log at once: a line, or a schema. Its objects in memory may need ten times as much."""
_MOST_IN_FILE = 16 * MOST_BYTES
DAMAGES = (ValueError, AttributeError, TypeError, KeyError, RecursionError, OverflowError)
"""What reading damaged JSON raises."""


class Files(Protocol):
    """The files of a directory."""

    def names(self, after: str) -> Iterable[str]:
        """The names that come after this text in the order of their characters, in that order."""

    def open(self, name: str) -> IO[bytes] | None:
        """The content of a file, from its beginning, which can be read from any place on; None if it is not there."""


def newest_schema(log: Files) -> str:
    """The schema of the newest version, as JSON. Raises NoSchema, and what `log` raises."""
    try:
        versions = _versions(log.names(_checkpoint(log)))
        for _, files in versions[:_MOST_VERSIONS]:
            for name in files:
                schema = _schema(log, name)
                if schema is not None:
                    return schema
    except DAMAGES as error:
        raise NoSchema("it is damaged") from error
    raise NoSchema("it has no schema" if versions else "it is not there")


def _checkpoint(log: Files) -> str:
    """The beginning of the names of the last checkpoint, or of the first commit where none is known."""
    content = log.open(_POINTER)
    if content is None:
        return f"{0:020}"
    with content:
        version = int(json.loads(bounded(_POINTER, content).read() or b'{"version": 0}')["version"])
    return f"{version:020}"


def _versions(names: Iterable[str]) -> list[tuple[str, list[str]]]:
    """The files of each version, the newest version first, and its files in the order in which they are cheap."""
    found: dict[str, list[str]] = {}
    for name in names:
        match = _FILE.fullmatch(name)
        if match:
            found.setdefault(match[1], []).append(name)
    return [(version, sorted(found[version], key=_cost)) for version in sorted(found, reverse=True)]


def _cost(name: str) -> int:
    kind = name[21:]
    return _ORDER.index(kind) if kind in _ORDER else len(_ORDER)


def _schema(log: Files, name: str) -> str | None:
    """The schema that a file has, or None: it may also be gone meanwhile."""
    if name.endswith(".parquet"):
        return _of_parquet(log, name)
    with _opened(log, name) as lines:
        for line in lines:
            if b'"meta' in line:  # all else, thousands of files maybe, need not be parsed
                action = json.loads(line)
                metadata = action.get("metaData") or (name.endswith(".crc") and action.get("metadata"))
                if metadata:
                    return str(metadata["schemaString"])
    return None


def _of_parquet(log: Files, name: str) -> str | None:
    content = log.open(name)
    if content is None:
        return None
    with content:
        try:
            return checkpoint.read_schema(content)
        except ImportError as error:
            raise NoSchema("only a checkpoint has its schema: pip install 'pysync[delta]'") from error
        except checkpoint.Unreadable as error:
            raise NoSchema(f"its checkpoint {name}: {error}") from error


def _assert_bounded(name: str, size: int, most: int) -> None:
    """Raises NoSchema where a part of a file of the log is too large to read."""
    if size > most:
        raise NoSchema(f"its file {name} is too large: {size:,} bytes, and at most {most:,} are read")


def bounded(name: str, content: IO[bytes], most: int = MOST_BYTES) -> IO[bytes]:
    """The content, at its beginning. Raises NoSchema where it has more than `most` bytes. Reads nothing."""
    size = content.seek(0, io.SEEK_END)
    _assert_bounded(name, size, most)
    content.seek(0)
    return content


@contextmanager
def _opened(log: Files, name: str) -> Iterator[Iterable[bytes]]:
    """The lines of a file; none if it is not there. Raises NoSchema where the file or a line is too large."""
    content = log.open(name)
    if content is None:
        yield ()
        return
    with content:
        yield _lines(name, bounded(name, content, _MOST_IN_FILE))


def _lines(name: str, content: IO[bytes]) -> Iterator[bytes]:
    while line := content.readline(MOST_BYTES + 1):
        _assert_bounded(name, len(line), MOST_BYTES)
        yield line
