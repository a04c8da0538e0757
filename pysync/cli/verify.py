"""`pysync verify`: is a target what the source is, and if not, make it so."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from pysync.base import logs
from pysync.base.errors import UsageError
from pysync.base.text import count, duration, nearest
from pysync.cli.arguments import database_or_table, path
from pysync.cli.ends import assert_ends_answer
from pysync.cli.output import (
    AsJson,
    ConfigFile,
    ShowProgress,
    chosen,
    echo,
    offered_tables,
    one_target,
    print_json,
    print_table,
    progress_bar,
    write_private,
)
from pysync.cli.progress import refusals
from pysync.config import Config, load_config
from pysync.control.client import ask
from pysync.jobs.repairing import have_compared_again, have_recorded, repair, wait_for_repair
from pysync.jobs.verifying import Verification
from pysync.targets.settings import TargetSettings
from pysync.verify.compare import FOREIGN, Selection
from pysync.verify.report import Report, by_database, junit, numbers_of
from pysync.web.server import assert_installed

_MOST_FOREIGN = 20

_Data = Annotated[
    bool, typer.Option("--data", help="Also compare the data files of targets with copy = true, with Spark.")
]
_Repair = Annotated[
    bool, typer.Option("--repair", help="Have the running sidecar repair the differences, and compare again.")
]
_Junit = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", parser=path, help="Also write the result to FILE, as JUnit XML."),
]
_Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", parser=path, help="Also write the result to FILE, as one HTML page."),
]


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(verify)


def verify(
    config: ConfigFile,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            parser=database_or_table,
            autocompletion=offered_tables,
            metavar="DB|DB.TABLE",
            help="Compare only these, by their names at the source.",
        ),
    ] = None,
    *,
    target: Annotated[str | None, one_target("Compare only this target. Default: all targets.")] = None,
    data: _Data = False,
    fix: _Repair = False,
    junit_file: _Junit = None,
    html_file: _Html = None,
    as_json: AsJson = False,
) -> None:
    """Compare source and targets: databases, tables, partitions, functions and constraints, field by field.

    The comparison follows policy, renames and the rules for writing the target. These are reported, but are no drift:
    properties that this kind of target cannot hold, suppressed drops, and objects that others created there. Changes
    that are still in the queue look like drift: verify while the source is idle, or let the sidecar do it ([verify]
    every).

    With --data every data file is compared, too, as the copy settings of the target say (name and size, and time or
    checksum). A repair then copies files that are missing or differ, and removes extra files if drops are applied.

    Exit code 0 if there is no drift (or none after --repair), 1 if there is drift, 2 for wrong arguments.
    """
    loaded = load_config(config)
    logs.configure("error", "console")
    if html_file is not None:
        assert_installed("--html")
    selection = Selection.parse(names or [])
    targets = _targets(config, loaded, target)
    if data:
        targets = _copying(config, targets)
    if fix:
        ask(loaded.queue.directory, "status")  # there must be a sidecar to do it: fail now, not after the comparison
    assert_ends_answer(loaded, targets)
    reports = [_verified(Verification(loaded, it, data=data), selection, fix=fix) for it in targets]
    _mind_unknown(selection, reports)
    if junit_file is not None:
        write_private(junit_file, junit(reports), "--junit")
    if html_file is not None:
        write_private(html_file, _html(loaded, reports), "--html")
    if as_json:
        print_json({"drift": sum(len(it.drift) for it in reports), "targets": [it.as_json() for it in reports]})
    else:
        for report in reports:
            _print(report)
    if fix:
        _print_refusals(loaded, [it.target for it in reports if it.drift])
    if any(report.drift for report in reports):
        raise typer.Exit(1)


def _targets(file: Path, loaded: Config, name: str | None) -> list[TargetSettings]:
    return chosen(file, name, loaded.targets)


def _copying(file: Path, targets: list[TargetSettings]) -> list[TargetSettings]:
    copying = [it for it in targets if it.copy_files is not None]
    if not copying:
        raise UsageError(f"--data: no target in {file} copies files", "set copy = true in a [[targets]] table")
    return copying


def _verified(verification: Verification, selection: Selection | None, *, fix: bool) -> Report:
    began, began_at = time.monotonic(), time.time()
    with progress_bar(verification.settings.name) as show:
        report = Report(verification.settings.name, verification.settings.kind, list(verification.run(selection, show)))
        if selection is None and not verification.data:
            have_recorded(verification.config, report, (began_at, time.time()))
        if fix and report.drift:
            _mend(verification, report, show)
    report.seconds = time.monotonic() - began
    return report


def _mend(verification: Verification, report: Report, show: ShowProgress) -> None:
    repair(
        verification.config,
        report.target,
        verification.for_sidecar(report.drift),
        lambda state: show(f"repair: {state}", 0, 0),
    )
    verification.copy_files(report.drift, show)
    for _ in wait_for_repair(verification.config, report.target):
        report.replace(list(verification.run(report.again(), show)))
        if not report.drift:
            have_compared_again(verification.config, report.target)
            return


def _mind_unknown(selection: Selection | None, reports: Sequence[Report]) -> None:
    """Refuse a name that is nothing's: what is misspelt must not pass for equal."""
    there = {item.source for report in reports for item in report.compared}
    unknown = selection.not_among(there) if selection else []
    if unknown:
        near = nearest(unknown[0], there)
        hint = f"did you mean {near}?" if near else "use the name at the source"
        raise UsageError(f"no object {unknown[0]} is in the scope of a target", hint)


def _html(loaded: Config, reports: Sequence[Report]) -> bytes:
    """The page of all reports."""
    from pysync.web.verify_report import verify_html  # noqa: PLC0415 - an extra

    documents = [{**it.as_json(), "databases": by_database(numbers_of(it.compared), it.drift)} for it in reports]
    return verify_html(loaded.source.name, documents, time.time()).encode()


def _print(report: Report) -> None:
    rows = list(_rows(report))
    if rows:
        print_table(f"drift of {report.target}", ("kind", "name", "result", "difference"), rows)
    _print_excused(report)
    parts = [count(len(report.compared), "object"), count(report.partitions, "partition")]
    parts.append(f"{len(report.drift):,} drifted" if report.drift else "no drift")
    echo(f"{report.target}: {', '.join(parts)}; {duration(report.seconds)}")


def _print_refusals(loaded: Config, targets: Sequence[str]) -> None:
    """What these targets hold or have parked, so that a repair left drift."""
    if targets:
        for it in ask(loaded.queue.directory, "status")["targets"]:
            if it["name"] in targets:
                for words in refusals(it):
                    echo(words, err=True)


def _rows(report: Report) -> Iterator[Sequence[str]]:
    for item in report.drift:
        yield (item.kind, item.name, item.result, "\n".join(item.fields))


def _print_excused(report: Report) -> None:
    """What differs, and may: one line each, those of others no more than some."""
    others = [item for item in report.excused if item.result == FOREIGN]
    for item in [*(it for it in report.excused if it.result != FOREIGN), *others[:_MOST_FOREIGN]]:
        echo(f"no drift: {item.kind} {item.name} is {item.result}: {item.excuse}")
    if len(others) > _MOST_FOREIGN:
        echo(
            f"no drift: {len(others) - _MOST_FOREIGN:,} more objects that are not from this source (--json lists them)"
        )
