"""File systems that hang, as a network's do, or one that is being copied: whoever asks them for anything waits."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.tmpfs import CannotMount, unmount


@contextmanager
def silent_fuse(directory: Path) -> Iterator[None]:
    """On `directory`, a file system whose server (FUSE) never answers. At the end it is gone, and what waits fails.

    Raises CannotMount.
    """
    directory.mkdir(parents=True, exist_ok=True)
    try:
        server = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        raise CannotMount(f"/dev/fuse: {error.strerror}") from error
    try:
        options = f"fd={server},rootmode=40000,user_id=0,group_id=0"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"silent", bytes(directory), b"fuse", 0, options.encode()):
            raise CannotMount(f"mount {directory}: {os.strerror(ctypes.get_errno())}")
        try:
            yield
        finally:
            unmount(directory)
    finally:
        os.close(server)


@contextmanager
def frozen(directory: Path) -> Iterator[None]:
    """The disk that is mounted on `directory` takes nothing (fsfreeze) while the block runs. Raises CannotMount."""
    if shutil.which("fsfreeze") is None:
        raise CannotMount("there is no fsfreeze")
    subprocess.run(["fsfreeze", "--freeze", str(directory)], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["fsfreeze", "--unfreeze", str(directory)], check=True, capture_output=True)
