"""Freeze: what every target was told to do in each history, and how it ended, as text: so two versions of pysync can
be compared.

One line for each operation or event, in order: seed, clusters, positions, operation, object, outcome. The text depends
on nothing but the code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import unified_diff
from itertools import groupby
from pathlib import Path

from pysync.journal import Record
from tests.simulation.run import history, wrong_after
from tests.simulation.topologies import Topology

_MOST_NAMED = 100


def outcomes(topology: Topology, seed: int) -> list[str]:
    """The lines of one history. Call it on a stage."""
    lines: list[str] = []
    wrong = wrong_after(
        topology,
        seed,
        history(topology, seed),
        record=lambda cluster, record: lines.append(f"{seed} {line_of(cluster, record)}"),
    )
    return [*lines, f"{seed} end: {' | '.join(wrong.splitlines()) if wrong else 'well'}"]


def line_of(cluster: str, record: Record) -> str:
    """One record of the cluster's sidecar, without times and texts."""
    first, last = record.first_position, record.last_position
    named = [
        f"{cluster}>{record.target}",
        f"{first}" if first == last else f"{first}-{last}",
        record.operation,
        f"{record.former}>{record.object}" if record.former else record.object,
        f"{record.partition_count}:{','.join(record.partitions)}" if record.partition_count else "",
        record.outcome,
    ]
    return " ".join(filter(None, named))


def path_of(directory: Path, topology: str) -> Path:
    """The file of one topology."""
    return directory / f"{topology}.txt"


def difference(old: Path, new: Path) -> str | None:
    """Which seeds of two files differ, and how the one with the shortest history does; None if the files are equal."""
    before, after = _by_seed(old), _by_seed(new)
    differing = [seed for seed in sorted(before.keys() | after.keys()) if before.get(seed) != after.get(seed)]
    if not differing:
        return None
    shortest = min(differing, key=lambda seed: len(before.get(seed, [])) + len(after.get(seed, [])))
    shown = unified_diff(before.get(shortest, []), after.get(shortest, []), str(old), str(new), lineterm="", n=1000)
    seeds = " ".join(map(str, differing[:_MOST_NAMED]))
    return "\n".join([f"{new.stem}: {len(differing)} of {len(after)} histories differ, seeds {seeds}", *shown])


def differences(old: Path, new: Path) -> Iterator[str]:
    """The differences of two directories, one for each topology."""
    names = {path.name for directory in (old, new) for path in directory.glob("*.txt")}
    return filter(None, (difference(old / name, new / name) for name in sorted(names)))


def _by_seed(path: Path) -> dict[int, list[str]]:
    lines: Iterable[str] = path.read_text().splitlines() if path.exists() else ()
    return {seed: list(found) for seed, found in groupby(lines, lambda line: int(line.partition(" ")[0]))}
