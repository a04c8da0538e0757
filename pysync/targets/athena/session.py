"""What every operation on Athena needs: statements, the Glue API, the settings, and the way through all three."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol

import structlog

from pysync.model.mark import Mark
from pysync.model.names import TableName, partition_name
from pysync.model.operation import Operation
from pysync.targets.athena.decision import Decision
from pysync.targets.athena.settings import AthenaSettings
from pysync.targets.aws.translate import (
    database_input,
    database_of,
    partition_input,
    partition_of,
    table_input,
    table_of,
)
from pysync.targets.base import Missing, Outcome, Rejected, Target

_SHOWN = 3

log = structlog.get_logger(__name__)


class Statements(Protocol):
    """Whatever runs statements: pysync.targets.athena.execution.Athena."""

    def run(self, statement: str, database: str | None = None) -> None:
        """Run one, with this database as the current one."""


class Glue(Target, Protocol):
    """The Glue API, as the target kind `glue` has it, and what is asked of it besides."""

    def partitions_by_values(self, name: TableName, values: Sequence[Sequence[str]]) -> Iterator[Any]:
        """Those of these partitions that are there (hmsclient's Partition), in no promised order."""

    def definitions(self, database: str) -> Iterator[Any]:
        """The database's tables and views (hmsclient's Table)."""


@dataclass(frozen=True, slots=True)
class Session:
    """The two ways to the catalog and the settings that decide between them."""

    athena: Statements
    glue: Glue
    settings: AthenaSettings

    @property
    def only_ddl(self) -> bool:
        """Whether the Glue API may do nothing but read."""
        return self.settings.glue_api == "never"

    def conflict(self, what: str) -> Outcome | None:
        """What to answer about something that is not its source's; None: adopt it. Raises Rejected to park it."""
        if self.settings.on_conflict == "adopt":
            return None
        if self.settings.on_conflict == "skip":
            return Outcome.FOREIGN
        raise Rejected(
            f"{what} is at the target {self.settings.name!r} already and not from this source",
            'drop it there, or set on_conflict = "adopt" or "skip"',
        )

    def by_glue(self, operation: Operation, reasons: Sequence[str]) -> Outcome:
        """Let the Glue API do all of the operation that is not done. Raises Rejected where it may not."""
        if self.only_ddl:
            raise self.unsaid(operation, reasons)
        return self.glue.apply(operation)

    def unsaid(self, operation: Operation, reasons: Sequence[str]) -> Rejected:
        """The refusal of what no statement says."""
        shown = "; ".join(reasons[:_SHOWN]) + (f"; and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else "")
        return Rejected(
            f"no statement of Athena says {type(operation).__name__} of {operation.key} on the target "
            f"{self.settings.name!r}: {shown}",
            'glue_api = "when-needed" lets the Glue API do it',
        )

    def carry_out(
        self,
        operation: Operation,
        decide: Callable[[], Decision],
        database: str | None,
        decision: Decision | None = None,
        *,
        partly: bool = False,
    ) -> Outcome:
        """Run the statements that `decide` gives, read the object again, write what still differs by the Glue API.

        `decide` reads the target each time it is called; `decision` is its last answer. A statement that Athena refuses
        is left to the Glue API as well. Where the Glue API must not be used, nothing is begun that cannot be finished,
        unless `partly`: then partitions that no statement can express do not hold up the others.
        """
        decision = decision or decide()
        if decision.is_nothing:
            return Outcome.UNCHANGED
        if self.only_ddl and decision.needed and not (partly and decision.statements):
            raise self.unsaid(operation, decision.needed)
        if not decision.statements:
            return Outcome.UNCHANGED if self.only_ddl else self.glue.apply(operation)
        self._run(decision.statements, database)
        rest = decide()
        if self.only_ddl:
            self._insist(operation, rest)
        elif not rest.is_nothing:
            self.glue.apply(operation)
        return Outcome.APPLIED

    def _run(self, statements: Sequence[str], database: str | None) -> None:
        """Run them, up to the first that Athena refuses: for that and the rest the Glue API comes in, if it may."""
        for statement in statements:
            try:
                self.athena.run(statement, database)
            except Rejected as error:
                if self.only_ddl:
                    raise
                log.warning("statement_refused", reason=str(error))
                return

    def _insist(self, operation: Operation, rest: Decision) -> None:
        """Refuse an operation that Athena says it has done, and has not."""
        left = [*rest.needed, *(["what its statements said was not taken"] if rest.statements else [])]
        if left:
            raise self.unsaid(operation, left)


def missing(session: Session, what: str) -> Missing:
    """The error to raise where `what` would have to be there."""
    return Missing(
        f"{what} is not at the target {session.settings.name!r}",
        "was its creation parked, suppressed or left out? put it there, then retry",
    )


def stamped(definition: Any, mark: Mark) -> Any:
    """A copy of a database or table that carries the mark."""
    copy = deepcopy(definition)
    copy.parameters = {**(copy.parameters or {}), **mark.parameters()}
    return copy


def database_as_kept(database: Any) -> Any:
    """The database as Glue would keep it, its owner among its parameters. Raises Rejected for what Glue never takes."""
    kept = database_input(database)[0]
    found = database_of({**kept, "Parameters": {}})
    found.parameters = dict(kept.get("Parameters", {}))
    return found


def table_as_kept(table: Any) -> Any:
    """The table as Glue would give it back. Raises Rejected for what Glue never takes."""
    return table_of({**table_input(table)[0], "DatabaseName": table.dbName})


def partition_as_kept(partition: Any, table: Any) -> Any:
    """The partition of this table as Glue would give it back, below the table where it has no place of its own.

    Raises Rejected for what Glue never takes.
    """
    found = partition_of(partition_input(partition)[0])
    if not found.sd.location and table.sd.location:
        keys = [key.name for key in table.partitionKeys or ()]
        found.sd.location = f"{table.sd.location.rstrip('/')}/{partition_name(keys, found.values)}"
    return found
