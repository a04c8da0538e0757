"""The newest schema in a Hudi table's timeline: its directory `.hoodie`, since Hudi 1.0 `.hoodie/timeline`.

Each finished commit is a file with the schema that its writer used, in the JSON of Avro. Table services leave commits
without one, so the commits are looked through from the newest on. Hudi moves old commits into an archive, but always
keeps some. A table without any commit has the schema with which it was created in its properties.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from typing import Any

from pysync.targets.aws.delta_log import Files
from pysync.targets.aws.delta_schema import NoSchema

DIRECTORY, TIMELINE = ".hoodie", ".hoodie/timeline"
_PROPERTIES = "hoodie.properties"
_CREATED_WITH = "hoodie.table.create.schema"
# 14 or 17 digits; since 1.0 the instant of the end follows that of the beginning. An unfinished one has another ending.
_COMMIT = re.compile(r"(\d{14,17})(?:_\d{14,17})?\.(?:commit|deltacommit|replacecommit)")
_AVRO = b"Obj\x01"
_MOST_COMMITS = 1000
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
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError) as error:
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
        text = content.read()
    metadata = _of_avro(text) if text.startswith(_AVRO) else json.loads(text or b"{}")
    return str((metadata.get("extraMetadata") or {}).get("schema") or "")


def _of_avro(content: bytes) -> Mapping[str, Any]:
    try:
        from fastavro import reader  # noqa: PLC0415, an extra
    except ImportError as error:
        raise NoSchema("Hudi 1.0 or newer has written it: pip install 'pysync[hudi]'") from error
    try:
        found: Any = next(iter(reader(io.BytesIO(content))))
        return dict(found)
    except Exception as error:  # the library raises whatever damaged bytes lead to
        raise ValueError("not Avro") from error


def _created_with(directory: Files) -> str | None:
    content = directory.open(_PROPERTIES)
    if content is None:
        return None
    with content:
        lines = content.read().decode().splitlines()
    found = (line.partition("=")[2] for line in lines if line.startswith(f"{_CREATED_WITH}="))
    return next((_ESCAPED.sub(r"\1", it) for it in found), None)
