"""The files of a dump: regular files in its own directory, written whole, and checked as they are read."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from pysync.base.errors import PysyncError, UsageError
from pysync.base.files import sync
from pysync.base.rights import make_directory, rights_at
from pysync.base.text import error_text
from pysync.dump.manifest import Counts, Manifest, Piece, read_manifest
from pysync.dump.record import DumpDamaged

# --- Files of a dump: regular files in a directory of one's own. No link is followed, and nothing else is opened.
#
# Whoever may write to a directory could put a link there that leads to a file of others, or a FIFO on which an open
# waits without end.


_PRIVATE = 0o700
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
)


def reading(path: Path, within: int | None = None) -> BinaryIO:
    """A file of a dump. Raises OSError, and DumpDamaged for anything but a regular file.

    With `within`, the path is relative to that directory, a descriptor.
    """
    # Even to open a device may do something.
    _assert_regular(os.stat(path, dir_fd=within, follow_symlinks=False).st_mode, path)
    return os.fdopen(_regular(path, _READ, within), "rb")


def creating(path: Path) -> BinaryIO:
    """A new file that only its owner can read, in place of one that a killed run has left. Raises OSError."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, _NEW, 0o600), "wb")


def lock_file(path: Path) -> BinaryIO:
    """The file for a lock, which is made if it is missing. Raises as `reading`."""
    return os.fdopen(_regular(path, _LOCK), "rb+", buffering=0)


def contents(directory: Path) -> Iterator[Path]:
    """All files below a directory. Raises OSError, and DumpDamaged for anything but files and directories."""
    directories = [directory]
    while directories:
        with os.scandir(directories.pop()) as entries:
            for entry in entries:
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    directories.append(Path(entry.path))
                else:
                    _assert_regular(mode, Path(entry.path))
                    yield Path(entry.path)


def own_directory(directory: Path) -> None:
    """Make a directory that only the caller can enter (0700), or accept one of the caller's own.

    Raises UsageError for a link, for a directory of somebody else, and where root does not go (pysync.base.rights).
    """
    owner = os.geteuid(), os.getegid()
    try:
        make_directory(directory, _PRIVATE, owner)
    except FileExistsError:
        with rights_at(directory, owner) as place:
            existing = place.status()
        if existing is None or not stat.S_ISDIR(existing.st_mode):
            hint = "name a directory that does not exist yet"
            raise UsageError(f"{directory} is not a directory, or it is a symbolic link", hint) from None
        if existing.st_uid != owner[0]:
            hint = "name a directory of your own, or one that does not exist yet"
            raise UsageError(f"{directory} belongs to another user", hint) from None


def make_private(directory: Path) -> None:
    """Take the rights of others off a directory of the caller's own. Raises OSError, and UsageError where they stay."""
    descriptor = os.open(directory, _DIRECTORY)
    try:
        os.fchmod(descriptor, _PRIVATE)
        if os.fstat(descriptor).st_mode & 0o077:
            hint = "mount its file system with umask=077, or name a directory elsewhere"
            raise UsageError(f"other users can read {directory}, and its file system has no permissions", hint)
    finally:
        os.close(descriptor)


def _regular(path: Path, flags: int, within: int | None = None) -> int:
    descriptor = os.open(path, flags, 0o600, dir_fd=within)
    try:
        _assert_regular(os.fstat(descriptor).st_mode, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _assert_regular(mode: int, path: Path) -> None:
    if not stat.S_ISREG(mode):
        kind = next((words for is_kind, words in _KINDS if is_kind(mode)), "a device")
        raise DumpDamaged(f"{path} is {kind}, which no dump contains", "remove it, or copy the dump again")


# --- The files of a dump, while it is written: each is finished, or it is not there.
#
# A file has another name until it is complete and on disk (fsync); then `unfinished.json` lists it. So whatever
# dies, a later run finds what is done. `manifest.json` comes last: without it a dump is not finished.

MANIFEST = "manifest.json"
UNFINISHED = "unfinished.json"
LOCK = "lock"
_PART = ".part"
_OURS = re.compile(r"(metadata-[0-9]{6}\.records|files-[0-9]{6}\.jsonl)(\.part)?")

PIECE_BYTES = 16 * 1024 * 1024
"""The size at which a file is finished; it may be longer by a record."""

PIECE_SECONDS = 20.0
"""The time after which a file is finished, too: a kill costs no more work than that."""


class Pieces:
    """Writes files called `KIND-NUMBER.SUFFIX` one after the other, for one dump; use it within `opened`."""

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        self.directory = directory
        self.manifest = manifest
        self._numbers = {_kind(piece): int(piece.name.partition("-")[2][:6]) for piece in manifest.pieces}

    def write(self, kind: str, suffix: str, head: bytes, parts: Iterable[tuple[bytes, Counts]]) -> None:
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
        self, kind: str, suffix: str, head: bytes, first: tuple[bytes, Counts], rest: Iterator[tuple[bytes, Counts]]
    ) -> None:
        number = self._numbers.get(kind, 0) + 1
        path = self.directory / f"{kind}-{number:06}.{suffix}"
        digest, size, counts = hashlib.sha256(), 0, Counts()
        until = time.monotonic() + PIECE_SECONDS
        with creating(path.with_name(path.name + _PART)) as file:
            for data, count in chain([(head, Counts()), first], rest):
                file.write(data)
                digest.update(data)
                size += len(data)
                counts = counts.plus(count)
                # Not before the first part: a file of a head alone would complete nothing.
                if size > len(head) and (size >= PIECE_BYTES or time.monotonic() > until):
                    break
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
            noted = read_manifest(file.read())
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
