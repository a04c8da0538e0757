"""bench-scrapes: what it costs a sidecar with three targets to be scraped ten times a second, for a minute.

The baseline is the processor time of the same sidecar in a minute without a scrape.
"""

from __future__ import annotations

import os
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from pysync.lab import free_port
from tests.bench.frame import Row, Say
from tests.support.drains import create, create_database
from tests.support.sidecars import FaultyPlace, send, sidecar

_SECONDS = 60.0
_PER_SECOND = 10
_TABLES = 200
_TICKS = os.sysconf("SC_CLK_TCK")


def run(say: Say) -> Iterator[Row]:
    """The row `scrapes.core`: how much of a core more it takes; goal 0.02."""
    with tempfile.TemporaryDirectory(prefix="pysync-bench-") as directory:
        place, port = FaultyPlace(Path(directory)), free_port()
        more = "".join(f'[[targets]]\nname = "t{number}"\nkind = "faulty"\n' for number in range(2))
        place.write(more=f"{more}[web]\nport = {port}\n")
        with sidecar(place) as running:
            send(running, create_database(), *(create(f"db.t{number}") for number in range(_TABLES)))
            _scrape(port)  # what is imported and made once does not count
            say("a minute without scrapes")
            idle = _core(running.process.pid, lambda: None)
            say("a minute with ten scrapes a second")
            scraped = _core(running.process.pid, lambda: _scrape(port))
    yield Row("scrapes.core", scraped - idle, "cores", idle, goal=0.02)


def _core(pid: int, turn: Callable[[], object]) -> float:
    """The share of a core that the process takes while `turn` is done ten times a second, for a minute."""
    before, began = _cpu_seconds(pid), time.monotonic()
    for number in range(int(_SECONDS * _PER_SECOND)):
        time.sleep(max(0.0, began + number / _PER_SECOND - time.monotonic()))
        turn()
    return (_cpu_seconds(pid) - before) / (time.monotonic() - began)


def _cpu_seconds(pid: int) -> float:
    """The processor time of all its threads, from /proc."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS  # utime and stime


def _scrape(port: int) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        answer.read()
