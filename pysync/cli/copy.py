"""`pysync copy`: the data files of everything in scope, copied now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from pysync.base import logs
from pysync.base.errors import UsageError
from pysync.base.text import count, meant, quoted
from pysync.cli.arguments import table
from pysync.cli.output import AsJson, ConfigFile, echo, offered_tables, one_target, print_json
from pysync.config import load_config
from pysync.copy.copy_round import Copied
from pysync.jobs.copying import CopyRequest, RefusedTable, copy_now
from pysync.model.names import TableName


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(copy)


def copy(
    config: ConfigFile,
    tables: Annotated[
        list[TableName] | None,
        typer.Argument(
            metavar="DB.TABLE",
            parser=table,
            autocompletion=offered_tables,
            help="Copy only these tables. Default: everything in scope.",
        ),
    ] = None,
    target: Annotated[str | None, one_target("Copy to this target. Needed if several targets copy files.")] = None,
    *,
    delete: Annotated[
        bool,
        typer.Option(
            "--delete", help='Remove copied files that the source no longer has, but not where drops = "suppress".'
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be copied.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the data files of all tables in scope, or of some tables, to the locations of a target, with Spark.

    Only files that differ are copied. No metadata is written. For targets with copy = true the sidecar copies files
    itself before it writes metadata; use this command for the initial copy, and for changes that cause no event
    (docs/copy.md). Exit code 1 if directories are missing at the source, if symbolic links were skipped, or if tables
    were refused: those that the target has from elsewhere, whose directory there is not theirs alone, or whose files
    are re-encoded.
    """
    loaded = load_config(config)
    name = _copying(config, [it.name for it in loaded.targets if it.copy_files is not None], target)
    wanted = CopyRequest(tables or [], delete=delete, dry_run=dry_run)
    logs.configure("error", loaded.log.format)
    with _progress() as on_progress:
        done, refused = copy_now(loaded, name, wanted, on_progress)
    if as_json:
        print_json(_as_json(done, refused))
    else:
        _print(done, refused, dry_run)
    if done.missing or done.links or refused:
        raise typer.Exit(1)


def _copying(config: Path, copying: list[str], target: str | None) -> str:
    """The target to copy to: the only one that copies files, or the one that was named."""
    named = ", ".join(copying)
    if not copying:
        raise UsageError(f"no target in {config} has copy = true", "set copy = true in a [[targets]] table")
    if target is None and len(copying) > 1:
        raise UsageError(f"several targets in {config} copy files: {named}", "choose one with --target")
    if target is not None and target not in copying:
        hint = meant(target, copying, "these targets do")
        raise UsageError(f"{config} has no target {quoted(target)} that copies files", hint)
    return target or copying[0]


@contextmanager
def _progress() -> Iterator[Callable[[dict[str, Any]], None]]:
    """A bar of the bytes on standard error, with their rate and the time left."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("comparing", total=None)

        def show(tally: dict[str, Any]) -> None:
            files = tally["files"] + tally["files_left"]
            total = tally["bytes"] + tally["bytes_left"]
            what = f"{tally['files']:,} of {count(files, 'file')}" if files else "comparing"
            progress.update(bar, description=what, completed=tally["bytes"], total=total or None)

        yield show


def _as_json(done: Copied, refused: Sequence[RefusedTable]) -> dict[str, Any]:
    missing = [{"source": it.source, "target": it.target} for it in done.missing]
    return {
        "files": done.files,
        "bytes": done.bytes,
        "same": done.same,
        "removed": done.removed,
        "missing": missing,
        "links": list(done.links),
        "foreign": list(done.foreign),
        "refused": [{"table": str(it.table), "reason": str(it.reason)} for it in refused],
    }


def _print(done: Copied, refused: Sequence[RefusedTable], dry_run: bool) -> None:
    how = "to copy" if dry_run else "copied"
    echo(f"{count(done.files, 'file')} {how} ({count(done.bytes, 'byte')}), {done.same:,} unchanged")
    if done.removed:
        how = "to remove" if dry_run else "removed"
        echo(f"{count(done.removed, 'file')} {how}, the first: {done.first_removed}")
    if done.foreign:
        echo(
            f"{count(len(done.foreign), 'file')} not copied by pysync, left at the target; the first: {done.foreign[0]}"
        )
    for pair in done.missing:
        echo(f"missing at the source: {pair.source}")
    for link in done.links:
        echo(f"symbolic link, skipped: {link}")
    for it in refused:
        echo(f"not copied: {it.table}: {it.reason}")
