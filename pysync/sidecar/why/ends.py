"""Presence: whether source and target have an object now, and what a target lacks of a view that it has."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TException

from pysync.base.errors import PysyncError
from pysync.base.text import nearest
from pysync.metastore.errors import MetastoreError
from pysync.metastore.reads import Reads
from pysync.model.definition import VIEW
from pysync.model.names import TableName
from pysync.replay.progress import DrainState
from pysync.targets.base import ReportsLosses, Target
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings

SILENT = frozenset({DrainState.WAITING, DrainState.FAILING, DrainState.DISABLED, DrainState.STOPPED})
"""States of a drain in which its target is not asked: it would not answer."""

_ERRORS = (PysyncError, MetastoreError, TException, hive.NoSuchObjectException)


@dataclass(frozen=True, slots=True)
class Presence:
    """Whether each end has the object; None: that is not known.

    `near` is the most similar name at the source, `lost` what the target does not have of a view.
    """

    at_source: bool | None = None
    at_target: bool | None = None
    near: str | None = None
    lost: Sequence[str] = ()


def _opened(settings: TargetSettings) -> Target:
    return target_kind(settings.kind).open(settings)


@dataclass(frozen=True, slots=True)
class EndsReader:
    """Reads both ends, with connections of its own; `source` opens the source, if it is known."""

    source: Callable[[], AbstractContextManager[Reads]] | None
    open_target: Callable[[TargetSettings], Target] = _opened

    def read(self, settings: TargetSettings, source: str, target: str, *, target_answers: bool) -> Presence:
        """What the ends have of an object, by its name at each. A target that does not answer is not asked."""
        at_source, near = self.at_source(source)
        if not target_answers:
            return Presence(at_source, near=near)
        try:
            with closing(self.open_target(settings)) as opened:
                at_target = _has_at_target(opened, target)
                lost = _lost_of_view(opened, target) if at_target and settings.translates_views else ()
                return Presence(at_source, at_target, near, lost)
        except _ERRORS:
            return Presence(at_source, near=near)

    def at_source(self, name: str) -> tuple[bool | None, str | None]:
        """Whether the source has an object of this name; if it does not, the most similar name there."""
        if self.source is None:
            return None, None
        try:
            with self.source() as reads:
                has = _has(name, reads.database, lambda it: reads.table(it.database, it.table), reads.functions)
                return has, None if has else _near(reads, name)
        except _ERRORS:
            return None, None

    def at_target(self, settings: TargetSettings, name: str) -> bool | None:
        """Whether the target has an object of this name, which is that at the target."""
        try:
            with closing(self.open_target(settings)) as opened:
                return _has_at_target(opened, name)
        except _ERRORS:
            return None

    def tables_at(self, settings: TargetSettings, databases: Iterable[str], until: float) -> dict[str, frozenset[str]]:
        """The names of all tables at the target, by database; not of those that it does not answer for.

        Returns by `until`, by the monotonic clock, also where the target hangs: its timeout is longer than an answer.
        """
        names = dict[str, frozenset[str]]()

        def read() -> None:
            with suppress(*_ERRORS), closing(self.open_target(settings)) as opened:
                for database in databases:
                    if time.monotonic() > until:
                        break
                    names[database] = frozenset(opened.tables(database))

        reader = threading.Thread(target=read, name=f"tables-{settings.name}", daemon=True)
        reader.start()
        reader.join(max(0.0, until - time.monotonic()))
        return dict(names)


def _has_at_target(target: Target, name: str) -> bool:
    return _has(name, target.database, target.table, target.functions)


def _lost_of_view(target: Target, name: str) -> Sequence[str]:
    """What a target does not have of a view that it has; nothing of others, and nothing if it does not answer."""
    if "." not in name or name.endswith("()") or not isinstance(target, ReportsLosses):
        return ()
    try:
        there = target.table(TableName.parse(name))
        return target.lost(there) if there is not None and there.tableType == VIEW else ()
    except _ERRORS:
        return ()


def _has(
    name: str,
    database: Callable[[str], Any],
    table: Callable[[TableName], Any],
    functions: Callable[[str], Sequence[Any]],
) -> bool:
    of, dot, rest = name.partition(".")
    is_there = database(of) is not None
    if not is_there or not dot:
        return is_there
    if rest.endswith("()"):
        return any(it.functionName == rest.removesuffix("()") for it in functions(of))
    return table(TableName(of, rest)) is not None


def _near(reads: Reads, name: str) -> str | None:
    """The most similar table, in the database of that name or in the most similar one; else that database."""
    database, dot, table = name.partition(".")
    database_name = database if reads.database(database) is not None else nearest(database, reads.databases())
    if database_name is None or not dot:
        return database_name
    near = nearest(table, reads.tables(database_name))
    return f"{database_name}.{near}" if near else database_name if database_name != database else None
