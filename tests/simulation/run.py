"""Run histories: one, many, and the shortest that still goes wrong."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.simulation import calm
from tests.simulation.history import History, Workload
from tests.simulation.stage import simulated
from tests.simulation.topologies import Topology
from tests.simulation.world import RecordOf

_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Found:
    """A history after which something is wrong."""

    topology: Topology
    seed: int
    steps: History
    wrong: str

    def as_text(self) -> str:
        """The story of it."""
        return "\n".join(
            [f"{self.topology.name}, seed {self.seed}:", *story(self.topology, self.seed, self.steps), self.wrong]
        )


@cache
def place() -> Path:
    """Where the queue files of one process are, until it ends: in memory, if there is such a place."""
    memory = Path("/dev/shm")
    within = memory if os.access(memory, os.W_OK) else None
    found = Path(tempfile.mkdtemp(prefix="pysync-simulation-", dir=within))  # a killed process may have left its own
    atexit.register(shutil.rmtree, found, ignore_errors=True)
    return found


def wrong_after(
    topology: Topology, seed: int, steps: History, story: list[str] | None = None, record: RecordOf | None = None
) -> str | None:
    """What is wrong after the steps; None if nothing is. `seed` decides the order of what lanes do."""
    directory = place() / str(next(_numbers))
    with simulated(topology, directory, seed, tells=story is not None, record=record) as world:
        try:
            for step in steps:
                world.do(step)
                if broken := world.broken():
                    return broken
            return calm.after(world)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        finally:
            if story is not None:
                story += world.story or []


def story(topology: Topology, seed: int, steps: History) -> list[str]:
    """What happens, in words."""
    reported: list[str] = []
    wrong_after(topology, seed, steps, reported)
    return reported


def history(topology: Topology, seed: int, workload: Workload | None = None, without: Collection[str] = ()) -> History:
    """The history of that seed, `without` the steps of these kinds."""
    thrown = (workload or topology.workload).history(seed, len(topology.clusters))
    return tuple(step for step in thrown if step.kind not in without)


def find(
    topology: Topology, seed: int, workload: Workload | None = None, without: Collection[str] = ()
) -> Found | None:
    """Run the history of that seed, `without` the steps of these kinds."""
    steps = history(topology, seed, workload, without)
    wrong = wrong_after(topology, seed, steps)
    return Found(topology, seed, steps, wrong) if wrong else None


def shrunk(found: Found) -> Found:
    """The same with as few steps as still go wrong in that way."""
    shorter: Found | None = found
    while shorter is not None:
        found, shorter = shorter, next(_shorter(shorter), None)
    return found


def _shorter(found: Found) -> Iterator[Found]:
    for steps in _candidates(found.steps):
        wrong = wrong_after(found.topology, found.seed, steps)
        if wrong and _way(wrong) == _way(found.wrong):
            yield Found(found.topology, found.seed, steps, wrong)


def _way(wrong: str) -> str:
    return wrong.partition(":")[0]


def _candidates(steps: History) -> Iterator[History]:
    size = len(steps) // 2
    while size:
        for start in range(0, len(steps), size):
            yield steps[:start] + steps[start + size :]
        size //= 2
    for at, step in enumerate(steps):
        if step.within:
            yield (*steps[:at], *step.within, *steps[at + 1 :])
