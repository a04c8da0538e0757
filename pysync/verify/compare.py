"""Compare: every object in scope at the source against the target's, field by field.

What a server sets by itself is left out (pysync.model.definition), and so is what the target has of others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pysync.metastore import Metastore
from pysync.model.definition import definition, differences
from pysync.model.names import TableName
from pysync.replay.policy import Policy
from pysync.replay.rewrite import Rewrite

EQUAL, MISSING, EXTRA, DIFFERENT = "equal", "missing", "extra", "different"


@dataclass(frozen=True, slots=True)
class Compared:
    """One object: what it is, its name at the target, and how it compares; `fields` names what differs."""

    kind: str
    name: str
    result: str
    parts: int = 0  # the partitions of a table that were compared
    fields: tuple[str, ...] = ()


class Comparison:
    """Compares two metastores; reads only. Not a snapshot: compare when the source is at rest."""

    def __init__(self, source: Metastore, target: Metastore, policy: Policy, rewrite: Rewrite) -> None:
        self._source = source
        self._target = target
        self._policy = policy
        self._rewrite = rewrite

    def run(self) -> Iterator[Compared]:
        """Databases, their tables with all partitions, their functions; what only the target has comes as extra."""
        expected = {name for name in self._source.databases() if self._policy.takes_database(name)}
        for name in sorted(expected):
            yield self._object("database", name, self._source.database(name), self._target.database(name))
            yield from self._tables(name)
            yield from self._functions(name)
        there = {self._rewrite.database(name) for name in expected}
        for name in sorted(set(self._target.databases()) - there - {"default"}):
            yield Compared("database", name, EXTRA)

    def _tables(self, database: str) -> Iterator[Compared]:
        names = [TableName.of(database, table) for table in self._source.tables(database)]
        expected = {self._rewrite.table(name): name for name in names if self._policy.takes_table(name)}
        for new, old in sorted(expected.items()):
            yield self._table(old, new)
        target_database = self._rewrite.database(database)
        for table in sorted(self._target.tables(target_database)):
            if TableName.of(target_database, table) not in expected:
                yield Compared("table", f"{target_database}.{table}", EXTRA)

    def _table(self, old: TableName, new: TableName) -> Compared:
        source = self._source.table(old.database, old.table)
        target = self._target.table(new.database, new.table)
        compared = self._object("table", str(new), source, target)
        if source is None or target is None:
            return compared
        wanted, there = self._partitions(self._source, old), self._partitions(self._target, new)
        fields = list(compared.fields)
        for key in sorted(wanted.keys() | there.keys()):
            fields += [f"partition {'/'.join(key)}: {f}" for f in differences(wanted.get(key), there.get(key))]
        return Compared("table", str(new), DIFFERENT if fields else EQUAL, len(wanted), tuple(fields))

    def _partitions(self, metastore: Metastore, name: TableName) -> dict[tuple[str, ...], Any]:
        found = metastore.partitions(name.database, name.table)
        if metastore is self._source:
            found = map(self._rewritten, found)
        return {tuple(partition.values): definition(partition) for partition in found}

    def _functions(self, database: str) -> Iterator[Compared]:
        new = self._rewrite.database(database)
        there = {function.functionName: function for function in self._target.functions(new)}
        for function in self._source.functions(database):
            name = function.functionName.lower()
            yield self._object("function", f"{new}.{name}", function, there.pop(name, None))
        for name in sorted(there):
            yield Compared("function", f"{new}.{name}", EXTRA)

    def _object(self, kind: str, name: str, source: Any, target: Any) -> Compared:
        if target is None:
            return Compared(kind, name, MISSING)
        fields = differences(definition(self._rewritten(source)), definition(target))
        return Compared(kind, name, DIFFERENT if fields else EQUAL, 0, tuple(fields))

    def _rewritten(self, item: Any) -> Any:
        self._rewrite.rewrite(item)
        return item
