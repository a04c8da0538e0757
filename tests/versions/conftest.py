"""The table that `make test SUITE=versions` ends with."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

import pytest

from pysync.base.jars import listener_jar


@dataclass(frozen=True, slots=True)
class Row:
    """One pair of versions: what was sent, what was compared, what differed."""

    pair: str
    statements: int
    objects: int
    partitions: int
    known: int
    unknown: int
    seconds: float


@dataclass(slots=True)
class Report:
    """What is printed at the end."""

    rows: list[Row] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    files: dict[str, dict[str, bool]] = field(default_factory=dict)  # by version and drop: whether its files went
    looks: dict[str, list[int]] = field(default_factory=dict)  # by file system and layout: see _LOOKS


_REPORT = pytest.StashKey[Report]()
_LOOKS = ("looks of a reader", "overwrites", "one version", "two", "file missing", "other number")
_HEAD = ("source -> target", "statements", "objects", "partitions", "known", "unknown", "seconds")


@pytest.fixture(scope="session")
def report(request: pytest.FixtureRequest) -> Report:
    """What the tests add their rows to."""
    return request.config.stash.setdefault(_REPORT, Report())


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    report = config.stash.get(_REPORT, None)
    if report is None:
        return
    jar = listener_jar()
    terminalreporter.section("versions")
    terminalreporter.write_line(f"listener: {jar.name}, sha256 {hashlib.sha256(jar.read_bytes()).hexdigest()}")
    for cells in (_HEAD, *(astuple(row) for row in report.rows)):
        terminalreporter.write_line(
            "".join(f"{cell!s:<20}" if at == 0 else f"{cell!s:>12}" for at, cell in enumerate(cells))
        )
    _write_files(terminalreporter, report.files)
    for cells in [_LOOKS, *((name, *numbers) for name, numbers in report.looks.items())] if report.looks else ():
        terminalreporter.write_line(f"{cells[0]:<20}" + "".join(f"{it!s:>14}" for it in cells[1:]))
    for version, why in report.missing.items():
        terminalreporter.write_line(f"not run: Hive {version}: {why}")


def _write_files(terminalreporter: Any, files: Mapping[str, Mapping[str, bool]]) -> None:
    """What each version did with the files of each drop."""
    if files:
        terminalreporter.write_line(f"{'files after a drop of':<48}" + "".join(f"{it:>10}" for it in files))
    for drop in next(iter(files.values()), {}):
        cells = ("deleted" if found[drop] else "kept" for found in files.values())
        terminalreporter.write_line(f"{drop:<48}" + "".join(f"{it:>10}" for it in cells))
