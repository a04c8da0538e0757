"""Unfinished: the tables that a target is being given whole; kept in the queue's file.

An operation that tells a part of a table which is not there has all of it read at the source. If that ends early, with
the process or with a connection, the table is there, though not with all that is in it: when the operation comes again
it must not take that for the whole.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pysync.model.operation import DropTable, Operation, RenameTable, TableOperation


class Unfinished:
    """For several threads, of which no two have the same table. `keep` stores them, `kept` is what it stored last."""

    def __init__(self, keep: Callable[[str], object] = lambda _: None, kept: str | None = None) -> None:
        self._keep = keep
        self._lock = threading.Lock()
        self._keys: set[str] = set(json.loads(kept)) if kept else set()

    def holds(self, operation: Operation) -> bool:
        """Whether the operation tells a part of a table that is there in part."""
        tells = isinstance(operation, TableOperation) and not isinstance(operation, DropTable)
        return tells and _key(operation) in self._keys

    @contextmanager
    def reading(self, operation: Operation) -> Iterator[None]:
        """The operation's table is there in part until the block has come to its end; durable when it begins."""
        self._change(set.add, _key(operation))
        yield
        self._change(set.discard, _key(operation))

    def forget(self, operation: Operation) -> None:
        """The operation is done; if it has dropped a table that was there in part, nothing is left of that."""
        if isinstance(operation, DropTable) and operation.key in self._keys:
            self._change(set.discard, operation.key)

    def _change(self, how: Callable[[set[str], str], None], key: str) -> None:
        with self._lock:
            how(self._keys, key)
            self._keep(json.dumps(sorted(self._keys)))


def _key(operation: Operation) -> str:
    """The table that an operation brings to be."""
    return str(operation.new_name) if isinstance(operation, RenameTable) else operation.key
