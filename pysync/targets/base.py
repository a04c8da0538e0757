"""What a target is: a place that operations are applied to, and how it says that it cannot.

    PysyncError
    ├── Unavailable      not now: network, throttling, credentials; retried for ever, with backoff
    │   └── Forbidden    a permission lacks: where others succeed meanwhile, it is this object's, which is parked
    ├── Rejected         never like this: the event is parked, its table waits, the others go on
    │   └── Missing      the table or database that it belongs to is not there: maybe a later event has taken it away
    │       ├── Incomplete   the table is not there as a whole, and the operation does not tell all of it
    │       └── MissingDatabase   it is the database
    └── OutcomeUnknown   the request went out and no answer came: applied again, which is safe (see Target.apply)

Anything else that a target raises is a bug or an answer nobody has classified: retried a few times, then parked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, TypeVar

from pysync.errors import PysyncError
from pysync.model.constraints import Constraints
from pysync.model.names import TableName
from pysync.model.operation import Operation
from pysync.targets.settings import TargetSettings

M = TypeVar("M", bound="Missing")


class Unavailable(PysyncError):
    """The target cannot be used now; nothing is wrong with the operation."""


class Forbidden(Unavailable):
    """Somebody has to grant something: for this object if others succeed meanwhile, else for the whole target."""


class Rejected(PysyncError):
    """The target refuses this operation and would refuse it again."""


class Missing(Rejected):
    """What the operation belongs to is not at the target.

    After a crash that is no fault where a later event of the same window drops or renames it: that was applied before.
    """

    @classmethod
    def of_target(cls: type[M], target: str, what: str) -> M:
        """What to raise where `what` would have to be there."""
        return cls(
            f"{what} is not at the target {target!r}",
            "was its creation parked, suppressed or left out? put it there, then retry",
        )


class Incomplete(Missing):
    """The table is not there, or had to be dropped as it could not be altered; the operation tells a part of it only.

    The whole of it is to be read at the source (pysync.replay.whole).
    """

    @classmethod
    def of(cls, target: str, name: TableName, part: str = "") -> Incomplete:
        """What to raise where the table is not there; `part` is what the operation tells of it."""
        of = f" of the {part}" if part else ""
        return cls(
            f"table {name}{of} is not at the target {target!r}",
            "was its creation parked, suppressed or left out? pysync refresh brings all of it",
        )


class MissingDatabase(Missing):
    """Its database is not there. With both_ways that may come from the source (pysync.replay.apply)."""


class OutcomeUnknown(PysyncError):
    """The target may or may not have done it."""


class Outcome(str, Enum):
    """What became of an operation that was not refused."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"  # the target was so already
    STALE = "stale"  # the target has something newer of the same source
    FOREIGN = "foreign"  # the target's object is not its source's, and was left alone
    CONFLICT = "conflict"  # both ends have changed it; the target's stays, and is sent again (with both_ways)
    UNSUPPORTED = "unsupported"  # the target has no such thing, and goes on without it

    def __str__(self) -> str:
        return self.value


def total(outcomes: Collection[Outcome]) -> Outcome:
    """The outcome of several steps: the most telling of theirs; UNCHANGED if there were none."""
    told = (Outcome.CONFLICT, Outcome.FOREIGN, Outcome.STALE, Outcome.APPLIED, Outcome.UNSUPPORTED)
    return next((outcome for outcome in told if outcome in outcomes), Outcome.UNCHANGED)


class Target(Protocol):
    """One connection to a target, used by one thread at a time.

    Every call may block up to the target's own timeout and raises Unavailable, Rejected or OutcomeUnknown.
    """

    def check(self) -> str:
        """Reach the target and say in a few words what is there. Changes nothing."""

    def apply(self, operation: Operation) -> Outcome:
        """Bring the target to what the operation says.

        Idempotent: the same operation again, or after an OutcomeUnknown, ends the same. Not ordered: the caller
        applies the operations of one key in order, and those of a database before its tables'.
        An operation that is older than what the target has from the same source changes nothing (STALE).
        Raises Incomplete where a table is not there that the operation cannot create with all that it has.
        """

    def databases(self) -> list[str]:
        """The names of its databases, sorted."""

    def database(self, name: str) -> Any | None:
        """The database as it is now (hmsclient's Database), or None."""

    def tables(self, database: str) -> list[str]:
        """The names of the database's tables and views, sorted; empty if there is no such database."""

    def table(self, name: TableName) -> Any | None:
        """The table as it is now (hmsclient's Table), or None."""

    def partitions(self, name: TableName) -> Iterator[Any]:
        """The table's partitions as they are now (hmsclient's Partition), streamed; none if there is no such table."""

    def partition_names(self, name: TableName, most: int | None = None) -> list[str]:
        """The names of the table's partitions, `key=value/…` as HMS has them; none if there is no such table.

        No more than `most` of them (up to 32767) if that is given.
        """

    def partitions_by_name(self, name: TableName, names: Sequence[str]) -> list[Any]:
        """Those of the named partitions that are there (hmsclient's Partition), in no promised order."""

    def functions(self, database: str) -> list[Any]:
        """The database's functions (hmsclient's Function), names in lower case; none if there is no such database."""

    def constraints(self, table: Any) -> Constraints:
        """The constraints of a table as it was read here; a kind that the target cannot hold is not in it."""

    def differences(self, wanted: Any, there: Any | None, table: Any | None = None) -> list[str]:
        """What of `wanted` the target would write, seeing that it has `there`: the fields that differ, a line each.

        Both are hmsclient's structs of one kind: Database, Table, Partition, Function, or a list of the columns of one
        constraint. `wanted` is rewritten for the target; `table` is the one at the target that a partition belongs to.
        Empty where `apply` would change nothing: both decide by the same rules. Asks no server. Raises Rejected where
        the target can hold the object in no form: then its absence there is no drift.
        """

    def close(self) -> None:
        """Give everything back; may be called twice, never raises."""


@dataclass(frozen=True, slots=True)
class TargetKind:
    """What the entry points `pysync.targets` name: the settings of a kind and how to open a target of them."""

    settings: type[TargetSettings]
    open: Callable[[Any], Target]
