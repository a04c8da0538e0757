"""`pysync verify`: is a target what the source is, and if not, make it so."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from pysync.cli.output import AsJson, ConfigFile, print_json, print_table
from pysync.config import Config, load_config
from pysync.errors import UsageError
from pysync.service.control import ask
from pysync.service.repairing import looks, repair
from pysync.service.verifying import comparison
from pysync.targets.settings import TargetSettings
from pysync.verify.compare import FOREIGN, Comparison, Selection
from pysync.verify.report import Report, junit

_MOST_FOREIGN = 20


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(verify)


def verify(
    config: ConfigFile,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DATABASE|DATABASE.TABLE]...", help="Only these, by their names at the source."),
    ] = None,
    *,
    target: Annotated[str | None, typer.Option("--target", help="Only this target; all unless given.")] = None,
    fix: Annotated[
        bool, typer.Option("--repair", help="Have the running sidecar mend what has drifted, and look again.")
    ] = False,
    junit_file: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the result there too, as JUnit XML.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare source and targets: databases, tables, partitions, functions and constraints, field by field.

    Through policy and rewrite, and by the rules by which the target is written: what a kind of target cannot hold is no
    drift, nor are drops that are suppressed, nor what others have made there; that is told. Changes that are still on
    their way do look like drift: verify a source at rest, or let the sidecar do it ([verify] every).

    Exit code 0 if there is no drift (or none left after --repair), 1 if there is, 2 for wrong arguments.
    """
    loaded = load_config(config)
    selection = Selection.parse(names or [])
    if fix:
        ask(loaded.queue.directory, "status")  # there must be one to do it: better told now than after the comparison
    reports = [_verified(loaded, it, selection, fix=fix) for it in _targets(config, loaded, target)]
    _mind_unknown(selection, reports)
    if junit_file is not None:
        _write(junit_file, junit(reports))
    if as_json:
        print_json({"drift": sum(len(it.drift) for it in reports), "targets": [it.as_json() for it in reports]})
    else:
        for report in reports:
            _print(report)
    if any(report.drift for report in reports):
        raise typer.Exit(1)


def _targets(path: Path, loaded: Config, name: str | None) -> list[TargetSettings]:
    found = [it for it in loaded.targets if name in {None, it.name}]
    if not found:
        known = ", ".join(it.name for it in loaded.targets)
        raise UsageError(f"{path} has no target {name!r}", f"it has: {known}")
    return found


def _verified(loaded: Config, settings: TargetSettings, selection: Selection | None, *, fix: bool) -> Report:
    began = time.monotonic()
    compare = comparison(loaded, settings)
    with _shown(settings.name) as bar:
        report = Report(settings.name, settings.kind, list(bar.follow(compare, selection)))
        if fix and report.drift:
            _mend(loaded, compare, report, bar)
    report.seconds = time.monotonic() - began
    return report


def _mend(loaded: Config, compare: Comparison, report: Report, bar: _Bar) -> None:
    repair(loaded, report.target, report.drift, lambda state: bar.say(f"repair: {state}"))
    for _ in looks(loaded, report.target):
        report.looked_again(list(bar.follow(compare, report.again())))
        if not report.drift:
            return


def _mind_unknown(selection: Selection | None, reports: Sequence[Report]) -> None:
    """Refuse a name that is nothing's: what is misspelt must not pass for equal."""
    there = {item.source for report in reports for item in report.compared}
    unknown = selection.not_among(there) if selection else []
    if unknown:
        raise UsageError(f"nothing in the scope of a target is called {unknown[0]}", "name it as the source does")


class _Bar:
    """The progress bar of one target."""

    def __init__(self, progress: Progress, target: str) -> None:
        self._progress = progress
        self._target = target
        self._task = progress.add_task(target, total=None)

    def follow(self, compare: Comparison, selection: Selection | None) -> Iterator[Any]:
        """What the comparison gives, while the bar tells how far it is."""
        return compare.run(selection, self._tell)

    def say(self, state: str) -> None:
        """Show a few words."""
        self._progress.update(self._task, description=f"{self._target}: {state}", total=None)

    def _tell(self, what: str, done: int, total: int) -> None:
        self._progress.update(self._task, description=f"{self._target}: {what}", completed=done, total=total)


@contextmanager
def _shown(target: str) -> Iterator[_Bar]:
    """A progress bar on standard error, where that is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as progress:
        yield _Bar(progress, target)


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", "name another --junit FILE") from error


def _print(report: Report) -> None:
    rows = list(_rows(report))
    if rows:
        print_table(f"drift of {report.target}", ("kind", "name", "result", "what"), rows)
    _print_told(report)
    parts = [f"{len(report.compared):,} objects", f"{report.partitions:,} partitions"]
    parts.append(f"{len(report.drift):,} drifted" if report.drift else "no drift")
    typer.echo(f"{report.target}: {', '.join(parts)}; {report.seconds:.1f} s")


def _rows(report: Report) -> Iterator[Sequence[str]]:
    for item in report.drift:
        yield (item.kind, item.name, item.result, "\n".join(item.fields))


def _print_told(report: Report) -> None:
    """What differs, and may: one line each, those of others no more than some."""
    others = [item for item in report.told if item.result == FOREIGN]
    for item in [*(it for it in report.told if it.result != FOREIGN), *others[:_MOST_FOREIGN]]:
        typer.echo(f"no drift: {item.kind} {item.name} is {item.result}: {item.told}")
    if len(others) > _MOST_FOREIGN:
        typer.echo(f"no drift: {len(others) - _MOST_FOREIGN:,} more that are not of this source (--json lists them)")
