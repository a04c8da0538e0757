"""Asking: how the home of an object is asked to say its state again (docs/both-ways.md)."""

from __future__ import annotations

from typing import Any

import structlog

from pysync.model.again import Again
from pysync.model.home import since
from pysync.model.operation import DatabaseOperation, Operation, SayAgain
from pysync.targets.apply.judging import BothWays
from pysync.targets.base import Outcome
from pysync.targets.store import SaysWords
from pysync.targets.watched import WatchedStore

log = structlog.get_logger(__name__)


class Asking:
    """Sends words (pysync.model.again) through a target. Each method returns the outcome of the operation."""

    def __init__(self, store: WatchedStore, rule: BothWays) -> None:
        if not isinstance(store.reads, SaysWords):
            raise TypeError(f"{type(store.reads).__name__} cannot go both ways: it has no method say")
        self.store, self.rule, self._speaker = store, rule, store.reads

    def say_again(self, operation: SayAgain) -> Outcome:
        """Tell all clusters to read an object anew: as its home, or else on the path that the operation took.

        It is sent by creating and dropping a function (pysync.model.again).
        """
        # At its home the word begins anew: before that it was only a question.
        path = () if operation.home == self.rule.cluster else since(operation.home, operation.visited)
        word = Again(operation.database, operation.table, operation.function, operation.home, path, operation.words)
        self._say(word, operation)
        return Outcome.APPLIED if operation.home in path else self._conflict(operation, operation.home)

    def for_table(self, operation: Operation, there: Any | None) -> Outcome:
        """Have the home say the table again; `there` is the target's table, if it has one."""
        database, _, table = operation.key.partition(".")
        if there is not None:
            database, table = there.dbName, there.tableName
        home = self.rule.home(there) or operation.mark.source
        return self._ask(operation, home, database, table=table)

    def for_place(self, operation: DatabaseOperation, place: Any | None, function: str = "") -> Outcome:
        """The same for the database `place`, or a function in it."""
        known = self.rule.home_within(place) if function else self.rule.home(place)
        stated = operation.condition.place if operation.condition is not None else None
        home = min(filter(None, (known, stated)), default=operation.mark.source)
        return self._ask(operation, home, operation.database, function=function)

    def for_functions(self, operation: DatabaseOperation, place: Any) -> None:
        """The same for each function in the database `place`."""
        for function in self.store.reads.functions(operation.database):
            self.for_place(operation, place, function.functionName)

    def _ask(self, operation: Operation, home: str, database: str, **what: str) -> Outcome:
        """Say a word that begins here: the path of the conflicting change is not its own."""
        words = 1 + (operation.condition.words if operation.condition is not None else 0)
        self._say(Again(database, home=home, words=words, **what), operation)
        return self._conflict(operation, home)

    def _say(self, word: Again, operation: Operation) -> None:
        # The words about one conflict are limited: clusters that take each other for the home would go on for ever.
        if word.is_worth_saying:
            self._speaker.say(word.told_by(",".join(operation.visited)))

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
