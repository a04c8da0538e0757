"""Leaving: drops what a target holds from former scopes, and what is not in its present one. Pure.

Only objects that a former scope put there are meant, and only with this source's mark: another target of the same
source may be in the same metastore. Files are never deleted: an object under another name may use the same ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pysync.model.catalogs import is_default_database
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import DropDatabase, DropTable, Operation, Refresh
from pysync.replay.window.policy import Policy
from pysync.replay.window.scope import Extent, Settings
from pysync.replay.window.translate import Translator
from pysync.targets.base import Target
from pysync.targets.settings import TargetSettings


@dataclass(frozen=True, slots=True)
class Leaving:
    """Which of the target's objects have left its scope; only reads the target."""

    target: Target
    source: str
    former: Sequence[Extent]
    now: Extent

    def databases(self) -> Iterator[str]:
        """The target's databases in which something may have left the scope, sorted."""
        return (name for name in self.target.databases() if any(it.holds_database(name) for it in self.former))

    def tables(self, database: str) -> Iterator[TableName]:
        """The tables of a target's database that have left the scope, sorted."""
        for table in self.target.tables(database):
            name = TableName(database, table)
            former = {source for it in self.former for source in it.sources_of(name)}
            # A table is read only if the name was given to other objects: most tables stay.
            if not former.issubset(self.now.sources_of(name)) and self._has_left(name, self.target.table(name)):
                yield name

    def has_left(self, database: str, gone: Sequence[TableName]) -> bool:
        """Whether the database itself has left the scope, and is empty without the tables in `gone`."""
        if is_default_database(database) or len(self.target.tables(database)) > len(gone):
            return False
        return self._has_left(database, self.target.database(database))

    def _has_left(self, name: TableName | str, there: Any) -> bool:
        """Whether it is this source's, and of an object that the present scope leaves out, or names otherwise."""
        mark = Mark.read(there.parameters) if there is not None else None
        if mark is None or mark.source != self.source:
            return False
        holds = self.now.holds_database(name) if isinstance(name, str) else self.now.holds(name)
        return not holds or bool(self.now.former_object(name, mark))


@dataclass(frozen=True, slots=True)
class Replaced:
    """The scope of the dumps until now, and the one in its place, as policies: each takes what any of them takes."""

    old: Sequence[Policy]
    new: Sequence[Policy]

    @classmethod
    def from_json(cls, text: str) -> Replaced:
        """Read what `replaced_json` wrote."""
        fields = json.loads(text)
        return cls(*([_policy(it) for it in fields[key]] for key in ("old", "new")))

    def takes(self, name: TableName) -> bool:
        """Whether the new one takes a table of the source."""
        return any(it.takes_table(name) for it in self.new)

    def is_left(self, name: TableName) -> bool:
        """Whether the old one took a table of the source, and the new one does not."""
        return any(it.takes_table(name) for it in self.old) and not self.takes(name)


def replaced_json(old: Sequence[Settings], new: Sequence[Settings]) -> str:
    """The attribute `replaced` of a refresh: settings of both scopes, as in a target's table."""
    return json.dumps({"old": list(map(dict, old)), "new": list(map(dict, new))})


def _policy(scope: Mapping[str, Any]) -> Policy:
    return Policy.of(TargetSettings(name="former", kind="any", **scope))


def leaving(target: Target, translator: Translator, refresh: Refresh) -> Iterator[Operation]:
    """The drops of everything that has left the scope since the former ones that the refresh names.

    A database goes after its tables, and stays if others are left in it. If the policy of the dumps was replaced, only
    tables go that the old one took and the new one does not. Raises what the target raises.
    """
    former = [Extent.of(it) for it in json.loads(refresh.former)]
    now = Extent(translator.policy, translator.mapping)
    if refresh.replaced:
        replaced = Replaced.from_json(refresh.replaced)
        former = [replace(it, only=replaced.is_left) for it in former]
        now = replace(now, only=replaced.takes)
    extent = Leaving(target, refresh.mark.source, former, now)
    # createTime 0: whichever table has the name there by now, it is out of scope.
    origin: dict[str, Any] = {"mark": replace(refresh.mark, created=0), "visited": refresh.visited}
    for database in extent.databases():
        gone = list(extent.tables(database))
        for name in gone:
            yield DropTable(table=name, **origin)
        if not refresh.replaced and extent.has_left(database, gone):
            yield DropDatabase(database=database, **origin)
