"""Table cache: what was made of the bytes of a table; events of its partitions bring the same ones again and again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

_MOST = 128  # tables: partitions that are added one by one bring the same table along each time
_MOST_BYTES = 2 * 1024 * 1024
"""Of all that is kept; objects take six times as much memory. A table may have 20,000 columns, which are 2 MB."""


class TableCache:
    """Calls `make` for bytes and a catalog that it does not know, and keeps the latest answers. For any thread.

    However large a table is, the last one is kept.
    """

    def __init__(self, make: Callable[[bytes, str | None], Any]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._tables: OrderedDict[tuple[bytes, str | None], Any] = OrderedDict()
        self._bytes = 0

    def __call__(self, raw: bytes, catalog: str | None = None) -> Any:
        """What `make` returns for it, or returned before. Raises what that raises."""
        key = (raw, catalog)
        with self._lock:
            if key in self._tables:
                self._tables.move_to_end(key)
                return self._tables[key]
        made = self._make(raw, catalog)
        with self._lock:
            if self._tables.setdefault(key, made) is made:
                self._bytes += len(raw)
            while len(self._tables) > 1 and (len(self._tables) > _MOST or self._bytes > _MOST_BYTES):
                (oldest, _), _ = self._tables.popitem(last=False)
                self._bytes -= len(oldest)
        return made
