"""Execution: a statement in Athena from start to end, and a change of the catalog by statements and Glue API."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import structlog

from pysync.base.errors import PysyncError
from pysync.base.text import shortened
from pysync.targets.athena import statements as ddl
from pysync.targets.athena.api import AthenaApi, Ending, Request, failure
from pysync.targets.athena.decisions import Decision
from pysync.targets.athena.settings import AthenaSettings
from pysync.targets.athena.statements import subject, summary
from pysync.targets.aws.session import shared
from pysync.targets.base import OutcomeUnknown, Rejected, Unavailable

# How statements end: whoever waits for one asks Athena about all that are under way, in one call for all lanes.
#
# There is no thread for it. A lane that waits when it is time asks, and wakes the others. If Athena does not answer
# it, another lane asks instead.


ReadEndings = Callable[[Sequence[str]], Mapping[str, Ending]]
"""The states of these queries, but for those that Athena does not report. Raises PysyncError."""

HANGS_SECONDS = 5.0
"""How long lanes wait for the answer to one of them, before the next lane asks."""
SILENT_SECONDS = 15.0
"""How long Athena may leave a query without an answer, before its end counts as unknown."""
_MIN_POLLS = 4  # in that time: a machine that was suspended has asked for none
_MOST_DOUBLINGS = 10


class Unanswered(PysyncError):
    """Athena does not report the end of a query."""


@dataclass(slots=True)
class _Awaited:
    """A query that a lane waits for: Athena's last answer, its time, and how often Athena was asked since."""

    answered_at: float
    ending: Ending
    polls: int = 0
    error: PysyncError | None = None


class Polling:
    """The queries of a target that are under way; used by all its lanes."""

    def __init__(
        self, read_endings: ReadEndings, every_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read_endings = read_endings
        self._every = every_seconds
        self._clock = clock
        self._changed = threading.Condition()
        self._awaited: dict[str, _Awaited] = {}
        self._next = 0.0
        self._failures = 0

    def ending(self, query: str, seconds: float) -> Ending:
        """How a query ended; how it is after so many seconds, if it has not ended then.

        Raises Unanswered if Athena has not answered for some time.
        """
        until = self._clock() + seconds
        awaited = self._begin(query)
        try:
            while not awaited.ending.is_final and self._clock() < until:
                if self._is_time(awaited, until):
                    self._poll()
                self._assert_answered(query, awaited)
            self._assert_answered(query, awaited, last=True)
        finally:
            with self._changed:
                self._awaited.pop(query, None)
        return awaited.ending

    def _begin(self, query: str) -> _Awaited:
        with self._changed:
            now = self._clock()
            if not self._awaited:  # nothing ends at once
                self._next = max(self._next, now + self._every)
            return self._awaited.setdefault(query, _Awaited(now, Ending("QUEUED")))

    def _is_time(self, awaited: _Awaited, until: float) -> bool:
        """Wait until something has changed, or it is time to ask: then the caller asks, and others wait for that."""
        with self._changed:
            now = self._clock()
            if awaited.ending.is_final:
                return False
            if now < self._next:
                self._changed.wait(min(self._next, until) - now)
                return False
            self._next = now + HANGS_SECONDS
            return True

    def _poll(self) -> None:
        """Ask about all queries, and wake the lanes that wait for them. After a failure the next time is later."""
        with self._changed:
            queries = list(self._awaited)
            for awaited in self._awaited.values():
                awaited.polls += 1
        endings: Mapping[str, Ending] = {}
        error: PysyncError | None = None
        try:
            endings = self._read_endings(queries)
        except PysyncError as failed:
            error = failed
        with self._changed:
            self._failures = self._failures + 1 if error else 0
            self._next = self._clock() + self._pause()
            for query in queries:
                self._note(query, endings.get(query), error)
            self._changed.notify_all()

    def _pause(self) -> float:
        if not self._failures:
            return self._every
        doubled: float = self._every * 2 ** min(self._failures, _MOST_DOUBLINGS)
        longest = max(min(doubled, HANGS_SECONDS), self._every)
        return random.uniform(longest / 2, longest)  # noqa: S311, so that several targets do not ask at once

    def _note(self, query: str, ending: Ending | None, error: PysyncError | None) -> None:
        awaited = self._awaited.get(query)
        if awaited is None or awaited.ending.is_final:  # an answer that came late is older
            return
        if ending is not None:
            awaited.answered_at, awaited.ending, awaited.polls = self._clock(), ending, 0
        awaited.error = error

    def _assert_answered(self, query: str, awaited: _Awaited, *, last: bool = False) -> None:
        """Raise Unanswered after some time without an answer, or if the `last` poll failed."""
        is_silent = awaited.polls >= _MIN_POLLS and self._clock() - awaited.answered_at >= SILENT_SECONDS
        if awaited.ending.is_final or not (is_silent or (last and awaited.error is not None)):
            return
        message = awaited.error.message if awaited.error else "Athena says nothing of it"
        raise Unanswered(f"query {query}: {message}", awaited.error.hint if awaited.error else None) from awaited.error


# Running one statement in Athena: start it, wait for its end within a deadline, report its outcome.


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


class Athena:
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
        except Unanswered as error:
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
        except Unanswered as error:
            raise Unavailable(error.message, error.hint) from error
        if not ending.is_final:
            raise Unavailable(f"query {query} on target {self._name!r} was cancelled but has not ended yet")
        self._unfinished.pop(about, None)


# Changes: one write to a Glue Data Catalog, by Athena's statements and, for what they cannot express, by the Glue
# API.
#
# The statements are decided from what is there and run, the object is read again, and the Glue API writes what still
# differs. With `glue_api = "never"` nothing is begun that statements cannot finish.


_SHOWN = 3


class Statements(Protocol):
    """Whatever runs statements: pysync.targets.athena.execution.Athena."""

    def check(self) -> str:
        """Say in a few words by what they run."""

    def run(self, statement: str, database: str | None = None) -> None:
        """Run one, with this database as the current one."""

    def observe_calls(self, on_call: Callable[[str], object]) -> None:
        """Call `on_call` with the name of each request from now on."""

    def close(self) -> None:
        """Close idle connections."""


@dataclass(frozen=True, slots=True)
class Change:
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

    def make(self, change: Change, existing: Any) -> bool:
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
