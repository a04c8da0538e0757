"""Hudi's timeline: the newest schema in the directory .hoodie of a table, as columns of Hive."""

from __future__ import annotations

import io
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.targets.aws.delta_log import DAMAGES, MOST_BYTES, Files, NoSchema, bounded, field_of

# The schema of a Hudi table, in the JSON of Avro, as columns of Hive. Pure.


_OWN = "_hoodie_"
"""The beginning of the names of Hudi's own columns, which a table may have or not. The timeline does not have them."""
_TYPES = {
    "boolean": "boolean",
    "bytes": "binary",
    "double": "double",
    "enum": "string",
    "fixed": "binary",
    "float": "float",
    "int": "int",
    "long": "bigint",
    "string": "string",
}
_TIMESTAMP = "timestamp"
_LOGICAL = {
    "date": "date",
    "local-timestamp-micros": _TIMESTAMP,
    "local-timestamp-millis": _TIMESTAMP,
    "timestamp-micros": _TIMESTAMP,
    "timestamp-millis": _TIMESTAMP,
    "uuid": "string",
}


def columns_of(schema: str) -> list[Any]:
    """The FieldSchemas of a schema, in its order, partition columns among them. Raises NoSchema."""
    try:
        found = json.loads(schema)
        return [_column(field) for field in found["fields"] if not str(field["name"]).startswith(_OWN)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise NoSchema("its schema is not one of Avro") from error


def as_registered(found: Sequence[Any], registered: Sequence[Any]) -> list[Any]:
    """The columns that a timeline has, as the table's writer registers them: `registered` are those that it has so far.

    Whether Hudi's own columns and timestamps are registered, or numbers in their place, is a setting of the writer,
    which only what it has registered shows.
    """
    types = {column.name.lower(): column.type.lower() for column in registered}
    numbers = any(types.get(it.name) == "bigint" for it in found if it.type == _TIMESTAMP)
    own = [column for column in registered if column.name.lower().startswith(_OWN)]
    return [*own, *(_as_number(it) if numbers else it for it in found)]


def _as_number(column: Any) -> Any:
    if column.type != _TIMESTAMP:
        return column
    return hive.FieldSchema(column.name, "bigint", column.comment)


def _column(field: Mapping[str, Any]) -> Any:
    doc = field.get("doc")
    return hive.FieldSchema(str(field["name"]).lower(), _type(field["type"]), None if doc is None else str(doc))


def _type(kind: Any) -> str:
    if isinstance(kind, list):
        return _of_union(kind)
    if isinstance(kind, str):
        return _plain(kind)
    return _logical(kind) or _nested(kind)


def _logical(kind: Mapping[str, Any]) -> str | None:
    if kind.get("logicalType") == "decimal":
        return f"decimal({int(kind['precision'])},{int(kind.get('scale', 0))})"
    return _LOGICAL.get(kind.get("logicalType", ""))


def _nested(kind: Mapping[str, Any]) -> str:
    if kind["type"] == "array":
        return f"array<{_type(kind['items'])}>"
    if kind["type"] == "map":
        return f"map<string,{_type(kind['values'])}>"
    if kind["type"] == "record":
        return f"struct<{','.join(field_of(it['name'], _type(it['type'])) for it in kind['fields'])}>"
    return _type(kind["type"])


def _of_union(kinds: Sequence[Any]) -> str:
    """The type beside null: what Avro calls a union is how it says that a value may be missing."""
    some = [it for it in kinds if it != "null"]
    if len(some) != 1:
        raise NoSchema(f"Hive has no type for a union of {len(some)} types")
    return _type(some[0])


def _plain(kind: str) -> str:
    if kind not in _TYPES:
        raise NoSchema(f"Hive has no type {kind}")
    return _TYPES[kind]


# The newest schema in a Hudi table's timeline: its directory `.hoodie`, since Hudi 1.0 `.hoodie/timeline`.
#
# Each finished commit is a file with the schema that its writer used, in the JSON of Avro. Table services leave
# commits without one, so the commits are looked through from the newest on. Hudi moves old commits into an archive,
# but always keeps some. A table without any commit has the schema with which it was created in its properties.


DIRECTORY, TIMELINE = ".hoodie", ".hoodie/timeline"
_PROPERTIES = "hoodie.properties"
_CREATED_WITH = "hoodie.table.create.schema"
# 14 or 17 digits; since 1.0 the instant of the end follows that of the beginning. An unfinished one has another ending.
_COMMIT = re.compile(r"(\d{14,17})(?:_\d{14,17})?\.(?:commit|deltacommit|replacecommit)")
_AVRO = b"Obj\x01"
_MOST_COMMITS = 1000
_HEADER = {
    "type": "record",
    "name": "header",
    "fields": [
        {"name": "meta", "type": {"type": "map", "values": "bytes"}},
        {"name": "sync", "type": {"type": "fixed", "name": "sync", "size": 16}},
    ],
}
_EXTRA = {
    "name": "extraMetadata",
    "type": ["null", {"type": "map", "values": ["null", "string"]}],
    "default": None,
}
_ESCAPED = re.compile(r"\\(.)")


def newest_schema(directory: Files, timeline: Files) -> str:
    """The schema of the newest commit, in the JSON of Avro. Raises NoSchema, and what the files raise.

    `directory` is `.hoodie`, `timeline` the directory in it, which may be empty or absent.
    """
    try:
        commits = [*_commits(directory), *_commits(timeline)]
        for _, name, files in sorted(commits, key=lambda it: it[:2], reverse=True)[:_MOST_COMMITS]:
            schema = _schema(files, name)
            if schema:
                return schema
        created = _created_with(directory)
    except DAMAGES as error:
        raise NoSchema("it is damaged") from error
    if created is None:
        raise NoSchema("it has no schema" if commits else "it is not there")
    return created


def _commits(files: Files) -> list[tuple[str, str, Files]]:
    found = ((_COMMIT.fullmatch(name), name) for name in files.names(""))
    return [(match[1], name, files) for match, name in found if match]


def _schema(files: Files, name: str) -> str:
    """The schema that a commit has, "" if none: it may also be gone meanwhile."""
    content = files.open(name)
    if content is None:
        return ""
    with content:
        text = bounded(name, content).read()
    metadata = _of_avro(text) if text.startswith(_AVRO) else json.loads(text or b"{}")
    return str((metadata.get("extraMetadata") or {}).get("schema") or "")


def _of_avro(content: bytes) -> Mapping[str, Any]:
    try:
        from fastavro import schemaless_reader  # noqa: PLC0415, an extra
    except ImportError as error:
        raise NoSchema("Hudi 1.0 or newer has written it: pip install 'pysync[hudi]'") from error
    try:
        schema, block = _first_block(content)
        # Of the other fields nothing is kept, however many values they have.
        wanted = {"type": "record", "name": schema["name"], "fields": [_EXTRA]}
        wanted |= {"namespace": schema["namespace"]} if "namespace" in schema else {}
        found: Any = schemaless_reader(io.BytesIO(block), schema, wanted)
        return dict(found)
    except NoSchema:
        raise
    except Exception as error:  # the library raises whatever damaged bytes lead to
        raise ValueError("not Avro") from error


def _first_block(content: bytes) -> tuple[Any, bytes]:
    """The writer's schema of an Avro file, and its first block, decompressed. Raises NoSchema for a block too large.

    fastavro would decompress a block whatever its size.
    """
    from fastavro import schemaless_reader  # noqa: PLC0415

    file = io.BytesIO(content[len(_AVRO) :])
    header: Any = schemaless_reader(file, _HEADER, None)
    schemaless_reader(file, "long", None)  # the number of objects in the block
    data: Any = schemaless_reader(file, "bytes", None)
    codec = header["meta"].get("avro.codec", b"null").decode()
    if codec not in {"null", "deflate"}:
        raise NoSchema(f"a commit of it is compressed with {codec}, which pysync does not read")
    if codec == "deflate":
        unpacking = zlib.decompressobj(-zlib.MAX_WBITS)
        data = unpacking.decompress(data, MOST_BYTES)
        if unpacking.unconsumed_tail:
            raise NoSchema(f"a commit of it has more than {MOST_BYTES:,} bytes once it is decompressed")
    return json.loads(header["meta"]["avro.schema"]), data


def _created_with(directory: Files) -> str | None:
    content = directory.open(_PROPERTIES)
    if content is None:
        return None
    with content:
        lines = bounded(_PROPERTIES, content).read().decode().splitlines()
    found = (line.partition("=")[2] for line in lines if line.startswith(f"{_CREATED_WITH}="))
    return next((_ESCAPED.sub(r"\1", it) for it in found), None)
