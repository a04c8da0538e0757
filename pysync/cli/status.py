"""`pysync status`: the state of the running sidecar, or of one of its targets."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from pysync.base.errors import PysyncError, UsageError
from pysync.base.health import Problem
from pysync.cli.arguments import database_or_table
from pysync.cli.grid import Line, Part, rendered, show
from pysync.cli.output import AsJson, ConfigFile, assert_target, offered, offered_tables, outline_of, print_json
from pysync.cli.status_object import has_problem, of_object
from pysync.cli.status_target import detail
from pysync.cli.status_text import overview
from pysync.control.client import ask

if TYPE_CHECKING:
    from rich.console import Console


_SECONDS = 2.0
_MOST_PROBLEMS = 8
"""A terminal cannot scroll while it is redrawn, and the targets have to be in sight."""

Target = Annotated[
    str | None,
    typer.Argument(metavar="TARGET", autocompletion=offered, help="Show everything about this target only."),
]
Object = Annotated[
    str | None,
    typer.Option(
        "--object",
        metavar="DB|DB.TABLE",
        parser=database_or_table,
        autocompletion=offered_tables,
        help="Show where this database or table is at the targets, or at TARGET.",
    ),
]
Watch = Annotated[bool, typer.Option("--watch", help="Repeat every 2 seconds, until Ctrl-C.")]


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(status)


def status(
    config: ConfigFile, target: Target = None, name: Object = None, watch: Watch = False, as_json: AsJson = False
) -> None:
    """Show the state of the running sidecar: problems, and each target's state, lag, backlog and parked events.

    With TARGET: the position, latency, rate, calls, errors, parked events and comparisons of that target.

    With --object: the event id of the source's notification log, the event up to which the database or table is at each
    target, its lag, and what it waits for. The name is that at the source.

    Exit code 0 if there is no problem, 1 if there is one or if no sidecar runs, 2 for a wrong configuration. With
    TARGET only the problems of that target count, with --object only those of the object. With --watch: 0 after Ctrl-C.

    The first lines name the problems: a target is paused, has parked events, fails, or has been waiting for longer than
    `status_grace`; a gap is open; a listener is lost, cannot deliver, or is refused; no listener has reported for
    `status_grace`; the disk of the queue is full.

    A listener is lost if it has not reported for [source] silence_seconds and its metastore did not report a shutdown.
    The lag of a target counts from the commit at the source, and includes changes that still wait in the listener.
    JSON format: docs/status.md.
    """
    outline = outline_of(config)
    assert_target(config, target, outline.targets)
    if watch and (as_json or name):
        raise UsageError(f"--watch and {'--json' if as_json else '--object'} exclude each other", "give one of them")
    if name is not None:
        _object(ask(outline.directory, "object", object=name, target=target), as_json)
        return
    if watch:
        _watch(lambda: _parts(outline.directory, ask(outline.directory, "status"), target, most=_MOST_PROBLEMS))
        return
    answer = ask(outline.directory, "status")
    if as_json:
        print_json(answer if target is None else _of(answer, target))
    else:
        show(_parts(outline.directory, answer, target))
    if any(target is None or it.concerns(target) for it in Problem.read(answer)):
        raise typer.Exit(1)


def _object(answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        show(list(of_object(answer)))
    if any(map(has_problem, answer["targets"])):
        raise typer.Exit(1)


def _of(answer: dict[str, Any], target: str) -> dict[str, Any]:
    """The target of that name. Raises PysyncError if the sidecar was started before the target was added."""
    for it in answer["targets"]:
        if it["name"] == target:
            return dict(it)
    raise PysyncError(f"the running sidecar has no target {target!r}", "restart it: it runs with an older pysync.toml")


def _parts(directory: Path, answer: dict[str, Any], target: str | None, most: int | None = None) -> list[Part]:
    if target is None:
        return list(overview(answer, time.time(), most))
    parked = _of(answer, target)["parked"]
    tables = ask(directory, "parked list", target=target)["tables"] if parked else []
    return list(detail(answer, target, tables, time.time()))


def _watch(parts: Callable[[], Iterable[Part]]) -> None:
    """Show the parts again and again: on a terminal in place, elsewhere one after the other. Ends with Ctrl-C."""
    from rich.console import Console  # noqa: PLC0415 - slow to load

    console = Console(highlight=False)
    try:
        if console.is_terminal and not console.is_dumb_terminal:
            _redraw(parts, console)
        while True:
            show([*_now(parts), Line()], console)
            sys.stdout.flush()
            time.sleep(_SECONDS)
    except KeyboardInterrupt:
        return


def _redraw(parts: Callable[[], Iterable[Part]], console: Console) -> NoReturn:
    from rich.console import Group  # noqa: PLC0415 - slow to load
    from rich.live import Live  # noqa: PLC0415

    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(Group(*(rendered(it, wraps=True) for it in _now(parts))), refresh=True)
            time.sleep(_SECONDS)


def _now(parts: Callable[[], Iterable[Part]]) -> list[Part]:
    """The parts as they are now, or why there are none: a sidecar that is restarted comes back."""
    title = f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S}  pysync status --watch, Ctrl-C ends"
    try:
        return [Line(title, "faint"), *parts()]
    except UsageError:
        raise
    except PysyncError as error:
        return [Line(title, "faint"), Line(str(error), "bad")]
