"""A target in memory that can be told to misbehave in every way that a real one does."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from pysync.model.constraints import Constraints
from pysync.model.names import TableName
from pysync.model.operation import DropDatabase, Operation
from pysync.targets.base import Outcome, OutcomeUnknown, Rejected, Unavailable


class FakeTarget:
    """Records what is applied. Faults are set from the test's thread while the drain's uses it.

    `rejects`, `bugs`: keys (`db.table`) that are refused, or that raise RuntimeError, while they are in there.
    `unreachable`: keys for which no call gets an answer; `is_away`: nor does it list its databases, which is `probed`.
    `unavailable`, `unknown`: how many of the next calls fail so; OutcomeUnknown comes after the operation was applied.
    `hang()` makes calls block until `release()`.
    """

    def __init__(self) -> None:
        self.applied: list[Operation] = []
        self.tries: Counter[str] = Counter()
        self.rejects: set[str] = set()
        self.bugs: dict[str, int] = {}
        self.unreachable: set[str] = set()
        self.is_away = False
        self.probed = 0
        self.unavailable = 0
        self.unknown = 0
        self.opened = 0
        self.closed = 0
        self.hangs = threading.Event()
        self._released = threading.Event()
        self._released.set()

    def opener(self) -> FakeTarget:
        """What a drain calls to open the target: always this one."""
        self.opened += 1
        return self

    def hang(self) -> None:
        """Block from the next call on; `hangs` is set when one does."""
        self._released.clear()

    def release(self) -> None:
        """Let blocked calls go on."""
        self._released.set()

    def positions(self, key: str | None = None) -> list[int]:
        """The positions of what was applied, in order (to one key)."""
        return [operation.mark.position for operation in self.applied if key in {None, operation.key}]

    def apply(self, operation: Operation) -> Outcome:
        self.tries[operation.key] += 1
        self._block()
        if self.is_away or operation.key in self.unreachable:
            raise Unavailable(f"the connection breaks for {operation.key}")
        if self.unavailable:
            self.unavailable -= 1
            raise Unavailable("the target is away")
        if operation.key in self.rejects:
            raise Rejected(f"the target does not like {operation.key}")
        if self.bugs.get(operation.key):
            self.bugs[operation.key] -= 1
            raise RuntimeError("a bug of the target")
        self.applied.append(operation)
        if self.unknown:
            self.unknown -= 1
            raise OutcomeUnknown("no answer came")
        return Outcome.APPLIED

    def _block(self) -> None:
        if not self._released.is_set():
            self.hangs.set()
            self._released.wait()

    def check(self) -> str:
        return "a fake"

    def databases(self) -> list[str]:
        self.probed += 1
        if self.is_away:
            raise Unavailable("the target is away")
        return []

    def database(self, name: str) -> Any | None:  # noqa: ARG002
        return None

    def tables(self, database: str) -> list[str]:  # noqa: ARG002
        return []

    def tables_with(self, drop: DropDatabase) -> dict[str, int]:  # noqa: ARG002
        return {}

    def table(self, name: TableName) -> Any | None:  # noqa: ARG002
        return None

    def partitions(self, name: TableName) -> Iterator[Any]:  # noqa: ARG002
        return iter(())

    def partition_names(self, name: TableName, most: int | None = None) -> list[str]:  # noqa: ARG002
        return []

    def partitions_by_name(self, name: TableName, names: Sequence[str]) -> list[Any]:  # noqa: ARG002
        return []

    def functions(self, database: str) -> list[Any]:  # noqa: ARG002
        return []

    def constraints(self, table: Any) -> Constraints:  # noqa: ARG002
        return {}

    def differences(self, wanted: Any, there: Any | None, table: Any | None = None) -> list[str]:  # noqa: ARG002
        return []

    def close(self) -> None:
        self.closed += 1
