"""Absence: what the source has of a database or table, and a target does not, though its settings take it.

Most often that is nothing: so names are compared first, and only what is absent then by the rules of `verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TException

from pysync.base.bounded import OpenQuestion
from pysync.base.errors import PysyncError
from pysync.base.text import count, error_text
from pysync.metastore.errors import MetastoreError
from pysync.metastore.reads import Reads
from pysync.model.definition import is_index
from pysync.model.names import TableName
from pysync.sidecar.why.ends import EndsReader
from pysync.targets.base import Target
from pysync.targets.settings import TargetSettings
from pysync.verify.comparator import DatabaseItem, TableItem
from pysync.verify.findings import EQUAL, MISSING, ComparedObject
from pysync.verify.rules import DEFAULT, Rules
from pysync.verify.tables import compared_with

MOST = 20
"""How many absent objects are looked for: the first are enough to act."""
_MOST_SHOWN = 5
_CHUNK = 200
_ERRORS = (PysyncError, MetastoreError, TException, hive.NoSuchObjectException)

Item = DatabaseItem | TableItem


@dataclass(frozen=True, slots=True)
class Absence:
    """What a look at both ends has shown.

    `names` are those at the source, a database before its tables; `reason` is why the first one is absent, if that is
    known. `silent` says why an end did not answer, "source" or "target": then nothing is known.
    """

    names: Sequence[str] = ()
    reason: str = ""
    silent: dict[str, str] = field(default_factory=dict)

    def text(self, target: str) -> str:
        """What the target does not have, for people."""
        shown = ", ".join(self.names[:_MOST_SHOWN])
        if len(self.names) > _MOST_SHOWN:
            least = "at least " if len(self.names) >= MOST else ""
            shown = f"{least}{count(len(self.names), 'object')}: {shown}, …"
        why = f" ({self.reason})" if self.reason else ""
        return f"{target} does not have what the source has: {shown}{why}"

    def hint(self, target: str) -> str:
        """The command that harms least: it writes what is absent and nothing else, or only looks.

        A refresh of a table does not make its database; and of a database that is absent all is absent.
        """
        database, dot, _ = self.names[0].partition(".")
        if not dot and not self.reason:
            return f"pysync verify {database} --target {target} --repair"
        if not self.reason and len(self.names) <= _MOST_SHOWN:
            return f"pysync refresh {' '.join(self.names)}"
        return f"pysync verify {self.names[0] if len(self.names) == 1 else database} --target {target}"


class AbsenceLook:
    """A look at both ends that is under way in a thread of its own, for `seconds` at most; `name` is of the source.

    With `among` only these names are looked for.
    """

    def __init__(
        self,
        ends: EndsReader,
        settings: TargetSettings,
        name: str,
        among: Collection[str] | None = None,
        seconds: float = 30.0,
    ) -> None:
        self._question: OpenQuestion[Absence] | None = None
        if ends.source is not None:
            opened = partial(ends.open_target, settings)
            job = partial(_absence, ends.source, opened, Rules.of(settings, ""), name, among)
            self._question = ends.questions.begin(f"target {settings.name}", job, seconds)

    @property
    def is_over(self) -> bool:
        """Whether `absence` answers at once."""
        return self._question is None or self._question.is_over

    def absence(self) -> Absence:
        """What is absent; waits for the ends, as long as they have."""
        if self._question is None:
            return Absence(silent={"source": "[source] metastore is not set"})
        try:
            return self._question.answer()
        except _ERRORS as error:
            return Absence(silent={"target": error_text(error)})


def _absence(
    open_source: Callable[[], AbstractContextManager[Reads]],
    open_target: Callable[[], Target],
    rules: Rules,
    name: str,
    among: Collection[str] | None,
) -> Absence:
    """What is absent. Raises what a target raises; a source that does not answer is `silent`."""
    try:
        with open_source() as source:
            items = [it for it in _items(source, rules, name) if among is None or _source_name(it) in among]
    except _ERRORS as error:
        return Absence(silent={"source": error_text(error)})
    with closing(open_target()) as target:
        absent = list(_not_at(target, items))
        if not absent:
            return Absence()
        with open_source() as source:
            found = list(islice(_missing(source, target, rules, absent), MOST))
    return Absence([name for name, _ in found], found[0][1] if found else "")


def _items(source: Reads, rules: Rules, name: str) -> Iterator[Item]:
    """The database, and the table, or all its tables that are taken by their names."""
    database, dot, _ = name.partition(".")
    if source.database(database) is None:
        return
    names = [TableName.parse(name)] if dot else [TableName.of(name, it) for it in source.tables(name)]
    tables = [TableItem(it, rules.mapping.table(it)) for it in names if rules.policy.takes_table(it)]
    if not dot or any(it.new.database == rules.mapping.database(database) for it in tables):
        yield DatabaseItem(rules.mapping.database(database), (database,))
    yield from tables


def _source_name(item: Item) -> str:
    return str(item.old) if isinstance(item, TableItem) else item.sources[0]


def _not_at(target: Target, items: Sequence[Item]) -> Iterator[Item]:
    """Those that the target does not have. The names of a database are asked for once, if there are several."""
    tables = [it for it in items if isinstance(it, TableItem)]
    if len(tables) == 1:
        yield from (it for it in items if isinstance(it, DatabaseItem) and target.database(it.new) is None)
        yield from (it for it in tables if target.table(it.new) is None)
        return
    names = dict[str, Collection[str] | None]()
    for it in items:
        database = it.new.database if isinstance(it, TableItem) else it.new
        if database not in names:
            names[database] = None if target.database(database) is None else set(target.tables(database))
        there = names[database]
        if there is None or (isinstance(it, TableItem) and it.new.table not in there):
            yield it


def _missing(source: Reads, target: Target, rules: Rules, absent: Sequence[Item]) -> Iterator[tuple[str, str]]:
    """Those that the source still has and the target should have, and why it does not, if that is known."""
    tables = dict[TableName, TableName]()
    for it in absent:
        if isinstance(it, TableItem):
            tables[it.old] = it.new
        elif (wanted := source.database(it.sources[0])) is not None and it.new != DEFAULT:
            blank = ComparedObject("database", it.new, EQUAL, source=it.sources[0])
            yield from _judged(target, rules, blank, wanted, target.database(it.new))
    for wanted in _definitions(source, list(tables)):
        old = TableName.of(wanted.dbName, wanted.tableName)
        if rules.policy.rule_against_definition(wanted) is None and not is_index(wanted):
            blank = ComparedObject("table", str(tables[old]), EQUAL, source=str(old))
            yield from _judged(target, rules, blank, wanted, target.table(tables[old]))


def _definitions(source: Reads, names: Sequence[TableName]) -> Iterator[Any]:
    """The tables, read many at once: a target may leave out most of them by their definitions."""
    for database, of_database in groupby(names, key=lambda it: it.database):
        while chunk := [it.table for it in islice(of_database, _CHUNK)]:
            yield from source.tables_by_name(database, chunk)


def _judged(
    target: Target, rules: Rules, blank: ComparedObject, wanted: Any, there: Any | None
) -> Iterator[tuple[str, str]]:
    stays = rules.stays(wanted)  # before `compared_with`, which alters it
    compared = compared_with(target, rules, blank, wanted, there)
    if compared.result == MISSING and compared.drift and not stays:
        yield blank.source, next(iter(compared.fields), "")
