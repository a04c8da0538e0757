"""How commands print: a table for people, JSON for machines; `--json` is beside every table."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from pysync.base.errors import PysyncError, UsageError
from pysync.base.text import meant, plain, quoted
from pysync.cli.arguments import path
from pysync.control.client import ask
from pysync.sections import load_outline
from pysync.targets.settings import TargetSettings

DEFAULT_CONFIG = Path("/etc/pysync/pysync.toml")
ConfigFile = Annotated[
    Path,
    typer.Option(
        "-c",
        "--config",
        metavar="FILE",
        parser=path,
        envvar="PYSYNC_CONFIG",
        default_factory=lambda: DEFAULT_CONFIG,
        show_default=False,
        help=f"Configuration file. Default: {DEFAULT_CONFIG}. conf/pysync.toml explains every key.",
    ),
]
_ANY = 100_000  # a width that no table has
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def offered(context: typer.Context, incomplete: str) -> list[str]:
    """Return the targets that the shell offers; none if the configuration cannot be read."""
    try:
        known = load_outline(Path(context.params.get("config") or DEFAULT_CONFIG)).targets
    except PysyncError:
        return []
    return [name for name in known if name.startswith(incomplete)]


TargetName = Annotated[
    str, typer.Argument(metavar="TARGET", autocompletion=offered, help="Name of the target in pysync.toml.")
]


def one_target(text: str) -> Any:
    """The option `--target` of a command that else is about all targets, or that has to be told."""
    return typer.Option("--target", metavar="TARGET", autocompletion=offered, help=text)


def ask_about(config: Path, target: str | None, command: str, **arguments: Any) -> dict[str, Any]:
    """What the running sidecar answers about a target (None: all). Raises UsageError when there is no such target."""
    outline = load_outline(config)
    assert_target(config, target, outline.targets)
    return ask(outline.directory, command, target=target, **arguments)


def assert_target(config: Path, target: str | None, known: Collection[str]) -> None:
    """Raises UsageError where the target (None: all of them) is not among those in the configuration file."""
    if target is not None and target not in known:
        raise UsageError(f"{config} has no target {quoted(target)}", meant(target, known, "its targets"))


def chosen(config: Path, target: str | None, targets: Iterable[TargetSettings]) -> list[TargetSettings]:
    """The target of that name, or all that are enabled. Raises UsageError for an unknown name, and if all are off."""
    known = {it.name: it for it in targets}
    assert_target(config, target, known)
    selected = [it for name, it in known.items() if name == target or (target is None and it.enabled)]
    if not selected:
        raise UsageError(f"all targets in {config} are disabled", "pysync target enable TARGET, or name one: --target")
    return selected


def print_json(value: Any) -> None:
    """One JSON value, indented."""
    typer.echo(json.dumps(value, indent=2))


def complain(problems: str) -> None:
    """Print problems on standard error, one a line."""
    for line in problems.splitlines():
        say(f"pysync: {line}", err=True)


def say(line: str, *, err: bool = False) -> None:
    """Print a line, on standard error if asked to; what came from outside cannot steer the terminal."""
    typer.echo(plain(line), err=err)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table with a title; None is shown as nothing, and text as it is: brackets are no markup.

    On a terminal cells are folded. In a pipe they are not, so that grep finds whole names.
    """
    from rich.box import ROUNDED  # noqa: PLC0415 - slow to load, and with --json nothing needs it
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(title=Text(plain(title)), title_justify="left", box=ROUNDED)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if cell is None else plain(str(cell))) for cell in row))
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        whole = console.measure(table, options=console.options.update(max_width=_ANY)).maximum
        console.width = max(console.width, whole)
    console.print(table)


def print_changes(path: Path, changes: Iterable[object]) -> None:
    """What an edit of a file changes, a line each."""
    for change in changes:
        say(f"{path}: {change}")


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """A line on standard error that tells, while the block runs, what it was told last."""
    from rich.console import Console  # noqa: PLC0415 - as in print_table
    from rich.text import Text  # noqa: PLC0415

    with Console(stderr=True).status(Text(plain(what))) as status:
        yield lambda state: status.update(Text(plain(f"{what}: {state}")))


def counts(values: Mapping[str, int]) -> str:
    """`applied 12, skipped 3`."""
    return ", ".join(f"{name} {count}" for name, count in values.items())
