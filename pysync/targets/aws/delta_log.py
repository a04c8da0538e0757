"""The newest schema in a Delta table's log: the directory `_delta_log` of the table.

Each commit is a file of JSON lines. One that changes the schema has the table's metadata; the others do not. So the
versions are looked through from the newest on, down to the last checkpoint, which has the metadata in any case. There
may be a checksum file beside a commit, which has the metadata, too, and then one file is all that is read.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Protocol

from pysync.base.installation import install_extra
from pysync.targets.aws import checkpoint
from pysync.targets.aws.delta_schema import NoSchema

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
    files_by_version: dict[str, list[str]] = {}
    for name in names:
        match = _FILE.fullmatch(name)
        if match:
            files_by_version.setdefault(match[1], []).append(name)
    return [
        (version, sorted(files_by_version[version], key=_cost)) for version in sorted(files_by_version, reverse=True)
    ]


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
            raise NoSchema(f"only a checkpoint has its schema: {install_extra('delta')}") from error
        except checkpoint.UnreadableCheckpoint as error:
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
