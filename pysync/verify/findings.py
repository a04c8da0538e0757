"""What a comparison finds about one object, and which objects it compares."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from pysync.base.errors import UsageError
from pysync.model.names import TableName, normalized

EQUAL, MISSING, EXTRA, DIFFERENT, FOREIGN = "equal", "missing", "extra", "different", "foreign"

MOST_FIELDS = 20
"""How many differences of one object are listed; the others are counted."""

MORE = "and "
"""How the line begins that counts the others."""


@dataclass(frozen=True, slots=True)
class ComparedObject:
    """One object: what it is, its name at the target, and how it compares; `fields` names what differs.

    `parts` is how many partitions of a table were compared. `excuse` says why a difference is no drift; "" if it is
    one. `source` is the name at the source: `db.table`, or `db` for a database and its functions.
    """

    kind: str
    name: str
    result: str
    parts: int = 0
    fields: tuple[str, ...] = ()
    excuse: str = ""
    source: str = ""

    @property
    def drift(self) -> bool:
        """Whether the target is not what it should be."""
        return self.result != EQUAL and not self.excuse


@dataclass(frozen=True, slots=True)
class Selection:
    """Objects by their names at the source: databases with all that is in them (`whole`) or without, and tables."""

    whole: frozenset[str] = frozenset()
    alone: frozenset[str] = frozenset()
    tables: frozenset[TableName] = frozenset()

    @classmethod
    def parse(cls, names: Sequence[str]) -> Selection | None:
        """The selection of names like `db` and `db.table`; None, everything, if there are none. Raises UsageError."""
        if not names:
            return None
        if not all(name.strip() for name in names):
            raise UsageError("the name is empty", "write db or db.table")
        tables = frozenset(TableName.parse(name) for name in names if "." in name)
        return cls(whole=frozenset(normalized(name) for name in names if "." not in name), tables=tables)

    @classmethod
    def of(cls, compared: Iterable[ComparedObject]) -> Selection:
        """The selection of what was compared."""
        return cls.named(item.source for item in compared)

    @classmethod
    def named(cls, names: Iterable[str]) -> Selection:
        """The selection of these, by their names at the source: tables, and databases without what is in them."""
        parts = [(name, "." in name) for name in names]
        tables = frozenset(TableName.parse(name) for name, is_table in parts if is_table)
        return cls(alone=frozenset(name for name, is_table in parts if not is_table), tables=tables)

    def not_among(self, names: Collection[str]) -> list[str]:
        """The selected objects that are not among these names; a database is if a name is within it."""
        within = {name.partition(".")[0] for name in names}
        missing = [name for name in sorted(self.whole | self.alone) if name not in within]
        return [*missing, *(str(name) for name in sorted(self.tables) if str(name) not in names)]

    def has_database(self, name: str) -> bool:
        """Whether the database itself and its functions are in it."""
        return name in self.whole or name in self.alone

    def has_table(self, name: TableName) -> bool:
        """Whether the table is in it."""
        return name.database in self.whole or name in self.tables


def listed(fields: Sequence[str], count: int | None = None) -> tuple[str, ...]:
    """The first of these differences, and how many more there are; `count` is their total (unset: these)."""
    more = (len(fields) if count is None else count) - min(len(fields), MOST_FIELDS)
    return (*fields[:MOST_FIELDS], *([f"{MORE}{more:,} more"] if more > 0 else []))
