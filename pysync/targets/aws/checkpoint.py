"""The schema in a Delta table's checkpoint, a Parquet file: read by a process of its own.

Parquet's reader is C++. A wrong byte can make it abort, or take all memory, and either would end the sidecar. So a
child reads the file, with bounded memory and time, and asks for the parts of it that it needs:

    child   -> parent: offset, size (two 64-bit numbers)       give me these bytes
    parent  -> child:  the bytes
    child   -> parent: -1, size, and that many bytes           this is the schema; none if size is 0
"""

from __future__ import annotations

import io
import os
import resource
import struct
import subprocess
import sys
import threading
from collections.abc import Iterable
from typing import IO, Any, cast

COLUMN = "metaData.schemaString"
MOST_BYTES = 32 * 1024 * 1024
"""Bytes of the schema's column, once it is decompressed."""
MOST_REQUESTED = 4 * MOST_BYTES
"""Bytes that the child may ask for at once: the parent has them in memory."""

_HEADER = struct.Struct("!qq")
_DONE = -1
_MOST_MEMORY = 2 * 1024 * 1024 * 1024
_MOST_SECONDS = 120.0
_NOT_INSTALLED, _DAMAGED, _TOO_LARGE = 3, 4, 5


class UnreadableCheckpoint(Exception):
    """The checkpoint cannot be read; the text says why."""


def read_schema(content: IO[bytes]) -> str | None:
    """The schema in a checkpoint, or None. Raises Unreadable, ImportError (no pyarrow), and what `content` raises."""
    size = content.seek(0, io.SEEK_END)
    command = [sys.executable, "-I", "-m", __name__, str(size)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        clock = threading.Timer(_MOST_SECONDS, child.kill)
        clock.start()
        try:
            schema = _serve(child, content)
        finally:
            clock.cancel()
            child.kill()
    if schema is not None:
        return schema.decode() or None
    if child.returncode == _NOT_INSTALLED:
        raise ImportError("pyarrow")
    raise UnreadableCheckpoint(
        f"it is too large: at most {MOST_BYTES:,} bytes of schemas are read"
        if child.returncode == _TOO_LARGE
        else "it is damaged"
    )


def _serve(child: subprocess.Popen[bytes], content: IO[bytes]) -> bytes | None:
    """Answer the child until it has the schema; None if it ends without."""
    answers, questions = cast("IO[bytes]", child.stdin), cast("IO[bytes]", child.stdout)
    while len(request := questions.read(_HEADER.size)) == _HEADER.size:
        offset, size = _HEADER.unpack(request)
        if offset == _DONE:
            return questions.read(min(size, MOST_BYTES))
        if size > MOST_REQUESTED:
            child.kill()
            break
        content.seek(offset)
        data = content.read(size)
        try:
            answers.write(_HEADER.pack(offset, len(data)) + data)
            answers.flush()
        except BrokenPipeError:
            break
    child.wait()
    return None


class _RequestedFile(io.RawIOBase):
    """A file of which the parent gives the parts."""

    def __init__(self, size: int) -> None:
        self._size, self._at = size, 0
        self._answers, self._questions = sys.stdin.buffer, sys.stdout.buffer

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        remaining = max(0, self._size - self._at)
        wanted = remaining if size < 0 else min(size, remaining)
        self._questions.write(_HEADER.pack(self._at, wanted))
        self._questions.flush()
        _, length = _HEADER.unpack(self._answers.read(_HEADER.size))
        data = self._answers.read(length)
        self._at += length
        return data


def main() -> int:
    """Read the checkpoint of as many bytes as the argument says; the exit code says why there is no answer."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        from pyarrow import ArrowException, parquet  # noqa: PLC0415, an extra
    except ImportError:
        return _NOT_INSTALLED
    try:
        # As a dictionary: a value that each row repeats would be in memory as many times as there are rows.
        checkpoint = parquet.ParquetFile(_RequestedFile(int(sys.argv[1])), read_dictionary=[COLUMN])
        if _unpacked(checkpoint.metadata) > MOST_BYTES:
            return _TOO_LARGE
        schema = (_first(checkpoint.iter_batches(columns=[COLUMN])) or "").encode()
    except (ArrowException, OSError, MemoryError):  # corrupt data is an OSError there
        return _DAMAGED
    sys.stdout.buffer.write(_HEADER.pack(_DONE, len(schema)) + schema)
    sys.stdout.buffer.flush()
    os._exit(0)  # no destructor of a library gets to fail


def _unpacked(metadata: Any) -> int:
    """The bytes that the schema's column has once it is decompressed."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    columns = (group.column(number) for group in groups for number in range(group.num_columns))
    return sum(it.total_uncompressed_size for it in columns if it.path_in_schema == COLUMN)


def _first(batches: Iterable[Any]) -> str | None:
    for batch in batches:
        values = batch.column(0).flatten()[0].drop_null()
        if len(values):
            return str(values[0].as_py())
    return None


if __name__ == "__main__":
    sys.exit(main())
