"""`make simulate`: many histories of every topology; each that goes wrong is told, as short as it gets.

python -m tests.simulation --histories 10000 [--topology one-way] [--from 0]
python -m tests.simulation --topology one-way --seed 775      one history, as it is and shrunk
... --without unheard power                                     no event gets lost
python -m tests.simulation --freeze DIR                       what every target did, as a file for each topology
python -m tests.simulation --compare OLD NEW                  which histories differ in two such directories
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from tests.simulation.freeze import differences, outcomes, path_of
from tests.simulation.history import FAULTS
from tests.simulation.run import Found, find, shrunk
from tests.simulation.stage import stage
from tests.simulation.topologies import TOPOLOGIES, Topology

_MOST_TOLD = 5
_MOST_NAMED = 100
_HISTORIES, _FROZEN_HISTORIES = 10_000, 2_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 1 where any went wrong, or differs."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if asked.compare:
        return _compare(*asked.compare)
    if asked.freeze and (asked.seed is not None or asked.without):
        parser.error("--freeze takes --from, --histories and --topology: the same histories for all")
    names = asked.topology or sorted(TOPOLOGIES)
    with stage():
        if asked.seed is not None:
            return max(_one(TOPOLOGIES[name], asked.seed, asked.without) for name in names)
        if asked.part:
            seeds = range(*map(int, asked.part.split(",")))
            topology = TOPOLOGIES[names[0]]
            return _frozen_part(topology, seeds) if asked.freeze else _part(topology, seeds, asked.without)
    histories = asked.histories or (_FROZEN_HISTORIES if asked.freeze else _HISTORIES)
    seeds = range(asked.first, asked.first + histories)
    if asked.freeze:
        return max(_freeze(name, seeds, asked.processes, asked.freeze) for name in names)
    return max(_all(name, seeds, asked.processes, asked.without) for name in names)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument(
        "--histories",
        type=int,
        help=f"of each topology (there are twelve); default: {_HISTORIES}, or {_FROZEN_HISTORIES}",
    )
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--topology", choices=sorted(TOPOLOGIES), action="append", help="this alone; may be repeated")
    parser.add_argument("--seed", type=int, help="this one history")
    parser.add_argument("--without", nargs="+", choices=FAULTS, default=[], help="faults that do not happen")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="default: one for each core")
    parser.add_argument("--freeze", type=Path, metavar="DIR", help="write there what every target did")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("OLD", "NEW"), help="two directories of --freeze")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    return parser


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
    parts = [range(seeds.start + number, seeds.stop, processes) for number in range(processes)]
    with ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile("w+")) for _ in parts]
        if not _run(name, parts, files, ["--without", *without] if without else []):
            return 1
        found = sorted(int(seed) for file in files for seed in file.read().split())
    wrong = f"{len(found)} went wrong, seeds {' '.join(map(str, found[:_MOST_NAMED]))}" if found else "none went wrong"
    print(f"{name}: {_speed(seeds, begun, processes)}, {wrong}", flush=True)
    return int(bool(found))


def _freeze(name: str, seeds: range, processes: int, directory: Path) -> int:
    """Write the file of one topology. Each process makes a part of it, in order."""
    begun = time.monotonic()
    directory.mkdir(parents=True, exist_ok=True)
    size = -(-len(seeds) // processes)
    parts = [seeds[at : at + size] for at in range(0, len(seeds), size)]
    with ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile("w+")) for _ in parts]
        if not _run(name, parts, files, ["--freeze", str(directory)]):
            return 1
        with path_of(directory, name).open("w") as whole:
            for file in files:
                shutil.copyfileobj(file, whole)
    print(f"{name}: {_speed(seeds, begun, processes)}", flush=True)
    return 0


def _frozen_part(topology: Topology, seeds: range) -> int:
    """Prints what the targets did in these histories."""
    for seed in seeds:
        print(*outcomes(topology, seed), sep="\n")
    return 0


def _run(name: str, parts: Sequence[range], files: Sequence[IO[str]], more: Sequence[str]) -> bool:
    """A process for each part prints into its file, which can be read then; False if one fails, and has printed why."""
    command = [sys.executable, "-m", "tests.simulation", "--topology", name, *more, "--part"]
    running = [
        subprocess.Popen([*command, f"{part.start},{part.stop},{part.step}"], stdout=file)
        for part, file in zip(parts, files, strict=True)
    ]
    codes = [process.wait() for process in running]
    for file in files:
        file.seek(0)
    return not any(codes)


def _speed(seeds: range, begun: float, processes: int) -> str:
    per_second = len(seeds) / (time.monotonic() - begun)
    return f"{len(seeds)} histories, {per_second:.0f} a second with {processes} processes"


def _compare(old: Path, new: Path) -> int:
    found = list(differences(old, new))
    print(*found or ["all histories are equal"], sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
