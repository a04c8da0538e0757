"""`pysync copy`: the data files of everything in scope, copied now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from pysync import logs
from pysync.cli.output import AsJson, ConfigFile, print_json, say
from pysync.config import load_config
from pysync.copy.run import Copied
from pysync.errors import UsageError
from pysync.jobs.copying import Wanted, copy_now
from pysync.model.names import TableName


def register(app: typer.Typer) -> None:
    """Add this command to `app`."""
    app.command()(copy)


def copy(
    config: ConfigFile,
    tables: Annotated[list[str] | None, typer.Argument(metavar="[DB.TABLE]...", help="Only these.")] = None,
    target: Annotated[str | None, typer.Option("--target", help="Which one; needed where several copy files.")] = None,
    *,
    delete: Annotated[bool, typer.Option("--delete", help="Remove files that the source does not have.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be copied.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the data files of all tables in scope, or of some, to where a target has them, with Spark.

    Only what differs is copied, no metadata is written. A sidecar does so by itself before it writes metadata, for
    targets with copy = true; this is for the bulk beforehand, and for changes that no event tells of (docs/copy.md).
    Exit code 1 if directories are missing at the source, or symbolic links were left: nobody follows them.
    """
    loaded = load_config(config)
    copying = [it.name for it in loaded.targets if it.copy_files is not None]
    name = target or (copying[0] if len(copying) == 1 else "")
    if name not in copying:
        raise UsageError(
            f"{config}: which target?", f"--target is one of: {', '.join(copying) or 'none has copy = true'}"
        )
    wanted = Wanted([TableName.parse(it) for it in tables or []], delete=delete, dry_run=dry_run)
    logs.configure("error", loaded.log.format)
    with _progress() as tell:
        done = copy_now(loaded, name, wanted, tell)
    if as_json:
        print_json(_as_json(done))
    else:
        _print(done, dry_run)
    if done.missing or done.links:
        raise typer.Exit(1)


@contextmanager
def _progress() -> Iterator[Callable[[dict[str, Any]], None]]:
    """A bar of the bytes on standard error, with their rate and the time left."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("compares", total=None)

        def tell(tally: dict[str, Any]) -> None:
            files = tally["files"] + tally["files_left"]
            total = tally["bytes"] + tally["bytes_left"]
            what = f"{tally['files']} of {files} files" if files else "compares"
            progress.update(bar, description=what, completed=tally["bytes"], total=total or None)

        yield tell


def _as_json(done: Copied) -> dict[str, Any]:
    missing = [{"source": it.source, "target": it.target} for it in done.missing]
    return {
        "files": done.files,
        "bytes": done.bytes,
        "same": done.same,
        "removed": done.removed,
        "missing": missing,
        "links": list(done.links),
    }


def _print(done: Copied, dry_run: bool) -> None:
    how = "to copy" if dry_run else "copied"
    say(f"{done.files} files {how} ({done.bytes} bytes), {done.same} were there already")
    if done.removed:
        say(f"{done.removed} files {'to remove' if dry_run else 'removed'}")
    for pair in done.missing:
        say(f"not at the source: {pair.source}")
    for link in done.links:
        say(f"a symbolic link, and left: {link}")
