"""Running one statement in Athena: start it, wait for its end within a deadline, report its outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import structlog

from pysync.base.errors import PysyncError
from pysync.targets.athena.api import AthenaApi, Request
from pysync.targets.athena.failures import Ending, failure
from pysync.targets.athena.polling import Polling, QueryUnanswered
from pysync.targets.athena.settings import AthenaSettings
from pysync.targets.athena.statements import subject, summary
from pysync.targets.aws.clients import shared
from pysync.targets.base import OutcomeUnknown, Unavailable

_SETTLE_SECONDS = 10.0
"""How long the end of a cancelled statement is waited for."""

log = structlog.get_logger(__name__)


class _Common:
    """What the lanes of a target have in common."""

    def __init__(self, settings: AthenaSettings) -> None:
        self.api = AthenaApi(settings)
        self.polling = Polling(self.api.read_endings, settings.poll_seconds)
        # By the table or database that they are about. Only one lane at a time has to do with that.
        self.unanswered: dict[str, Request] = {}
        """Statements of which nobody knows whether Athena has them."""
        self.unfinished: dict[str, str] = {}
        """The queries whose end nobody has seen."""


class StatementRunner:
    """Runs statements for one lane, one at a time."""

    def __init__(self, settings: AthenaSettings) -> None:
        common = shared(settings, "statements", lambda: _Common(settings))
        self._api, self._polling = common.api, common.polling
        self._unanswered, self._unfinished = common.unanswered, common.unfinished
        self._seconds = settings.statement_timeout_seconds
        self._name = settings.name

    def check(self) -> str:
        """The work group and its state. Raises Unavailable or Rejected."""
        return f"Athena work group {self._api.work_group()}"

    def run(self, statement: str, database: str | None = None) -> None:
        """Run a statement, with this database as the current one, until Athena has done it.

        An earlier statement about the same table whose end nobody has seen, on whatever lane, is ended first: it must
        not be done after a later one. Raises Unavailable, Rejected, Missing or OutcomeUnknown; the statement may be run
        again after any of them.
        """
        about, short = subject(statement), summary(statement)
        action = f"{short} on target {self._name!r}"
        self._settle(about)
        started = time.monotonic()
        query = self._started(about, Request(statement, database), action)
        ending = self._ending(query, short)
        if not ending.is_final:
            waited = time.monotonic() - started
            raise OutcomeUnknown(f"{action}: query {query} did not finish within {waited:.0f} s and was cancelled")
        self._unfinished.pop(about, None)
        log.debug("statement_finished", target=self._name, statement=short, query=query, state=ending.state)
        if not ending.succeeded:
            raise failure(ending, f"{action}: query {query}")

    def observe_calls(self, on_call: Callable[[str], object]) -> None:
        """Call `on_call` with the name of each request to Athena."""
        self._api.observe_calls(on_call)

    def close(self) -> None:
        """Nothing to give back: the other lanes use the client, too."""

    def _started(self, about: str, request: Request, action: str) -> str:
        """Have a statement run. If nobody knows whether Athena has this very one already, it is sent with its token."""
        before = self._unanswered.get(about)
        if before is not None and (before.statement, before.database) == (request.statement, request.database):
            request = before
        self._unanswered[about] = request
        query = self._api.start(request, action)
        self._unfinished[about] = query
        del self._unanswered[about]
        return query

    def _ending(self, query: str, statement: str) -> Ending:
        """How the query ended. One that takes too long is cancelled."""
        try:
            ending = self._polling.ending(query, self._seconds)
            return ending if ending.is_final else self._cancelled(query)
        except QueryUnanswered as error:
            log.info("statement_unconfirmed", target=self._name, statement=statement, query=query, reason=error.message)
            action = f"{statement} on target {self._name!r}"
            raise OutcomeUnknown(f"{action}: the result of query {query} is unknown: {error.message}"[:500]) from error

    def _cancelled(self, query: str) -> Ending:
        """Ask Athena to stop the query, and see how it ends: it may be done all the same."""
        with suppress(PysyncError):
            self._api.stop(query)
        return self._polling.ending(query, _SETTLE_SECONDS)

    def _settle(self, about: str) -> None:
        """Make sure that the statement before this one has ended. Raises Unavailable while that is unknown."""
        query = self._unfinished.get(about)
        if query is None:
            return
        try:
            ending = self._cancelled(query)
        except QueryUnanswered as error:
            raise Unavailable(error.message, error.hint) from error
        if not ending.is_final:
            raise Unavailable(f"query {query} on target {self._name!r} was cancelled but has not ended yet")
        self._unfinished.pop(about, None)
