"""The newest schema in a Hudi table's timeline: its directory `.hoodie`, since Hudi 1.0 `.hoodie/timeline`.

Each finished commit is a file with the schema that its writer used, in the JSON of Avro. Table services leave commits
without one, so the commits are looked through from the newest on. Hudi moves old commits into an archive, but always
keeps some. A table without any commit has the schema with which it was created in its properties.
"""

from __future__ import annotations

import io
import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

from pysync.base.installation import install_extra
from pysync.targets.aws.delta_log import DAMAGES, MOST_BYTES, Files, bounded
from pysync.targets.aws.delta_schema import NoSchema

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
    matches = ((_COMMIT.fullmatch(name), name) for name in files.names(""))
    return [(match[1], name, files) for match, name in matches if match]


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
        raise NoSchema(f"Hudi 1.0 or newer has written it: {install_extra('hudi')}") from error
    try:
        schema, block = _first_block(content)
        # Of the other fields nothing is kept, however many values they have.
        wanted = {"type": "record", "name": schema["name"], "fields": [_EXTRA]}
        wanted |= {"namespace": schema["namespace"]} if "namespace" in schema else {}
        metadata: Any = schemaless_reader(io.BytesIO(block), schema, wanted)
        return dict(metadata)
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
    values = (line.partition("=")[2] for line in lines if line.startswith(f"{_CREATED_WITH}="))
    return next((_ESCAPED.sub(r"\1", it) for it in values), None)
