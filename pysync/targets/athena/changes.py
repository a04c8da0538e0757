"""Changes: one write to a Glue Data Catalog, by Athena's statements and, for what they cannot express, by the Glue API.

The statements are decided from what is there and run, the object is read again, and the Glue API writes what still
differs. With `glue_api = "never"` nothing is begun that statements cannot finish.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pysync.base.text import shortened
from pysync.targets.athena import statements as ddl
from pysync.targets.athena.decisions import Decision
from pysync.targets.athena.execution import log
from pysync.targets.athena.settings import AthenaSettings
from pysync.targets.base import Rejected

_SHOWN = 3


class Statements(Protocol):
    """Whatever runs statements: pysync.targets.athena.execution.StatementRunner."""

    def check(self) -> str:
        """Say in a few words by what they run."""

    def run(self, statement: str, database: str | None = None) -> None:
        """Run one, with this database as the current one."""

    def observe_calls(self, on_call: Callable[[str], object]) -> None:
        """Call `on_call` with the name of each request from now on."""

    def close(self) -> None:
        """Close idle connections."""


@dataclass(frozen=True, slots=True)
class CatalogWrite:
    """One write: how the object is read, how its statements are decided, and how the Glue API would do it."""

    description: str
    read: Callable[[], Any]
    decide: Callable[[Any], Decision]
    by_glue: Callable[[Any], object]
    database: str | None = None
    partly: bool = False
    """Whether what no statement can express shall not hold up the rest."""


class Changer:
    """Makes changes. With `only_ddl` (`glue_api = "never"`) it refuses those that statements cannot finish."""

    def __init__(self, settings: AthenaSettings, athena: Statements) -> None:
        self.only_ddl = settings.glue_api == "never"
        self._name = settings.name
        self._athena = athena

    def make(self, change: CatalogWrite, existing: Any) -> bool:
        """Bring the object, which is `existing` now, to what the change says. Returns whether anything was done.

        A statement that Athena refuses is left to the Glue API as well. Idempotent. Raises Rejected.
        """
        decision = change.decide(existing)
        if decision.is_nothing:
            return False
        if self.only_ddl and decision.needed and not (change.partly and decision.statements):
            raise self._inexpressible(change.description, decision.needed)
        if not decision.statements:
            if not self.only_ddl:
                change.by_glue(existing)
            return not self.only_ddl
        self._run(decision.statements, change.database)
        existing = change.read()
        rest = change.decide(existing)
        if self.only_ddl:
            self._assert_done(change.description, rest)
        elif not rest.is_nothing:
            change.by_glue(existing)
        return True

    def refusal(self, statement: str, database: str | None) -> str | None:
        """Run a statement; returns why Athena refuses it, or None."""
        try:
            self._athena.run(statement, database)
        except Rejected as error:
            if not self.only_ddl:
                short = ddl.summary(statement)
                log.warning(
                    "statement_refused", target=self._name, statement=short, fallback="Glue API", reason=str(error)
                )
            return error.message
        return None

    def assert_glue(self, change: str, reasons: Sequence[str]) -> None:
        """Raise Rejected if the Glue API may not be used for something that no statement can express."""
        if self.only_ddl:
            raise self._inexpressible(change, reasons)

    def _run(self, statements: Sequence[str], database: str | None) -> None:
        """Run them up to the first that Athena refuses. The Glue API does that one and the rest, if it may."""
        for statement in statements:
            if self.only_ddl:
                self._athena.run(statement, database)
            elif self.refusal(statement, database) is not None:
                return

    def _assert_done(self, change: str, rest: Decision) -> None:
        """Refuse what Athena reported as done, but which still differs."""
        reasons = [*rest.needed, *(["the statements ran, but the result still differs"] if rest.statements else [])]
        if reasons:
            raise self._inexpressible(change, reasons)

    def _inexpressible(self, change: str, reasons: Sequence[str]) -> Rejected:
        shown = "; ".join(reasons[:_SHOWN]) + (f"; and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else "")
        return Rejected(
            shortened(f"Athena DDL cannot express this change ({change}, target {self._name!r}): {shown}"),
            'set glue_api = "when-needed" so that the Glue API makes the change',
        )
