"""pysync.toml on disk: one command at a time changes it, as a whole, and only from the text that it has read."""

from __future__ import annotations

import difflib
import errno
import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pysync.base.errors import PysyncError, UsageError
from pysync.base.files import content, draft, sync
from pysync.base.toml_file import read_text, tables_in
from pysync.config import Config, read_config
from pysync.hive_site.files import assert_replaceable, owners_rights

Change = Callable[[str], str]
"""An edit of the file's text. Raises UsageError where it cannot be made."""

_PATIENCE_SECONDS = 150.0  # another command may wait for the sidecar to come back
_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class FileDraft:
    """What shall be in the file at `path`, which has the text `before`; `config` is what it comes to."""

    path: Path
    before: str
    after: str
    config: Config
    lock: Lock | None = None  # of the file, if it shall be replaced

    @property
    def digest(self) -> str:
        """The digest of the file once it has the new text."""
        return hashlib.sha256(self.after.encode()).hexdigest()

    def diff(self) -> list[str]:
        """The lines that differ, as `diff -u` has them."""
        name, texts = str(self.path), (self.before.splitlines(), self.after.splitlines())
        return list(difflib.unified_diff(*texts, name, name, lineterm=""))

    def put(self) -> None:
        """Replace the file, unless it has this text already. Owner, mode and links to it stay, and so does its lock.

        Raises PysyncError, and UsageError for a file that this user cannot replace; then nothing is changed.
        """
        if self.after != self.before:
            _replace(self.path, self.before, self.after, self.lock)

    def restore(self) -> None:
        """Give the file its former text again. Raises as `put`."""
        if self.after != self.before:
            _replace(self.path, self.after, self.before, self.lock)


def drafted(path: Path, change: Change, lock: Lock | None = None) -> FileDraft:
    """The draft of a change. The whole result is checked as `load_config` does it; nothing is changed.

    Raises UsageError with every problem of the result.
    """
    before = read_text(path)
    tables_in(before, path)  # what is no TOML cannot be changed; any other problem may be what the change mends
    after = change(before)
    _assert_utf8(after)
    try:
        return FileDraft(path, before, after, read_config(after, path), lock)
    except UsageError as error:
        raise UsageError(error.message, "nothing was changed") from error


def _assert_utf8(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:  # an argument with bytes that are no text
        raise UsageError("the value is not UTF-8", "nothing was changed") from None


def digest_of(path: Path) -> str | None:
    """The digest of a file; None if it cannot be read."""
    try:
        return hashlib.sha256(content(path)).hexdigest()
    except OSError:
        return None


class Lock:
    """Keeps other commands from changing a file, until it is released or the process ends."""

    def __init__(self) -> None:
        self._descriptors: list[int] = []

    def take(self, path: Path) -> bool:
        """Lock the file; False if another command has it."""
        descriptor = os.open(path, os.O_RDONLY)
        self._descriptors.append(descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The one who had it may have put another file there meanwhile.
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return True
        except (BlockingIOError, FileNotFoundError):
            pass
        self.release()
        return False

    def release(self) -> None:
        """Let others have it."""
        while self._descriptors:
            os.close(self._descriptors.pop())


@contextmanager
def locked(path: Path) -> Iterator[Lock]:
    """While the block runs no other command changes the file. Ends with the process, however that ends.

    Raises PysyncError where another command does not come to its end, and OSError where there is no such file.
    """
    lock, until = Lock(), time.monotonic() + _PATIENCE_SECONDS
    while not lock.take(path):
        if time.monotonic() > until:
            raise PysyncError(f"another command is changing {path}", "wait for it, then try again")
        time.sleep(_POLL_SECONDS)
    try:
        yield lock
    finally:
        lock.release()


def _assert_text(path: Path, text: str) -> None:
    if read_text(path) != text:
        raise PysyncError(f"{path} was changed by somebody else meanwhile", "run the command again")


def _replace(path: Path, before: str, after: str, lock: Lock | None) -> None:
    assert_replaceable(path)
    try:
        with owners_rights(path) as real:
            _put(path, real, (before, after), lock)
    except OSError as error:
        # A single file that is mounted into a container cannot be replaced.
        hint = "change it where it is mounted from" if error.errno in {errno.EBUSY, errno.EROFS} else None
        raise PysyncError(f"cannot replace {path}: {error.strerror}", hint or "nothing was changed") from error


def _put(path: Path, real: Path, texts: tuple[str, str], lock: Lock | None) -> None:
    """Replace `real`, which `path` leads to: its text before, and after."""
    if not os.access(real, os.W_OK, effective_ids=True):
        raise UsageError(f"{real} may not be written", "change its mode, or run the command as its owner")
    status = real.stat()
    mode, owner = status.st_mode & 0o7777, (status.st_uid, status.st_gid)
    made = draft(real, texts[1].encode(), mode=mode, owner=owner, like=real)
    try:
        if lock is not None:
            lock.take(made)  # nobody else knows of it: whoever waits for the file goes on waiting
        _assert_text(path, texts[0])  # as late as can be: an editor knows nothing of the lock
        made.replace(real)
    except BaseException:
        made.unlink()
        raise
    sync(real.parent)
