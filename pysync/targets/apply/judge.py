"""Judge: who decides what an operation may do at a target, whose an object there is, and what nobody may write."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum, auto
from typing import Any

import structlog

from pysync.model.mark import Mark
from pysync.model.operation import (
    DropDatabase,
    DropFunction,
    DropTable,
    LeaveTable,
    Operation,
    PutDatabase,
    PutFunction,
    PutTable,
    PutWithFiles,
    RenameTable,
    RequestReread,
    TableOperation,
)
from pysync.model.table_formats import PREVIOUS_KEY, WRITTEN_KEY, pointer
from pysync.targets.apply.door import Door
from pysync.targets.base import Outcome, Rejected
from pysync.targets.settings import TargetSettings

# Ownership: whether an object at a target may be written. One rule for all targets.
#
# What pysync writes carries a mark (pysync.model.mark). An object without a mark, or with another source's, is
# adopted only if the policy says so, and is never dropped. An object with the mark of a later event of the same queue
# is left as it is. What another queue of the same source wrote has no order with the change at hand, and may be
# written.


class Ownership(Enum):
    """What an object at the target is to the source that wants to write it."""

    ABSENT = auto()
    OWN = auto()  # written by this source, not later than the change at hand
    NEWER = auto()  # written by this source, from a later event: the change at hand is stale
    FOREIGN = auto()  # not written by this source
    RIVAL = auto()  # written by this source for another object, or by another target, under the same name


def ownership_of(exists: bool, parameters: Mapping[str, str] | None, mark: Mark) -> Ownership:
    """What an object with these parameters is to a put with this mark."""
    if not exists:
        return Ownership.ABSENT
    existing_mark = Mark.read(parameters)
    if existing_mark is None or existing_mark.source != mark.source:
        return Ownership.FOREIGN
    if mark.is_blocked_by(existing_mark):
        return Ownership.RIVAL
    return Ownership.NEWER if mark.precedes(existing_mark) else Ownership.OWN


def ownership_for_drop(exists: bool, parameters: Mapping[str, str] | None, mark: Mark) -> Ownership:
    """What an object with these parameters is to a drop with this mark.

    An object that was created at the source after the dropped one is newer, whatever its event.
    """
    ownership = ownership_of(exists, parameters, mark)
    existing_mark = Mark.read(parameters)
    # A drop is of one object. Whatever other one has its name by now stays.
    if existing_mark is not None and existing_mark.source == mark.source and mark.is_of_another_than(existing_mark):
        return Ownership.RIVAL
    # A refresh that was queued before this drop may have read the newer object, and marked it with its own, older
    # position. Only the createTime distinguishes them.
    if (
        ownership is Ownership.OWN
        and existing_mark is not None
        and mark.created
        and existing_mark.created > mark.created
    ):
        return Ownership.NEWER
    return ownership


def ownership_of_part(parameters: Mapping[str, str] | None, mark: Mark) -> Ownership:
    """What an object without a mark is, by the mark of the table or database that it belongs to.

    A partition, constraint or function is newer only if its table or database was created at the source later, or got
    its name later. When the table or database was last written says nothing about its parts.
    """
    place_mark = Mark.read(parameters)
    if place_mark is None or place_mark.source != mark.source:
        return Ownership.FOREIGN
    if mark.is_blocked_by(place_mark):
        return Ownership.RIVAL
    newer = (mark.created and place_mark.created > mark.created) or mark.is_before_birth_of(place_mark)
    return Ownership.NEWER if newer else Ownership.OWN


# Guards: tables that nobody may write, whoever decides.
#
# - Transactional tables are written as metadata only where the settings say so.
# - The pointer of an Iceberg table names the metadata file that is the table, and a commit moves it. pysync moves it
#   only from a place where the source had it. Otherwise it would overwrite what was committed at the target.


log = structlog.get_logger(__name__)

_HADOOPS_S3 = re.compile(r"^s3[an]://")

Parameters = Mapping[str, str] | None


def is_refused_as_transactional(settings: TargetSettings, table: Any) -> bool:
    """Whether it is a transactional table (full ACID or insert-only), and the settings have such refused."""
    is_transactional = (table.parameters or {}).get("transactional", "").lower() == "true"
    return is_transactional and settings.transactional == "refuse"


def refuse_transactional(settings: TargetSettings, table: Any) -> None:
    """Raise Rejected for a transactional table (full ACID or insert-only), unless `transactional = "metadata"`.

    Only the transactions in its own metastore define which of its files count, and those are not replicated.
    """
    if is_refused_as_transactional(settings, table):
        raise Rejected(
            f"table {table.dbName}.{table.tableName} is transactional: no engine at the target {settings.name!r} can "
            "read it correctly",
            'exclude the table, make it external, or set transactional = "metadata"',
        )


def keeps_foreign_commit(
    settings: TargetSettings, operation: TableOperation, wanted: Parameters, existing: Parameters
) -> bool:
    """Whether to leave the table alone because somebody has committed to it at the target.

    Raises Rejected if the settings want such a table parked.
    """
    name, existing_pointer = operation.table, pointer(existing)
    before = operation.pointers if isinstance(operation, PutTable) else ()
    # The pointers that the source is known to have had: the last one written here, the one before the wanted one, the
    # wanted one (a repeat), and those of earlier alters in this window.
    known = {(existing or {}).get(WRITTEN_KEY), (wanted or {}).get(PREVIOUS_KEY), pointer(wanted), *before}
    if existing_pointer is None or _plain(existing_pointer) in {_plain(at) for at in known if at}:
        return False
    if settings.on_conflict == "park":
        raise Rejected(
            f"the Iceberg table {name} at the target {settings.name!r} has a commit that is not from the "
            f"source: {existing_pointer}",
            'bring the commit to the source, or discard it: on_conflict = "adopt", then pysync parked retry',
        )
    log.warning(
        "conflict_found", target=settings.name, table=str(name), pointer=existing_pointer, wanted=pointer(wanted)
    )
    return settings.on_conflict == "skip"


def _plain(at: str) -> str:
    """A location with AWS's scheme for S3; Hadoop has others (s3a, s3n)."""
    return _HADOOPS_S3.sub("s3://", at)


# Judge: who decides what an operation may do at a target, and what happens to an operation that may not do it.
#
# Each operation has one flow (tables, partitions, …), which asks the target's judge. One judge goes by the marks of
# what is there, the other by homes and by the state that the operation expects. Whatever both have in common is in the
# flow: no judge can leave out a guard.


DEFAULT = "default"
"""The database that every metastore has from the start."""


class Verdict(Enum):
    """What to do with an operation."""

    DO = auto()
    UNCHANGED = auto()  # there is nothing to do
    STALE = auto()  # something newer is there, or on its way here
    FOREIGN = auto()  # the object that is there is another's, and stays
    CONFLICT = auto()  # the state that is there stays; the cluster that wanted another gets it again
    PARK = auto()  # a person has to decide


OUTCOMES = {
    Verdict.UNCHANGED: Outcome.UNCHANGED,
    Verdict.STALE: Outcome.STALE,
    Verdict.FOREIGN: Outcome.FOREIGN,
    Verdict.CONFLICT: Outcome.CONFLICT,
}
"""The outcomes of the verdicts by which nothing is written."""


class Judge(ABC):
    """Decides about one operation at the store.

    A verdict is given on what was just read (`existing`; None if it is absent). Every method that gives one may raise
    Rejected instead, so that a person decides.
    """

    alters_functions = True
    """Whether a function may be altered in place; else it is dropped and created."""

    def __init__(self, store: Door) -> None:
        self.store = store

    def outcome_without_write(self, operation: Operation, verdict: Verdict, existing: Any | None) -> Outcome:  # noqa: ARG002
        """The outcome of an operation with a verdict other than DO. May raise Rejected."""
        return OUTCOMES[verdict]

    @abstractmethod
    def marked(self, operation: Operation, definition: Any, existing: Any | None) -> Any:
        """A copy of a database or table with the mark that it gets if it is written over `existing`."""

    @abstractmethod
    def is_up_to_date(self, operation: Operation, expected: Any, existing: Any) -> bool:
        """Whether a database or table needs no write; `expected` is marked, and as the store returns it.

        The position in the mark does not count: a definition that is unchanged since an older event is still right. The
        creation does: otherwise a late drop of the object's predecessor would take the object for it.
        """

    def is_repeated(self, operation: Operation, existing: Any) -> bool:  # noqa: ARG002
        """Whether this very operation has written `existing` before."""
        return False

    def altered(self, operation: Operation, expected: Any, existing: Any) -> None:  # noqa: B027
        """Called after `existing` was altered to `expected`. May change the struct `existing`."""

    @staticmethod
    @abstractmethod
    def takes_files(settings: TargetSettings, operation: PutWithFiles, existing: Any | None) -> bool:
        """Whether the files of a put or a rename may be copied over those of the table `existing`. Asks no store."""

    @staticmethod
    def compared(expected: Any, existing: Any) -> tuple[Any, Any]:
        """What of two definitions is compared to find drift."""
        return expected, existing

    # --- databases

    @contextmanager
    def tracking_home(self, operation: PutDatabase, existing: Any | None) -> Iterator[None]:  # noqa: ARG002
        """Called around the put of a database. May write to `existing`, and changes the struct then, too."""
        yield

    @abstractmethod
    def put_database(self, operation: PutDatabase, existing: Any | None) -> Verdict:
        """Judge the put of a database."""

    def outcome_without_drop(self, operation: DropDatabase, existing: Any | None) -> Outcome | None:  # noqa: ARG002
        """The outcome of the drop of a database if its tables are not judged; None if they are."""
        return Outcome.UNCHANGED if existing is None else None

    @abstractmethod
    def taken_along(self, operation: DropDatabase) -> Callable[[Any], bool]:
        """A predicate of the tables of a database: whether the drop of the database drops them as well."""

    @abstractmethod
    def outcome_if_database_stays(
        self, operation: DropDatabase, existing: Any, remaining: Sequence[Any]
    ) -> Outcome | None:
        """The outcome if the database stays after its tables were dropped except the `remaining`; None if it goes."""

    # --- functions

    @abstractmethod
    def function(
        self, operation: PutFunction | DropFunction, database: Any | None, wanted: Any | None, existing: Any | None
    ) -> Verdict:
        """Judge the put or drop (`wanted` is None) of a function, by its database."""

    # --- tables

    @abstractmethod
    def put(self, operation: TableOperation, definition: Any, existing: Any | None) -> Verdict:
        """Judge that the table `existing` is brought to the definition, which has its name."""

    @abstractmethod
    def overwrites(self, operation: TableOperation, existing: Any) -> bool:
        """Whether a write that may be done takes no account of what others have made of the source's table."""

    def assert_order(self, operation: TableOperation, existing: Any) -> None:  # noqa: B027
        """Raise WrittenByAnother if an event carries the definition, and the table may be newer."""

    def is_predecessor(self, operation: TableOperation, existing: Any) -> bool:  # noqa: ARG002
        """Whether the table had the name before the one that is created, so that it is replaced and not altered."""
        return False

    @abstractmethod
    def cascades_to_partitions(self, operation: PutTable, table: Any, outcome: Outcome) -> bool:
        """Whether the partitions of the table get the columns of a cascade that had this outcome for the table."""

    @abstractmethod
    def outcome_without_replacement(self, operation: TableOperation, existing: Any) -> Outcome | None:
        """The outcome if the table may not be replaced by one to which no alter leads; None if it may."""

    @abstractmethod
    def drop(self, operation: DropTable | LeaveTable, existing: Any | None) -> Verdict:
        """Judge the drop of a table."""

    # --- renames

    def outcome_of_rename(self, operation: RenameTable, old: Any | None, new: Any | None) -> Outcome | None:  # noqa: ARG002
        """The outcome of a rename that is only a request and cannot be done; None to go on."""
        return None

    @abstractmethod
    def rename(self, operation: RenameTable, old: Any, new: Any | None, *, is_done: bool) -> Verdict:
        """Judge that the table `old` becomes the new one; STALE if it stays, and only the new name is put."""

    @abstractmethod
    def displace(self, operation: RenameTable, new: Any | None) -> Verdict:
        """Judge that a table of the new name gives way; STALE if it is put, and the old one dropped."""

    # --- partitions and constraints: the parts of a table

    @abstractmethod
    def without_table(self, operation: TableOperation, part: str) -> Outcome:
        """The outcome of a put of parts whose table is not there. May raise Incomplete."""

    @abstractmethod
    def parts(self, operation: TableOperation, table: Any) -> Verdict:
        """Judge a change of parts of this table, before each is judged by itself."""

    def adds_without_reading(self, operation: TableOperation, table: Any) -> bool:  # noqa: ARG002
        """Whether partitions may be added before any that exists was judged."""
        return False

    @abstractmethod
    def part(self, operation: TableOperation, table: Any, wanted: Any | None, existing: Any | None) -> Verdict:
        """Judge one part by itself; `wanted` is None for a drop. DO also if there may be nothing to write."""

    def is_conflict_as_batch(
        self,
        operation: TableOperation,  # noqa: ARG002
        verdicts: Mapping[Any, Verdict],  # noqa: ARG002
        wanted: Mapping[Any, Any],  # noqa: ARG002
        existing: Mapping[Any, Any],  # noqa: ARG002
    ) -> bool:
        """Whether a batch of partitions is a conflict as a whole, whatever the verdict on each."""
        return False

    def outcome_of_parts(self, operation: TableOperation, table: Any, outcome: Outcome) -> Outcome:  # noqa: ARG002
        """The outcome of the whole operation, by the total of its parts."""
        return outcome

    # --- asking for an object again

    def request_reread(self, operation: RequestReread) -> Outcome:
        """Have all clusters read an object again."""
        raise Rejected(f"a target of kind {self.store.settings.kind} does not support {type(operation).__name__}")
