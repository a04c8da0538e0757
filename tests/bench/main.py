"""bench-main: from the commit at the source until the change is visible at the target, on an idle system.

The baseline is the bare target: the same `create_table` sent to it by hand, between the measured ones.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

from pysync.demo.stage import Stage
from pysync.metastore import Metastore
from tests.bench.frame import Row, Say, percentile
from tests.support import new_database, table

_WARM_UP = 20
_ROUNDS = 200
_POLL_SECONDS = 0.001
_PATIENCE_SECONDS = 30.0


def run(say: Say) -> Iterator[Row]:
    """The rows `main.visible.p50_s` and `main.visible.p99_s`; goals 0.3 and 1.0 seconds."""
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
    yield Row("main.visible.p50_s", percentile(visible, 50), "s", percentile(bare, 50), goal=0.3)
    yield Row("main.visible.p99_s", percentile(visible, 99), "s", percentile(bare, 99), goal=1.0)


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


def _until(reached: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while not reached():
        if time.monotonic() > until:
            raise TimeoutError("the change did not arrive at the target")
        time.sleep(_POLL_SECONDS)
