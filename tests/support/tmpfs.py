"""A file system of a fixed size in memory, where this user may mount one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILLER = "filler"


class CannotMount(Exception):
    """Why there can be no file system of our own here, in a line."""


@contextmanager
def tmpfs(directory: Path, mib: int) -> Iterator[Path]:
    """A tmpfs of `mib` MiB on `directory`, which is made. Raises CannotMount."""
    directory.mkdir(parents=True, exist_ok=True)
    mount("-t", "tmpfs", "-o", f"size={mib}m,mode=0700", "tmpfs", str(directory))
    try:
        yield directory
    finally:
        unmount(directory)


def mount(*arguments: str) -> None:
    """Call mount(8). Raises CannotMount with what it says."""
    if os.geteuid() != 0:
        raise CannotMount("only root may mount a file system")
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotMount(f"mount {arguments[-1]}: {done.stderr.strip()}")


def unmount(directory: Path) -> None:
    """Take it away, at the latest when its last file is closed."""
    subprocess.run(["umount", "--lazy", str(directory)], check=True, capture_output=True)


def fill(directory: Path, leave: int = 0) -> None:
    """Use up the room of a disk but for `leave` bytes."""
    disk = os.statvfs(directory)
    size = max(0, disk.f_bavail * disk.f_frsize - leave)
    with (directory / FILLER).open("ab", buffering=0) as filler:
        try:
            while size > 0:
                size -= filler.write(bytes(min(size, 65536)))
        except OSError:  # it was less than it said
            return


def free(directory: Path) -> None:
    """Give back what `fill` took, so that not even a power cut brings it back."""
    (directory / FILLER).unlink(missing_ok=True)
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
