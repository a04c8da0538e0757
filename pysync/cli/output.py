"""How commands print: a table for people, JSON for machines; `--json` is beside every table."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

from pysync.base.errors import PysyncError, UsageError
from pysync.base.rights import write_own
from pysync.base.text import meant, plain, quoted
from pysync.cli.arguments import path
from pysync.control.client import ask, ask_if_running
from pysync.sections import Outline, load_outline, readable_outline
from pysync.targets.settings import TargetSettings

ShowProgress = Callable[[str, int, int], None]
"""Shows what is done now, and how much of how much; 0: that is not known."""

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
_COMPLETION_SECONDS = 2.0
_OFFERED = re.compile(r"[\w@#.-]+")
_ANY = 100_000  # a width that no table has
_OPENED = ("/dev/stdout", "/dev/stderr", "/dev/fd/")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def offered(context: typer.Context, incomplete: str) -> list[str]:
    """Return the targets that the shell offers; none if the configuration cannot be read."""
    try:
        known = load_outline(Path(context.params.get("config") or DEFAULT_CONFIG)).targets
    except PysyncError:
        return []
    return [name for name in known if name.startswith(incomplete)]


def offered_tables(context: typer.Context, incomplete: str) -> list[str]:
    """Return the databases and tables of the source that the shell offers; none if the sidecar does not say them soon.

    Of names with other characters none either: the shell would take them for its own.
    """
    try:
        directory = load_outline(Path(context.params.get("config") or DEFAULT_CONFIG)).directory
        names = ask(directory, "names", answer_seconds=_COMPLETION_SECONDS, begin=incomplete)["names"]
    except PysyncError:
        return []
    return [it for it in names if _OFFERED.fullmatch(it)]


TargetName = Annotated[
    str, typer.Argument(metavar="TARGET", autocompletion=offered, help="Name of the target in pysync.toml.")
]


def one_target(text: str) -> Any:
    """The option `--target` of a command that else is about all targets, or that needs one."""
    return typer.Option("--target", metavar="TARGET", autocompletion=offered, help=text)


def ask_about(config: Path, target: str | None, command: str, **arguments: Any) -> dict[str, Any]:
    """What the running sidecar answers about a target (None: all). Raises UsageError when there is no such target."""
    outline = outline_of(config)
    assert_target(config, target, outline.targets)
    return ask(outline.directory, command, target=target, **arguments)


def outline_of(config: Path) -> Outline:
    """The outline of the file. Of one that is wrong what can be read, if its sidecar runs: that can be asked.

    Raises UsageError for a file that is wrong where no sidecar runs, or that does not say where it does.
    """
    try:
        return load_outline(config)
    except UsageError:
        outline = readable_outline(config)
        if outline is None or ask_if_running(outline.directory, "status") is None:
            raise
        return outline


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
        echo(f"pysync: {line}", err=True)


def echo(line: str, *, err: bool = False) -> None:
    """Print a line, on standard error if asked to; what came from outside cannot steer the terminal."""
    typer.echo(plain(line), err=err)


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], styles: Mapping[str, str] = MappingProxyType({})
) -> None:
    """A table with a title; None is shown as nothing, and text as it is: brackets are no markup.

    `styles` are rich's, of the values of the first column; colours are for terminals alone.
    On a terminal cells are folded. In a pipe they are not, so that grep finds whole names.
    """
    from rich.box import ROUNDED  # noqa: PLC0415 - slow to load, and with --json nothing needs it
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(title=Text(plain(title)), title_justify="left", box=ROUNDED, show_header=any(columns))
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        texts = [Text("" if cell is None else plain(str(cell))) for cell in row]
        texts[0].stylize(styles.get(texts[0].plain, ""))
        table.add_row(*texts)
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        whole = console.measure(table, options=console.options.update(max_width=_ANY)).maximum
        console.width = max(console.width, whole)
    console.print(table)


MOST_NAMES = 20
"""So many names of a long list are printed; `--json` has all."""


def name_rows(what: str, names: Sequence[str]) -> list[tuple[str | None, str]]:
    """Rows of `print_table` with what happens to objects, and their names; only the first of many."""
    rows: list[tuple[str | None, str]] = [(None if at else what, name) for at, name in enumerate(names[:MOST_NAMES])]
    return [*rows, (None, f"and {len(names) - MOST_NAMES} more: --json")] if len(names) > MOST_NAMES else rows


def print_lacks(plan: Mapping[str, Any]) -> None:
    """Say what the target of a plan cannot hold or do."""
    for what, reason in plan["lacks"].items():
        echo(f"{plan['target']} has no {what}: {reason}")


def print_changes(path: Path, changes: Iterable[object]) -> None:
    """What an edit of a file changes, a line each."""
    for change in changes:
        echo(f"{path}: {change}")


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """A line on standard error that shows, while the block runs, the last text it was given."""
    from rich.console import Console  # noqa: PLC0415 - as in print_table
    from rich.text import Text  # noqa: PLC0415

    with Console(stderr=True).status(Text(plain(what))) as status:
        yield lambda state: status.update(Text(plain(f"{what}: {state}")))


@contextmanager
def progress_bar(title: str = "") -> Iterator[ShowProgress]:
    """A bar on standard error, where that is a terminal: what is done now, and how much of how much."""
    from rich.console import Console  # noqa: PLC0415 - as in print_table
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    console, is_off = Console(stderr=True), not sys.stderr.isatty()
    with Progress(*columns, console=console, transient=True, disable=is_off) as bars:
        task = bars.add_task(title, total=None)

        def show(what: str, done: int, total: int) -> None:
            description = plain(f"{title}: {what}" if title else what)
            bars.update(task, description=description, completed=done, total=total or None)

        yield show


def write_private(file: Path, data: bytes, option: str, *, overwrites: bool = True) -> None:
    """Write a file that only this user may read, or what the shell has opened, such as /dev/stdout.

    Raises UsageError where that cannot be done, and, unless it `overwrites`, where the file has another content;
    `option` is the one that names the file.
    """
    try:
        if str(file).startswith(_OPENED):
            file.write_bytes(data)
        else:
            write_own(file, data, mode=0o600, replaces=overwrites)
    except FileExistsError as error:
        if not file.is_file() or file.read_bytes() != data:
            raise UsageError(f"{file} exists and has another content", f"name another file: {option} FILE") from error
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}", f"give another {option} FILE") from error


def counts(values: Mapping[str, int]) -> str:
    """`applied 12, skipped 3`."""
    return ", ".join(f"{name} {count}" for name, count in values.items())
