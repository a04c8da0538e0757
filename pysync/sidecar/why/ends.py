"""Presence: whether source and target have an object now, and what a target lacks of a view that it has."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TException

from pysync.base.bounded import OpenQuestion, Questions
from pysync.base.errors import PysyncError
from pysync.base.text import error_text, nearest
from pysync.metastore.errors import MetastoreError
from pysync.metastore.reads import Reads
from pysync.metastore.source import SOURCE, known
from pysync.model.definition import VIEW
from pysync.model.names import TableName
from pysync.replay.progress import DrainState
from pysync.targets.base import ReportsLosses, Target
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings

SILENT = frozenset({DrainState.WAITING, DrainState.FAILING, DrainState.DISABLED, DrainState.STOPPED})
"""States of a drain in which its target is not asked: it would not answer."""

T = TypeVar("T")

_ERRORS = (PysyncError, MetastoreError, TException, hive.NoSuchObjectException)


@dataclass(frozen=True, slots=True)
class Presence:
    """Whether each end has the object; None: that is not known.

    `near` is the most similar name at the source, `lost` what the target does not have of a view. `lacks_database`: the
    target does not have the object's database either. `silent` says why an
    end did not answer that was asked: "the source", or "target NAME".
    """

    at_source: bool | None = None
    at_target: bool | None = None
    near: str | None = None
    lost: Sequence[str] = ()
    lacks_database: bool = False
    silent: Mapping[str, str] = field(default_factory=dict)

    def not_looked_at(self) -> list[str]:
        """The ends of which it is not known, "source" and "target"."""
        ends = {"source": self.at_source, "target": self.at_target}
        return [name for name, has in ends.items() if has is None]


def _opened(settings: TargetSettings) -> Target:
    return target_kind(settings.kind).open(settings)


@dataclass(frozen=True, slots=True)
class EndsReader:
    """Reads both ends for a request, with connections of its own; `source` opens the source, if it is known.

    No method waits for longer than `seconds`, whatever hangs. Those that begin to ask do not wait.
    """

    source: Callable[[], AbstractContextManager[Reads]] | None
    open_target: Callable[[TargetSettings], Target] = _opened
    seconds: float = 3.0
    questions: Questions = field(default_factory=Questions)

    def ask_source(self, job: Callable[[Reads], T]) -> OpenQuestion[T]:
        """Begin to ask the source. Raises SourceNotSet."""
        source = known(self.source)

        def asked() -> T:
            with source() as reads:
                return job(reads)

        return self.questions.begin(SOURCE, asked, self.seconds)

    def ask_target(self, settings: TargetSettings, job: Callable[[Target], T]) -> OpenQuestion[T]:
        """Begin to ask a target."""

        def asked() -> T:
            with closing(self.open_target(settings)) as target:
                return job(target)

        return self.questions.begin(f"target {settings.name}", asked, self.seconds)

    def read(
        self, source: str, targets: Iterable[tuple[TargetSettings, str]], unasked: Iterable[str] = ()
    ) -> dict[str, Presence]:
        """What the ends have of an object, by targets; each comes with the object's name there. Some are `unasked`."""
        asked = {it.name: self.ask_target(it, partial(_there, it, name)) for it, name in targets}
        at_source, near, error = self._source_has(source)
        common = Presence(at_source, near=near, silent={SOURCE: error} if error else {})
        return {**dict.fromkeys(unasked, common), **{name: _presence(it, common) for name, it in asked.items()}}

    def absent(self, names: Sequence[str]) -> dict[str, str | None]:
        """Those of the names that the source does not have, each with the most similar one; none if it is silent."""
        has = _answer(self.ask_source(partial(_at_source, names=names))) if self.source is not None else None
        return {name: near for name, (is_there, near) in (has or {}).items() if not is_there}

    def absent_at(self, targets: Iterable[tuple[TargetSettings, Mapping[str, str]]]) -> list[set[str]]:
        """For each target the keys of the names that come with it and that it does not have; none if it is silent."""
        asked = [self.ask_target(it, partial(_absent, names=names)) for it, names in targets]
        return [_answer(it) or set() for it in asked]

    def tables_at(
        self, targets: Iterable[tuple[TargetSettings, Sequence[str]]]
    ) -> dict[str, dict[str, frozenset[str]]]:
        """The names of all tables at the targets, by database; not of those databases that are not answered for."""
        names: dict[str, dict[str, frozenset[str]]] = {}
        until = time.monotonic() + self.seconds

        def read(target: Target, databases: Sequence[str], tables: dict[str, frozenset[str]]) -> None:
            for database in databases:
                if time.monotonic() > until:
                    break
                tables[database] = frozenset(target.tables(database))

        asked = []
        for settings, databases in targets:
            tables = names[settings.name] = {}
            asked.append(self.ask_target(settings, partial(read, databases=databases, tables=tables)))
        for question in asked:
            _answer(question)
        return {name: dict(tables) for name, tables in names.items()}

    def _source_has(self, name: str) -> tuple[bool | None, str | None, str]:
        """Whether the source has it; if not, the most similar name; what is wrong if it does not answer."""
        if self.source is None:
            return None, None, ""
        try:
            return *self.ask_source(partial(_at_source, names=[name])).answer()[name], ""
        except _ERRORS as error:
            return None, None, error_text(error)


def _answer(question: OpenQuestion[T]) -> T | None:
    """The answer; None if there is none."""
    try:
        return question.answer()
    except _ERRORS:
        return None


def _presence(question: OpenQuestion[Presence], at_source: Presence) -> Presence:
    """What is at the source, and at the target that was asked."""
    try:
        there = question.answer()
    except _ERRORS as error:
        return replace(at_source, silent={**at_source.silent, question.place: error_text(error)})
    return replace(at_source, at_target=there.at_target, lost=there.lost, lacks_database=there.lacks_database)


def _at_source(reads: Reads, names: Sequence[str]) -> dict[str, tuple[bool, str | None]]:
    """Whether the source has the objects of these names, and of those that it has not the most similar name."""
    found = dict[str, tuple[bool, str | None]]()
    for name in names:
        has = _has(name, reads.database, lambda it: reads.table(it.database, it.table), reads.functions)
        found[name] = has, None if has else _near(reads, name)
    return found


def _there(settings: TargetSettings, name: str, target: Target) -> Presence:
    """Whether a target has an object and its database, and what it lacks of it."""
    if not _has_at_target(target, name):
        return Presence(at_target=False, lacks_database=target.database(name.partition(".")[0]) is None)
    return Presence(at_target=True, lost=_lost_of_view(target, name) if settings.translates_views else ())


def _absent(target: Target, names: Mapping[str, str]) -> set[str]:
    """The keys of the names that a target does not have."""
    return {key for key, name in names.items() if not _has_at_target(target, name)}


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
