"""The files of a dump, while it is written: each is finished, or it is not there.

A file has another name until it is complete and on disk (fsync); then `unfinished.json` lists it. So whatever dies, a
later run finds what is done. `manifest.json` comes last: without it a dump is not finished.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from pysync.base.errors import PysyncError, UsageError
from pysync.base.files import sync
from pysync.base.text import error_text
from pysync.base.text import size as sized
from pysync.dump.manifest import DumpCounts, Manifest, Piece, read_manifest
from pysync.dump.record import DumpDamaged
from pysync.dump.safe_files import creating, lock_file, make_private, own_directory, reading

MANIFEST = "manifest.json"
UNFINISHED = "unfinished.json"
LOCK = "lock"
_PART = ".part"
_OURS = re.compile(r"(metadata-[0-9]{6}\.records|files-[0-9]{6}\.jsonl)(\.part)?")

PIECE_BYTES = 16 * 1024 * 1024
"""The size at which a file is finished; it may be longer by a record."""

MOST_BYTES = 1024 * 1024 * 1024
"""The largest size of a file, which is read as a whole."""

PIECE_SECONDS = 20.0
"""The time after which a file is finished, too: a kill costs no more work than that."""


class Pieces:
    """Writes files called `KIND-NUMBER.SUFFIX` one after the other, for one dump; use it within `opened`."""

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        self.directory = directory
        self.manifest = manifest
        self._numbers = {_kind(piece): int(piece.name.partition("-")[2][:6]) for piece in manifest.pieces}

    def write(self, kind: str, suffix: str, head: bytes, parts: Iterable[tuple[bytes, DumpCounts]]) -> None:
        """Write all `parts`, each in one file and with what it counts, to as many files as it takes.

        What came before an error, in a file that is not finished, is not kept.
        """
        source = iter(parts)
        # A file is begun only when there is something to go into it.
        for first in source:
            self._write_one(kind, suffix, head, first, source)

    def finish(self, manifest: Manifest) -> None:
        """Make the dump complete; nothing is written after that."""
        _replace(self.directory / MANIFEST, manifest.to_bytes())
        (self.directory / UNFINISHED).unlink(missing_ok=True)
        (self.directory / LOCK).unlink(missing_ok=True)
        self.manifest = manifest

    def _write_one(
        self,
        kind: str,
        suffix: str,
        head: bytes,
        first: tuple[bytes, DumpCounts],
        rest: Iterator[tuple[bytes, DumpCounts]],
    ) -> None:
        number = self._numbers.get(kind, 0) + 1
        path = self.directory / f"{kind}-{number:06}.{suffix}"
        digest, size, counts = hashlib.sha256(), 0, DumpCounts()
        until = time.monotonic() + PIECE_SECONDS
        with creating(path.with_name(path.name + _PART)) as file:
            for data, count in chain([(head, DumpCounts()), first], rest):
                file.write(data)
                digest.update(data)
                size += len(data)
                counts = counts.plus(count)
                # Not before the first part: a file of a head alone would complete nothing.
                if size > len(head) and (size >= PIECE_BYTES or time.monotonic() > until):
                    break
            if size > MOST_BYTES:
                raise PysyncError(f"the answers about one table are too large for a dump: {sized(size)}")
            _to_disk(file)
        # The rename is durable with `_done`, which flushes the same directory.
        path.with_name(path.name + _PART).replace(path)
        self._numbers[kind] = number
        self._done(Piece(name=path.name, bytes=size, sha256=digest.hexdigest(), counts=counts))

    def _done(self, piece: Piece) -> None:
        self.manifest = self.manifest.model_copy(update={"pieces": (*self.manifest.pieces, piece)})
        _replace(self.directory / UNFINISHED, self.manifest.to_bytes())


def _kind(piece: Piece) -> str:
    return piece.name.partition("-")[0]


@contextmanager
def opened(directory: Path, wanted: Manifest) -> Iterator[Pieces]:
    """Begin a dump in a directory, or go on with an unfinished one of the same `wanted` scope and range.

    Its files are kept up to the first that is not whole. Raises UsageError for a directory that belongs to somebody
    else or holds something else, PysyncError while another process writes there.
    """
    try:
        own_directory(directory)
        _refuse_finished(directory)
        make_private(directory)
        with lock_file(directory / LOCK) as lock:
            _lock(lock.fileno(), directory)
            _refuse_finished(directory)  # by whoever had the lock before
            yield Pieces(directory, _unfinished(directory, wanted))
    except OSError as error:
        raise PysyncError(
            f"cannot write the dump in {directory}: {error_text(error)}", "run the command again to continue"
        ) from error


def is_of_dump(name: str) -> bool:
    """Whether a file in the directory of a dump has a name that a dump gives."""
    return name.removesuffix(_PART) in {MANIFEST, UNFINISHED, LOCK} or _OURS.fullmatch(name) is not None


def read_piece(directory: Path, piece: Piece) -> bytes:
    """What is in a file of a dump. Raises DumpDamaged, which names the file, when that is not what was written."""
    path = directory / piece.name
    if piece.bytes > MOST_BYTES:
        raise DumpDamaged(f"the dump file {path} is larger than any that pysync writes: {sized(piece.bytes)}")
    try:
        with reading(path) as file:
            data = file.read() if os.fstat(file.fileno()).st_size == piece.bytes else b""
    except OSError as error:
        raise DumpDamaged(f"cannot read the dump file {path}: {error.strerror}") from error
    if len(data) != piece.bytes or hashlib.sha256(data).hexdigest() != piece.sha256:
        raise DumpDamaged(f"the dump file {path} is damaged: its checksum is wrong")
    return data


def _refuse_finished(directory: Path) -> None:
    if (directory / MANIFEST).exists():
        raise UsageError(f"{directory} holds a finished dump", "name another directory, or remove it")
    entries = list(directory.iterdir())
    begun = any(it.name == UNFINISHED for it in entries)
    # An empty directory may have what a run left that was killed before it noted anything.
    others = any(it.name != LOCK and not (it.suffix == _PART and is_of_dump(it.name)) for it in entries)
    if (others and not begun) or any(it.is_symlink() for it in entries):
        raise UsageError(
            f"{directory} holds files that are not a dump", "name an empty directory, or one that does not exist"
        )


def _lock(descriptor: int, directory: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PysyncError(f"another pysync dump is writing to {directory}", "wait until it has finished") from None


def _unfinished(directory: Path, wanted: Manifest) -> Manifest:
    """Where to go on: the noted files up to the first that is not whole. The others are removed."""
    path = directory / UNFINISHED
    if not path.exists():
        _replace(path, wanted.to_bytes())
        return wanted
    try:
        with reading(path) as file:
            noted = read_manifest(file)
    except DumpDamaged as error:
        raise PysyncError(f"{path} is damaged: {error}", f"remove {directory} and run pysync dump again") from error
    if _contents_wanted(noted) != _contents_wanted(wanted):
        raise UsageError(
            f"{directory} holds an unfinished dump of {noted.source} with other options",
            "use the same options, or name another directory",
        )
    pieces = list(_whole(directory, noted.pieces))
    names = {piece.name for piece in pieces}
    for entry in directory.iterdir():
        if _OURS.fullmatch(entry.name) and entry.name not in names:
            entry.unlink()
    return noted.model_copy(update={"pieces": tuple(pieces)})


def _contents_wanted(manifest: Manifest) -> tuple[object, ...]:
    scope = manifest.source, manifest.within, manifest.replaces, manifest.since
    return *scope, manifest.files, manifest.data_under


def _whole(directory: Path, pieces: Iterable[Piece]) -> Iterator[Piece]:
    for piece in pieces:
        try:
            read_piece(directory, piece)
        except DumpDamaged:
            return
        yield piece


def _replace(path: Path, data: bytes) -> None:
    """Replace a file by `data`, durably: whatever dies, the old or the new content is there."""
    part = path.with_name(path.name + _PART)
    with creating(part) as file:
        file.write(data)
        _to_disk(file)
    part.replace(path)
    sync(path.parent)


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
