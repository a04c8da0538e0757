"""`python -m tests.chaos`: every scenario, and what became of its events."""

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
from tests.chaos.stand import Stand, chaos_stand

_COLUMNS = ("calls", "events committed", "applied", "healed", "lost", "seconds")


def main() -> int:
    """Run what is asked for and print the table; 1 when anything was lost or went wrong."""
    asked = _arguments()
    chosen = [it for it in all_scenarios(asked.rounds, asked.power_cuts) if any(text in it.name for text in asked.only)]
    shown = Table("scenario", "rounds", title="chaos")
    for column in _COLUMNS:
        shown.add_column(column, justify="right")
    console = Console(width=140)
    with tempfile.TemporaryDirectory(prefix="pysync-chaos-") as directory:
        bad = _until_stopped(Path(directory), chosen, shown, console, asked.seed)
    console.print(shown)
    for line in bad:
        console.print(line, markup=False)
    return 1 if bad else 0


def _until_stopped(directory: Path, chosen: list[Scenario], shown: Table, console: Console, seed: int) -> list[str]:
    """What went wrong; whoever stops it sees the table so far, and no mount is left behind."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _run(directory, chosen, shown, console, seed)
    except KeyboardInterrupt:
        return ["stopped before the end"]


def _run(directory: Path, chosen: list[Scenario], shown: Table, console: Console, seed: int) -> list[str]:
    bad: list[str] = []
    with chaos_stand(directory, console.print) as stand:
        for at, scenario in enumerate(chosen, 1):
            console.print(f"{at} of {len(chosen)}: {scenario.name}", markup=False)
            if scenario.needs_disks and stand.no_disks:
                shown.add_row(scenario.name, "", f"skipped: {stand.no_disks}")
            elif failure := _row(stand, scenario, shown, seed):
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
    numbers = (tally.calls, tally.committed, tally.applied, tally.healed, tally.lost)
    seconds = f"{time.monotonic() - began:.0f}"
    shown.add_row(scenario.name, str(scenario.rounds), *map(str, numbers), seconds)
    return f"{scenario.name}: {tally.lost} events lost" if tally.lost else ""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each crash point is come by (default 3)")
    parser.add_argument("--power-cuts", type=int, default=20, help="default 20")
    parser.add_argument("--only", nargs="+", default=[""], help="only the scenarios whose names hold one of these")
    parser.add_argument("--seed", type=int, default=0, help="of everything that is left to chance")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
