"""What a change of scope or the load of a dump would do, before it is done. Source, target and queue are only read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from pysync.config import Config
from pysync.control.client import ask_if_running
from pysync.copy.files import refuse_elsewhere, refuse_shared
from pysync.dump.index import Dump
from pysync.dump.read import DumpReader
from pysync.jobs.dump_carrying import refuse_not_taken
from pysync.jobs.dump_listing import locations
from pysync.jobs.load_guard import Survey
from pysync.jobs.loading import FilesToo, is_whole, replaced_by
from pysync.metastore.client import Metastore
from pysync.metastore.source import reading
from pysync.model.describe import describe
from pysync.model.mark import Mark, Writer
from pysync.model.names import TableName
from pysync.model.operation import DropPartitions, Operation, Refresh
from pysync.model.table_formats import data_location
from pysync.queue import queue_at_rest
from pysync.replay.window.leaving import Leaving, leaving
from pysync.replay.window.scope import Extent, scope_of
from pysync.replay.window.translate import Translator
from pysync.resync.rescoping import StoredScope, scopes_of, stored_scope
from pysync.targets.base import Rejected, Target, lacks_of
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings


def scope_plans(config: Config, target: str | None = None) -> list[dict[str, Any]]:
    """What the scopes in the configuration come to at each enabled target, or at one, as JSON values (docs/scope.md).

    What the targets held before is known by the running sidecar, or by the queue where none runs. Changes nothing.
    Raises PysyncError for a queue, a source or a target that cannot be read.
    """
    stored = stored_scopes(config.queue.directory)
    with reading(config.source_access()) as source:
        return [
            _plan(config.source.name, settings, stored.get(settings.name), source)
            for settings in config.targets
            if target == settings.name or (target is None and settings.enabled)
        ]


def stored_scopes(directory: Path) -> dict[str, StoredScope]:
    """What is kept of each target's scope, by the running sidecar or by the queue; nothing where there is no queue."""
    if answer := ask_if_running(directory, "scopes"):
        return {name: StoredScope.model_validate(it) for name, it in answer["scopes"].items()}
    with queue_at_rest(directory) as queue:
        scopes = {name: stored_scope(queue, name) for name in queue.positions()} if queue else {}
    return {name: it for name, it in scopes.items() if it is not None}


def _plan(source_name: str, settings: TargetSettings, stored: StoredScope | None, source: Metastore) -> dict[str, Any]:
    wanted = scope_of(settings)
    new = stored.changed_to(wanted) if stored is not None else None
    translator = Translator.of(settings)
    now = Extent(translator.policy, translator.mapping)
    with closing(target_kind(settings.kind).open(settings)) as target:
        named = _named(now, source)
        put, there = _coming(named, target)
        former = [Extent.of(it) for it in new.former] if new is not None else []
        left = list(_left(Leaving(target, source_name, former, now)))
        lacks = lacks_of(target)
    drops = settings.out_of_scope == "drop"
    return {
        "target": settings.name,
        "is_new": stored is None,
        "changes": list(new.changes) if new is not None and new.former else [],
        "lacks": lacks,
        "out_of_scope": settings.out_of_scope,
        "put": put,
        "compare": there,
        "collide": [f"{name}: {', '.join(olds)}" for name, olds in named.items() if "." in name and len(olds) > 1],
        "keep": [] if drops else left,
        "drop": left if drops else [],
        "drops": len(left) if drops else 0,
        "max_drops_per_window": settings.max_drops_per_window,
    }


def _named(now: Extent, source: Metastore) -> dict[str, list[str]]:
    """The names at the target of all databases and tables in scope, each with those that it has at the source."""
    names: dict[str, list[str]] = {}
    for database in filter(now.policy.takes_database, source.databases()):
        names.setdefault(now.mapping.database(database), []).append(database)
        for table in filter(now.policy.takes_table, (TableName(database, it) for it in source.tables(database))):
            names.setdefault(str(now.mapping.table(table)), []).append(str(table))
    return names


def _coming(named: Collection[str], target: Target) -> tuple[list[str], int]:
    """The databases and tables in scope that the target does not have, by their names there; how many it has."""
    names = set(named)
    there = set(target.databases())
    for database in {name.partition(".")[0] for name in names} & there:
        there |= {f"{database}.{table}" for table in target.tables(database)}
    return sorted(names - there), len(names & there)


def _left(leaving: Leaving) -> Iterator[str]:
    """What has left the scope; a database with the last of its tables."""
    for database in leaving.databases():
        gone = list(leaving.tables(database))
        if leaving.has_left(database, gone):
            yield database
        yield from map(str, gone)


def load_plans(config: Config, dump: Dump, targets: Sequence[str], *, files: FilesToo = "copy") -> list[dict[str, Any]]:
    """What the load comes to at each of these targets, as JSON values (docs/dump.md). Changes nothing.

    With `files` as in `load_once`, tables are refused whose data files would go where a load writes nothing.
    Whether the dump is too old, or does not follow the one before, is not looked at. Raises PysyncError for a target or
    a queue that cannot be read.
    """
    stored = stored_scopes(config.queue.directory)
    whole = is_whole(dump, config, targets)
    chosen = [it for it in config.targets if it.name in targets]
    with_files = files == "copy" and dump.manifest.files == "copy"
    return [_load_plan(it, dump, stored.get(it.name), whole=whole, with_files=with_files) for it in chosen]


def _load_plan(
    settings: TargetSettings, dump: Dump, stored: StoredScope | None, *, whole: bool, with_files: bool
) -> dict[str, Any]:
    translator = Translator.of(settings)
    with closing(target_kind(settings.kind).open(settings)) as target, DumpReader(dump) as reader:
        survey = Survey(reader, target, translator, dump.manifest, Writer(0), whole)
        drops = [*survey.drops(), *_leaving(dump, scopes_of(settings, stored), translator, target)]
        refused = dict(_refused(dump, reader, target, translator, settings)) if with_files else {}
        lacks = lacks_of(target)
    names = (str(translator.mapping.table(it)) for it in dump.tables() if translator.policy.takes_table(it))
    applies = settings.drops == "apply"
    return {
        "target": settings.name,
        "lacks": lacks,
        "put": sorted(it for it in names if it not in refused),
        "refused": [{"table": name, "reason": reason} for name, reason in sorted(refused.items())],
        "drop": [_object_name(it) for it in drops] if applies else [],
        "drops": sum(it.drops for it in drops) if applies else 0,
        "max_drops_per_window": settings.max_drops_per_window,
    }


def _refused(
    dump: Dump, reader: DumpReader, target: Target, translator: Translator, settings: TargetSettings
) -> Iterator[tuple[str, str]]:
    """The tables, named as at the target, whose files the load will not write where they would belong, and why."""
    mark = Mark(dump.manifest.source, 0, 0)
    for name in filter(translator.policy.takes_table, dump.tables()):
        there, table = translator.mapping.table(name), reader.table(name.database, name.table)
        location = translator.mapping.rewriting(name).locations.map
        own = [place] if table is not None and (place := data_location(table)) else []
        try:
            refuse_elsewhere(settings, (location(it) or "" for it in own))
            for page in locations(reader, name):
                refuse_not_taken(page, dump.manifest.data_under)
                places = [location(it) or "" for it in page]
                refuse_elsewhere(settings, places)
                refuse_shared(target, settings, there, mark, places)
        except Rejected as error:
            yield str(there), str(error)


def _leaving(dump: Dump, scopes: Sequence[Any], translator: Translator, target: Target) -> Iterator[Operation]:
    """The drops of what a replaced policy took, and the new one does not."""
    replaced = replaced_by(dump.manifest)
    if replaced:
        origin: dict[str, Any] = {"mark": Mark(dump.manifest.source, 0, 0), "visited": (dump.manifest.source,)}
        yield from leaving(target, translator, Refresh(former=json.dumps(scopes), replaced=replaced, **origin))


def _object_name(operation: Operation) -> str:
    return describe(operation).removeprefix("drop ") if isinstance(operation, DropPartitions) else operation.key
