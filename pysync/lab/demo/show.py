"""The show: the acts of the demo in order, with their timings, and the comparison at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pysync.base.errors import PysyncError
from pysync.lab.demo.acts import ACTS, DemoAct
from pysync.lab.demo.ends import compared, compared_apart
from pysync.lab.demo.rows import RowsCompared, compare_rows, rows_at, spark_session
from pysync.lab.demo.stage import SOURCE, Stage
from pysync.targets.settings import TargetSettings
from pysync.verify.compare import EQUAL, ComparedObject

_CONVERGE_SECONDS = 180.0
_POLL_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class DemoStep:
    """Something that the demo did: the time it took in seconds, and for acts how many statements."""

    title: str
    seconds: float
    statements: int = 0


@dataclass(slots=True)
class Result:
    """What the demo showed."""

    steps: list[DemoStep] = field(default_factory=list)
    compared: list[ComparedObject] = field(default_factory=list)
    rows: list[RowsCompared] = field(default_factory=list)
    status: dict[str, Any] = field(default_factory=dict)

    @property
    def equal(self) -> bool:
        """Whether there was something to compare and all of it is equal."""
        return bool(self.compared) and all(item.result == EQUAL for item in self.compared) and self.rows_equal

    @property
    def rows_equal(self) -> bool:
        """Whether no table has other rows at the target; true where no files are copied."""
        return all(item.equal for item in self.rows)


class Show:
    """Runs the demo on a stage; `begins` gets the title of each step when it begins."""

    def __init__(self, stage: Stage, begins: Callable[[str], None]) -> None:
        self._stage = stage
        self._begins = begins
        self.result = Result()

    def run(self) -> Result:
        """All of it. What is left running is the stage's."""
        reached = ", which only Spark reaches," if self._stage.by_spark else ""
        title = f"the target metastore{reached}" if self._stage.lake is None else "the target, a Glue Data Catalog,"
        with self._step(f"{title} starts"):
            self._stage.start_target()
        with self._step("the source metastore starts with the listener"):
            self._stage.source.start()
        with self._step("the sidecar starts"):
            self._stage.start_sidecar()
        self._acts()
        with self._step("the target catches up"):
            self.result.compared = self._converge()
        if self._copies:
            with self._step("a Spark session at each end reads the rows"):
                self.result.rows = self._compare_rows()
        self.result.status = self._stage.status()
        return self.result

    @property
    def _copies(self) -> bool:
        return self._stage.config.targets[0].copy_files is not None

    def _compare_rows(self) -> list[RowsCompared]:
        stage = self._stage
        ends = {"source": stage.source, "target": stage.target}
        self._catch_up()
        rows = {name: rows_at(it.uri, it.warehouse, stage.directory / f"spark-{name}") for name, it in ends.items()}
        return compare_rows(rows["source"], rows["target"])

    def _catch_up(self) -> None:
        """Wait until nothing is queued, or for a minute."""
        until = time.monotonic() + _CONVERGE_SECONDS
        while self._stage.status()["targets"][0]["queued"] and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)

    def _acts(self) -> None:
        stage = self._stage
        with self._step("Spark starts"):
            spark = stage.enter(spark_session(stage.source.uri, stage.source.warehouse, stage.directory))
        if self._copies:  # so that Spark reports every insert to the metastore: docs/copy.md
            spark.conf.set("spark.sql.statistics.size.autoUpdate.enabled", "true")
        for act in ACTS:
            self._sidecar(act)
            with self._step(f"Spark: {act.title}", len(act.statements)):
                for statement in act.statements:
                    spark.sql(statement)

    def _sidecar(self, act: DemoAct) -> None:
        if act.sidecar == "is killed":
            with self._step("the sidecar is killed (SIGKILL)"):
                self._stage.kill_sidecar()
        elif act.sidecar == "starts again":
            with self._step("the sidecar starts again"):
                self._stage.start_sidecar()

    def _converge(self) -> list[ComparedObject]:
        """Compare until all is equal, or for a minute.

        What compares and what replays may meet in a deadlock of the target's database, and then gets no answer.
        """
        until = time.monotonic() + _CONVERGE_SECONDS
        while True:
            try:
                compared = self._compare()
            except PysyncError:
                compared = []
            if (compared and all(item.result == EQUAL for item in compared)) or time.monotonic() > until:
                return compared
            time.sleep(_POLL_SECONDS)

    def _compare(self) -> list[ComparedObject]:
        stage, settings = self._stage, self._stage.config.targets[0]
        if stage.lake is not None:
            return compared(stage.source.uri, stage.lake.reached(settings), SOURCE)
        if stage.by_spark:
            self._catch_up()
            return compared_apart(stage.source.uri, stage.config_file, SOURCE)
        return compare(stage.source.uri, stage.target.uri, settings)

    @contextmanager
    def _step(self, title: str, statements: int = 0) -> Iterator[None]:
        self._begins(title)
        began = time.monotonic()
        yield
        self.result.steps.append(DemoStep(title, time.monotonic() - began, statements))


def compare(source: str, target: str, settings: TargetSettings, name: str = SOURCE) -> list[ComparedObject]:
    """The metastore at `source`, called `name`, and the one at `target`, compared as the settings of the target say."""
    return compared(source, settings.model_copy(update={"metastore": target}), name)
