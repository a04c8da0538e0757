"""AthenaStore: a Glue Data Catalog that is written by Athena's statements; what they cannot express a Glue store does.

Each write is a Change (`pysync.targets.athena.changes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar

from pysync.base.text import shortened
from pysync.targets.athena import statements as ddl
from pysync.targets.athena.changes import CatalogWrite, Changer, Statements
from pysync.targets.athena.compared_decision import decision_of
from pysync.targets.athena.decisions import Decision, some_of
from pysync.targets.athena.partition_decisions import decide_drop, decide_put
from pysync.targets.athena.probe import probe
from pysync.targets.athena.settings import PRIMARY, AthenaSettings
from pysync.targets.athena.table_decisions import decide_database, decide_table, inexpressible_reason, same_columns
from pysync.targets.aws.inputs import OWNER_KEYS
from pysync.targets.aws.rights import BY_STATEMENTS, READS, STATEMENTS, by_the_api, of_logs, simulated
from pysync.targets.base import MissingDatabase, Rejected
from pysync.targets.diff import same
from pysync.targets.glue.catalog_store import CatalogStore
from pysync.targets.glue.handles import Input
from pysync.targets.glue.store import GlueStore
from pysync.targets.hive import is_another, name_of
from pysync.targets.store import Store, Written

_BATCH = 100_000
"""Partitions: all at once, as the statements for them are put together by their size."""

# What Hive's DDL writes into a table that it alters.
_ENGINES = ("parameters.last_modified_by: ", "parameters.last_modified_time: ")
_FUNCTION = "a Hive function"


class AthenaStore(CatalogStore):
    """Writes definitions by Athena's statements."""

    batch: ClassVar[int] = _BATCH

    def __init__(self, settings: AthenaSettings, athena: Statements, glue: GlueStore) -> None:
        super().__init__(settings, settings.of_glue())
        self.glue = glue
        self.share_links(glue)
        self._athena = athena
        self._aws = settings
        self._changer = Changer(settings, athena)

    # --- the connection

    def observe_calls(self, on_call: Callable[[str], object]) -> None:
        """Call `on_call` with the name of each request; `athena.StartQueryExecution` is a statement."""
        super().observe_calls(on_call)
        self._athena.observe_calls(on_call)

    def check(self) -> str:
        """`12 databases in the Glue catalog in eu-west-1; Athena's work group primary`."""
        return f"{super().check()}; {self._athena.check()}"

    def check_rights(self) -> str:
        """By a statement that only reads, and as IAM simulates those of statements, and what Athena calls for them."""
        by_api = READS if self._changer.only_ddl else by_the_api(self._aws)
        calls = {*STATEMENTS, *BY_STATEMENTS, *by_api, *of_logs(self._aws)}
        by_iam = simulated(self._aws, calls, self.databases(), self._aws.work_group or PRIMARY)
        return f"{probe(self._aws)}; {by_iam}"

    def close(self) -> None:
        """Close idle connections."""
        self._athena.close()
        super().close()

    # --- what happens to an object here

    def written(self, differences: list[str], expected: Any, existing: Any | None, table: Any | None) -> list[str]:
        """The differences that would be written. With `glue_api = "never"` harmless ones that no statement can say are
        left out, and others are refused.
        """
        decision = decision_of(expected, existing, table, _with_owner)
        if self._changer.only_ddl and decision.needed:
            raise Rejected(shortened("Athena DDL cannot express this difference: " + "; ".join(decision.needed)))
        if decision.is_nothing or (self._changer.only_ddl and not decision.statements):
            return []
        # Never empty: something would be written, even if all that shows are the engine's own parameters.
        return [line for line in differences if not line.startswith(_ENGINES)] or differences

    # --- databases and functions

    def create_database(self, wanted: Any) -> None:
        """Create it."""
        self._put_database(wanted, None)

    def alter_database(self, wanted: Any, existing: Any) -> bool:
        """Alter it."""
        return self._put_database(wanted, existing)

    def drop_database(self, name: str) -> None:
        """Drop it, never with CASCADE, which would take what somebody else has just put there."""
        drop = CatalogWrite(
            f"database {name}",
            lambda: self.database(name),
            lambda existing: Decision() if existing is None else Decision((ddl.drop_database(name),)),
            lambda _: self.glue.drop_database(name),
        )
        self._changer.make(drop, drop.description)

    def function(self, database: str, name: str) -> Any | None:
        """With `glue_api = "never"` none: no statement creates one, so the right to read it is not needed."""
        return None if self._changer.only_ddl else super().function(database, name)

    def create_function(self, wanted: Any) -> None:
        """By the Glue API."""
        self._by_glue(f"function {wanted.functionName}", [_FUNCTION]).create_function(wanted)

    def alter_function(self, wanted: Any, existing: Any) -> None:
        """By the Glue API."""
        self._by_glue(f"function {wanted.functionName}", [_FUNCTION]).alter_function(wanted, existing)

    def drop_function(self, database: str, name: str) -> None:
        """By the Glue API."""
        self._by_glue(f"function {name}", [_FUNCTION]).drop_function(database, name)

    # --- tables

    def create_table(self, wanted: Any) -> None:
        """Create it."""
        if self.database(wanted.dbName) is None:
            raise MissingDatabase.of_target(self.settings.name, f"database {wanted.dbName}")
        self._put_table(wanted, None)

    def alter_table(self, wanted: Any, existing: Any, *, cascade: bool = False) -> bool:  # noqa: ARG002
        """Alter it."""
        return self._put_table(wanted, existing)

    def replace_table(self, wanted: Any, existing: Any) -> bool:
        """Drop and create it, if statements can express both."""
        # The statements for a table that could also be altered would alter it, and keep its partitions.
        return (
            self._put_table(wanted, existing)
            if is_another(wanted, existing)
            else super().replace_table(wanted, existing)
        )

    def drop_tables(self, tables: Sequence[Any], *, delete_data: bool) -> None:
        """Drop them. The Glue API drops those that Athena refuses, or whose files it would delete."""
        refused = {str(name_of(table)): table for table in tables}
        reasons: list[str] = []
        for table in tables:
            reason = inexpressible_reason(table) or self._changer.refusal(ddl.drop_table(name_of(table)), table.dbName)
            if reason is None:
                del refused[str(name_of(table))]
            else:
                reasons.append(reason)
        if refused:
            self._by_glue(f"the drop of {some_of(refused)}", reasons).drop_tables(
                list(refused.values()), delete_data=delete_data
            )

    def renaming(self) -> Store:
        """The Glue store: no statement says another name."""
        return self._by_glue("a rename", ["a new name"])

    # --- partitions

    def put_partitions(self, table: Any, absent: Sequence[Any], changed: Sequence[tuple[Any, Any]]) -> Written:
        """Add and alter partitions (see Store.put_partitions)."""
        wanted = [*absent, *(item for item, _ in changed)]
        refused: list[Any] = []

        def by_glue(existing: Mapping[Any, Any]) -> None:
            new = [item for item in wanted if tuple(item.values) not in existing]
            pairs = [(item, existing[tuple(item.values)]) for item in wanted if tuple(item.values) in existing]
            # Some are as they should be already, by the statements that came before.
            others = [(item, previous) for item, previous in pairs if not same(item, previous)]
            refused.extend(self.glue.put_partitions(table, new, others).refused)

        reason = inexpressible_reason(table)
        if reason is not None:
            existing = {tuple(previous.values): previous for _, previous in changed}
            self._by_glue(f"partitions of {name_of(table)}", [reason])
            by_glue(existing)
            return Written(any=True, refused=refused)
        put = CatalogWrite(
            f"partitions of {name_of(table)}",
            lambda: self._existing_partitions(table, wanted),
            lambda existing: decide_put(table, wanted, existing, only_ddl=self._changer.only_ddl),
            by_glue,
            table.dbName,
            partly=True,
        )
        done = self._changer.make(put, {tuple(previous.values): previous for _, previous in changed})
        return Written(any=done, refused=refused)

    def drop_partitions(self, table: Any, existing: Sequence[Any], *, delete_data: bool) -> None:
        """Drop partitions."""
        reason = inexpressible_reason(table)
        if reason is not None:
            self._by_glue(f"partitions of {name_of(table)}", [reason]).drop_partitions(
                table, existing, delete_data=delete_data
            )
            return
        drop = CatalogWrite(
            f"partitions of {name_of(table)}",
            lambda: self._existing_partitions(table, existing),
            lambda remaining: decide_drop(table, sorted(remaining)),
            lambda remaining: self.glue.drop_partitions(table, list(remaining.values()), delete_data=delete_data),
            table.dbName,
            partly=True,
        )
        self._changer.make(drop, {tuple(item.values): item for item in existing})

    def spread_columns(self, table: Any, columns: Sequence[Any]) -> bool:
        """Give all partitions these columns, by the Glue API, if any has others.

        Nothing is refused for an older event, whose columns the table no longer has: a later event brings them.
        """
        if not self._changer.only_ddl:
            return self.glue.spread_columns(table, columns)
        is_stale = not same_columns(columns, table.sd.cols)
        if not is_stale and any(not same_columns(columns, it.sd.cols) for it in self.partitions(name_of(table))):
            self._changer.assert_glue(f"table {name_of(table)}", ["new columns of its partitions"])
        return False

    # --- within

    def _put_database(self, wanted: Any, existing: Any | None) -> bool:
        def by_glue(existing: Any | None) -> None:
            if existing is None:
                self.glue.create_database(wanted)
            else:
                self.glue.alter_database(wanted, existing)

        def decide(existing: Any | None) -> Decision:
            return decide_database(_with_owner(wanted), _with_owner(existing))

        name = f"database {wanted.name}"
        leftovers = [it for it in decide(existing).leftovers if not (it.harmless and self._changer.only_ddl)]
        if leftovers:  # the Glue API does all of it in one call, so that the mark cannot be there before the rest
            self._by_glue(name, [it.description for it in leftovers])
            by_glue(existing)
            return True
        return self._changer.make(CatalogWrite(name, lambda: self.database(wanted.name), decide, by_glue), existing)

    def _put_table(self, wanted: Any, existing: Any | None) -> bool:
        name = name_of(wanted)

        def by_glue(existing: Any | None) -> None:
            if existing is None:
                self.glue.create_table(wanted)
            elif is_another(wanted, existing):
                self.glue.replace_table(wanted, existing)
            else:
                self.glue.alter_table(wanted, existing)

        if existing is None or is_another(wanted, existing):
            self.extras.forget(name)  # the statements make another table
        put = CatalogWrite(
            f"table {name}",
            lambda: self.table(name),
            lambda existing: decide_table(wanted, existing),
            by_glue,
            name.database,
        )
        return self._changer.make(put, existing)

    def _by_glue(self, action: str, reasons: Sequence[str]) -> GlueStore:
        """The Glue store, for what no statement can express. Raises Rejected if it may not be used."""
        self._changer.assert_glue(action, reasons)
        return self.glue

    def _existing_partitions(self, table: Any, items: Sequence[Any]) -> dict[tuple[str, ...], Any]:
        return {tuple(item.values): item for item in self.partitions_of(table, [item.values for item in items])}


def _with_owner(database: Any | None) -> Any | None:
    """A database with its owner among its parameters, where Glue keeps it."""
    if database is None:
        return None
    copied_database = copy(database)
    handle = database.handle.fields if isinstance(database.handle, Input) else database.handle
    expected = handle.get("Parameters") or {}
    copied_database.parameters = {
        **database.parameters,
        **{key: expected[key] for key in OWNER_KEYS if key in expected},
    }
    return copied_database
