"""Loading: a dump is brought to targets the way that a bootstrap is, as if the source were there (docs/dump.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from pysync.capture.notifications import Position, instance_of
from pysync.config import Config
from pysync.dump.index import Dump
from pysync.dump.manifest import Manifest
from pysync.dump.read import DumpReader
from pysync.dump.taken import Taken, followed, last_begun, last_taken, note_begun, note_taken
from pysync.errors import PysyncError, UsageError
from pysync.jobs.dumped_files import OutOf
from pysync.jobs.load_guard import Survey, since_by_queue
from pysync.jobs.oneoff import Tell, run_once
from pysync.model.names import TableName
from pysync.queue import EventQueue, ParkedTable
from pysync.replay.leaving import replaced_json
from pysync.replay.translate import Translator
from pysync.resync.bootstrap import Origin
from pysync.resync.refreshes import Scope
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings

_FORCE = "use --force to load it anyway"

FilesToo = Literal["copy", "none"]
"""Whether the data files of a dump come to the targets, or the metadata alone."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What came of a load: the last status (docs/status.md), and what each target refused."""

    manifest: Manifest
    status: Mapping[str, Any]
    parked: Mapping[str, Sequence[ParkedTable]]


def load_once(
    config: Config, dump: Dump, targets: Sequence[str], tell: Tell, *, force: bool = False, files: FilesToo = "copy"
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
                _refuse_older(queue, dump, settings, whole=whole)
                _refuse_unfit(queue, manifest, settings.name)
        for name in targets:
            # Before anything is written: a load that is cut short leaves some of the dump at the target.
            note_begun(queue, name, manifest)

    def after(queue: EventQueue) -> None:
        for name in targets:
            note_taken(queue, name, manifest)
            parked[name] = queue.target(name).parked.tables()

    carried = partial(OutOf, dump.directory, manifest.data_under) if manifest.files == "copy" else None
    origin = Origin(
        partial(DumpReader, dump),
        id=manifest.id,
        whole=whole,
        note="load",
        files=carried,
        replaced=replaced_by(manifest),
    )
    status = run_once(_without_source(config), targets, tell, origin=origin, before=before, after=after)
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
    scope = Scope(
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


# --- whether it fits what the target took before


def _refuse_older(queue: EventQueue, dump: Dump, settings: TargetSettings, *, whole: bool) -> None:
    """Raises PysyncError, which tells what would be undone, for a dump that would take the target back."""
    manifest, name = dump.manifest, settings.name
    with closing(target_kind(settings.kind).open(settings)) as target, DumpReader(dump) as reader:
        survey = Survey(reader, target, Translator.of(settings), manifest, queue.writer(name), whole)
        reason = older(queue, manifest, name, survey)
        if reason is not None:
            raise PysyncError(f"the dump is older than the state of target {name}: {reason}; {survey.told()}", _FORCE)


def older(queue: EventQueue, manifest: Manifest, target: str, survey: Survey) -> str | None:
    """How a dump is older than what the target has, as far as anybody knows; None if it is not."""
    by_queue = _since_by_notes(queue, manifest, target) or since_by_queue(queue, manifest, target)
    return by_queue or survey.since_by_marks()


def _since_by_notes(queue: EventQueue, manifest: Manifest, target: str) -> str | None:
    """Which later dump the target took or began to take, or which later notification came in; None if none."""
    taken, begun = last_taken(queue.notes, target), last_begun(queue.notes, target)
    return _older_than_polled(queue, manifest) or _older(manifest, taken) or _older(manifest, begun)


def _refuse_unfit(queue: EventQueue, manifest: Manifest, target: str) -> None:
    """Raises PysyncError for a dump that does not follow what the target took of its scope, or of the replaced one."""
    if manifest.since is None:
        return
    same = followed(queue.notes, target, manifest)
    taken = same or last_taken(queue.notes, target)
    if taken is None or taken.upto is None or taken.upto < manifest.since:
        reached = "has loaded no dump" if taken is None or taken.upto is None else f"has dumps up to {taken.upto}"
        raise PysyncError(
            f"the dump begins after notification {manifest.since}, but target {target} {reached}",
            f"first load the dumps in between, or a full dump; or {_FORCE}",
        )
    if same is None:
        raise PysyncError(
            f"the dump has another scope than the dump that target {target} loaded before, or a load has begun to "
            "replace that scope",
            f"load a full dump of the new scope; or {_FORCE}",
        )


def _older_than_polled(queue: EventQueue, manifest: Manifest) -> str | None:
    polled = _polled(queue, manifest.source)
    if manifest.upto is None or polled is None or manifest.upto >= polled:
        return None
    return f"it ends at notification {manifest.upto}, but pysync has read up to notification {polled}"


def _older(manifest: Manifest, taken: Taken | None) -> str | None:
    """How the dump is older than one that was taken before; None if it is not."""
    if taken is None:
        return None
    if manifest.upto is not None and taken.upto is not None and manifest.upto != taken.upto:
        older = manifest.upto < taken.upto
        return f"it ends at notification {manifest.upto}, not {taken.upto}" if older else None
    return "it began before the dump that was loaded last" if manifest.began_at < taken.began_at else None


def _polled(queue: EventQueue, source: str) -> int | None:
    """The notification up to which a sidecar on this queue has read the source's log; None if none has."""
    noted = queue.notes.get(instance_of(source))
    try:
        return None if noted is None else Position.from_json(noted).last
    except ValueError:
        return None
