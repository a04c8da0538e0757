"""Files that are written at once or not at all.

A draft is written under a temporary name in the same directory, so nobody sees a half-written file. It is created with
mode 0600, and its owner and mode are set by its descriptor. So a user who may write to the directory can neither read
the draft, nor redirect owner and mode to another file.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

Owner = tuple[int, int]
"""A user's and a group's id."""


def draft(path: Path, content: bytes, *, mode: int, owner: Owner | None = None, like: Path | None = None) -> Path:
    """Write a draft for `path` and return its path. It has the extended attributes of `like`, and is on disk (fsync).

    Raises OSError.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if owner is not None:
                os.fchown(file.fileno(), *owner)
            for attribute in os.listxattr(like) if like else ():
                with suppress(OSError):  # like `cp -a`: some attributes only the kernel may set
                    os.setxattr(file.fileno(), attribute, os.getxattr(like or path, attribute))
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
    except BaseException:
        Path(name).unlink()
        raise
    return Path(name)


def put(path: Path, content: bytes, *, mode: int, owner: Owner | None = None, replaces: bool = False) -> None:
    """Write a whole file at once. Raises OSError; without `replaces` FileExistsError for an existing file."""
    made = draft(path, content, mode=mode, owner=owner)
    try:
        if replaces:
            made.replace(path)
        else:
            os.link(made, path, follow_symlinks=False)
            made.unlink()
    except BaseException:
        made.unlink()
        raise
    sync(path.parent)


def sync(directory: Path) -> None:
    """Make the names in a directory durable (fsync)."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
