"""How statements end: whoever waits for one asks Athena about all that are under way, in one call for all lanes.

There is no thread for it. A lane that waits when it is time asks, and wakes the others. If Athena does not answer it,
another lane asks instead.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pysync.base.errors import PysyncError
from pysync.targets.athena.failures import Ending

ReadEndings = Callable[[Sequence[str]], Mapping[str, Ending]]
"""The states of these queries, but for those that Athena does not report. Raises PysyncError."""
HANGS_SECONDS = 5.0
"""How long lanes wait for the answer to one of them, before the next lane asks."""
SILENT_SECONDS = 15.0
"""How long Athena may leave a query without an answer, before its end counts as unknown."""
_MIN_POLLS = 4  # in that time: a machine that was suspended has asked for none
_MOST_DOUBLINGS = 10


class QueryUnanswered(PysyncError):
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
        raise QueryUnanswered(
            f"query {query}: {message}", awaited.error.hint if awaited.error else None
        ) from awaited.error
