"""Histories: what clients do, who takes a turn when, and what goes wrong; all of it written down beforehand.

So a history runs the same each time, and one with a step less is a history, too.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from pysync.base import crashpoints

POINTS = tuple(point for point in crashpoints.POINTS if not point.startswith("trim."))


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happens at the cluster `at`; what the numbers mean is the kind's own.

    `within` happen while the step is under way: before its `call`th call to a metastore.
    """

    kind: str
    at: int = 0
    a: int = 0
    b: int = 0
    c: int = 0
    call: int = 0
    within: tuple[Step, ...] = ()


History = tuple[Step, ...]

_TURNS = (("ship", 5), ("replay", 6), ("heal", 1), ("pass", 2))
FAULTS = ("kill", "away", "unanswered", "undone", "unheard", "power", "end", "jump", "stop")
_ACTS = 0.2


@dataclass(frozen=True, slots=True)
class Workload:
    """What histories are made of: the `calls` of clients (see clients.CHOICES; all if none is named), how many, where,
    on which tables (the numbers that choose them), how often something goes wrong (which `kinds`), and what people do
    by hand (`acts`, see hands.Executor).

    Those that are `prepared` begin with a table that the first cluster has created, and that all have; with `fills`
    they begin with as many databases full of tables instead, which are hours old. Callbacks may come late, of another
    thread's calls, if they may have `overlaps`.
    """

    calls: tuple[int, ...] = ()
    most: int = 12
    writers: tuple[int, ...] = (0,)
    tables: tuple[int, ...] = tuple(range(6))
    prepared: float = 0.6
    faults: float = 0.2
    acts: tuple[str, ...] = ()
    kinds: tuple[str, ...] = FAULTS
    fills: int = 0
    overlaps: bool = True

    def history(self, seed: int, clusters: int) -> History:
        """The history of that seed."""
        return tuple(_Thrown(random.Random(seed), self, clusters).steps())


@dataclass(frozen=True, slots=True)
class _Thrown:
    """The steps of one history, as the dice fall."""

    dice: random.Random
    workload: Workload
    clusters: int

    def steps(self) -> Iterator[Step]:
        """A history."""
        if self.dice.random() < self.workload.prepared:
            yield from self._prelude()
        for _ in range(self.dice.randint(1, self.workload.most)):
            yield self._client()
            for _ in range(self.dice.choice((0, 0, 1, 2, 4))):
                yield self._turn()
            if self.dice.random() < self.workload.faults:
                yield Step(self.dice.choice(self.workload.kinds), self.dice.randrange(self.clusters), *self._numbers())
            if self.workload.acts and self.dice.random() < _ACTS:
                yield Step(self.dice.choice(self.workload.acts), 0, *self._numbers())

    def _prelude(self) -> Iterator[Step]:
        if self.workload.fills:
            yield from self._old_databases()
            return
        for _ in range(2):
            yield Step("client", 0, 0, self.workload.tables[0], self.dice.randrange(256))
        yield Step("settle")

    def _old_databases(self) -> Iterator[Step]:
        for number in range(self.workload.fills):
            yield Step("fill", self.workload.writers[number % len(self.workload.writers)], number)
        yield Step("settle")
        yield Step("age")

    def _client(self) -> Step:
        a, _, c = self._numbers()
        a = self.dice.choice(self.workload.calls) if self.workload.calls else a
        overlaps = self.workload.overlaps and self.dice.random() < self.workload.faults / 2
        kind = "late" if overlaps else "client"
        return Step(kind, self.dice.choice(self.workload.writers), a, self.dice.choice(self.workload.tables), c)

    def _turn(self) -> Step:
        kinds, weights = zip(*_TURNS, strict=True)
        kind, at, numbers = self.dice.choices(kinds, weights)[0], self.dice.randrange(self.clusters), self._numbers()
        if kind != "replay" or self.dice.random() < 0.6:
            return Step(kind, at, *numbers)
        within = self._client() if self.dice.random() < 0.7 else self._turn()
        return Step(kind, at, *numbers, call=self.dice.randint(1, 6), within=(within,))

    def _numbers(self) -> tuple[int, int, int]:
        return self.dice.randrange(256), self.dice.randrange(256), self.dice.randrange(256)
