"""How many calls an account may make: Athena's quotas as AWS documents them, which an account may have raised.

The sources are the tables "Per account API call quotas" (Athena's user guide) and "Amazon Athena endpoints and quotas"
(AWS's general reference).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pysync.lab.aws.refusals import AwsRefusal

ACTIVE_DDL = 20
"""The most statements of DDL that are queued or run at once."""


@dataclass(frozen=True, slots=True)
class CallRate:
    """Calls a second; and how many may come at once, after a pause."""

    per_second: float
    burst: int


_STATEMENTS, _READS = CallRate(20, 80), CallRate(100, 200)

CALLS: Mapping[str, CallRate] = {
    "StartQueryExecution": _STATEMENTS,
    "StopQueryExecution": _STATEMENTS,
    "GetQueryExecution": _READS,
    "GetQueryResults": _READS,
    "BatchGetQueryExecution": CallRate(20, 40),
    "ListQueryExecutions": CallRate(5, 10),
}


@dataclass(slots=True)
class Quotas:
    """The calls that are left of each quota: a bucket for each name. Safe to use from any thread."""

    rates: Mapping[str, CallRate] = field(default_factory=lambda: CALLS)
    clock: Callable[[], float] = time.monotonic
    _tokens: dict[str, tuple[float, float]] = field(default_factory=dict)  # and when that was
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, operation: str) -> None:
        """Count a call. AwsRefusal if it is one too many; other operations have no quota."""
        rate = self.rates.get(operation)
        if rate is None:
            return
        with self._lock:
            now = self.clock()
            tokens, then = self._tokens.get(operation, (float(rate.burst), now))
            tokens = min(rate.burst, tokens + (now - then) * rate.per_second)
            self._tokens[operation] = (tokens - 1 if tokens >= 1 else tokens, now)
        if tokens < 1:
            raise AwsRefusal("ThrottlingException", "Rate exceeded")
