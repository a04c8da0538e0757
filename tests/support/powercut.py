"""A disk whose power can be cut: ext4 on a file, taken from the kernel without its writing anything more.

The cut is ext4's own shutdown (ioctl `EXT4_IOC_SHUTDOWN`, "no log flush"): from then on every read and write fails, and
what was not yet on the device, journal included, never gets there. That it is mounted again replays the journal, as
after a real cut. What the device itself would lose of its cache is not part of it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from tests.support.tmpfs import CannotMount, mount, unmount

_SHUTDOWN = 0x8004587D
_WITHOUT_FLUSH = struct.pack("I", 2)
_MIB = 1024 * 1024
_BUSY_SECONDS = 10.0


class LoopDisk:
    """ext4 of `mib` MiB in the file `image`, mounted on `directory`. Raises CannotMount where that is not possible."""

    def __init__(self, image: Path, directory: Path, mib: int) -> None:
        self.image, self.directory = image, directory
        if shutil.which("mkfs.ext4") is None:
            raise CannotMount("there is no mkfs.ext4")
        directory.mkdir(parents=True, exist_ok=True)
        with image.open("wb") as file:
            file.truncate(mib * _MIB)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", str(image)], check=True, capture_output=True)
        self._mount()
        directory.chmod(0o700)

    def cut(self) -> None:
        """Cut the power. Who uses the disk gets errors from now on, until it lets go of it and `restore` is called."""
        descriptor = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(descriptor, _SHUTDOWN, _WITHOUT_FLUSH)
        finally:
            os.close(descriptor)

    def restore(self) -> None:
        """Mount it again after a cut; nobody may use it any more."""
        self._unmount()
        self._mount()

    def close(self) -> None:
        """Take it away for good."""
        unmount(self.directory)

    def _mount(self) -> None:
        mount("-o", "loop", str(self.image), str(self.directory))

    def _unmount(self) -> None:
        """Not lazily: the image must have no second user when it is mounted again."""
        until = time.monotonic() + _BUSY_SECONDS
        while time.monotonic() < until:
            with suppress(subprocess.CalledProcessError):
                subprocess.run(["umount", str(self.directory)], check=True, capture_output=True)
                return
            time.sleep(0.05)
        raise AssertionError(f"{self.directory} is still in use after {_BUSY_SECONDS:g} s")
