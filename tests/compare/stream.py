"""The stream of DDL: what a seed makes of it, as values. It is the same for every contender.

All of it is what both agents sync: external tables on S3, plain names, plain types, plain partition values.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

BUCKET = "s3://lake"
DATABASES = ("sales", "web", "finance", "ops")
STATEMENTS = 292

_TYPES = ("string", "bigint", "double", "decimal(10,2)", "date", "array<string>")
_FORMATS = ("parquet", "orc", "text")
_KEYS = (("day", "string"), ("hour", "int"))
_FEW_TABLES = 4
_WEIGHTS = {
    "create_table": 12,
    "drop_table": 4,
    "recreate_table": 2,
    "rename_table": 3,
    "add_column": 8,
    "change_type": 3,
    "set_property": 8,
    "add_partitions": 44,
    "drop_partition": 10,
    "move_partition": 6,
}
_OF_PARTITIONED = {"add_partitions", "drop_partition", "move_partition"}
_OF_PARTITIONS = {"drop_partition", "move_partition"}


@dataclass(frozen=True, slots=True)
class Table:
    """A table as a statement leaves it; `partitions` are locations by values."""

    database: str
    name: str
    columns: tuple[tuple[str, str], ...]
    keys: tuple[tuple[str, str], ...]
    format: str
    location: str
    properties: tuple[tuple[str, str], ...] = ()
    partitions: tuple[tuple[tuple[str, ...], str], ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement. `before` is None where it creates, `after` where it drops; of partitions only those it names."""

    kind: str
    database: str
    before: Table | None = None
    after: Table | None = None
    partitions: tuple[tuple[tuple[str, ...], str], ...] = ()


def statements(seed: int, count: int = STATEMENTS) -> list[Statement]:
    """The stream of a seed: the databases first, then `count` less these statements; valid in this order."""
    stream = _Stream(random.Random(seed))
    created = [Statement("create_database", name) for name in DATABASES]
    while len(created) < count:
        created.extend(stream.next())
    return created[:count]


class _Stream:
    """Knows which tables there are, so that every statement is one that the source accepts."""

    def __init__(self, chance: random.Random) -> None:
        self._random = chance
        self._tables: dict[tuple[str, str], Table] = {}
        self._numbers = 0

    def next(self) -> Iterator[Statement]:
        """One statement, or the two of a table that is dropped and made anew."""
        kind = self._random.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        among = [it for it in self._tables.values() if _fits(kind, it)]
        if kind == "create_table" or len(self._tables) < _FEW_TABLES or not among:
            yield self._create(self._new_table())
        else:
            yield from getattr(self, f"_{kind}")(self._random.choice(among))

    def _create(self, table: Table) -> Statement:
        return self._write("create_table", None, table)

    def _drop_table(self, table: Table) -> Iterator[Statement]:
        yield self._write("drop_table", table, None)

    def _recreate_table(self, table: Table) -> Iterator[Statement]:
        yield from self._drop_table(table)
        yield self._create(replace(self._new_table(), database=table.database, name=table.name))

    def _rename_table(self, table: Table) -> Iterator[Statement]:
        yield self._write("rename_table", table, replace(table, name=self._new_name()))

    def _add_column(self, table: Table) -> Iterator[Statement]:
        new = (f"c{len(table.columns)}", self._random.choice(_TYPES))
        yield self._write("add_column", table, replace(table, columns=(*table.columns, new)))

    def _change_type(self, table: Table) -> Iterator[Statement]:
        columns = (table.columns[0], ("c1", self._random.choice(_TYPES)), *table.columns[2:])
        yield self._write("change_type", table, replace(table, columns=columns))

    def _set_property(self, table: Table) -> Iterator[Statement]:
        set_to = {**dict(table.properties), f"note{self._random.randrange(3)}": str(self._random.randrange(1000))}
        yield self._write("set_property", table, replace(table, properties=tuple(sorted(set_to.items()))))

    def _add_partitions(self, table: Table) -> Iterator[Statement]:
        new = tuple(self._new_partition(table) for _ in range(self._random.choice((1, 1, 1, 4))))
        yield self._write("add_partitions", table, replace(table, partitions=(*table.partitions, *new)), new)

    def _drop_partition(self, table: Table) -> Iterator[Statement]:
        gone = self._random.choice(table.partitions)
        left = tuple(it for it in table.partitions if it != gone)
        yield self._write("drop_partition", table, replace(table, partitions=left), (gone,))

    def _move_partition(self, table: Table) -> Iterator[Statement]:
        old = self._random.choice(table.partitions)
        new = (old[0], f"{table.location}/moved{self._random.randrange(1000)}")
        moved = tuple(new if it == old else it for it in table.partitions)
        yield self._write("move_partition", table, replace(table, partitions=moved), (new,))

    def _write(
        self,
        kind: str,
        before: Table | None,
        after: Table | None,
        partitions: tuple[tuple[tuple[str, ...], str], ...] = (),
    ) -> Statement:
        if before is not None:
            del self._tables[before.database, before.name]
        if after is not None:
            self._tables[after.database, after.name] = after
        table = after or before
        assert table is not None
        return Statement(kind, table.database, before, after, partitions)

    def _new_table(self) -> Table:
        database, name = self._random.choice(DATABASES), self._new_name()
        columns = (("id", "bigint"), ("c1", self._random.choice(_TYPES)), ("c2", self._random.choice(_TYPES)))
        keys = _KEYS if self._random.random() < 0.7 else ()
        location = f"{BUCKET}/{database}/{name}_{self._numbers}"
        return Table(database, name, columns, keys, self._random.choice(_FORMATS), location)

    def _new_name(self) -> str:
        self._numbers += 1
        return f"t{self._numbers}"

    def _new_partition(self, table: Table) -> tuple[tuple[str, ...], str]:
        self._numbers += 1
        values = (f"2026-01-{self._random.randrange(1, 29):02d}", str(self._numbers))
        return values, f"{table.location}/day={values[0]}/hour={values[1]}"


def _fits(kind: str, table: Table) -> bool:
    """Whether a statement of that kind can be said of the table."""
    if kind in _OF_PARTITIONS:
        return bool(table.partitions)
    return bool(table.keys) or kind not in _OF_PARTITIONED
