"""Leaving: drops what a target holds from former scopes, and what is not in its present one.

Only objects that a former scope put there are meant, and only with this source's mark: another target of the same
source may be in the same metastore. Files are never deleted: an object under another name may use the same ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import DropDatabase, DropTable, Operation, Refresh
from pysync.replay.scope import Extent
from pysync.replay.translate import Translator
from pysync.targets.base import Target

_DEFAULT = "default"


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
            left = any(it.holds(name) for it in self.former) and not self.now.holds(name)
            if left and self._is_ours(self.target.table(name)):
                yield name

    def goes(self, database: str, gone: Sequence[TableName]) -> bool:
        """Whether the database itself has left the scope, and is empty without the tables in `gone`."""
        if database == _DEFAULT or self.now.holds_database(database) or len(self.target.tables(database)) > len(gone):
            return False
        return self._is_ours(self.target.database(database))

    def _is_ours(self, item: Any) -> bool:
        mark = Mark.read(item.parameters) if item is not None else None
        return mark is not None and mark.source == self.source


def leaving(target: Target, translator: Translator, refresh: Refresh) -> Iterator[Operation]:
    """The drops of everything that has left the scope since the former ones that the refresh names.

    A database goes after its tables, and stays if others are left in it. Raises what the target raises.
    """
    former = [Extent.of(it) for it in json.loads(refresh.former)]
    found = Leaving(target, refresh.mark.source, former, Extent(translator.policy, translator.mapping))
    # createTime 0: whichever table has the name there by now, it is out of scope.
    origin: dict[str, Any] = {"mark": replace(refresh.mark, created=0), "visited": refresh.visited}
    for database in found.databases():
        gone = list(found.tables(database))
        for name in gone:
            yield DropTable(table=name, **origin)
        if found.goes(database, gone):
            yield DropDatabase(database=database, **origin)
