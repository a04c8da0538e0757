"""REPL DUMP, REPL LOAD and REPL STATUS: the commands of Hive, as dumps and loads (docs/dump.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pysync.base.errors import UsageError
from pysync.config import Config
from pysync.control.client import ask_if_running
from pysync.dump.index import Dump
from pysync.dump.manifest import Manifest, scope_of
from pysync.dump.read import DumpReader
from pysync.dump.root import Cleaned, clean, new_directory
from pysync.dump.taken import Taken, by_scope, load_notes
from pysync.jobs.dumping import DumpRequest, OnProgress, dump_once
from pysync.jobs.repl_options import DumpOptions, dump_options
from pysync.model.names import TableName
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.policy import Policy
from pysync.replay.window.repl_statement import ReplDump, ReplLoad, ReplStatus
from pysync.targets.settings import TargetSettings


def root_of(config: Config, statement: ReplDump, root: Path | None) -> Path:
    """The root of the dump: that in WITH, else `root`, else `[dump] root`. Raises UsageError where there is none."""
    place = dump_options(statement.settings).root or root or config.dump.root
    if place is None:
        raise UsageError("it is not known where to write the dump", "set [dump] root, or give --root DIRECTORY")
    return place.absolute()


def clean_root(config: Config, statement: ReplDump, root: Path) -> Cleaned:
    """Remove what is too old in the root, by WITH or else by `[dump] keep`. Raises as `clean`."""
    return clean(root, dump_options(statement.settings).keep or config.dump.keep)


def repl_dump(config: Config, statement: ReplDump, root: Path, on_progress: OnProgress) -> tuple[Path, Manifest]:
    """Dump into a new directory of the root; returns that, and what is in it. Raises as `dump_once`."""
    options = dump_options(statement.settings)
    directory = new_directory(root, statement.policy.partition(".")[0])
    return directory, dump_once(config, directory, wanted(statement, options, _files(config, options)), on_progress)


def wanted(statement: ReplDump, options: DumpOptions, files: Literal["copy", "none"]) -> DumpRequest:
    """What a REPL DUMP wants of a dump."""
    return DumpRequest(
        options.within(statement.policy),
        statement.since,
        statement.to,
        statement.limit,
        files,
        options.former(statement.policy, statement.replaces),
    )


def _files(config: Config, options: DumpOptions) -> Literal["copy", "none"]:
    if options.files is not None:
        return options.files
    return "copy" if any(it.copy_files is not None for it in config.targets) else "none"


def assert_loads_into(config: Config, statement: ReplLoad, dump: Dump, targets: Sequence[str]) -> None:
    """Raises UsageError if a target gives what is in the dump other names than the statement."""
    if statement.database is None:
        return
    scope = scope_of(dump.manifest.within)
    with DumpReader(dump) as reader:
        databases = [it for it in filter(scope.database, reader.databases()) if reader.database(it) is not None]
    for settings in config.targets:
        if settings.name not in targets:
            continue
        mapping = NameMapping.of(settings)
        for name in databases:
            if mapping.database(name) != statement.database:
                raise UsageError(
                    f"REPL LOAD {statement.database}: the dump has database {name}, which target {settings.name} "
                    f"names {mapping.database(name)}",
                    f'set databases = {{ {name} = "{statement.database}" }} in its [[targets]] table',
                )
        _assert_table(statement, mapping, dump)


def _assert_table(statement: ReplLoad, mapping: NameMapping, dump: Dump) -> None:
    if statement.table is None or statement.database is None:
        return
    name = TableName(statement.database, statement.table)
    other = next((it for it in dump.tables() if mapping.table(it) != name), None)
    if other is not None:
        raise UsageError(
            f"REPL LOAD {name}: the dump has {other}, too", f"write REPL LOAD {statement.database} to load all of it"
        )


def repl_status(config: Config, statement: ReplStatus, targets: Sequence[str]) -> dict[str, int | None]:
    """The last notification that each of these targets has of a database or table, by its name there or at the source.

    It is that up to which the running sidecar has brought it, or that of the last dump loaded, if this is later. None
    if neither is known. Raises UsageError for a name that a sidecar finds nowhere, PysyncError for a queue that cannot
    be read.
    """
    directory, notes = config.queue.directory, load_notes(config.queue.directory, targets)
    ids = dict[str, int | None]()
    for settings in (it for it in config.targets if it.name in targets):
        names = _source_names(settings, statement)
        known = [_loaded(by_scope(notes, settings.name), names), _replayed(directory, settings.name, names)]
        ids[settings.name] = max((it for it in known if it is not None), default=None)
    return ids


def _source_names(settings: TargetSettings, statement: ReplStatus) -> list[TableName | str]:
    """The names at the source, in scope of the target, that the statement may mean; those of its name there first."""
    policy, mapping = Policy.of(settings), NameMapping.of(settings)
    names: list[TableName | str]
    if statement.table is None:
        names = [*mapping.source_databases(statement.database), statement.database]
    else:
        name = TableName(statement.database, statement.table)
        names = [*mapping.sources_of(name), name]
    return [it for it in dict.fromkeys(names) if policy.takes(it)]


def _loaded(taken: Sequence[Taken], names: Sequence[TableName | str]) -> int | None:
    """The last notification of the dump that was loaded last and takes the first of the names that any takes."""
    for name in names:
        for dump in reversed(taken):
            scope = scope_of(dump.within)
            if scope.table(name) if isinstance(name, TableName) else scope.database(name):
                return dump.upto
    return None


def _replayed(directory: Path, target: str, names: Sequence[TableName | str]) -> int | None:
    """The notification up to which the running sidecar has brought the first of the names; None where none runs."""
    if not names:
        return None
    answer = ask_if_running(directory, "object", object=str(names[0]), target=target)
    upto: int | None = answer["targets"][0]["event_id"] if answer else None
    return upto
