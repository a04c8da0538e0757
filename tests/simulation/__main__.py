"""`make simulate`: many histories of every topology; each that goes wrong is told, as short as it gets.

python -m tests.simulation --histories 10000 [--topology one-way] [--from 0]
python -m tests.simulation --topology one-way --seed 775      one history, as it is and shrunk
... --without unheard power                                     no event gets lost
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence

from tests.simulation.history import FAULTS
from tests.simulation.run import Found, find, shrunk
from tests.simulation.stage import stage
from tests.simulation.topologies import TOPOLOGIES, Topology

_MOST_TOLD = 5
_MOST_NAMED = 100


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 1 where any went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--histories", type=int, default=10_000, help="of each topology (there are ten)")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--topology", choices=sorted(TOPOLOGIES), action="append", help="this alone; may be repeated")
    parser.add_argument("--seed", type=int, help="this one history")
    parser.add_argument("--without", nargs="+", choices=FAULTS, default=[], help="faults that do not happen")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="default: one for each core")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    names = asked.topology or sorted(TOPOLOGIES)
    with stage():
        if asked.seed is not None:
            return max(_one(TOPOLOGIES[name], asked.seed, asked.without) for name in names)
        if asked.part:
            return _part(TOPOLOGIES[names[0]], range(*map(int, asked.part.split(","))), asked.without)
    seeds = range(asked.first, asked.first + asked.histories)
    return max(_all(name, seeds, asked.processes, asked.without) for name in names)


def _one(topology: Topology, seed: int, without: Sequence[str]) -> int:
    found = find(topology, seed, without=without)
    for it in [found, shrunk(found)] if found else []:
        print(it.as_text(), end="\n\n")
    return int(found is not None)


def _part(topology: Topology, seeds: range, without: Sequence[str]) -> int:
    """Run these histories; prints the seeds of those that went wrong, the stories of the first on stderr."""
    wrong = []
    for found in filter(None, (find(topology, seed, without=without) for seed in seeds)):
        wrong.append(found.seed)
        if len(wrong) <= _MOST_TOLD:
            print(_told(found, without), file=sys.stderr, flush=True)
    print(*wrong)
    return 0


def _told(found: Found, without: Sequence[str]) -> str:
    again = f"python -m tests.simulation --topology {found.topology.name} --seed {found.seed}"
    again += f" --without {' '.join(without)}" if without else ""
    return f"{shrunk(found).as_text()}\nagain: {again}\n"


def _all(name: str, seeds: range, processes: int, without: Sequence[str]) -> int:
    """The seeds are dealt out to the processes in turn."""
    begun = time.monotonic()
    parts = [f"{seeds.start + number},{seeds.stop},{processes}" for number in range(processes)]
    faults = ["--without", *without] if without else []
    command = [sys.executable, "-m", "tests.simulation", "--topology", name, *faults, "--part"]
    running = [subprocess.Popen([*command, part], stdout=subprocess.PIPE, text=True) for part in parts]
    found = sorted(int(seed) for process in running for seed in process.communicate()[0].split())
    per_second = len(seeds) / (time.monotonic() - begun)
    if any(process.returncode for process in running):
        return 1  # it has printed why
    wrong = f"{len(found)} went wrong, seeds {' '.join(map(str, found[:_MOST_NAMED]))}" if found else "none went wrong"
    print(f"{name}: {len(seeds)} histories, {per_second:.0f} a second with {processes} processes, {wrong}", flush=True)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
