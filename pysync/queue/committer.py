"""Group commit: many callers wait, one thread writes what they brought in one transaction."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from pysync.queue.errors import QueueClosed

Row = TypeVar("Row")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class _Ticket(Generic[Row, Answer]):
    rows: Sequence[Row]
    reply: SimpleQueue[Sequence[Answer] | BaseException] = field(default_factory=SimpleQueue)


class GroupCommit(Generic[Row, Answer]):
    """Calls `commit(rows)` in one thread, with all that is waiting by then, and gives each caller its answers.

    `commit` returns one answer per row, after the rows are durable; what it raises goes to every caller
    of that batch. Rows keep the order in which their callers arrived. A batch ends at `limit` rows, but
    the rows of one caller are never split.
    """

    def __init__(self, commit: Callable[[Sequence[Row]], Sequence[Answer]], limit: int = 1000) -> None:
        self._commit = commit
        self._limit = limit
        self._inbox: SimpleQueue[_Ticket[Row, Answer] | None] = SimpleQueue()
        self._door = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="queue-committer", daemon=True)
        self._thread.start()

    def submit(self, rows: Sequence[Row]) -> Sequence[Answer]:
        """Wait until `rows` are committed and return their answers, in order.

        Raises what `commit` raised for the batch, and QueueClosed after `close`.
        """
        ticket: _Ticket[Row, Answer] = _Ticket(rows)
        with self._door:
            if self._closed:
                raise QueueClosed("the queue is closed", hint="pysync is stopping; send it again later")
            self._inbox.put(ticket)
        reply = ticket.reply.get()
        if isinstance(reply, BaseException):
            # Every waiter raises its own copy: raising one exception in many threads mixes their tracebacks.
            raise copy.copy(reply) from reply
        return reply

    def close(self) -> None:
        """Refuse new callers, commit what is waiting, and end the thread. May be called again."""
        with self._door:
            if not self._closed:
                self._closed = True
                self._inbox.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (first := self._inbox.get()) is not None:
            self._settle(self._gather(first))

    def _gather(self, first: _Ticket[Row, Answer]) -> list[_Ticket[Row, Answer]]:
        batch, rows = [first], len(first.rows)
        while rows < self._limit:
            try:
                ticket = self._inbox.get_nowait()
            except Empty:
                break
            if ticket is None:
                self._inbox.put(None)  # nothing comes after the end mark: the door is shut
                break
            batch.append(ticket)
            rows += len(ticket.rows)
        return batch

    def _settle(self, batch: Sequence[_Ticket[Row, Answer]]) -> None:
        try:
            answers = self._commit([row for ticket in batch for row in ticket.rows])
        except BaseException as error:  # noqa: BLE001 - whatever it is, nobody may be left waiting for ever
            for ticket in batch:
                ticket.reply.put(error)
            return
        start = 0
        for ticket in batch:
            ticket.reply.put(answers[start : start + len(ticket.rows)])
            start += len(ticket.rows)
