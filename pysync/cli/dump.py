"""`pysync dump` and `pysync load`: to a target that cannot see the source, by way of a directory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from pysync.base import logs
from pysync.base.errors import UsageError
from pysync.base.health import decide, hold
from pysync.base.text import count, size
from pysync.cli.arguments import choice, line, number, path
from pysync.cli.asking import until_stopped
from pysync.cli.bootstrap import shown
from pysync.cli.ends import assert_ends_answer
from pysync.cli.output import (
    MOST_NAMES,
    AsJson,
    ConfigFile,
    chosen,
    echo,
    name_rows,
    one_target,
    print_json,
    print_lacks,
    print_table,
    progress,
)
from pysync.cli.progress import is_in_vain, left_out
from pysync.config import Config, load_config
from pysync.dump.index import Dump, not_taken, open_dump
from pysync.dump.manifest import DumpCounts, Manifest, Within, scope_of
from pysync.dump.root import held
from pysync.jobs.dumping import DumpRequest, dump_once
from pysync.jobs.loading import Loaded, load_once
from pysync.jobs.plans import load_plans

Directory = Annotated[
    Path,
    typer.Argument(metavar="DIRECTORY", parser=path, help="Directory of the dump. It holds one dump only."),
]

Since = Annotated[
    int | None,
    typer.Option(
        "--from", metavar="ID", parser=number(0), help="Dump only tables that changed after this notification."
    ),
]
To = Annotated[
    int | None, typer.Option("--to", metavar="ID", parser=number(0), help="With --from: stop at this notification.")
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        parser=number(1),
        help="With --from: stop after N notifications about what is dumped; others do not count.",
    ),
]

Files = Annotated[
    Literal["copy", "list", "none"],
    typer.Option(
        "--files",
        parser=choice("copy", "list", "none"),
        help="Also dump the data files, with Spark: a list of them (path, size, time), or a copy.",
    ),
]

DataUnder = Annotated[
    list[str] | None,
    typer.Option(
        "--data-under",
        metavar="PREFIX",
        parser=line,
        help="With --files copy: take data files only below this location of the source. May be repeated. Default: "
        "what the targets map, the keys of locations.",
    ),
]


def policy_text(value: Any) -> str:
    """The text of a policy that can be read."""
    try:
        scope_of([Within(policy=str(value))])
    except UsageError as error:
        raise typer.BadParameter(str(error)) from error
    return str(value)


DumpedPolicy = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="POLICY",
        parser=policy_text,
        help="What to dump: db, db.table, db.['include', 'other'] or db.['include'].['exclude'], with regular "
        "expressions of table names. "
        "Default: what the targets take.",
    ),
]


Replaced = Annotated[
    str | None,
    typer.Option(
        "--replace",
        metavar="POLICY",
        parser=policy_text,
        help="The policy of the dumps before this one. What only it takes is dropped on load; what only the new one "
        "takes is dumped whole, also with --from.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add these commands to `app`."""
    app.command()(dump)
    app.command()(load)


def dump(
    config: ConfigFile,
    directory: Directory,
    *,
    policy: DumpedPolicy = None,
    replace: Replaced = None,
    since: Since = None,
    to: To = None,
    limit: Limit = None,
    files: Files = "none",
    data_under: DataUnder = None,
    as_json: AsJson = False,
) -> None:
    """Export the metadata of the source to DIRECTORY. pysync load imports it where the source cannot be reached.

    The dump holds the databases, tables, partitions, functions and constraints in scope, exactly as the metastore has
    them, in files with checksums. DIRECTORY must be empty or must not exist. After a kill, run the command again: it
    continues where it stopped.

    The output names the last notification in the dump. Give its ID as --from the next time: then only tables that
    changed since are dumped (the source needs a notification log for that). Drops are part of both kinds of dump.

    With --files copy, DIRECTORY also holds the data files, compared byte for byte with the source. pysync load puts
    them into the locations of its targets. Only files below the locations that the targets map (or --data-under) are
    taken; the others are named.

    An example: docs/dump.md. Exit code 1 if the source cannot be read, 2 for wrong arguments.
    """
    loaded = load_config(config)
    logs.configure("error", loaded.log.format)
    wanted = DumpRequest(_within(policy), since, to, limit, files, _within(replace), tuple(data_under or ()))
    assert_ends_answer(loaded, [])
    with until_stopped(), table_bar() as on_progress:
        manifest = dump_once(loaded, directory, wanted, on_progress)
    if as_json:
        print_json(_dumped(directory, manifest))
    else:
        _print_dumped(directory, manifest)


def _within(policy: str | None) -> Within | None:
    return None if policy is None else Within(policy=policy)


def load(
    config: ConfigFile,
    directory: Directory,
    target: Annotated[str | None, one_target("Load into this target only. Default: all targets.")] = None,
    *,
    force: Annotated[
        bool,
        typer.Option("--force", help="Load also a dump that is older than the target's state, or does not follow it."),
    ] = False,
    files: Annotated[
        Literal["copy", "none"],
        typer.Option(
            "--files",
            parser=choice("copy", "none"),
            help="Load the data files of the dump (copy), or only its metadata (none).",
        ),
    ] = "copy",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be put and dropped at each target, and change nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import the dump in DIRECTORY into the targets. Policy, renames, locations and drops apply as in a bootstrap.

    The whole dump is checked first. Objects that are gone at the source are dropped if the target applies drops and
    pysync created them. Only differences are written, so the command may run twice; after a kill it continues. Spark
    copies the data files of the dump before the metadata is written; targets need copy = true for that.

    Data files go only below the prefixes in locations of a target. A table elsewhere is refused, with its metadata.

    With --dry-run: show which tables each target would get, what it would lose, and which it refuses (exit code 1). The
    queue and the targets are only read, so a sidecar may run.

    FILE has the name of the source as it was when the dump was made ([source] name), and the targets here. No sidecar
    may run on its queue. Exit code 1 if the dump is damaged or does not fit, if the brake holds drops, if events were
    parked, or if a target gets no table because all of them came from its own cluster.
    """
    loaded = load_config(config, live_source=False)
    logs.configure("error", loaded.log.format)
    names = targets_of(config, loaded, target)
    assert_ends_answer(loaded, [it for it in loaded.targets if it.name in names], source=False)
    if dry_run:
        with opened_dump(directory) as dump:
            plans = load_plans(loaded, dump, names, files=files)
        print_plans(plans, as_json=as_json)
        if any(it["refused"] for it in plans):
            raise typer.Exit(1)
        return
    with until_stopped(), opened_dump(directory) as whole_dump, shown() as on_progress:
        result = load_once(loaded, whole_dump, names, on_progress, force=force, files=files)
    if as_json:
        print_json(loaded_json(result))
    else:
        _print_loaded(result)
    if is_incomplete(result):
        raise typer.Exit(1)


@contextmanager
def opened_dump(directory: Path) -> Iterator[Dump]:
    """A dump that was checked as a whole, and is not removed while the block runs."""
    with held(directory):
        with progress("checking the dump") as on_progress:
            dump = open_dump(directory, lambda done, all_: on_progress(f"{size(done)} of {size(all_)}"))
        yield dump


def targets_of(config: Path, loaded: Config, name: str | None) -> list[str]:
    """The names of all targets, or the one that was asked for. Raises UsageError for one that is unknown."""
    return [it.name for it in chosen(config, name, loaded.targets)]


@contextmanager
def table_bar() -> Iterator[Callable[[str, DumpCounts, int], None]]:
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

        def show(what: str, counts: DumpCounts, total: int) -> None:
            so_far = f"tables, {count(counts.partitions, 'partition')}; {what}"
            bars.update(bar, completed=counts.tables, total=total, so_far=so_far)

        yield show


def _dumped(directory: Path, manifest: Manifest) -> dict[str, Any]:
    return {
        "directory": str(directory),
        "id": manifest.id,
        "source": manifest.source,
        "since": manifest.since,
        "last_id": manifest.upto,
        "changed": manifest.changed,
        "began_at": manifest.began_at,
        "finished_at": manifest.finished_at,
        "counts": manifest.counts.model_dump(),
        "not_taken": not_taken_json(directory, manifest),
        "files": len(manifest.pieces),
        "bytes": sum(it.bytes for it in manifest.pieces),
    }


def _print_dumped(directory: Path, manifest: Manifest) -> None:
    counts = manifest.counts
    parts = [count(getattr(counts, f"{name}s"), name) for name in ("database", "table", "partition", "function")]
    files = count(counts.files, "data file")
    parts += [f"{files} listed"] if manifest.files == "list" else []
    parts += [f"{files} ({count(counts.data_bytes, 'byte')})"] if manifest.files == "copy" else []
    echo(f"{directory}: {', '.join(parts)}")
    if counts.missing:
        missing = count(counts.missing, "directory is", "directories are")
        echo(f"{missing} missing at the source, as listed in {directory}/files-*.jsonl")
    for words in not_taken_lines(directory, manifest):
        echo(words)
    if manifest.upto is None:
        echo("the source has no notification log: the next dump must be a full dump again")
    else:
        echo(f"last notification: {manifest.upto}; for the next dump: --from {manifest.upto}")
    if manifest.changed:
        changes = count(manifest.changed, "change")
        echo(f"{changes} came meanwhile, so its tables are of different moments (docs/dump.md#one-moment)")


def not_taken_json(directory: Path, manifest: Manifest) -> list[dict[str, str]]:
    """The directories whose data files are not in the dump, as JSON values (docs/dump.md)."""
    return [{"table": str(name), "location": it} for name, it in not_taken(directory, manifest)]


def not_taken_lines(directory: Path, manifest: Manifest) -> Iterator[str]:
    """The same for people: a line that says how many, and the first of them; nothing if there are none."""
    total = manifest.counts.not_taken
    if total:
        directories = count(total, "directory is", "directories are")
        yield f"{directories} not below {', '.join(manifest.data_under)}; the data files there are not in the dump:"
        yield from (f"  {name}: {it}" for name, it in islice(not_taken(directory, manifest), MOST_NAMES))
        if total > MOST_NAMES:
            yield f"  and {total - MOST_NAMES} more, as listed in {directory}/files-*.jsonl"


def loaded_json(result: Loaded) -> dict[str, Any]:
    """What came of a load, as JSON values (docs/dump.md)."""
    bootstrap = result.status["bootstrap"]
    brakes = {target["name"]: target["brake"] for target in result.status["targets"]}
    return {
        "id": result.manifest.id,
        "source": result.manifest.source,
        "last_id": result.manifest.upto,
        "seconds": bootstrap["seconds"],
        "targets": [
            {
                "name": it["name"],
                "tables": it["tables"],
                "partitions": it["partitions"],
                "left_out": it["left_out"],
                "brake": brakes[it["name"]],
                "parked": [{"table": row.table, "reason": row.reason} for row in result.parked[it["name"]]],
            }
            for it in bootstrap["targets"]
        ],
    }


def is_incomplete(result: Loaded) -> bool:
    """Whether a target refused something, or got no table because all of them came from its own cluster."""
    return any(result.parked.values()) or is_in_vain(result.status["bootstrap"])


def incomplete_lines(result: Loaded) -> Iterator[str]:
    """A line for what the brake of a target holds, for each table that it refused, and for what was left out."""
    for target in result.status["targets"]:
        if text := hold(target):
            yield f"{text}; {decide(target['name'])}"
    for name, parked in result.parked.items():
        yield from (f"target {name} refused {row.table}: {row.reason}" for row in parked if row.kind != "held")
    yield from left_out(result.status["bootstrap"])


def _print_loaded(result: Loaded) -> None:
    for it in result.status["bootstrap"]["targets"]:
        tables = count(it["tables"] - it["left_out"], "table")
        echo(f"{it['name']}: loaded {tables}, {count(it['partitions'], 'partition')}")
    for words in incomplete_lines(result):
        echo(words)


def print_plans(plans: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    """Print what a load comes to at each target: all of it as JSON, or the first names in a table."""
    if as_json:
        print_json({"targets": list(plans)})
        return
    for plan in plans:
        rows = [row for what in ("put", "drop") for row in name_rows(what, plan[what])]
        if rows:
            print_table(f"load into {plan['target']}", ("", "object"), rows)
        limit = plan["max_drops_per_window"] or "none"
        put, drops = count(len(plan["put"]), "table"), count(plan["drops"], "drop")
        echo(f"{plan['target']}: {put} to put where they differ; {drops} (limit: {limit})")
        print_lacks(plan)
        for it in plan["refused"]:
            echo(f"target {plan['target']} refuses {it['table']}: {it['reason']}")
