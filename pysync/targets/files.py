"""Files: who copies what an operation points to, before a target writes it (pysync.copy.files)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pysync.model.difference import Difference
from pysync.model.names import TableName
from pysync.model.operation import PutWithFiles


class Places(Protocol):
    """What a target has, as far as it says whose the directories there are."""

    def database(self, name: str) -> Any | None:
        """A Database, or None."""

    def table(self, name: TableName) -> Any | None:
        """A Table, or None."""


class BringsFiles(Protocol):
    """Brings files to a target; used by several lanes at once."""

    def bring(self, places: Places, operation: PutWithFiles, note: Callable[[Difference], object]) -> None:
        """Have the files at the target that the operation points to. May be repeated; then only what changed is copied.

        `note` is called with what was removed, also before an error. Raises what the copier raises, and Rejected for a
        directory that nothing may be copied to.
        """
