"""The model's source: a metastore whose clients do what bytes say, and which tells of it.

Three bytes make a step, so that hypothesis can shrink a history; whatever they are, the history is one that a
metastore could have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.change import decode_change
from pysync.model.event import Event, Kind
from pysync.model.names import TableName
from tests.support.events import event
from tests.support.model.world import (
    Database,
    Part,
    Table,
    Values,
    World,
    below,
    part_struct,
    read_part,
    read_table,
    table_struct,
)

DATABASES = ("a", "b")
TABLES = ("t", "u", "v")
VALUES = ("1", "2", "3")
COLUMNS = (("x",), ("x", "y"), ("x", "y", "z"), ("x", "w"))
KEYS = (("k",), ("k",), ("k",), ("l",), ())


class Source:
    """A metastore whose clients do what `steps` says; `events` tell of it, in the order in which HMS does.

    The clock ticks only now and then: what is dropped and created anew often has the same createTime.
    """

    def __init__(self, steps: bytes = b"") -> None:
        self.world = World()
        self.events: list[Event] = []
        self.clock = 1000
        self._count = 0
        for at in range(0, len(steps) - len(steps) % 3, 3):
            self.step(*steps[at : at + 3])

    def step(self, action: int, where: int, what: int) -> None:
        """One thing that a client does. It is seldom none: where it makes no sense, something like it is done."""
        if action == 0:
            return
        self.clock += action % 5 == 4
        name = TableName(DATABASES[where % 2], TABLES[where // 2 % 3])
        if name.database not in self.world.databases:
            self.create_database(name.database)
        choice = _CHOICES[action % len(_CHOICES)]
        if choice in _OF_DATABASES:
            getattr(self, choice)(name.database, what)
            return
        if name not in self.world.tables:
            self.create(name, what)
        elif not self.world.tables[name].keys and "part" in choice:
            self.alter(name, what)
        else:
            getattr(self, choice)(name, what)

    def _tell(self, kind: Kind, **what: Any) -> None:
        self.events.append(event(kind, sequence=len(self.events) + 1, **what))

    def _version(self, what: int) -> str:
        """Sometimes a new one, sometimes one that was there before."""
        self._count += 1
        return str(self._count) if what % 2 else str(what // 2 % 2)

    # databases and functions

    def create_database(self, name: str, version: str = "0") -> None:
        self.world.databases[name] = Database(version)
        self._tell(Kind.CREATE_DATABASE, after=[self._database(name)])

    def _database(self, name: str) -> Any:
        return hive.Database(name=name, parameters={"version": self.world.databases[name].version})

    def alter_database(self, name: str, what: int) -> None:
        before = self._database(name)
        self.world.databases[name].version = self._version(what)
        self._tell(Kind.ALTER_DATABASE, before=[before], after=[self._database(name)])

    def drop_database(self, name: str, what: int) -> None:
        """CASCADE. Its tables' drops are told before they are committed; sometimes they never are."""
        before = self._database(name)
        for table in self.world.within(name):
            struct = table_struct(table, self.world.tables[table])
            self._tell(Kind.DROP_TABLE, before=[struct], attributes={"uncommitted": "true", "delete_data": "false"})
        if what % 8 == 7:
            return
        for function in sorted(self.world.databases[name].functions):
            self._tell(Kind.DROP_FUNCTION, before=[self._function(name, function)])
        for table in self.world.within(name):
            del self.world.tables[table]
        del self.world.databases[name]
        self._tell(Kind.DROP_DATABASE, before=[before])

    def _function(self, database: str, name: str) -> Any:
        made = self.world.databases[database].functions[name]
        return hive.Function(functionName=name, dbName=database, className=made, functionType=1)

    def function(self, database: str, what: int) -> None:
        """Create or drop it."""
        functions, name = self.world.databases[database].functions, "fg"[what % 2]
        if name in functions:
            struct = self._function(database, name)
            del functions[name]
            self._tell(Kind.DROP_FUNCTION, before=[struct])
        else:
            functions[name] = self._version(what // 2)
            self._tell(Kind.CREATE_FUNCTION, after=[self._function(database, name)])

    # tables

    def create(self, name: TableName, what: int) -> None:
        keys, managed = KEYS[what // 4 % len(KEYS)], bool(what // 64 % 2)
        location = f"/{name.database}/{name.table}"
        if not managed and what // 128:
            location = f"/elsewhere/{what % 4}"
        made = Table(COLUMNS[what % 4], keys, location, managed, self._version(what), self.clock)
        self.world.tables[name] = made
        self._tell(Kind.CREATE_TABLE, after=[table_struct(name, made)])

    def _alter(self, name: TableName, changed: Table, cascade: bool = False) -> None:
        before, self.world.tables[name] = self.world.tables[name], changed
        if cascade and before.cols != changed.cols:
            changed.parts = {values: replace(part, cols=changed.cols) for values, part in changed.parts.items()}
        environment = {"CASCADE": "true"} if cascade else {}
        structs = table_struct(name, before), table_struct(name, changed)
        self._tell(Kind.ALTER_TABLE, before=structs[:1], after=structs[1:], environment=environment)

    def alter(self, name: TableName, what: int) -> None:
        """Parameters, or the location; or nothing at all."""
        changed = replace(self.world.tables[name], version=self._version(what))
        if what % 16 == 15 and not changed.managed:
            changed.location = f"/elsewhere/{what // 16 % 4}"
        self._alter(name, changed)

    def alter_columns(self, name: TableName, what: int) -> None:
        self._alter(name, replace(self.world.tables[name], cols=COLUMNS[what % 4]), cascade=bool(what // 4 % 2))

    def truncate(self, name: TableName, what: int) -> None:
        """The table, and its partitions one by one."""
        self._alter(name, replace(self.world.tables[name], version=self._version(what)))
        for values in sorted(self.world.tables[name].parts):
            self.alter_part(name, VALUES.index(values[0]))

    def insert(self, name: TableName, _: int) -> None:
        attributes = {"database": name.database, "table": name.table, "replace": "false"}
        self._tell(Kind.INSERT, of=table_struct(name, self.world.tables[name]), attributes=attributes)

    def drop(self, name: TableName, _: int) -> None:
        dropped = self.world.tables.pop(name)
        self._tell(Kind.DROP_TABLE, before=[table_struct(name, dropped)], attributes={"delete_data": "true"})

    def recreate(self, name: TableName, what: int) -> None:
        """INSERT OVERWRITE of Spark's: dropped, and created anew in the same second."""
        self.drop(name, what)
        self.create(name, what)

    def rename(self, name: TableName, what: int) -> None:
        """To a free name, in any database, perhaps with other parameters."""
        free = [TableName(database, table) for database in sorted(self.world.databases) for table in TABLES]
        free = [new for new in free if new not in self.world.tables]
        if not free:
            self.drop(name, what)
            return
        new, before = free[what % len(free)], self.world.tables.pop(name)
        changed = replace(before, version=self._version(what // 32) if what // 128 else before.version)
        if changed.managed:
            changed.location = f"/{new.database}/{new.table}"
            moved = {key: below(part, before.location, changed.location) for key, part in before.parts.items()}
            changed.parts = moved
        self.world.tables[new] = changed
        self._tell(Kind.ALTER_TABLE, before=[table_struct(name, before)], after=[table_struct(new, changed)])

    def swap(self, name: TableName, what: int) -> None:
        """What takes a table's place while the old one is kept aside: two renames."""
        self.rename(name, what)
        others = [other for other in self.world.within(name.database) if other != name]
        if others and name not in self.world.tables:
            other = others[what // 8 % len(others)]
            free = sorted(TableName(d, t) for d in self.world.databases for t in TABLES)
            free = [new for new in free if new not in self.world.tables]
            self.rename(other, free.index(name))

    def key_constraint(self, name: TableName, _: int) -> None:
        """Add the primary key, or drop it."""
        table = self.world.tables[name]
        key = f"pk_{name.table}"
        if table.primary_key:
            table.primary_key = ()
            attributes = {"database": name.database, "table": name.table, "constraint": key}
            self._tell(Kind.DROP_CONSTRAINT, attributes=attributes)
        else:
            table.primary_key = table.cols[:1]
            column = hive.SQLPrimaryKey(name.database, name.table, table.cols[0], 1, key, False, False, True)
            self._tell(Kind.ADD_PRIMARYKEY, after=[column])

    # partitions

    def _told(self, kind: Kind, name: TableName, **what: Any) -> None:
        self._tell(kind, of=table_struct(name, self.world.tables[name]), **what)

    def add_part(self, name: TableName, what: int) -> None:
        """One or two that are not there; if all are, one is altered."""
        table = self.world.tables[name]
        absent = [(value,) for value in VALUES if (value,) not in table.parts]
        if not absent:
            self.alter_part(name, what)
            return
        added = absent[what % len(absent) :][: 1 + what // 4 % 2]
        for values in added:
            place = f"{table.location}/{values[0]}" if what // 16 % 4 else f"/far/{values[0]}"
            table.parts[values] = Part(table.cols, place, self._version(what))
        structs = [part_struct(name, values, table.parts[values]) for values in added]
        self._told(Kind.ADD_PARTITION, name, after=structs)

    def _some(self, name: TableName, what: int) -> Values | None:
        there = sorted(self.world.tables[name].parts)
        if not there:
            self.add_part(name, what)
        return there[what % len(there)] if there else None

    def alter_part(self, name: TableName, what: int) -> None:
        values = self._some(name, what)
        if values is None:
            return
        table = self.world.tables[name]
        before = table.parts[values]
        cols = COLUMNS[what // 8 % 4] if what // 4 % 2 else before.cols
        table.parts[values] = Part(cols, before.location, self._version(what))
        structs = [part_struct(name, values, part) for part in (before, table.parts[values])]
        self._told(Kind.ALTER_PARTITION, name, before=structs[:1], after=structs[1:])

    def rename_part(self, name: TableName, what: int) -> None:
        values, table = self._some(name, what), self.world.tables[name]
        free = [(value,) for value in VALUES if (value,) not in table.parts]
        if values is None or not free:
            return
        new = free[what // 4 % len(free)]
        before = table.parts.pop(values)
        after = replace(before, location=f"{table.location}/{new[0]}") if table.managed else before
        table.parts[new] = after
        structs = part_struct(name, values, before), part_struct(name, new, after)
        self._told(Kind.ALTER_PARTITION, name, before=structs[:1], after=structs[1:])

    def drop_part(self, name: TableName, what: int) -> None:
        values = self._some(name, what)
        if values is None:
            return
        there = sorted(self.world.tables[name].parts)
        dropped = there[there.index(values) :][: 1 + what // 8 % 2]
        structs = [part_struct(name, key, self.world.tables[name].parts.pop(key)) for key in dropped]
        deletes = "true" if what // 4 % 2 else "false"
        self._told(Kind.DROP_PARTITION, name, before=structs, attributes={"delete_data": deletes})

    def exchange_part(self, name: TableName, what: int) -> None:
        """ALTER TABLE other EXCHANGE PARTITION … WITH TABLE name: added there, then dropped here."""
        values, mine = self._some(name, what), self.world.tables[name]
        others = [other for other in sorted(self.world.tables) if other != name]
        others = [other for other in others if self.world.tables[other].keys == mine.keys]
        others = [other for other in others if self.world.tables[other].cols == mine.cols]
        if values is None or not others or values in self.world.tables[others[what % len(others)]].parts:
            return
        other = others[what % len(others)]
        its, before = self.world.tables[other], mine.parts.pop(values)
        its.parts[values] = replace(before, location=f"{its.location}/{values[0]}")
        self._told(Kind.ADD_PARTITION, other, after=[part_struct(other, values, its.parts[values])])
        dropped = [part_struct(name, values, before)]
        self._told(Kind.DROP_PARTITION, name, before=dropped, attributes={"delete_data": "false"})


_OF_DATABASES = ("alter_database", "drop_database", "function")
_CHOICES = (
    *(["add_part"] * 5),
    *(["drop_part"] * 3),
    *(["alter_part"] * 3),
    *(["rename_part"] * 2),
    *(["exchange_part"] * 2),
    *(["rename"] * 6),
    *(["alter"] * 3),
    *(["alter_columns"] * 5),
    *(["drop"] * 3),
    *(["recreate"] * 3),
    "swap",
    "swap",
    "truncate",
    "insert",
    "key_constraint",
    "alter_database",
    "drop_database",
    "drop_database",
    "function",
)


def summary(events: list[Event]) -> list[str]:
    """A history in short, for the message of a test that fails."""
    lines = []
    for position, item in enumerate(events, 1):
        change = decode_change(item, position)
        assert change is not None, item
        objects = [_told(it) for it in (*change.before, "->", *change.after)]
        line = f"{position} {item.kind} {'~'.join(map(str, _names(change)))} {' '.join(objects)}"
        extra = {**item.environment, **item.attributes}
        lines.append(f"{line} created={change.created} {extra or ''}")
    return lines


def _names(change: Any) -> list[Any]:
    return list(dict.fromkeys(it for it in (change.table_name, change.new_table_name) if it)) or [change.database]


def _told(item: Any) -> str:
    if isinstance(item, hive.Table):
        return str(read_table(item).plain() | {"parts": ""})
    if isinstance(item, hive.Partition):
        return f"{item.values}:{read_part(item)}"
    return item if isinstance(item, str) else type(item).__name__
