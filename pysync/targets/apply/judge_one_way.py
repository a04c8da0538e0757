"""The judge of a target that only receives: the marks of what is there decide (pysync.targets.apply.judge)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pysync.model.catalogs import is_default_database
from pysync.model.mark import EVENT_KEY, Mark
from pysync.model.operation import (
    DropConstraint,
    DropDatabase,
    DropFunction,
    DropPartitions,
    DropTable,
    LeaveTable,
    Operation,
    PutDatabase,
    PutFunction,
    PutPartitions,
    PutTable,
    PutWithFiles,
    RenameTable,
    TableOperation,
)
from pysync.targets.apply.judge import Judge, Verdict
from pysync.targets.apply.owners import Ownership, ownership_for_drop, ownership_of, ownership_of_part, stamped
from pysync.targets.apply.refusals import is_link, linked, taken_by_another
from pysync.targets.apply.renames import is_half_done
from pysync.targets.base import Incomplete, Outcome, Rejected, WrittenByAnother, total
from pysync.targets.diff import differences, same
from pysync.targets.hive import is_another, name_of
from pysync.targets.settings import TargetSettings

_VERDICTS = {
    Ownership.ABSENT: Verdict.DO,
    Ownership.OWN: Verdict.DO,
    Ownership.NEWER: Verdict.STALE,
    Ownership.FOREIGN: Verdict.FOREIGN,
    Ownership.RIVAL: Verdict.FOREIGN,
}
_OUTCOMES_OF_REMAINING = {
    Ownership.NEWER: Outcome.STALE,
    Ownership.FOREIGN: Outcome.FOREIGN,
    Ownership.RIVAL: Outcome.FOREIGN,
}


class OneWayJudge(Judge):
    """What this source wrote may be written, unless that was later; what others wrote, as `on_conflict` says."""

    def marked(self, operation: Operation, definition: Any, existing: Any | None) -> Any:
        """With the mark of the operation."""
        return stamped(definition, operation.mark.following(_mark(existing)))

    def is_up_to_date(self, operation: Operation, expected: Any, existing: Any) -> bool:
        """Whether it is the same, from the same source, object and creation.

        Of a database only the event says when it was created: one that stays at the target while the brake holds the
        drop of its predecessor gets the new mark, so that the drop, once it comes, does not take it.
        """
        written, mark = _mark(existing), operation.mark
        if isinstance(operation, PutDatabase) and written is not None and mark.born > written.position:
            return False
        return up_to_date(expected, existing, mark)

    def is_repeated(self, operation: Operation, existing: Any) -> bool:
        """Whether the mark is that of the operation."""
        written = _mark(existing)
        return written is not None and written == operation.mark.following(written)

    @staticmethod
    def takes_files(settings: TargetSettings, operation: PutWithFiles, existing: Any | None) -> bool:
        """If the table is not newer, and is the source's or may be adopted."""
        if existing is not None and isinstance(operation, PutPartitions):
            ownership = ownership_of_part(existing.parameters, operation.mark)
        else:
            ownership = _ownership(operation, existing)
        if ownership is Ownership.FOREIGN:
            return settings.on_conflict == "adopt"
        return ownership in {Ownership.ABSENT, Ownership.OWN}

    # --- databases

    def put_database(self, operation: PutDatabase, existing: Any | None) -> Verdict:
        """A foreign one is adopted or left as it is. Of two that are one at the target the first stays."""
        ownership = _ownership(operation, existing)
        if ownership is Ownership.FOREIGN and not is_default_database(operation.database) and self._adopts:
            ownership = Ownership.OWN
        if existing is not None and ownership is Ownership.OWN and is_link(self.store.reads, existing):
            raise linked(self.store.reads, f"database {operation.database}")
        return _VERDICTS[ownership]

    def taken_along(self, operation: DropDatabase) -> Callable[[Any], bool]:
        """A table goes if it is from this source, and not newer than the drop."""
        return lambda table: ownership_for_drop(True, table.parameters, operation.mark) is Ownership.OWN

    def outcome_if_database_stays(
        self, operation: DropDatabase, existing: Any, remaining: Sequence[Any]
    ) -> Outcome | None:
        """It stays if it is newer or foreign, or if newer tables or those of others are left in it."""
        ownership = ownership_for_drop(True, existing.parameters, operation.mark)
        if ownership is Ownership.NEWER:
            return Outcome.STALE
        all_ownerships = (ownership, *(ownership_for_drop(True, it.parameters, operation.mark) for it in remaining))
        outcomes = [_OUTCOMES_OF_REMAINING[it] for it in all_ownerships if it in _OUTCOMES_OF_REMAINING]
        return total(outcomes) if outcomes else None

    # --- functions

    def function(
        self, operation: PutFunction | DropFunction, database: Any | None, wanted: Any | None, existing: Any | None
    ) -> Verdict:
        """In a foreign database a function is altered only if such objects may be adopted, and never dropped."""
        if database is None:  # no refusal yet: some settings have it created
            return Verdict.DO
        ownership = ownership_of_part(database.parameters, operation.mark)
        if ownership is Ownership.NEWER:
            return Verdict.STALE
        # All that are one at the target, and all targets that write there, may have functions in it.
        if existing is None or ownership in {Ownership.OWN, Ownership.RIVAL}:
            return Verdict.DO
        if wanted is not None and same(wanted, existing):
            return Verdict.UNCHANGED
        return Verdict.DO if wanted is not None and self._adopts else Verdict.FOREIGN

    # --- tables

    def put(self, operation: TableOperation, definition: Any, existing: Any | None) -> Verdict:
        """By the mark of the table; a foreign one as `on_conflict` says."""
        ownership = _ownership(operation, existing)
        if ownership is Ownership.RIVAL:
            raise taken_by_another(self.store.settings, f"table {name_of(definition)}", existing, operation.mark)
        return (
            self._conflict(f"table {name_of(definition)}", existing)
            if ownership is Ownership.FOREIGN
            else _VERDICTS[ownership]
        )

    def overwrites(self, operation: TableOperation, existing: Any) -> bool:
        """If the source wrote it: to adopt one of others is to take over what they made of it."""
        return _ownership(operation, existing) is Ownership.OWN

    def assert_order(self, operation: TableOperation, existing: Any) -> None:
        """Positions of another queue of the source have no order with these."""
        written = _mark(existing)
        if written is None or written.source != operation.mark.source:
            return
        is_of_event = isinstance(operation, PutTable) and not operation.is_current
        if is_of_event and not operation.mark.is_ordered_with(written):
            raise WrittenByAnother(self.store.settings.name, name_of(existing), existing.parameters[EVENT_KEY])

    def is_predecessor(self, operation: TableOperation, existing: Any) -> bool:
        """Whether the event of its drop was lost: its partitions and constraints are not those of the new one."""
        mark, written = operation.mark, _mark(existing)
        is_birth = isinstance(operation, PutTable) and operation.creates and mark.born > 0
        if not is_birth or written is None or written.source != mark.source:
            return False
        return 0 < written.created != mark.created > 0

    def cascades_to_partitions(self, operation: PutTable, table: Any, outcome: Outcome) -> bool:  # noqa: ARG002
        """Also where the table is newer: a replay may have put partitions from before the cascade there again."""
        return ownership_of_part(table.parameters, operation.mark) is Ownership.OWN

    def outcome_without_replacement(self, operation: TableOperation, existing: Any) -> Outcome | None:
        """A foreign table is never dropped."""
        if _ownership(operation, existing) is not Ownership.FOREIGN:
            return None
        raise Rejected(
            f"the target has a table {name_of(existing)} that is not from this source, with other partition keys or of "
            "another type",
            f"drop it at the target {self.store.settings.name!r}",
        )

    def drop(self, operation: DropTable | LeaveTable, existing: Any | None) -> Verdict:
        """Only what is from this source, and not newer than the table that was dropped there."""
        if existing is None:
            return Verdict.UNCHANGED
        return _VERDICTS[ownership_for_drop(True, existing.parameters, operation.mark)]

    # --- renames

    def rename(self, operation: RenameTable, old: Any, new: Any | None, *, is_done: bool) -> Verdict:
        """As for a drop of the old one; a foreign one is renamed if it may be adopted and nothing is in the way."""
        ownership = ownership_for_drop(True, old.parameters, operation.mark)
        if ownership is not Ownership.FOREIGN:
            return Verdict.DO if ownership is Ownership.OWN else Verdict.STALE
        verdict = Verdict.STALE if is_done else self._conflict(f"table {operation.table}", old)
        if verdict is not Verdict.DO or is_half_done(new, operation):
            return verdict
        return Verdict.DO if new is None and not is_another(operation.definition, old) else Verdict.STALE

    def displace(self, operation: RenameTable, new: Any | None) -> Verdict:
        """One of this source is an older one, which is gone there; one of others stays."""
        ownership = _ownership(operation, new)
        if ownership is Ownership.RIVAL:
            raise taken_by_another(self.store.settings, f"table {operation.new_name}", new, operation.mark)
        if ownership is Ownership.FOREIGN and self.store.settings.on_conflict != "skip":
            raise Rejected(
                f"cannot rename table {operation.table}: the target has a table {operation.new_name} that is not from "
                "this source",
                f"drop or rename {operation.new_name} at the target {self.store.settings.name!r}",
            )
        return _VERDICTS[ownership]

    # --- parts

    def without_table(self, operation: TableOperation, part: str) -> Outcome:
        """The source has all of the table."""
        raise Incomplete.of(self.store.settings.name, operation.table, part)

    def parts(self, operation: TableOperation, table: Any) -> Verdict:
        """By the mark of the table. In a foreign one each part is looked at first: an echo is no conflict."""
        ownership = ownership_of_part(table.parameters, operation.mark)
        if isinstance(operation, (DropPartitions, DropConstraint)):
            return _VERDICTS[ownership]
        if ownership is Ownership.RIVAL:
            raise taken_by_another(self.store.settings, f"table {operation.table}", table, operation.mark)
        if ownership is Ownership.FOREIGN:
            return self._conflict(f"table {operation.table}", table) if is_link(self.store.reads, table) else Verdict.DO
        return _VERDICTS[ownership]

    def adds_without_reading(self, operation: TableOperation, table: Any) -> bool:
        """Not in a foreign table: whether anything may be written there depends on what is there."""
        return ownership_of_part(table.parameters, operation.mark) is Ownership.OWN

    def part(self, operation: TableOperation, table: Any, wanted: Any | None, existing: Any | None) -> Verdict:
        """In a foreign table what is to be written is a conflict; a difference that the store does not write is not."""
        if ownership_of_part(table.parameters, operation.mark) is not Ownership.FOREIGN:
            return Verdict.DO
        if existing is not None and not self._writes(table, wanted, existing):
            return Verdict.UNCHANGED
        return self._conflict(f"table {operation.table}", table)

    # --- within

    @property
    def _adopts(self) -> bool:
        return self.store.settings.on_conflict == "adopt"

    def _conflict(self, name: str, existing: Any) -> Verdict:
        """The verdict on a put over a foreign object. Raises Rejected to park it."""
        if self.store.settings.on_conflict == "skip":
            return Verdict.FOREIGN
        if is_link(self.store.reads, existing):
            raise linked(self.store.reads, name)
        if self._adopts:
            return Verdict.DO
        raise Rejected(
            f"{name} already exists at the target {self.store.settings.name!r} and is not from this source",
            'drop it at the target, or set on_conflict = "adopt" or "skip"',
        )

    def _writes(self, table: Any, wanted: Any, existing: Any) -> bool:
        """Whether the store would write the differences, or refuse them."""
        if same(wanted, existing):
            return False
        try:
            return bool(self.store.reads.written(differences(wanted, existing), wanted, existing, table))
        except Rejected:
            return True


def _mark(existing: Any | None) -> Mark | None:
    return None if existing is None else Mark.read(existing.parameters)


def _ownership(operation: Operation, existing: Any | None) -> Ownership:
    return ownership_of(existing is not None, existing and existing.parameters, operation.mark)


def up_to_date(expected: Any, existing: Any, mark: Mark) -> bool:
    """Whether a database or table needs no write: it is the same, from the same source, object and creation."""
    written = Mark.read(existing.parameters)
    if written is None or written.source != mark.source or mark.created not in {0, written.created}:
        return False
    return mark.object in {"", written.object} and same(expected, existing)
