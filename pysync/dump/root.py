"""Root: a directory of dumps, each in a directory of its own; the old ones are removed.

A dump is removed only if it belongs to the caller, if every file in it is one of a dump, and if nobody writes or loads
it: a writer holds a lock on its `lock`, a load one on its `manifest.json` (flock). No symbolic link is followed.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pysync.base.errors import PysyncError
from pysync.base.text import error_text
from pysync.dump.data import DATA, is_data_file
from pysync.dump.manifest import read_manifest
from pysync.dump.pieces import LOCK, MANIFEST, UNFINISHED, is_of_dump
from pysync.dump.record import DumpDamaged
from pysync.dump.safe_files import reading

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_OF_ROOT = re.compile(r"[a-z0-9_]+-[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}")


class _Left(Exception):
    """Why a directory stays."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What came of a cleaning: the names of the removed directories; of others that were to go, why they stayed."""

    removed: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()


def new_directory(root: Path, name: str) -> Path:
    """A directory in `root` for a new dump, which no other one has. `name` is for people. It is not made yet."""
    word = re.sub(r"[^a-z0-9_]+", "_", name.lower()) or "_"
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return root / f"{word[:64]}-{moment}-{uuid.uuid4().hex[:8]}"


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Keep a dump from being removed while the block runs. Raises PysyncError if it is just being removed."""
    try:
        file = reading(directory / MANIFEST)
    except (OSError, DumpDamaged):
        # There is nothing to hold; opening the dump says that better.
        yield
        return
    with file:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PysyncError(f"{directory} is being removed, as it is too old", "load a newer dump") from None
        except OSError:
            pass  # a file system without locks: nobody can lock the dump to remove it, either
        yield


def clean(root: Path, keep: float) -> Cleaned:
    """Remove the dumps in `root` that are older than `keep` seconds, finished or not.

    Idempotent; may be killed and run again, and run twice at once. A root that is not there is clean. Raises
    PysyncError for one that cannot be read.
    """
    removed, left = [], []
    try:
        with _opened(str(root)) as at:
            for name in sorted(filter(_OF_ROOT.fullmatch, _names(at))):
                try:
                    if _remove(at, name, time.time() - keep):
                        removed.append(name)
                except FileNotFoundError:
                    continue  # another cleaning was faster
                except _Left as why:
                    left.append((name, str(why)))
                except OSError as error:
                    left.append((name, error_text(error)))
    except FileNotFoundError:
        return Cleaned()
    except OSError as error:
        raise PysyncError(f"cannot read the directory of dumps {root}: {error_text(error)}") from error
    return Cleaned(tuple(removed), tuple(left))


def _remove(root: int, name: str, before: float) -> bool:
    """Remove a dump that was finished or begun before that time (s since 1970); False if there is none."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=root, follow_symlinks=False).st_mode):
        return False
    with _opened(name, root) as at:
        names = _names(at)
        head = next((it for it in (MANIFEST, UNFINISHED) if it in names), None)
        # An empty one is what a cleaning left that was killed, or a dump that is just being begun.
        if not (os.fstat(at).st_mtime < before if not names else head is not None and _is_old(at, head, before)):
            return False
        _assert_ours(at, names)
        if head is not None:
            _empty(at, names, head)
        os.rmdir(name, dir_fd=root)
    return True


def _empty(at: int, names: list[str], head: str) -> None:
    """Remove everything in the directory of a dump; `head`, which makes it one, last: so it goes on after a kill."""
    with _locked(at, MANIFEST if head == MANIFEST else LOCK):
        os.stat(head, dir_fd=at, follow_symlinks=False)  # else it was finished or removed meanwhile
        for item in names:
            if item not in {head, LOCK}:
                _remove_item(at, item)
        with suppress(FileNotFoundError):
            os.unlink(LOCK, dir_fd=at)
        os.unlink(head, dir_fd=at)


def _is_old(at: int, head: str, before: float) -> bool:
    try:
        with reading(Path(head), at) as file:
            manifest, written_at = read_manifest(file), os.fstat(file.fileno()).st_mtime
    except DumpDamaged as error:
        raise _Left(f"{head} is damaged: {error}") from error
    return max(manifest.finished_at or manifest.began_at, written_at) < before


def _assert_ours(at: int, names: list[str]) -> None:
    if os.fstat(at).st_uid != os.geteuid():
        raise _Left("it belongs to another user")
    for name in names:
        mode = os.stat(name, dir_fd=at, follow_symlinks=False).st_mode
        is_ours = stat.S_ISDIR(mode) if name == DATA else stat.S_ISREG(mode) and is_of_dump(name)
        if not is_ours:
            raise _Left(f"it holds {name}, which is not of a dump")
    if DATA in names:
        _assert_data(at)


def _assert_data(at: int) -> None:
    """Raise _Left for any file, or link, that no dump has among its data files."""
    for path, directories, files, here in os.fwalk(DATA, dir_fd=at, follow_symlinks=False):
        for name in (*directories, *files):
            mode = os.stat(name, dir_fd=here, follow_symlinks=False).st_mode
            if not stat.S_ISDIR(mode) and not (stat.S_ISREG(mode) and is_data_file(f"{path}/{name}")):
                raise _Left(f"it holds {path}/{name}, which is not of a dump")


def _remove_item(at: int, name: str) -> None:
    """A file, or the directory of data files. A link that was put there meanwhile is removed, and not followed."""
    if name != DATA:
        os.unlink(name, dir_fd=at)
        return
    for _, directories, files, here in os.fwalk(name, topdown=False, dir_fd=at, follow_symlinks=False):
        for it in files:
            os.unlink(it, dir_fd=here)
        for it in directories:
            is_link = stat.S_ISLNK(os.stat(it, dir_fd=here, follow_symlinks=False).st_mode)
            (os.unlink if is_link else os.rmdir)(it, dir_fd=here)
    os.rmdir(name, dir_fd=at)


@contextmanager
def _opened(path: str, within: int | None = None) -> Iterator[int]:
    # A root may be a link that a person has made; what is in it may not.
    descriptor = os.open(path, _DIRECTORY if within is not None else os.O_RDONLY | os.O_DIRECTORY, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _locked(at: int, name: str) -> Iterator[None]:
    """Hold the lock of whoever writes or loads a dump."""
    descriptor = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CREAT * (name == LOCK), 0o600, dir_fd=at)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise _Left("it is being written or loaded") from None
    finally:
        os.close(descriptor)


def _names(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        return [it.name for it in entries]
