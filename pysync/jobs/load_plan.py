"""What a load of a dump would do, told before it is done. The dump, the targets and the queue are only read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from pysync.config import Config
from pysync.copy.files import refuse_elsewhere, refuse_shared
from pysync.dump.index import Dump
from pysync.dump.read import DumpReader
from pysync.jobs.dumped_files import locations, refuse_not_taken
from pysync.jobs.loading import FilesToo, Survey, is_whole, replaced_by
from pysync.jobs.scope_plan import kept_scopes
from pysync.model.describe import describe
from pysync.model.mark import Mark, Writer
from pysync.model.operation import DropPartitions, Operation, Refresh
from pysync.model.table_formats import data_location
from pysync.replay.window.scope import leaving
from pysync.replay.window.translate import Translator
from pysync.resync.rescoping import KeptScope, scopes_of
from pysync.targets.base import Rejected, Target, target_kind
from pysync.targets.settings import TargetSettings


def load_plans(config: Config, dump: Dump, targets: Sequence[str], *, files: FilesToo = "copy") -> list[dict[str, Any]]:
    """What the load comes to at each of these targets, as JSON values (docs/dump.md). Changes nothing.

    With `files` as in `load_once`, tables are refused whose data files would go where a load writes nothing.
    Whether the dump is too old, or does not follow the one before, is not looked at. Raises PysyncError for a target or
    a queue that cannot be read.
    """
    kept = kept_scopes(config.queue.directory)
    whole = is_whole(dump, config, targets)
    found = [it for it in config.targets if it.name in targets]
    with_files = files == "copy" and dump.manifest.files == "copy"
    return [_plan(it, dump, kept.get(it.name), whole=whole, with_files=with_files) for it in found]


def _plan(
    settings: TargetSettings, dump: Dump, kept: KeptScope | None, *, whole: bool, with_files: bool
) -> dict[str, Any]:
    translator = Translator.of(settings)
    with closing(target_kind(settings.kind).open(settings)) as target, DumpReader(dump) as reader:
        survey = Survey(reader, target, translator, dump.manifest, Writer(0), whole)
        drops = [*survey.drops(), *_leaving(dump, scopes_of(settings, kept), translator, target)]
        refused = dict(_refused(dump, reader, target, translator, settings)) if with_files else {}
    names = (str(translator.mapping.table(it)) for it in dump.tables() if translator.policy.takes_table(it))
    applies = settings.drops == "apply"
    return {
        "target": settings.name,
        "put": sorted(it for it in names if it not in refused),
        "refused": [{"table": name, "reason": reason} for name, reason in sorted(refused.items())],
        "drop": [_named(it) for it in drops] if applies else [],
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


def _named(operation: Operation) -> str:
    return describe(operation).removeprefix("drop ") if isinstance(operation, DropPartitions) else operation.key
