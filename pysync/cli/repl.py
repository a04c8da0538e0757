"""`pysync repl`: Hive's REPL commands, as people know them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from pysync.base import logs
from pysync.base.text import quoted
from pysync.cli.arguments import path
from pysync.cli.asking import until_stopped
from pysync.cli.bootstrap import shown
from pysync.cli.dump import (
    incomplete_lines,
    is_incomplete,
    loaded_json,
    not_taken_json,
    not_taken_lines,
    opened_dump,
    table_bar,
    targets_of,
)
from pysync.cli.ends import assert_ends_answer
from pysync.cli.output import AsJson, ConfigFile, echo, one_target, print_json
from pysync.config import load_config
from pysync.dump.manifest import Manifest
from pysync.dump.root import Cleaned
from pysync.jobs.loading import load_once
from pysync.jobs.repl import assert_loads_into, clean_root, repl_dump, repl_status, root_of
from pysync.jobs.repl_options import dump_options, load_options, local_path, status_options
from pysync.replay.window.repl_statement import ReplDump, ReplLoad, ReplStatus, parse_statement

_NULL = "NULL"


@dataclass(frozen=True, slots=True)
class _Call:
    """What the options of a call say."""

    config: Path
    target: str | None
    root: Path | None
    force: bool
    as_json: bool


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(repl)


def repl(
    config: ConfigFile,
    statement: Annotated[
        str,
        typer.Argument(metavar="STATEMENT", help="The text of a REPL command, in quotes. It may end with a semicolon."),
    ],
    target: Annotated[str | None, one_target("REPL LOAD and STATUS: this target only. Default: all targets.")] = None,
    *,
    root: Annotated[
        Path | None,
        typer.Option(
            "--root",
            metavar="DIRECTORY",
            parser=path,
            help="REPL DUMP: the directory in which the directory of the dump is made. Default: [dump] root.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="REPL LOAD: as --force of pysync load.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a REPL command of Hive: REPL DUMP, REPL LOAD or REPL STATUS. It ends when all of it is done.

    REPL DUMP policy [REPLACE policy] [FROM id [TO id] [LIMIT n]] [WITH ('key'='value', ...)]
    writes a dump into a new directory of the dump root. It answers that directory and the last event id in the dump.
    Dumps in the root that are older than [dump] keep are removed first.

    REPL LOAD [db[.table]] FROM 'directory' [WITH (...)] loads a dump into the targets, and answers nothing.

    REPL STATUS db[.table] answers the last event id that is loaded of a database or table, or that a running sidecar
    has replayed of it, or NULL. The name is that at the source or at the target. If there are several targets, it is
    the one that all of them have.

    Which properties of WITH mean something: docs/dump.md. Each of the others is a warning. Exit code 1 if the source
    cannot be read, if the dump is damaged or does not fit, if the brake holds drops, if events were parked, or if all
    tables came from the target's own cluster; 2 for a statement that cannot be read, or for wrong arguments.
    """
    parsed, call = parse_statement(statement), _Call(config, target, root, force, as_json)
    if isinstance(parsed, ReplDump):
        _dump(call, parsed)
    elif isinstance(parsed, ReplLoad):
        _load(call, parsed)
    else:
        _status(call, parsed)


def _dump(call: _Call, statement: ReplDump) -> None:
    loaded = load_config(call.config)
    logs.configure("error", loaded.log.format)
    root, ignored = root_of(loaded, statement, call.root), dump_options(statement.settings).ignored
    _warn(ignored)
    assert_ends_answer(loaded, [])
    # Before the dump, which may need the room; and printed before it, which may fail.
    cleaned = clean_root(loaded, statement, root)
    for name in cleaned.removed:
        echo(f"removed the dump {root / name}, as it is too old", err=True)
    for name, why in cleaned.left:
        echo(f"warning: the dump {root / name} is too old, but stays: {why}", err=True)
    with until_stopped("run the command again for a new dump"), table_bar() as on_progress:
        directory, manifest = repl_dump(loaded, statement, root, on_progress)
    for words in not_taken_lines(directory, manifest):
        echo(words, err=True)
    if call.as_json:
        print_json(_dumped(directory, manifest, cleaned, ignored))
    else:
        _print(("dump_dir", "last_repl_id"), str(directory), manifest.upto)


def _load(call: _Call, statement: ReplLoad) -> None:
    loaded = load_config(call.config, live_source=False)
    logs.configure("error", loaded.log.format)
    names = targets_of(call.config, loaded, call.target)
    files, ignored = load_options(statement.settings)
    _warn(ignored)
    assert_ends_answer(loaded, [it for it in loaded.targets if it.name in names], source=False)
    with until_stopped(), opened_dump(local_path(statement.directory, "REPL LOAD")) as dump:
        assert_loads_into(loaded, statement, dump, names)
        with shown() as on_progress:
            result = load_once(loaded, dump, names, on_progress, force=call.force, files=files)
    if call.as_json:
        print_json({**loaded_json(result), "ignored": list(ignored)})
    for line in incomplete_lines(result):
        echo(line, err=True)
    if is_incomplete(result):
        raise typer.Exit(1)


def _status(call: _Call, statement: ReplStatus) -> None:
    loaded = load_config(call.config, live_source=False)
    names = targets_of(call.config, loaded, call.target)
    ignored = status_options(statement.settings)
    _warn(ignored)
    states = repl_status(loaded, statement, names)
    loaded_of_all = [it for it in states.values() if it is not None]
    last = min(loaded_of_all) if len(loaded_of_all) == len(states) else None
    if call.as_json:
        targets = [{"name": name, "last_repl_id": upto} for name, upto in states.items()]
        print_json({"last_repl_id": last, "targets": targets, "ignored": list(ignored)})
    else:
        _print(("last_repl_id",), last)


def _dumped(directory: Path, manifest: Manifest, cleaned: Cleaned, ignored: Sequence[str]) -> dict[str, Any]:
    return {
        "dump_dir": str(directory),
        "last_repl_id": manifest.upto,
        "ignored": list(ignored),
        "not_taken": not_taken_json(directory, manifest),
        "removed": list(cleaned.removed),
        "left": [{"name": name, "reason": why} for name, why in cleaned.left],
    }


def _warn(ignored: Sequence[str]) -> None:
    for key in ignored:
        echo(f"warning: WITH {quoted(key)} has no meaning in pysync and is ignored (docs/dump.md)", err=True)


def _print(columns: Sequence[str], *values: object) -> None:
    """A line of names and one of values, in columns. Nothing is cut: a script reads the directory from it."""
    texts = [_NULL if value is None else str(value) for value in values]
    widths = [max(map(len, pair)) for pair in zip(columns, texts, strict=True)]
    for row in (columns, texts):
        echo("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
