"""The show: the acts of the demo in order, with their timings, and the comparison at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from pysync.demo.spark import spark_session
from pysync.demo.stage import Stage
from pysync.demo.statements import ACTS, Act
from pysync.metastore import Metastore, MetastoreCallFailed
from pysync.replay.policy import Policy
from pysync.replay.rewrite import Rewrite
from pysync.targets.settings import TargetSettings
from pysync.verify.compare import EQUAL, Compared, Comparison

_CONVERGE_SECONDS = 60.0
_POLL_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Step:
    """Something that the demo did: the time it took in seconds, and for acts how many statements."""

    title: str
    seconds: float
    statements: int = 0


@dataclass(slots=True)
class Result:
    """What the demo showed."""

    steps: list[Step] = field(default_factory=list)
    compared: list[Compared] = field(default_factory=list)
    status: dict[str, Any] = field(default_factory=dict)

    @property
    def equal(self) -> bool:
        """Whether there was something to compare and all of it is equal."""
        return bool(self.compared) and all(item.result == EQUAL for item in self.compared)


class Show:
    """Runs the demo on a stage; `begins` is told the title of each step when it begins."""

    def __init__(self, stage: Stage, begins: Callable[[str], None]) -> None:
        self._stage = stage
        self._begins = begins
        self.result = Result()

    def run(self) -> Result:
        """All of it. What is left running is the stage's."""
        with self._step("a metastore to follow starts"):
            self._stage.target.start()
        with self._step("the source metastore starts, with the listener"):
            self._stage.source.start()
        with self._step("the sidecar starts"):
            self._stage.start_sidecar()
        self._acts()
        with self._step("the target catches up"):
            self.result.compared = self._converge()
        self.result.status = self._stage.status()
        return self.result

    def _acts(self) -> None:
        stage = self._stage
        with self._step("Spark starts"):
            spark = stage.enter(spark_session(stage.source.uri, stage.source.warehouse, stage.directory))
        for act in ACTS:
            self._sidecar(act)
            with self._step(f"Spark: {act.title}", len(act.statements)):
                for statement in act.statements:
                    spark.sql(statement)

    def _sidecar(self, act: Act) -> None:
        if act.sidecar == "is killed":
            with self._step("the sidecar is killed (SIGKILL)"):
                self._stage.kill_sidecar()
        elif act.sidecar == "starts again":
            with self._step("the sidecar starts again"):
                self._stage.start_sidecar()

    def _converge(self) -> list[Compared]:
        """Compare until all is equal, or for a minute.

        What compares and what replays may meet in a deadlock of the target's database, and then gets no answer.
        """
        until = time.monotonic() + _CONVERGE_SECONDS
        while True:
            try:
                compared = compare(self._stage.source.uri, self._stage.target.uri, self._stage.config.targets[0])
            except MetastoreCallFailed:
                compared = []
            if (compared and all(item.result == EQUAL for item in compared)) or time.monotonic() > until:
                return compared
            time.sleep(_POLL_SECONDS)

    @contextmanager
    def _step(self, title: str, statements: int = 0) -> Iterator[None]:
        self._begins(title)
        began = time.monotonic()
        yield
        self.result.steps.append(Step(title, time.monotonic() - began, statements))


def compare(source: str, target: str, settings: TargetSettings) -> list[Compared]:
    """The metastores at two addresses, compared as the settings of the target say."""
    with closing(Metastore(source)) as left, closing(Metastore(target)) as right:
        return list(Comparison(left, right, Policy.of(settings), Rewrite.of(settings)).run())
