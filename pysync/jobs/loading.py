"""Loading: a dump is brought to targets the way that a bootstrap is, as if the source were there (docs/dump.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from pysync.base.errors import UsageError
from pysync.config import Config
from pysync.copy.copies import Copies
from pysync.dump.index import Dump
from pysync.dump.manifest import Manifest
from pysync.dump.read import DumpReader
from pysync.dump.taken import note_begun, note_taken
from pysync.jobs.dump_carrying import OutOf
from pysync.jobs.load_guard import refuse_older, refuse_unfit
from pysync.jobs.oneoff import OnProgress, run_once
from pysync.model.names import TableName
from pysync.parts import ALL_PARTS
from pysync.queue import EventQueue, ParkedTable
from pysync.replay.window.leaving import replaced_json
from pysync.replay.window.translate import Translator
from pysync.resync.bootstrap import BootstrapOrigin
from pysync.resync.wanted import RefreshScope

FilesToo = Literal["copy", "none"]
"""Whether the data files of a dump come to the targets, or the metadata alone."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What came of a load: the last status (docs/status.md), and what each target refused."""

    manifest: Manifest
    status: Mapping[str, Any]
    parked: Mapping[str, Sequence[ParkedTable]]


def load_once(
    config: Config,
    dump: Dump,
    targets: Sequence[str],
    on_progress: OnProgress,
    *,
    force: bool = False,
    files: FilesToo = "copy",
) -> Loaded:
    """Bring targets to what a dump says (pysync.dump.index.open_dump), or resume such a load.

    Data files that are in the dump come first, unless `files` says otherwise.
    Idempotent. Raises UsageError where a target takes none of them; PysyncError for a dump of another source, one that
    is older than what a target took or does not follow it (these two not with `force`), and whatever `run_once` does.
    """
    manifest = dump.manifest
    if manifest.source != config.source.name:
        raise UsageError(
            f"the dump in {dump.directory} is from source {manifest.source!r}, not from {config.source.name!r}",
            f'set [source] name = "{manifest.source}"',
        )
    config = _with_files(config, manifest, targets) if files == "copy" else _without_files(config)
    parked: dict[str, Sequence[ParkedTable]] = {}
    whole = is_whole(dump, config, targets)

    def before(queue: EventQueue) -> None:
        for settings in config.targets:
            if not force and settings.name in targets:
                refuse_older(queue, dump, settings, whole=whole)
                refuse_unfit(queue, manifest, settings.name)
        for name in targets:
            # Before anything is written: a load that is cut short leaves some of the dump at the target.
            note_begun(queue, name, manifest)

    def after(queue: EventQueue) -> None:
        for name in targets:
            note_taken(queue, name, manifest)
            parked[name] = queue.target(name).parked.tables()

    carried = partial(OutOf, dump.directory, manifest.data_under) if manifest.files == "copy" else None
    parts = replace(ALL_PARTS, copies=partial(Copies, out_of=carried))
    origin = BootstrapOrigin(partial(DumpReader, dump), id=manifest.id, whole=whole, replaced=replaced_by(manifest))
    status = run_once(
        _without_source(config), targets, on_progress, origin=origin, parts=parts, before=before, after=after
    )
    return Loaded(manifest, status, parked)


def replaced_by(manifest: Manifest) -> str:
    """What the dump's scope takes the place of; nothing if it is the scope of the dumps before it."""
    if not manifest.replaces:
        return ""
    return replaced_json(*([it.model_dump() for it in scope] for scope in (manifest.replaces, manifest.within)))


def _without_source(config: Config) -> Config:
    """The configuration with no source to read: the dump is read instead, and the source may be gone."""
    # "listener", as nothing is polled then; and a one-off job opens no bridge.
    source = config.source.model_copy(update={"metastore": None, "capture": "listener"})
    return config.model_copy(update={"source": source})


def _with_files(config: Config, manifest: Manifest, targets: Sequence[str]) -> Config:
    """The configuration as it is. Raises UsageError where a target would get tables without their data files."""
    without = [it.name for it in config.targets if it.name in targets and it.copy_files is None]
    if manifest.files == "copy" and without:
        raise UsageError(
            f"the dump has data files, but target {without[0]} does not copy files",
            "set copy = true in its [[targets]] table, or load only the metadata: --files none, or WITH "
            "('hive.repl.dump.metadata.only'='true')",
        )
    return config


def _without_files(config: Config) -> Config:
    targets = tuple(it.model_copy(update={"copy_files": None}) for it in config.targets)
    return config.model_copy(update={"targets": targets})


def is_whole(dump: Dump, config: Config, targets: Sequence[str]) -> bool:
    """Whether the dump has everything that the targets take. If so, what is parked of other objects is over."""
    policies = [Translator.of(it).policy for it in config.targets if it.name in targets]
    scope = RefreshScope(
        database=lambda name: any(policy.takes_database(name) for policy in policies),
        table=lambda name: any(policy.takes_table(name) for policy in policies),
    )
    with DumpReader(dump) as reader:
        for database in filter(scope.database, reader.databases()):
            names = (TableName(database, table) for table in reader.tables(database))
            lacking = (it for it in names if scope.table(it) and dump.table_at(it.database, it.table) is None)
            if reader.database(database) is None or next(lacking, None) is not None:
                return False
    return True
