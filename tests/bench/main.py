"""bench-main: from the commit at the source until the change is visible at the target, on an idle system.

The baseline is the bare target: the same `create_table` sent to it by hand, between the measured ones. Then the same
once more while the target refuses all there is of one table: the others must not feel it, and it must come in the end.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from pysync.control.client import ask
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.bench.frame import Row, Say, percentile
from tests.support import new_database, table

_WARM_UP = 20
_ROUNDS = 200
_POISONED_ROUNDS = 200
_POLL_SECONDS = 0.001
_PATIENCE_SECONDS = 30.0


def run(say: Say) -> Iterator[Row]:
    """The rows `main.visible.p50_s`, `main.visible.p99_s` `main.poisoned.longest_s`; goals 0.1, 0.15 and 1 s."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pysync-bench-")))
        stage = stack.enter_context(Stage(directory))
        say("two metastores and a sidecar start")
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        source = stack.enter_context(closing(Metastore(stage.source.uri)))
        target = stack.enter_context(closing(Metastore(stage.target.uri)))
        visible, bare = _measure(source, target, say)
        yield Row("main.visible.p50_s", percentile(visible, 50), "s", percentile(bare, 50), goal=0.1)
        yield Row("main.visible.p99_s", percentile(visible, 99), "s", percentile(bare, 99), goal=0.15)
        poisoned = _poisoned(stage, source, target, say)
    yield Row("main.poisoned.longest_s", max(poisoned), "s", max(visible), goal=1.0)


def _measure(source: Metastore, target: Metastore, say: Say) -> tuple[list[float], list[float]]:
    followed, bare_database = new_database(source, "bench"), new_database(target, "bare")
    _until(lambda: target.database(followed) is not None)
    visible, bare = [], []
    for number in range(_WARM_UP + _ROUNDS):
        say(f"round {number} of {_WARM_UP + _ROUNDS}")
        there = table(followed, f"t{number}")
        source.call(lambda client, it=there: client.create_table(it))
        committed = time.perf_counter()
        _until(lambda n=number: target.table(followed, f"t{n}") is not None)
        visible.append(time.perf_counter() - committed)
        here = table(bare_database, f"t{number}")
        began = time.perf_counter()
        target.call(lambda client, it=here: client.create_table(it))
        bare.append(time.perf_counter() - began)
    return visible[_WARM_UP:], bare[_WARM_UP:]


def _poisoned(stage: Stage, source: Metastore, target: Metastore, say: Say) -> list[float]:
    """The same while a table that is not pysync's is in the way of one of the source, which changes all the time."""
    database = new_database(source, "poisoned")
    _until(lambda: target.database(database) is not None)
    target.call(lambda client: client.create_table(table(database, "poison")))
    source.call(lambda client: client.create_table(table(database, "poison")))
    _until(lambda: _parked(stage) > 0)
    changed: Any = source.table(database, "poison")
    visible = []
    for number in range(_POISONED_ROUNDS):
        say(f"with a poison table, round {number} of {_POISONED_ROUNDS}")
        changed.parameters["version"] = str(number)
        source.call(lambda client, it=changed: client.alter_table(database, "poison", it))
        other = table(database, f"t{number}")
        source.call(lambda client, it=other: client.create_table(it))
        committed = time.perf_counter()
        _until(lambda n=number: target.table(database, f"t{n}") is not None)
        visible.append(time.perf_counter() - committed)
    target.call(lambda client: client.drop_table(database, "poison", False))
    ask(stage.config.queue.directory, "parked retry", target=stage.config.targets[0].name)
    _until(lambda: _parked(stage) == 0 and _version(target, database) == str(_POISONED_ROUNDS - 1))
    return visible


def _parked(stage: Stage) -> int:
    return int(stage.status()["targets"][0]["parked"])


def _version(target: Metastore, database: str) -> str | None:
    found = target.table(database, "poison")
    version: str | None = found and found.parameters.get("version")
    return version


def _until(reached: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while not reached():
        if time.monotonic() > until:
            raise TimeoutError("the change did not arrive at the target")
        time.sleep(_POLL_SECONDS)
