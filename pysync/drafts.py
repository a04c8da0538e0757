"""Drafts: a file that is written beside the one whose place it takes, so that nobody ever sees half of it.

The draft is opened for its owner alone and given away by its descriptor: whoever may write in the directory can neither
read what goes into it, nor lead the owner and mode to another file.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

Owner = tuple[int, int]
"""A user's and a group's id."""


def draft(path: Path, content: bytes, *, mode: int, owner: Owner | None = None, like: Path | None = None) -> Path:
    """A file beside `path` with this content, on disk; with the extended attributes of `like`. Raises OSError."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if owner is not None:
                os.fchown(file.fileno(), *owner)
            for attribute in os.listxattr(like) if like else ():
                with suppress(OSError):  # as `cp -a` does: some only the kernel may set
                    os.setxattr(file.fileno(), attribute, os.getxattr(like or path, attribute))
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
    except BaseException:
        Path(name).unlink()
        raise
    return Path(name)


def put(path: Path, content: bytes, *, mode: int, owner: Owner | None = None, replaces: bool = False) -> None:
    """Write a file as a whole. Raises OSError; FileExistsError where it is there and not to be replaced."""
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
    """Make the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
