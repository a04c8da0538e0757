"""`python -m tests.chaos`: every scenario, and what became of its events.

On other versions of Hive than the embedded one: `--source 3.1.3 --target 4.1.0` (tests/versions/releases.py has all).
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.chaos.scenarios import Scenario, all_scenarios, perform
from tests.chaos.stand import Setup, Stand, chaos_stand
from tests.versions.releases import RELEASES, NotBrought

_COLUMNS = ("calls", "events committed", "unanswered", "applied", "healed", "lost", "seconds")


def main() -> int:
    """Run what is asked for and print the table; 1 when anything was lost or went wrong."""
    asked = _arguments()
    chosen = [it for it in all_scenarios(asked.rounds, asked.power_cuts) if any(text in it.name for text in asked.only)]
    if missing := _not_brought(asked.source, asked.target):
        print(f"chaos from Hive {asked.source} to {asked.target} is left out: {missing}")  # noqa: T201
        return 0
    shown = Table("scenario", "rounds", title=f"chaos: Hive {asked.source} -> {asked.target}")
    for column in _COLUMNS:
        shown.add_column(column, justify="right")
    console = Console(width=140)
    with tempfile.TemporaryDirectory(prefix="pysync-chaos-") as directory:
        bad = _until_stopped(Path(directory), chosen, shown, console, asked)
    console.print(shown)
    for line in bad:
        console.print(line, markup=False)
    return 1 if bad else 0


def _not_brought(*versions: str) -> str:
    """Why a release is not on this machine; "" if all are."""
    try:
        for version in versions:
            if version in RELEASES:
                RELEASES[version].bring()
    except NotBrought as error:
        return str(error)
    return ""


def _until_stopped(
    directory: Path, chosen: list[Scenario], shown: Table, console: Console, asked: argparse.Namespace
) -> list[str]:
    """What went wrong; whoever stops it sees the table so far, and no mount is left behind."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for durable in (False, True):
            its = [scenario for scenario in chosen if scenario.durable is durable]
            if its and (bad := _run(directory / str(durable), its, shown, console, asked)):
                return bad
    except KeyboardInterrupt:
        return ["stopped before the end"]
    return []


def _run(
    directory: Path, chosen: list[Scenario], shown: Table, console: Console, asked: argparse.Namespace
) -> list[str]:
    """What went wrong on one stand; all that is chosen for it are durable, or none."""
    bad: list[str] = []
    directory.mkdir()
    setup = Setup(asked.source, asked.target, durable=chosen[0].durable)
    with chaos_stand(directory, console.print, setup) as stand:
        for at, scenario in enumerate(chosen, 1):
            console.print(f"{at} of {len(chosen)}: {scenario.name}", markup=False)
            if scenario.needs_disks and stand.no_disks:
                shown.add_row(scenario.name, "", f"skipped: {stand.no_disks}")
            elif failure := _row(stand, scenario, shown, asked.seed):
                bad.append(failure)
                break  # the stand is not in order any more: what came after would say nothing
    return bad


def _row(stand: Stand, scenario: Scenario, shown: Table, seed: int) -> str:
    """Add the scenario's row; what is wrong with it, or ""."""
    began = time.monotonic()
    try:
        tally = perform(stand, scenario, seed)
    except AssertionError as error:
        shown.add_row(scenario.name, str(scenario.rounds), "FAILED")
        return f"{scenario.name}: {error}"
    numbers = (tally.calls, tally.committed, tally.unanswered, tally.applied, tally.healed, tally.lost)
    seconds = f"{time.monotonic() - began:.0f}"
    shown.add_row(scenario.name, str(scenario.rounds), *map(str, numbers), seconds)
    return f"{scenario.name}: {tally.lost} events lost" if tally.lost else ""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each crash point is come by (default 3)")
    parser.add_argument("--power-cuts", type=int, default=20, help="default 20")
    parser.add_argument("--only", nargs="+", default=[""], help="only the scenarios whose names hold one of these")
    versions = ["2.3.10", *RELEASES]
    parser.add_argument("--source", default="2.3.10", choices=versions, help="its Hive (default: the embedded one)")
    parser.add_argument("--target", default="2.3.10", choices=versions, help="its Hive (default: the embedded one)")
    parser.add_argument("--seed", type=int, default=0, help="of everything that is left to chance")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
