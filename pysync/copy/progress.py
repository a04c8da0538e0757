"""CopyProgress: how far copying is, for the terminal and for status. Written by several threads, read by others."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class CopyProgress:
    """Counts since the start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(("files", "bytes", "files_left", "bytes_left", "same", "removed", "missing"), 0)
        self._busy = 0.0
        self._since = 0.0
        self._running = 0

    def surveyed(self, same: int, missing: int) -> None:
        """So many files are there already, so many directories are not at the source."""
        self._add(same=same, missing=missing)

    def deleted(self, files: int) -> None:
        """So many files were removed at the target."""
        self._add(removed=files)

    def copied(self, files: int, size: int) -> None:
        """So much of what is under way is copied."""
        self._add(files=files, bytes=size, files_left=-files, bytes_left=-size)

    @contextmanager
    def under_way(self, files: int, size: int) -> Iterator[None]:
        """So many files and bytes are copied while the block runs. What is left when no block runs is given up."""
        self._begin(files, size)
        try:
            yield
        finally:
            self._end()

    def status(self) -> dict[str, Any]:
        """As in `pysync status --json`: the rate is that of the time in which something was copied."""
        with self._lock:
            busy = self._busy + (time.monotonic() - self._since if self._running else 0.0)
            rate = self._counts["bytes"] / busy if busy else 0.0
            seconds_left = round(self._counts["bytes_left"] / rate, 1) if rate else None
            return {**self._counts, "bytes_per_second": round(rate), "seconds_left": seconds_left}

    def _begin(self, files: int, size: int) -> None:
        self._add(files_left=files, bytes_left=size)
        with self._lock:
            if not self._running:
                self._since = time.monotonic()
            self._running += 1

    def _end(self) -> None:
        with self._lock:
            self._running -= 1
            if not self._running:
                self._busy += time.monotonic() - self._since
                self._counts["files_left"] = self._counts["bytes_left"] = 0

    def _add(self, **numbers: int) -> None:
        with self._lock:
            for name, number in numbers.items():
                self._counts[name] += number
