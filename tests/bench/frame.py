"""The frame of the benchmarks: what a row is, how rows are written and shown."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

OUTPUT = Path("build") / "bench"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Row:
    """One measure. `baseline` is what it is compared with, measured in the same run and in the same unit.

    `goal` is the largest value that is good enough (the smallest, where `more_is_better`); None where there is none.
    """

    measure: str
    value: float
    unit: str
    baseline: float | None = None
    goal: float | None = None
    more_is_better: bool = False

    @property
    def ratio(self) -> float | None:
        """Value over baseline."""
        return self.value / self.baseline if self.baseline else None

    @property
    def ok(self) -> bool | None:
        """Whether the goal is reached; None without one."""
        if self.goal is None:
            return None
        return self.value >= self.goal if self.more_is_better else self.value <= self.goal

    def as_json(self) -> dict[str, object]:
        """As in build/bench/NAME.json."""
        plain = asdict(self)
        del plain["more_is_better"]
        return {**plain, "ratio": self.ratio, "ok": self.ok}


def percentile(values: Sequence[float], percent: int) -> float:
    """The value below which `percent` (1 to 99) of the values lie."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def write(name: str, rows: Sequence[Row]) -> Path:
    """Write build/bench/NAME.json; returns its path."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    path = OUTPUT / f"{name}.json"
    path.write_text(json.dumps([row.as_json() for row in rows], indent=2) + "\n")
    return path


def show(name: str, rows: Sequence[Row]) -> None:
    """Print the rows as a table."""
    table = Table("measure", "value", "unit", "baseline", "ratio", "goal", "ok", title=f"bench {name}")
    for row in rows:
        cells = (row.value, row.unit, row.baseline, row.ratio, row.goal, row.ok)
        table.add_row(row.measure, *(_cell(cell) for cell in cells))
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
