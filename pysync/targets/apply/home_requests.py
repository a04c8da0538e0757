"""Requests to the home of an object to send its state again (docs/both-ways.md)."""

from __future__ import annotations

from typing import Any

import structlog

from pysync.model.home import since
from pysync.model.operation import DatabaseOperation, Operation, RequestReread
from pysync.model.reread import RereadRequest
from pysync.targets.apply.door import Door
from pysync.targets.apply.home_rule import HomeRule
from pysync.targets.base import Outcome
from pysync.targets.store import SendsMessages

log = structlog.get_logger(__name__)


class HomeRequests:
    """Sends messages (pysync.model.reread) through a target. Each method returns the outcome of the operation."""

    def __init__(self, store: Door, rule: HomeRule) -> None:
        if not isinstance(store.reads, SendsMessages):
            raise TypeError(f"{type(store.reads).__name__} cannot go both ways: it has no method broadcast")
        self.store, self.rule, self._sender = store, rule, store.reads

    def request_reread(self, operation: RequestReread) -> Outcome:
        """Have all clusters read an object again: as its home, or else on the path that the operation took.

        It is sent by creating and dropping a function (pysync.model.reread).
        """
        # At the home its path restarts: until then it was only a request.
        path = () if operation.home == self.rule.cluster else since(operation.home, operation.visited)
        message = RereadRequest(
            operation.database, operation.table, operation.function, operation.home, path, operation.chain_length
        )
        self._send(message, operation)
        return Outcome.APPLIED if operation.home in path else self._conflict(operation, operation.home)

    def for_table(self, operation: Operation, existing: Any | None) -> Outcome:
        """Have the home send the table again; `existing` is the target's table, if it has one."""
        database, _, table = operation.key.partition(".")
        if existing is not None:
            database, table = existing.dbName, existing.tableName
        home = self.rule.home(existing) or operation.mark.source
        return self._request(operation, home, database, table=table)

    def for_place(self, operation: DatabaseOperation, place: Any | None, function: str = "") -> Outcome:
        """The same for the database `place`, or a function in it."""
        known = self.rule.home_within(place) if function else self.rule.home(place)
        stated = operation.condition.place if operation.condition is not None else None
        home = min(filter(None, (known, stated)), default=operation.mark.source)
        return self._request(operation, home, operation.database, function=function)

    def for_functions(self, operation: DatabaseOperation, place: Any) -> None:
        """The same for each function in the database `place`."""
        for function in self._sender.functions(operation.database):
            self.for_place(operation, place, function.functionName)

    def _request(self, operation: Operation, home: str, database: str, **part: str) -> Outcome:
        """Send a message whose path begins here: that of the conflicting change does not count."""
        chain_length = 1 + (operation.condition.chain_length if operation.condition is not None else 0)
        self._send(RereadRequest(database, home=home, chain_length=chain_length, **part), operation)
        return self._conflict(operation, home)

    def _send(self, message: RereadRequest, operation: Operation) -> None:
        # The messages about one conflict are limited: clusters that take each other for the home would go on for ever.
        if message.is_within_limit:
            self._sender.broadcast(message.as_function(",".join(operation.visited)))

    def _conflict(self, operation: Operation, home: str) -> Outcome:
        """Log the change that was not made, and whose state stays."""
        log.warning(
            "conflict_found",
            target=self.store.settings.name,
            object=operation.key,
            change=type(operation).__name__,
            home=home,
            stays=self.rule.cluster,
            path=",".join(operation.visited),
        )
        return Outcome.CONFLICT
