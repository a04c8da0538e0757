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
_POLL_SECONDS = 1.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended. `seconds` is from the last statement until the lake was equal; None if it never was."""

    counts: Counts
    seconds: float | None
    writes: int
    ddl_p50: float
    ddl_p95: float
    notes: tuple[str, ...]


def run(contender: Contender, statements: Sequence[Statement], pause: float, say: Say) -> Result:
    """Throttling comes after a quarter and after three quarters of the statements, the kill in their middle."""
    at = {len(statements) // 4: _throttle, len(statements) // 2: _kill, 3 * len(statements) // 4: _throttle}
    times: list[float] = []
    contender.aws.reset_calls()
    for number, part in enumerate(parts(statements, sorted(at))):
        if number:
            at[sorted(at)[number - 1]](contender, say)
        times += _play(contender, part, pause)
    say("the stream is through")
    counts, seconds = _settle(contender, say)
    writes = sum(made for name, made in contender.aws.calls().items() if name in lake.WRITES)
    notes = tuple(contender.notes())
    return Result(counts, seconds, writes, percentile(times, 50), percentile(times, 95), notes)


def parts(statements: Sequence[Statement], cuts: Sequence[int]) -> list[Sequence[Statement]]:
    """The statements before the first cut, between the cuts, and after the last."""
    ends = [*cuts, len(statements)]
    return [statements[begin:end] for begin, end in zip([0, *cuts], ends, strict=True)]


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


def _kill(contender: Contender, say: Say) -> None:
    say("kill -9")
    contender.kill()
    contender.revive()


def _throttle(contender: Contender, say: Say) -> None:
    say("throttling")
    lake.throttle(contender.aws)


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
            if waited > PATIENCE_SECONDS:
                return counts, None
            say(f"{waited:.0f} s: {counts}")
            time.sleep(_POLL_SECONDS)
