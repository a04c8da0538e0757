"""The judge of a target with `both_ways`: homes decide, and the state that an operation expects (docs/both-ways.md).

pysync.targets.apply.home_rule has the rule. In a conflict the home of an object is requested to send its state again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from pysync.model.home import Stance, births_of, home_of, with_births
from pysync.model.mark import KEPT_KEY, MARK_KEYS, Mark
from pysync.model.names import TableName, normalized
from pysync.model.operation import (
    DatabaseOperation,
    DropConstraint,
    DropDatabase,
    DropFunction,
    DropPartitions,
    DropTable,
    LeaveTable,
    Operation,
    PutConstraint,
    PutDatabase,
    PutFunction,
    PutPartitions,
    PutTable,
    PutWithFiles,
    RenameTable,
    RequestReread,
    TableOperation,
)
from pysync.targets.apply.door import Door
from pysync.targets.apply.file_deletion import log_directory_kept
from pysync.targets.apply.home_requests import HomeRequests
from pysync.targets.apply.home_rule import HomeRule
from pysync.targets.apply.judge import DEFAULT, OUTCOMES, Judge, Verdict
from pysync.targets.apply.owners import stamped
from pysync.targets.base import Incomplete, Outcome, Rejected, total
from pysync.targets.diff import alike, countless, same
from pysync.targets.hive import is_another
from pysync.targets.settings import TargetSettings


class BothWaysJudge(Judge):
    """The home's state counts; a change of a replica is a request to the home."""

    alters_functions = False  # HMS calls no listener for alter_function: other clusters would miss it

    def __init__(self, store: Door) -> None:
        super().__init__(store)
        self.rule = _rule(store.settings)
        self.requests = HomeRequests(store, self.rule)

    def outcome_without_write(self, operation: Operation, verdict: Verdict, existing: Any | None) -> Outcome:
        """In a conflict a request goes to the home."""
        if verdict is Verdict.PARK:
            raise self._parked(operation.key, another=_is_another(operation, existing))
        if verdict is not Verdict.CONFLICT:
            return OUTCOMES[verdict]
        if isinstance(operation, DatabaseOperation):
            return self.requests.for_place(operation, existing, _function_of(operation))
        return self.requests.for_table(operation, existing)

    def marked(self, operation: Operation, definition: Any, existing: Any | None) -> Any:
        """With the mark of its home, and none at home. A database keeps the births that are known there."""
        mark = self.rule.mark(operation, existing)
        copy = deepcopy(definition) if mark is None else stamped(definition, mark)
        if mark is None:
            _unmark(copy)
        if existing is not None and isinstance(operation, PutDatabase):
            copy.parameters = with_births(copy.parameters, self._births(existing))
            if self.rule.home(existing) == self.rule.cluster:
                _unmark(copy)  # clusters that have it from here would not learn that its home has changed
        return copy

    def is_up_to_date(self, operation: Operation, expected: Any, existing: Any) -> bool:  # noqa: ARG002
        """Whether it is the same, from the same home and creation."""
        mark, written = Mark.read(expected.parameters), Mark.read(existing.parameters)
        if mark is None or written is None:
            # Both None: the object is at home, and stays so. Only one None: its home changes, and that is written.
            return mark is written and same(expected, existing)
        return written.source == mark.source and mark.created in {0, written.created} and same(expected, existing)

    def altered(self, operation: Operation, expected: Any, existing: Any) -> None:
        """A table that was born elsewhere gets the partitions of the one that was here.

        Its home may never learn of those: changes of the table that was here end with it.
        """
        if isinstance(operation, PutDatabase):
            existing.parameters = expected.parameters  # `tracking_home` compares its home with the one before
        is_state = self.rule.condition_of(operation).stance is Stance.STATE
        takes_over = is_state and self.rule.home(existing) != operation.mark.source
        if takes_over and isinstance(operation, TableOperation) and existing.partitionKeys:
            self.requests.for_table(operation, expected)

    @staticmethod
    def takes_files(settings: TargetSettings, operation: PutWithFiles, existing: Any | None) -> bool:
        """If it is the home's state, and that may be written. Files come from the home only."""
        rule = _rule(settings)
        if rule.condition_of(operation).stance is not Stance.STATE:
            return False
        if existing is not None and isinstance(operation, PutPartitions):
            return rule.parts(operation, existing) is Verdict.DO
        return rule.put(operation, operation.definition, existing) is Verdict.DO

    @staticmethod
    def compared(expected: Any, existing: Any) -> tuple[Any, Any]:
        """Without counts of files: each cluster counts its own, and both ends would overwrite each other's for ever."""
        return countless(expected), countless(existing)

    # --- databases

    @contextmanager
    def tracking_home(self, operation: PutDatabase, existing: Any | None) -> Iterator[None]:
        """Record where else the database was born. If its home changes, all its functions are requested.

        They carry no mark, and the new home's were never compared.
        """
        if existing is None or operation.database == DEFAULT:
            yield
            return
        home = self.rule.home_within(existing)
        self._note_births_of(operation, existing)
        yield
        if self.rule.home_within(existing) != home:
            self.requests.for_functions(operation, existing)

    def put_database(self, operation: PutDatabase, existing: Any | None) -> Verdict:
        """One that was born at both ends is never parked: it only holds other objects."""
        if existing is not None and operation.database == DEFAULT:
            return Verdict.FOREIGN
        verdict = self.rule.put(operation, operation.definition, existing)
        third = self.rule.home(existing) not in {None, self.rule.cluster, operation.mark.source}
        # The drop at the third cluster may arrive here later; an empty database does no harm.
        is_created = verdict is Verdict.PARK or (verdict is Verdict.CONFLICT and third)
        return Verdict.DO if is_created else verdict

    def outcome_without_drop(self, operation: DropDatabase, existing: Any | None) -> Outcome | None:
        """A drop passes on to clusters whose births it means; or it only concerns the tables that it lists."""
        if existing is None:
            return self._relay_drop(operation)
        if operation.tables_alone:
            return self._drop_listed(operation, existing)
        return Outcome.STALE if self.rule.drop(operation, existing) is Verdict.STALE else None

    def taken_along(self, operation: DropDatabase) -> Callable[[Any], bool]:
        """Tables of the home that drops may go, and those that the source listed if they are here as they were there.

        An empty database is worth nothing: wherever it was born, it may go.
        """
        listed = {table.tableName: table for table in operation.dropped_tables}
        return lambda table: self._is_dropped_with_database(operation, listed.get(table.tableName), table)

    def outcome_if_database_stays(
        self, operation: DropDatabase, existing: Any, remaining: Sequence[Any]
    ) -> Outcome | None:
        """It stays if others are left in it, or if it has unknown births.

        Because of tables it counts as born here, and all of it is sent again: other clusters may not know it.
        """
        births = self.rule.unseen(operation, existing) or frozenset({self.rule.cluster} if remaining else ())
        if not births:
            self._add_known_births(operation)
            return None
        self._set_births(existing, births)
        for table in remaining:
            self.requests.for_table(operation, table)
        self.requests.for_functions(operation, existing)
        return self.requests.for_place(operation, existing)

    # --- functions

    def function(
        self, operation: PutFunction | DropFunction, database: Any | None, wanted: Any | None, existing: Any | None
    ) -> Verdict:
        """A conflict if the two ends disagree about the home and the function is not as wanted."""
        if database is None:
            return Verdict.DO
        verdict = self.rule.parts(operation, database)
        if verdict is Verdict.DO:
            return self.rule.part(operation, database, wanted, existing)
        is_as_wanted = wanted is existing or (wanted is not None and existing is not None and same(wanted, existing))
        return verdict if is_as_wanted or self.rule.agrees(operation, database) else Verdict.CONFLICT

    # --- tables

    def put(self, operation: TableOperation, definition: Any, existing: Any | None) -> Verdict:
        """By the home of the table, and by the state that the operation expects."""
        return self.rule.put(operation, definition, existing)

    def overwrites(self, operation: TableOperation, existing: Any) -> bool:
        """The home's state does; a request and an echo carry the state that they expect."""
        is_state = self.rule.condition_of(operation).stance is Stance.STATE
        return is_state and self.rule.home(existing) == operation.mark.source

    def cascades_to_partitions(self, operation: PutTable, table: Any, outcome: Outcome) -> bool:  # noqa: ARG002
        """Also if the table is unchanged: a crash may have come between it and its partitions."""
        return outcome in {Outcome.APPLIED, Outcome.UNCHANGED}

    def is_predecessor(self, operation: TableOperation, existing: Any) -> bool:
        """Only a table that a person has kept: its home has dropped it, and has made another one of that name."""
        written = Mark.read(existing.parameters)
        is_birth = isinstance(operation, PutTable) and operation.creates
        if not is_birth or written is None or KEPT_KEY not in existing.parameters:
            return False
        return 0 < written.created != operation.mark.created > 0

    def outcome_without_replacement(self, operation: TableOperation, existing: Any) -> Outcome | None:
        """Only the table's home may drop it. After a request the home sends which of the two it is."""
        if self.rule.condition_of(operation).stance is Stance.REQUEST:
            return self.requests.for_table(operation, existing)
        if self.rule.home(existing) != operation.mark.source:
            raise self._parked(operation.key, another=True)
        return None

    def drop(self, operation: DropTable | LeaveTable, existing: Any | None) -> Verdict:
        """By the home of the table; a request drops only the state that it saw."""
        return self.rule.drop_table(operation, existing)

    # --- renames

    def outcome_of_rename(self, operation: RenameTable, old: Any | None, new: Any | None) -> Outcome | None:
        """A request is done if both names are here as they were there; else both ends get both tables."""
        if not self._is_request(operation):
            return None
        before = operation.condition.before if operation.condition is not None else ()
        if old is not None and new is None and any(it is not None and alike(it, old) for it in before):
            return None
        outcomes = [Outcome.UNCHANGED]
        # Without the old table no event of a rename leaves from here: the home would never learn what happened to it.
        if old is not None or operation.mark.source != self.rule.cluster:
            outcomes.append(self.requests.for_table(operation, old))
        # One that looks alike, but was born elsewhere, is another table, too.
        is_as_wanted = new is not None and alike(operation.definition, new)
        if new is not None and not (is_as_wanted and self.rule.home(new) == operation.mark.source):
            outcomes.append(self.requests.for_table(operation, new))
        if new is None:
            # Not parked: the replay reads the table of the new name whole at the source.
            raise Incomplete.of(self.store.settings.name, operation.new_name)
        return total(outcomes)

    def rename(self, operation: RenameTable, old: Any, new: Any | None, *, is_done: bool) -> Verdict:  # noqa: ARG002
        """As for a drop of the old one."""
        if self._is_request(operation) or self.rule.drop(operation, old) is Verdict.DO:
            return Verdict.DO
        return Verdict.STALE

    def displace(self, operation: RenameTable, new: Any | None) -> Verdict:
        """A table of the new name gives way, unless it was born at a cluster with a smaller name."""
        if new is None:
            return Verdict.DO
        verdict = self.rule.put(operation, operation.definition, new)
        if verdict is Verdict.PARK:
            raise self._parked(operation.new_name)
        return verdict if verdict is Verdict.DO else Verdict.STALE

    # --- parts

    def without_table(self, operation: TableOperation, part: str) -> Outcome:
        """The source of a request has to learn what the home has; an echo is obsolete."""
        if isinstance(operation, PutConstraint):
            stance = Stance.ECHO if self.rule.cluster in operation.visited else Stance.REQUEST
        else:
            stance = self.rule.condition_of(operation).stance or Stance.STATE
        if stance is Stance.STATE:
            raise Incomplete.of(self.store.settings.name, operation.table, part)
        return Outcome.STALE if stance is Stance.ECHO else self.requests.for_table(operation, None)

    def parts(self, operation: TableOperation, table: Any) -> Verdict:
        """By the home of the table. A request that does not fit the table, or only asks, is a conflict."""
        if self._is_request(operation) and _misfits(operation, table):
            return Verdict.CONFLICT
        verdict = self.rule.parts(operation, table)
        # The event of a dropped constraint does not say what it was.
        is_question = isinstance(operation, DropConstraint) and operation.asks_only
        return Verdict.CONFLICT if is_question and verdict is Verdict.DO else verdict

    def adds_without_reading(self, operation: TableOperation, table: Any) -> bool:
        """The home's state is written whatever is there."""
        return self.rule.stance(operation, table) is Stance.STATE

    def part(self, operation: TableOperation, table: Any, wanted: Any | None, existing: Any | None) -> Verdict:
        """By the state that the operation expects of the part."""
        return self.rule.part(operation, table, wanted, existing)

    def is_conflict_as_batch(
        self,
        operation: TableOperation,
        verdicts: Mapping[Any, Verdict],
        wanted: Mapping[Any, Any],
        existing: Mapping[Any, Any],
    ) -> bool:
        """Whether the home would not learn what is here.

        An echo may carry other columns than the partitions have: a cascade came in between, of which there is no event.
        And some that a request drops are gone here already, so that no event of this target reaches the home.
        """
        if isinstance(operation, DropPartitions):
            return len(existing) < len(wanted) and self.rule.is_unseen_request(operation)
        stale = [key for key in existing if verdicts[key] is Verdict.STALE]
        return any(not same(wanted[key].sd.cols, existing[key].sd.cols) for key in stale)

    def outcome_of_parts(self, operation: TableOperation, table: Any, outcome: Outcome) -> Outcome:
        """In a conflict the home sends the whole table again.

        So it does if a request has other columns than the table: a cascade at the home may have changed the replica's
        partitions before.
        """
        if isinstance(operation, PutPartitions) and self._is_request(operation):
            outcome = outcome if same(operation.definition.sd.cols, table.sd.cols) else Outcome.CONFLICT
        return self.requests.for_table(operation, table) if outcome is Outcome.CONFLICT else outcome

    def request_reread(self, operation: RequestReread) -> Outcome:
        """By a message to all clusters."""
        return self.requests.request_reread(operation)

    # --- the births of a database

    def _births(self, existing: Any) -> frozenset[str]:
        return births_of(existing.parameters, self.rule.cluster)

    def _note_births_of(self, operation: PutDatabase, existing: Any) -> None:
        """Remember where else the database was born.

        A cluster that sends the database without a birth of its own has dropped its own one: the event may be lost.
        """
        stated, known = births_of(operation.definition.parameters, operation.mark.source), self._births(existing)
        dropped = (known - stated) & {operation.visited[-1]}
        if dropped:
            self._set_births(existing, (known | stated) - dropped)
        else:
            self._add_births(existing, stated)

    def _add_births(self, existing: Any, births: Iterable[str]) -> None:
        """Remember in the database where else it was born, so that its drop carries which births were known."""
        known = self._births(existing)
        if not known.issuperset(births):
            existing.parameters = with_births(existing.parameters, known.union(births))
            self.store.alter_database(existing, existing)

    def _add_known_births(self, operation: DropDatabase) -> None:
        existing = self.store.reads.database(operation.database)
        if existing is not None:  # HMS's event has it as it is now: the next cluster reads the known births there
            self._add_births(existing, self.rule.known(operation))

    def _set_births(self, existing: Any, births: frozenset[str]) -> None:
        """Let the database be one of these births alone."""
        if births == self._births(existing):
            return
        mark = Mark.read(existing.parameters)
        existing.parameters = with_births(existing.parameters, births)
        if self.rule.cluster in births:
            _unmark(existing)
        elif mark is None or mark.source not in births:
            # Position 0: every event of the new home is newer than this mark.
            existing.parameters |= Mark(min(births), 0, 0).parameters()
        self.store.alter_database(existing, existing)

    def _is_dropped_with_database(self, operation: DropDatabase, listed: Any | None, table: Any) -> bool:
        source, home = operation.visited[-1], self.rule.home(table)
        is_of_home = listed is not None and home_of(listed.parameters, source) == home
        if is_of_home and (home == source or alike(listed, table)):
            return True
        if self.rule.condition_of(operation).stance is Stance.REQUEST:
            return False
        # A relayed drop carries the database's mark. That is older than those of the tables: they cannot be compared.
        relayed = source != operation.mark.source == home
        return relayed or self.rule.drop(operation, table) is Verdict.DO

    def _relay_drop(self, operation: DropDatabase) -> Outcome:
        """Send the drop to the clusters whose births it means, if no event of the target reaches them."""
        uninformed = self.rule.known(operation) - {self.rule.cluster, *operation.visited}
        if not uninformed or not self.rule.relay:
            return Outcome.UNCHANGED
        path: dict[str, Any] = {"mark": operation.mark, "visited": operation.visited}
        return self.request_reread(RequestReread(database=operation.database, home=operation.mark.source, **path))

    def _drop_listed(self, operation: DropDatabase, place: Any) -> Outcome:
        """Drop the listed tables that were born where they were dropped, and the database if nothing else keeps it.

        It stays if it was born here or holds anything else: its home gets a drop of its own.
        """
        source, dropped = operation.mark.source, 0
        for listed in operation.dropped_tables if source != self.rule.cluster else ():
            existing = self.store.reads.table(TableName.of(operation.database, listed.tableName))
            if existing is not None and self.rule.home(existing) == source and not self.store.keeps(existing):
                self.store.remove_tables([existing], delete_data=False)
                dropped += 1
        if self._may_drop_database(operation, place):
            self._add_known_births(operation)
            self.store.remove_database(place)
            log_directory_kept(self.store, place)
            dropped += 1
        return Outcome.APPLIED if dropped else Outcome.UNCHANGED

    def _may_drop_database(self, operation: DropDatabase, place: Any) -> bool:
        home = self.rule.home(place)
        if self.rule.unseen(operation, place):
            return False
        if (
            operation.database == DEFAULT
            or home == self.rule.cluster
            or self.store.reads.table_names(operation.database)
        ):
            return False
        return home == operation.mark.source or not self.store.functions.functions(operation.database)

    # --- within

    def _is_request(self, operation: Operation) -> bool:
        return self.rule.condition_of(operation).stance is Stance.REQUEST

    def _parked(self, name: object, *, another: bool = False) -> Rejected:
        """The error for a table that was born at both ends, so that a person has to decide.

        `another`: no alter turns one into the other, so that `on_conflict` decides nothing.
        """
        how = " (with other partition keys, or a view at one end)" if another else ""
        adopt = ', or set on_conflict = "adopt": then the one of the cluster with the smaller name wins'
        return Rejected(
            f"table {name}{how} was created both at the source and at the target {self.store.settings.name!r}, and "
            "the two differ",
            f"drop it at one end{'' if another else adopt}",
        )


def _is_another(operation: Operation, existing: Any) -> bool:
    """Whether no alter turns the table `existing` into the one that the operation is about."""
    if isinstance(operation, PutTable):
        return is_another(operation.definition, existing)
    befores = operation.condition.before if isinstance(operation, DropTable) and operation.condition else ()
    return bool(befores) and befores[-1] is not None and is_another(befores[-1], existing)


def _rule(settings: TargetSettings) -> HomeRule:
    return HomeRule(settings.cluster or settings.name, settings.on_conflict, alike, settings.relay)


def _unmark(item: Any) -> None:
    """Remove the mark from a database or table, in place."""
    item.parameters = {key: it for key, it in (item.parameters or {}).items() if key not in MARK_KEYS}


def _function_of(operation: DatabaseOperation) -> str:
    if isinstance(operation, PutFunction):
        return normalized(operation.definition.functionName)
    return normalized(operation.function) if isinstance(operation, DropFunction) else ""


def _misfits(operation: TableOperation, table: Any) -> bool:
    """Whether partitions have another number of values than the table has partition keys."""
    if isinstance(operation, PutPartitions):
        values = [it.values for it in operation.partitions]
    else:
        values = list(operation.values) if isinstance(operation, DropPartitions) else []
    return any(len(it) != len(table.partitionKeys or ()) for it in values)
