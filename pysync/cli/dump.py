"""`pysync dump` and `pysync load`: to a target that cannot see the source, by way of a directory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from pysync import logs
from pysync.cli.bootstrap import shown
from pysync.cli.output import AsJson, ConfigFile, print_json, progress, say
from pysync.config import Config, load_config
from pysync.dump.index import open_dump
from pysync.dump.manifest import Counts, Manifest
from pysync.errors import UsageError
from pysync.jobs.dumping import Wanted, dump_once
from pysync.jobs.loading import Loaded, load_once

Directory = Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Where the dump is; of one dump alone.")]


class Files(str, Enum):
    """What is dumped of the data files."""

    COPY = "copy"
    LIST = "list"
    NONE = "none"


class FilesToo(str, Enum):
    """Whether the data files of a dump are loaded."""

    COPY = "copy"
    NONE = "none"


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    app.command()(dump)
    app.command()(load)


def dump(
    config: ConfigFile,
    directory: Directory,
    *,
    policy: Annotated[
        str | None,
        typer.Option("--policy", metavar="P", help="db, db.'include' or db.'include'.'exclude'; else as the targets."),
    ] = None,
    since: Annotated[
        int | None,
        typer.Option("--from", min=0, metavar="ID", help="Only tables touched after this notification."),
    ] = None,
    to: Annotated[
        int | None, typer.Option("--to", min=0, metavar="ID", help="With --from: up to this notification.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="With --from: N notifications at most.")
    ] = None,
    files: Annotated[
        Files, typer.Option("--files", help="The data files, too, by Spark: their list (path, size, time), or a copy.")
    ] = Files.NONE,
    as_json: AsJson = False,
) -> None:
    """Write down in DIRECTORY what the source has, for pysync load where the source cannot be seen.

    Databases, tables, partitions, functions and constraints in scope, as the very bytes of the metastore, in files
    with checksums. DIRECTORY must be empty or not there; after a kill run it again, and it goes on where it was.

    It tells the last notification that it holds: give that as --from the next time, and only tables that were touched
    since are dumped (the source needs a notification log for that). What was dropped is dropped by either.

    With --files copy the data files are in DIRECTORY, too, compared with the source's byte for byte, and pysync load
    puts them where its targets have them.

    A worked example: docs/dump.md. Exit code 1 if the source cannot be read, 2 for wrong arguments.
    """
    loaded = load_config(config)
    logs.configure("error", loaded.log.format)
    wanted = Wanted(policy, since, to, limit, files.value)
    try:
        with _bar() as tell:
            manifest = dump_once(loaded, directory, wanted, tell)
    except KeyboardInterrupt:
        say("stopped: run it again, and it goes on where it was", err=True)
        raise
    if as_json:
        print_json(_dumped(directory, manifest))
    else:
        _print_dumped(directory, manifest)


def load(
    config: ConfigFile,
    directory: Directory,
    target: Annotated[str | None, typer.Option("--target", help="Only this target; all unless given.")] = None,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Load also what is older than what a target has, or does not follow it.")
    ] = False,
    files: Annotated[
        FilesToo, typer.Option("--files", help="none: leave out the data files that the dump has.")
    ] = FilesToo.COPY,
    as_json: AsJson = False,
) -> None:
    """Bring targets to what a dump in DIRECTORY says, by the rules of a bootstrap: policy, renames, locations, drops.

    Every byte of the dump is checked first. What the source does not have any more is dropped if drops are applied and
    pysync wrote it. Only what differs is written, so it may be run twice; after a kill run it again, and it goes on.
    Data files that are in the dump are copied by Spark before the metadata is written; targets need copy = true for it.

    FILE names the source as it was called where the dump was made ([source] name), and the targets here. No sidecar may
    run on its queue. Exit code 1 if the dump is damaged, does not fit, or something was parked.
    """
    loaded = load_config(config, lives=False)
    logs.configure("error", loaded.log.format)
    names = _targets(config, loaded, target)
    try:
        with progress("the dump is checked") as tells:
            found_whole = open_dump(directory, lambda done, all_: tells(f"{done / 1e6:,.0f} of {all_ / 1e6:,.0f} MB"))
        with shown() as tell:
            found = load_once(loaded, found_whole, names, tell, force=force, files=files.value)
    except KeyboardInterrupt:
        say("stopped: run it again, and it goes on where it was", err=True)
        raise
    if as_json:
        print_json(_loaded(found))
    else:
        _print_loaded(found)
    if any(found.parked.values()):
        raise typer.Exit(1)


def _targets(path: Path, loaded: Config, name: str | None) -> list[str]:
    names = [it.name for it in loaded.targets if name in {None, it.name}]
    if not names:
        known = ", ".join(it.name for it in loaded.targets)
        raise UsageError(f"{path} has no target {name!r}", f"it has: {known}")
    return names


@contextmanager
def _bar() -> Iterator[Callable[[str, Counts, int], None]]:
    """A bar of the tables on standard error."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[so_far]}", markup=False),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bars:
        bar = bars.add_task("dump", total=None, so_far="")

        def tell(what: str, counts: Counts, total: int) -> None:
            so_far = f"tables, {counts.partitions:,} partitions; {what}"
            bars.update(bar, completed=counts.tables, total=total, so_far=so_far)

        yield tell


def _dumped(directory: Path, manifest: Manifest) -> dict[str, Any]:
    return {
        "directory": str(directory),
        "id": manifest.id,
        "source": manifest.source,
        "since": manifest.since,
        "last_id": manifest.upto,
        "began_at": manifest.began_at,
        "finished_at": manifest.finished_at,
        "counts": manifest.counts.model_dump(),
        "files": len(manifest.pieces),
        "bytes": sum(it.bytes for it in manifest.pieces),
    }


def _print_dumped(directory: Path, manifest: Manifest) -> None:
    counts = manifest.counts
    parts = [f"{getattr(counts, name):,} {name}" for name in ("databases", "tables", "partitions", "functions")]
    parts += [f"{counts.files:,} data files listed"] if manifest.files == "list" else []
    parts += [f"{counts.files:,} data files ({counts.data_bytes:,} bytes)"] if manifest.files == "copy" else []
    say(f"{directory}: {', '.join(parts)}")
    if counts.missing:
        say(f"{counts.missing:,} directories are not at the source: {directory}/files-*.jsonl names them")
    if manifest.upto is None:
        say("the source has no notification log: the next dump is of everything again")
    else:
        say(f"last notification: {manifest.upto}; the next dump: --from {manifest.upto}")


def _loaded(found: Loaded) -> dict[str, Any]:
    told = found.status["bootstrap"]
    return {
        "id": found.manifest.id,
        "source": found.manifest.source,
        "last_id": found.manifest.upto,
        "seconds": told["seconds"],
        "targets": [
            {
                "name": it["name"],
                "tables": it["tables"],
                "partitions": it["partitions"],
                "parked": [{"table": row.table, "reason": row.reason} for row in found.parked[it["name"]]],
            }
            for it in told["targets"]
        ],
    }


def _print_loaded(found: Loaded) -> None:
    for it in found.status["bootstrap"]["targets"]:
        say(f"{it['name']}: {it['tables']:,} tables and {it['partitions']:,} partitions of the dump are there")
        for row in found.parked[it["name"]]:
            say(f"{it['name']} has refused {row.table}: {row.reason}")
