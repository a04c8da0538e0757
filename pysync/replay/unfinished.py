"""Unfinished: the tables that are being read whole for a target; kept in the queue's file.

If an operation describes a part of a table that is missing, all of the table is read at the source. If that reading is
cut short, the table exists with only some of its contents. When the operation runs again, the table must not be taken
for complete.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from pysync.model.operation import DropTable, LeaveTable, Operation, RenameTable, TableOperation
from pysync.queue import Notes, note_of


class Unfinished:
    """For several threads; no two have the same table. `save` stores the tables, `saved` is what it stored last."""

    def __init__(self, save: Callable[[str], object] = lambda _: None, saved: str | None = None) -> None:
        self._save = save
        self._lock = threading.Lock()
        self._keys: set[str] = set(json.loads(saved)) if saved else set()

    @classmethod
    def of(cls, notes: Notes, target: str) -> Unfinished:
        """Those of a target, in the queue's file."""
        note = note_of(target, "unfinished")
        return cls(partial(notes.put, note), notes.get(note))

    def has_table_of(self, operation: Operation) -> bool:
        """Whether the operation describes a part of a table that is there only in part."""
        needs_table = isinstance(operation, TableOperation) and not isinstance(operation, (DropTable, LeaveTable))
        return needs_table and _key(operation) in self._keys

    @contextmanager
    def reading(self, operation: Operation) -> Iterator[None]:
        """The operation's table counts as unfinished until the block ends without an error; durable when it begins."""
        self._change(set.add, _key(operation))
        yield  # no `finally`: after an error the table is still there only in part
        self._change(set.discard, _key(operation))

    def forget(self, operation: Operation) -> None:
        """The operation is done; if it has dropped an unfinished table, that is forgotten."""
        if isinstance(operation, DropTable) and operation.key in self._keys:
            self._change(set.discard, operation.key)

    def _change(self, how: Callable[[set[str], str], None], key: str) -> None:
        with self._lock:
            how(self._keys, key)
            self._save(json.dumps(sorted(self._keys)))


def _key(operation: Operation) -> str:
    """The table that the operation ends with."""
    return str(operation.new_name) if isinstance(operation, RenameTable) else operation.key
