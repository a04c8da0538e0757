"""What a change of scope would do, told before it is done. Source and target are only read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from pysync.config import Config
from pysync.control.client import NoSidecar, ask
from pysync.errors import PysyncError
from pysync.metastore.client import Metastore
from pysync.model.names import TableName
from pysync.queue import EventQueue
from pysync.queue.store import FILE
from pysync.replay.leaving import Leaving
from pysync.replay.scope import Extent, scope_of
from pysync.replay.translate import Translator
from pysync.resync.healing import reading
from pysync.resync.rescoping import KeptScope, kept_scope
from pysync.targets.base import Target
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings

_LOCK_SECONDS = 1.0


def scope_plans(config: Config, target: str | None = None) -> list[dict[str, Any]]:
    """What the scopes in the configuration come to at each target, or at one, as JSON values (docs/scope.md).

    What the targets held before is known by the running sidecar, or by the queue where none runs. Changes nothing.
    Raises PysyncError for a queue, a source or a target that cannot be read.
    """
    kept = _kept(config.queue.directory)
    access = config.source.access()
    if access is None:
        raise PysyncError("[source] metastore is not set", "set it to the address of the source")
    with reading(access) as source:
        return [
            _plan(config.source.name, settings, kept.get(settings.name), source)
            for settings in config.targets
            if target in {None, settings.name}
        ]


def _kept(directory: Path) -> dict[str, KeptScope]:
    try:
        found = ask(directory, "scopes")["scopes"]
        return {name: KeptScope.model_validate(it) for name, it in found.items()}
    except NoSidecar:
        # Opening it would make a queue.
        if not (directory / FILE).exists():
            return {}
    with EventQueue(directory, min_free_bytes=0, lock_timeout=_LOCK_SECONDS) as queue:
        return {name: it for name in queue.positions() if (it := kept_scope(queue, name)) is not None}


def _plan(source_name: str, settings: TargetSettings, kept: KeptScope | None, source: Metastore) -> dict[str, Any]:
    wanted = scope_of(settings)
    new = kept.changed_to(wanted) if kept is not None else None
    translator = Translator.of(settings)
    now = Extent(translator.policy, translator.mapping)
    with closing(target_kind(settings.kind).open(settings)) as target:
        put, there = _coming(now, source, target)
        former = [Extent.of(it) for it in new.former] if new is not None else []
        left = list(_left(Leaving(target, source_name, former, now)))
    drops = settings.out_of_scope == "drop"
    return {
        "target": settings.name,
        "is_new": kept is None,
        "changes": list(new.changes) if new is not None and new.former else [],
        "out_of_scope": settings.out_of_scope,
        "put": put,
        "compare": there,
        "keep": [] if drops else left,
        "drop": left if drops else [],
        "drops": len(left) if drops else 0,
        "max_drops_per_window": settings.max_drops_per_window,
    }


def _coming(now: Extent, source: Metastore, target: Target) -> tuple[list[str], int]:
    """The databases and tables in scope that the target does not have, by their names there; how many it has."""
    names: set[str] = set()
    for database in filter(now.policy.takes_database, source.databases()):
        names.add(now.mapping.database(database))
        tables = (TableName(database, table) for table in source.tables(database))
        names |= {str(now.mapping.table(it)) for it in tables if now.policy.takes_table(it)}
    there = set(target.databases())
    for database in {name.partition(".")[0] for name in names} & there:
        there |= {f"{database}.{table}" for table in target.tables(database)}
    return sorted(names - there), len(names & there)


def _left(leaving: Leaving) -> Iterator[str]:
    """What has left the scope; a database with the last of its tables."""
    for database in leaving.databases():
        gone = list(leaving.tables(database))
        if leaving.goes(database, gone):
            yield database
        yield from map(str, gone)
