"""Target: a place that operations are applied to, and the errors by which it says that it cannot.

    PysyncError
    ├── Unavailable      not now: network, throttling, credentials; retried for ever, with backoff
    │   └── Forbidden    a permission is missing; if other operations succeed meanwhile, only this object is parked
    ├── Rejected         never like this: the event is parked, its table waits, other tables go on
    │   ├── Held         the brake does not let the object go: it waits for a person
    │   └── Missing      the operation needs a table or database that is not there; a later event may have removed it
    │       ├── Incomplete       the table is not there as a whole, and the operation describes only a part of it
    │       │   └── WrittenByAnother  the table may be newer than the operation
    │       └── MissingDatabase  the database is not there
    └── OutcomeUnknown   the request was sent and no answer came: it is applied again, which is safe (Target.apply)

Anything else that a target raises is a bug or an answer that nobody has classified: it is retried a few times, then
parked. A kind of target sorts the errors of its place by a table (pysync.targets.answers).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Protocol, TypeVar, runtime_checkable

from pysync.base.errors import PysyncError
from pysync.model.constraints import Constraints
from pysync.model.difference import Difference
from pysync.model.names import TableName
from pysync.model.operation import DropDatabase, Operation

M = TypeVar("M", bound="Missing")
_MOST_NAMED = 5  # objects in the text of an error


class Unavailable(PysyncError):
    """The target cannot be used now; nothing is wrong with the operation."""


class Forbidden(Unavailable):
    """The target denies access: to this object if other operations succeed meanwhile, else to everything."""


class Rejected(PysyncError):
    """The target refuses this operation and would refuse it again."""


class Missing(Rejected):
    """The operation needs a table or database that is not at the target."""

    @classmethod
    def of_target(cls: type[M], target: str, object_name: str) -> M:
        """The error to raise where `object_name` should be at the target, and is not."""
        return cls(
            f"{object_name} does not exist at the target {target!r}",
            "check whether its creation was parked, suppressed or excluded; create it at the target, then retry",
        )


class Incomplete(Missing):
    """The table is not there, or was dropped because no alter leads to it; the operation describes only a part.

    The replay reads the whole table at the source (pysync.replay.window.plan).
    """

    @classmethod
    def of(cls, target: str, name: TableName, part: str = "") -> Incomplete:
        """The error to raise where the table is not there; `part` names what the operation describes of it."""
        of = f" of the {part}" if part else ""
        return cls(
            f"table {name}{of} does not exist at the target {target!r}",
            "check whether its creation was parked, suppressed or excluded; pysync refresh creates the whole table",
        )


class WrittenByAnother(Incomplete):
    """Another queue of this source has written the table, so it may be newer than the event at hand.

    The replay reads the table at the source. `mark` is what the table's `pysync.event` is.
    """

    def __init__(self, target: str, name: TableName, mark: str) -> None:
        super().__init__(
            f"table {name} at the target {target!r} was written by another queue of this source, or before an older "
            "copy of this queue was restored",
            "run one sidecar for each source",
        )
        self.mark = mark


class MissingDatabase(Missing):
    """The database of an object is not there. The replay may create it (pysync.replay.apply)."""


class Held(Rejected):
    """The brake does not let these `objects` go: a person has to decide (docs/brake.md)."""

    def __init__(self, target: str, objects: Sequence[str], reason: str) -> None:
        named = ", ".join(objects[:_MOST_NAMED]) + (", …" if len(objects) > _MOST_NAMED else "")
        super().__init__(f"held: the drop of {named}; {reason}", f"look at pysync held list {target}")
        self.target, self.objects, self.reason = target, tuple(objects), reason

    @classmethod
    def together(cls, several: Sequence[Held]) -> Held:
        """One for all of these, which are of one target."""
        return cls(several[0].target, [name for it in several for name in it.objects], several[0].reason)


class OutcomeUnknown(PysyncError):
    """The target may or may not have done it."""


ERRORS = ("bug", "forbidden", "outcome_unknown", "rejected", "unavailable")
"""The names of the kinds of errors, as status and metrics have them."""


def kind_of(error: Exception) -> str:
    """The name of an error's kind; `bug` for one that nobody has classified."""
    if isinstance(error, Unavailable):
        return "forbidden" if isinstance(error, Forbidden) else "unavailable"
    if isinstance(error, Rejected):
        return "rejected"
    return "outcome_unknown" if isinstance(error, OutcomeUnknown) else "bug"


class Outcome(str, Enum):
    """The result of an operation that was not refused."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"  # the target had that state already
    STALE = "stale"  # the target has a newer state from the same source
    FOREIGN = "foreign"  # the object at the target is not from this source, and was left alone
    CONFLICT = "conflict"  # both ends changed it; the target's state stays and is sent again
    KEPT = "kept"  # the source has dropped the object, and a person has decided that the target keeps it
    UNSUPPORTED = "unsupported"  # the target cannot hold such a thing, and goes on without it

    def __str__(self) -> str:
        return self.value


def total(outcomes: Collection[Outcome]) -> Outcome:
    """The outcome of several steps: the most significant one; UNCHANGED if there were none."""
    # Most significant first: a person must learn of a conflict even if other steps were applied.
    by_importance = (
        Outcome.CONFLICT,
        Outcome.FOREIGN,
        Outcome.KEPT,
        Outcome.STALE,
        Outcome.APPLIED,
        Outcome.UNSUPPORTED,
    )
    return next((outcome for outcome in by_importance if outcome in outcomes), Outcome.UNCHANGED)


class Target(Protocol):
    """One connection to a target, used by one thread at a time.

    Every call may block up to the target's own timeout and raises Unavailable, Rejected or OutcomeUnknown.
    """

    def check(self) -> str:
        """Reach the target and say in a few words what is there. Changes nothing."""

    def apply(self, operation: Operation) -> Outcome:
        """Bring the target to the state that the operation describes.

        Idempotent: the same operation again, also after an OutcomeUnknown, ends in the same state. Not ordered: the
        caller applies the operations of one key in order, and those of a database before those of its tables. An
        operation that is older than what the target has from the same source changes nothing (STALE). Raises Incomplete
        if a table is missing that the operation cannot create in full.
        """

    def databases(self) -> list[str]:
        """The names of its databases, sorted."""

    def database(self, name: str) -> Any | None:
        """The database as it is now (hmsclient's Database), or None."""

    def tables(self, database: str) -> list[str]:
        """The names of the database's tables and views, sorted; empty if there is no such database."""

    def tables_with(self, drop: DropDatabase) -> dict[str, int]:
        """The names of the tables and views that the drop of a database would take along now, kept ones among them.

        Each with its createTime at the source (s; 0: not known).
        """

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
        """The constraints of a table that was read here. Kinds that the target cannot hold are left out."""

    def differences(self, wanted: Any, existing: Any | None, table: Any | None = None) -> list[str]:
        """What `apply` would write to make `existing` be `wanted`: one line for each field that differs.

        Both are hmsclient's structs of one kind: Database, Table, Partition, Function, or a list of the columns of one
        constraint. `wanted` is rewritten for the target; `table` is the table at the target that a partition belongs
        to. Empty if `apply` would change nothing: both decide by the same rules. Asks no server. Raises Rejected if the
        target can hold the object in no form: then its absence is no drift.
        """

    def close(self) -> None:
        """Give everything back; may be called twice, never raises."""


class ReportsChanges(Protocol):
    """What a target may have besides, for the journal."""

    def take_differences(self) -> Sequence[Difference]:
        """What `apply` has changed since the last call, in order: the first fields, with their old and new values.

        Asks no server, and costs next to nothing.
        """


@runtime_checkable
class ReportsLosses(Protocol):
    """What a target may have besides, for verify."""

    def lost(self, wanted: Any) -> Sequence[str]:
        """What the target cannot keep of a Database or Table, though it has the rest: a line each. Changes nothing."""


@runtime_checkable
class ChecksRights(Protocol):
    """What a target may have besides, for `pysync check`."""

    def check_rights(self) -> str:
        """Ask whether the caller has the rights that the target needs, and say so in a few words; "" if nobody knows.

        Changes nothing. Raises Forbidden if some are missing.
        """


@runtime_checkable
class Lacking(Protocol):
    """What a target may have besides, for `pysync check` and `pysync plan`."""

    @property
    def lacks(self) -> Mapping[Any, str]:
        """What it cannot hold or do, each with the reason, for people."""


def lacks_of(target: Target) -> dict[str, str]:
    """What the target cannot hold or do, as far as its kind shows, each with the reason."""
    return {str(what): reason for what, reason in target.lacks.items()} if isinstance(target, Lacking) else {}
