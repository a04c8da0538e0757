"""One contender's run: the stream with its kill and its throttling, then the wait until the lake is as the source."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.bench.frame import percentile
from tests.compare import lake, source
from tests.compare.contender import Contender
from tests.compare.counting import Counts, count
from tests.compare.stream import Statement

PATIENCE_SECONDS = 240.0
THROTTLED = 20
"""The number of statements of each half during which AWS refuses all writes."""
_POLL_SECONDS = 1.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended. `seconds` is from the last statement until the lake was equal; None if it never was.

    Where nothing was carried (`carries`) only the statements count.
    """

    counts: Counts
    seconds: float | None
    writes: int
    ddl_p50: float
    ddl_p95: float
    notes: tuple[str, ...]
    carries: bool = True


def run(contender: Contender, statements: Sequence[Statement], pause: float, say: Say) -> Result:
    """The kill comes in the middle of the statements, throttling in the middle of each half."""
    contender.aws.reset_calls()
    first, second = parts(statements, [len(statements) // 2])
    times = _half(contender, first, pause, say)
    say("kill -9")
    contender.kill()
    contender.revive()
    times += _half(contender, second, pause, say)
    say("the stream is through")
    counts, seconds = _settle(contender, say)
    writes = sum(made for name, made in contender.aws.calls().items() if name in lake.WRITES)
    notes = tuple(contender.notes())
    return Result(counts, seconds, writes, percentile(times, 50), percentile(times, 95), notes, contender.carries)


def parts(statements: Sequence[Statement], cuts: Sequence[int]) -> list[Sequence[Statement]]:
    """The statements before the first cut, between the cuts, and after the last."""
    ends = [*cuts, len(statements)]
    return [statements[begin:end] for begin, end in zip([0, *cuts], ends, strict=True)]


def _half(contender: Contender, statements: Sequence[Statement], pause: float, say: Say) -> list[float]:
    middle = len(statements) // 2
    before, during, after = parts(statements, [middle, middle + THROTTLED])
    times = _play(contender, before, pause)
    say("throttling")
    with lake.throttled(contender.aws):
        times += _play(contender, during, pause)
    return times + _play(contender, after, pause)


def _play(contender: Contender, statements: Sequence[Statement], pause: float) -> list[float]:
    """Send the statements one by one; what each took, in seconds."""
    times = []
    with contender.source() as metastore:
        for statement in statements:
            began = time.perf_counter()
            source.execute(metastore, statement)
            times.append(time.perf_counter() - began)
            time.sleep(pause)
    return times


def _settle(contender: Contender, say: Say) -> tuple[Counts, float | None]:
    """Wait until the lake is as the source, or patience is at its end."""
    began = time.monotonic()
    with contender.source() as metastore:
        wanted = source.catalog(metastore)
        while True:
            counts = count(wanted, lake.catalog(contender.aws))
            waited = time.monotonic() - began
            if counts.equal:
                return counts, waited
            if waited > PATIENCE_SECONDS or not contender.carries:
                return counts, None
            say(f"{waited:.0f} s: {counts}")
            time.sleep(_POLL_SECONDS)
