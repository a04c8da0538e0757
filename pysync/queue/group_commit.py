"""Group commit: one of the waiting callers writes the rows of all in one transaction, while the next batch gathers."""

from __future__ import annotations

import copy
import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pysync.queue.errors import QueueClosed

Row = TypeVar("Row")
Answer = TypeVar("Answer")


@dataclass(slots=True)
class _Ticket(Generic[Row, Answer]):
    rows: Sequence[Row]
    reply: Sequence[Answer] | BaseException | None = None


class GroupCommit(Generic[Row, Answer]):
    """Calls `commit(rows)`, one at a time, with all that is waiting by then, and gives each caller its answers.

    `commit` returns one answer per row, after the rows are durable; what it raises goes to every caller
    of that batch. Rows keep the order in which their callers arrived. A batch ends at `limit` rows, but
    the rows of one caller are never split. A caller that is alone waits for no other thread to wake up.
    """

    def __init__(self, commit: Callable[[Sequence[Row]], Sequence[Answer]], limit: int = 1000) -> None:
        self._commit = commit
        self._limit = limit
        self._changed = threading.Condition()
        self._waiting: deque[_Ticket[Row, Answer]] = deque()
        self._busy = False
        self._closed = False

    def submit(self, rows: Sequence[Row]) -> Sequence[Answer]:
        """Wait until `rows` are committed and return their answers, in order.

        Raises what `commit` raised for the batch, and QueueClosed after `close`.
        """
        ticket: _Ticket[Row, Answer] = _Ticket(rows)
        with self._changed:
            if self._closed:
                raise QueueClosed("the queue is closed", hint="pysync is stopping; send the events again later")
            self._waiting.append(ticket)
        # A turn takes the oldest tickets, and a full batch may end before this one: then it takes another turn.
        while batch := self._turn(ticket):
            self._settle(batch)
        if isinstance(ticket.reply, BaseException):
            # Every waiter raises its own copy: raising one exception in many threads mixes their tracebacks.
            raise copy.copy(ticket.reply) from ticket.reply
        assert ticket.reply is not None  # noqa: S101 - only then is there no batch for it
        return ticket.reply

    def close(self) -> None:
        """Refuse new callers, and wait until those who came before have their answers. May be called again."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._busy and not self._waiting)

    def _turn(self, own: _Ticket[Row, Answer]) -> list[_Ticket[Row, Answer]]:
        """Wait until somebody has committed `own` (then nothing), or it is the caller's turn to commit these."""
        with self._changed:
            while self._busy and own.reply is None:
                self._changed.wait()
            if own.reply is not None:
                return []
            self._busy = True
            return self._gather()

    def _gather(self) -> list[_Ticket[Row, Answer]]:
        batch = [self._waiting.popleft()]
        rows = len(batch[0].rows)
        while self._waiting and rows < self._limit:
            batch.append(self._waiting.popleft())
            rows += len(batch[-1].rows)
        return batch

    def _settle(self, batch: Sequence[_Ticket[Row, Answer]]) -> None:
        try:
            replies = self._shared(batch, self._commit([row for ticket in batch for row in ticket.rows]))
        except BaseException as error:  # noqa: BLE001 - whatever it is, nobody may be left waiting for ever
            replies = [error] * len(batch)
        with self._changed:
            for ticket, reply in zip(batch, replies, strict=True):
                ticket.reply = reply
            self._busy = False
            self._changed.notify_all()

    @staticmethod
    def _shared(
        batch: Sequence[_Ticket[Row, Answer]], answers: Sequence[Answer]
    ) -> list[Sequence[Answer] | BaseException]:
        """Each one's own answers."""
        ends = itertools.accumulate(len(ticket.rows) for ticket in batch)
        return [answers[end - len(ticket.rows) : end] for ticket, end in zip(batch, ends, strict=True)]
