"""`python -m tests.bench [NAME ...]`: run all benchmarks, or those named; exit code 1 if a goal is missed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console

from pysync.base import logs
from tests.bench import bootstrap, capture, copy, frame, glue, main, replay, scrapes, snapshots

BENCHES: Mapping[str, Callable[[frame.Say], Iterator[frame.Row]]] = {
    "main": main.run,
    "capture": capture.run,
    "replay": replay.run,
    "copy": copy.run,
    "bootstrap": bootstrap.run,
    "glue": glue.run,
    "scrapes": scrapes.run,
    "snapshots": snapshots.run,
}


def run(names: list[str]) -> int:
    unknown = sorted(set(names) - set(BENCHES))
    if unknown:
        print(f"there is no bench {unknown[0]!r}: use one of {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    logs.configure("error", "console")  # debug lines of a million operations would be part of what is measured
    missed = 0
    for name in names or list(BENCHES):
        rows = []
        with _telling(name) as say:
            for row in BENCHES[name](say):
                rows.append(row)
                say(f"{row.measure} = {row.value:.4g} {row.unit}")
        frame.show(name, rows)
        print(frame.write(name, rows))
        missed += sum(row.ok is False for row in rows)
    return 1 if missed else 0


@contextmanager
def _telling(name: str) -> Iterator[frame.Say]:
    """What a bench does now: a line that changes on a terminal, else a line each."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda what: console.print(f"bench {name}: {what}", soft_wrap=True)
        return
    with console.status(f"bench {name}") as status:
        yield lambda what: status.update(f"bench {name}: {what}")


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
