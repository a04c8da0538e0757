"""REPL DUMP, REPL LOAD and REPL STATUS with their WITH clause: the commands of Hive, as dumps and loads
(docs/dump.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pysync.base.errors import UsageError
from pysync.base.text import quoted
from pysync.base.validation import path_of, seconds
from pysync.config import Config
from pysync.dump.index import Dump
from pysync.dump.manifest import Manifest, Within, scope_of
from pysync.dump.read import DumpReader
from pysync.dump.root import Cleaned, clean, new_directory
from pysync.dump.taken import Taken, by_scope, load_notes
from pysync.jobs.dumping import OnProgress, Wanted, dump_once
from pysync.model.names import TableName
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.policy import Policy
from pysync.replay.window.repl_statement import ReplDump, ReplLoad, ReplStatus
from pysync.targets.settings import TableType, TargetSettings

# The WITH clause of REPL commands: which of Hive's properties mean something here, and what. Pure.


ROOT = "hive.repl.rootdir"
KEEP = "hive.repl.dumpdir.ttl"
METADATA_ONLY = "hive.repl.dump.metadata.only"
EXTERNAL = "hive.repl.include.external.tables"
ACID = "hive.repl.dump.include.acid.tables"
NEW_EXTERNAL = "hive.repl.bootstrap.external.tables"
NEW_ACID = "hive.repl.bootstrap.acid.tables"

_OF_DUMP = frozenset({ROOT, KEEP, METADATA_ONLY, EXTERNAL, ACID, NEW_EXTERNAL, NEW_ACID})
_OF_LOAD = frozenset({METADATA_ONLY})
_NOT_EXTERNAL: tuple[TableType, ...] = ("MANAGED_TABLE", "VIRTUAL_VIEW", "MATERIALIZED_VIEW")
_TRANSACTIONAL = ("transactional=true", "transactional=TRUE")


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """What WITH says of a dump; None: nothing. `keep` is in seconds. `ignored` are the keys without a meaning here.

    `external` and `acid` are whether external and transactional tables are taken, and `new_external` and `new_acid`
    whether they were not taken by the dumps before.
    """

    root: Path | None = None
    keep: int | None = None
    files: Literal["copy", "none"] | None = None
    external: bool = True
    acid: bool = True
    new_external: bool = False
    new_acid: bool = False
    ignored: tuple[str, ...] = ()

    def within(self, policy: str) -> Within:
        """The scope of a dump of that policy."""
        return _within(policy, external=self.external, acid=self.acid)

    def former(self, policy: str, replaces: str | None) -> Within | None:
        """The scope of the dumps before, in place of which `within` comes; None if it is the same."""
        if replaces is None and not (self.new_external or self.new_acid):
            return None
        external, acid = self.external and not self.new_external, self.acid and not self.new_acid
        return _within(replaces or policy, external=external, acid=acid)


def dump_options(settings: Mapping[str, str]) -> DumpOptions:
    """What WITH says of a dump. Raises UsageError for a value that cannot be read, or two that contradict."""
    values = {key.strip().lower(): value for key, value in settings.items()}
    options = DumpOptions(
        root=_path(values),
        keep=_time(values),
        files=_files_option(values),
        external=_flag(values, EXTERNAL, True),
        acid=_flag(values, ACID, True),
        new_external=_flag(values, NEW_EXTERNAL, False),
        new_acid=_flag(values, NEW_ACID, False),
        ignored=_ignored(settings, _OF_DUMP),
    )
    for is_new, is_taken, key, other in (
        (options.new_external, options.external, NEW_EXTERNAL, EXTERNAL),
        (options.new_acid, options.acid, NEW_ACID, ACID),
    ):
        if is_new and not is_taken:
            raise UsageError(f"WITH: {key} = 'true' contradicts {other} = 'false'", "leave one of them out")
    return options


def load_options(settings: Mapping[str, str]) -> tuple[Literal["copy", "none"], tuple[str, ...]]:
    """Whether a load brings data files, and the keys without a meaning. Raises as `dump_options`."""
    values = {key.strip().lower(): value for key, value in settings.items()}
    return _files_option(values) or "copy", _ignored(settings, _OF_LOAD)


def status_options(settings: Mapping[str, str]) -> tuple[str, ...]:
    """The keys that have no meaning for REPL STATUS: all of them."""
    return _ignored(settings, frozenset())


def _within(policy: str, *, external: bool, acid: bool) -> Within:
    types = () if external else _NOT_EXTERNAL
    return Within(policy=policy, include_types=types, exclude_parameters=() if acid else _TRANSACTIONAL)


def _ignored(settings: Mapping[str, str], known: frozenset[str]) -> tuple[str, ...]:
    return tuple(key for key in settings if key.strip().lower() not in known)


def _flag(values: Mapping[str, str], key: str, default: bool) -> bool:
    value = values.get(key)
    if value is None:
        return default
    if value.strip().lower() not in {"true", "false"}:
        raise UsageError(f"WITH: {key} = {quoted(value)} is not a boolean", "write 'true' or 'false'")
    return value.strip().lower() == "true"


def _files_option(values: Mapping[str, str]) -> Literal["copy", "none"] | None:
    if METADATA_ONLY not in values:
        return None
    return "none" if _flag(values, METADATA_ONLY, False) else "copy"


def _time(values: Mapping[str, str]) -> int | None:
    value = values.get(KEEP)
    if value is None:
        return None
    try:
        # Hive counts days where no unit is given.
        span = seconds(f"{value}d" if value.isdigit() else value)
    except ValueError as error:
        raise UsageError(f"WITH: {KEEP}: {error}") from error
    if not span:
        raise UsageError(f"WITH: {KEEP} = {quoted(value)} is not a time", "write '12h' or '7d'")
    return span


def _path(values: Mapping[str, str]) -> Path | None:
    return local_path(values[ROOT], f"WITH: {ROOT}") if ROOT in values else None


def local_path(text: str, what: str) -> Path:
    """A directory of this machine, as a path or a file URI. Raises UsageError for one elsewhere; `what` names it."""
    scheme, is_uri, rest = text.partition(":/")
    if is_uri and "/" not in scheme:
        if scheme.lower() != "file" or (rest.startswith("/") and not rest.startswith("//")):
            raise UsageError(
                f"{what}: {quoted(text)} is not a directory of this machine", "write a path; mount what is elsewhere"
            )
        text = f"/{rest.lstrip('/')}"
    try:
        return path_of(text)
    except ValueError as error:
        raise UsageError(f"{what}: {error}") from error


# REPL DUMP, REPL LOAD and REPL STATUS: the commands of Hive, as dumps and loads (docs/dump.md).


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


def wanted(statement: ReplDump, options: DumpOptions, files: Literal["copy", "none"]) -> Wanted:
    """What a REPL DUMP wants of a dump."""
    return Wanted(
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
    """The last notification that each of these targets has loaded of a database or table, by its name there.

    None if no dump of it was loaded, or if its source had no notification log. The running sidecar or load is asked,
    or the queue is read where none runs. Raises PysyncError for a queue that cannot be read.
    """
    settings = [it for it in config.targets if it.name in targets]
    notes = load_notes(config.queue.directory, targets)
    return {it.name: _upto(it, statement, by_scope(notes, it.name)) for it in settings}


def _upto(settings: TargetSettings, statement: ReplStatus, taken: Sequence[Taken]) -> int | None:
    """The last notification of the dump that was loaded last and takes the object."""
    policy, mapping = Policy.of(settings), NameMapping.of(settings)
    for event in reversed(taken):
        scope = scope_of(event.within)
        if statement.table is None:
            sources = mapping.source_databases(statement.database)
            is_meant = any(scope.database(it) and policy.takes_database(it) for it in sources)
        else:
            names = mapping.sources_of(TableName(statement.database, statement.table))
            is_meant = any(scope.table(it) and policy.takes_table(it) for it in names)
        if is_meant:
            return event.upto
    return None
