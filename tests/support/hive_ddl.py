"""A reader of Hive's DDL that knows nothing of how pysync writes it, and a catalog that does what it reads.

Literals are read as Hive 2.3 does (BaseSemanticAnalyzer.unescapeSQLString, HiveLexer), the rest as far as statements of
Athena go; anything else is an AssertionError. What Hive sets by itself when it creates or alters is set here, too.
"""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

_SHORT = {"0": "\0", "'": "'", '"': '"', "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "\\": "\\"}
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+")


@dataclass(frozen=True)
class Token:
    kind: str  # word, name, text, mark
    text: str


def read_literal(source: str) -> str:
    """The value of a token made of one or more quoted strings."""
    found, at, inside = [], 0, False
    while at < len(source):
        char = source[at]
        if char == "'":
            inside, at = not inside, at + 1
        elif inside and char == "\\":
            value, at = _escape(source, at)
            found.append(value)
        else:
            found.append(char if inside else "")
            at += 1
    assert not inside, f"no end: {source!r}"
    return "".join(found)


def _escape(source: str, at: int) -> tuple[str, int]:
    rest = source[at + 1 :]
    if re.match(r"u[0-9a-fA-F]{4}", rest) and len(rest) > 5:
        return chr(int(rest[1:5], 16)), at + 6
    if re.match(r"[01][0-7][0-7]", rest) and len(rest) > 3:
        return chr(int(rest[:3], 8)), at + 4
    if rest[0] in "%_":
        return "\\" + rest[0], at + 2
    return _SHORT.get(rest[0], rest[0]), at + 2


def tokens(statement: str) -> list[Token]:
    found, at = [], 0
    while at < len(statement):
        char = statement[at]
        if char.isspace():
            at += 1
        elif char == "'":
            end = _literal_end(statement, at)
            found.append(Token("text", read_literal(statement[at:end])))
            at = end
        elif char == "`":
            end = _name_end(statement, at)
            name = statement[at + 1 : end - 1].replace("``", "`")
            # The analyzer takes backticks off once more than the lexer.
            found.append(Token("name", name[1:-1] if name[0] == name[-1] == "`" else name))
            at = end
        elif word := _WORD.match(statement, at):
            found.append(Token("word", word[0]))
            at = word.end()
        else:
            assert char in "(),=.<>:", f"{char!r} in {statement!r}"
            found.append(Token("mark", char))
            at += 1
    return found


def _literal_end(statement: str, at: int) -> int:
    while at < len(statement) and statement[at] == "'":  # strings side by side are one
        at += 1
        while statement[at] != "'":
            at += 2 if statement[at] == "\\" else 1
        at += 1
    return at


def _name_end(statement: str, at: int) -> int:
    at += 1
    while True:
        if statement[at : at + 2] == "``":
            at += 2
        elif statement[at] == "`":
            return at + 1
        else:
            at += 1


@dataclass
class HiveCatalog:
    """Databases, tables and partitions, changed by statements alone."""

    databases: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, Any] = field(default_factory=dict)
    partitions: dict[str, dict[tuple[str, ...], Any]] = field(default_factory=dict)

    def run(self, statement: str) -> None:
        assert len(statement.encode()) <= 262_144
        _Statement(tokens(statement), self).run()


class _Statement:
    def __init__(self, found: list[Token], catalog: HiveCatalog) -> None:
        self._tokens, self._at, self._catalog = found, 0, catalog

    def run(self) -> None:
        verb = " ".join(token.text for token in self._tokens[:2])
        if self._tokens[1].text == "EXTERNAL":
            verb = "CREATE TABLE"
        {
            "CREATE DATABASE": self._create_database,
            "ALTER DATABASE": self._alter_database,
            "DROP DATABASE": self._drop_database,
            "CREATE TABLE": self._create_table,
            "DROP TABLE": self._drop_table,
            "ALTER TABLE": self._alter_table,
        }[verb]()
        assert self._at == len(self._tokens), f"left: {self._tokens[self._at :]}"

    # --- reading

    def _take(self, words: str) -> bool:
        """Whether these words come next; they are taken then."""
        wanted = words.split()
        got = self._tokens[self._at : self._at + len(wanted)]
        if [token.text for token in got if token.kind in {"word", "mark"}] != wanted:
            return False
        self._at += len(wanted)
        return True

    def _need(self, words: str) -> None:
        assert self._take(words), f"{words} expected, but {self._tokens[self._at : self._at + 3]} in {self._tokens}"

    def _one(self, kind: str) -> str:
        token = self._tokens[self._at]
        assert token.kind == kind, f"a {kind} expected, but {token} in {self._tokens}"
        self._at += 1
        return token.text

    def _list(self, item: Any) -> list[Any]:
        self._need("(")
        found = [item()]
        while self._take(","):
            found.append(item())
        self._need(")")
        return found

    def _pair(self) -> tuple[str, str]:
        key = self._one("text")
        self._need("=")
        return key, self._one("text")

    def _pairs(self) -> dict[str, str]:
        pairs = self._list(self._pair)
        assert len({key for key, _ in pairs}) == len(pairs), "a key twice"
        return dict(pairs)

    def _type(self) -> str:
        name = self._one("word")
        if self._take("<"):
            parts = [self._field() if name == "struct" else self._type()]
            while self._take(","):
                parts.append(self._field() if name == "struct" else self._type())
            self._need(">")
            return f"{name}<{','.join(parts)}>"
        if self._take("("):
            sizes = [self._one("word")]
            while self._take(","):
                sizes.append(self._one("word"))
            self._need(")")
            return f"{name}({','.join(sizes)})"
        return name

    def _field(self) -> str:
        name = self._one("name")
        self._need(":")
        return f"{name}:{self._type()}"

    def _column(self) -> Any:
        name, kind = self._one("name").lower(), self._type()
        return hive.FieldSchema(name, kind, self._one("text") if self._take("COMMENT") else None)

    def _spec(self) -> tuple[list[str], tuple[str, ...]]:
        self._need("PARTITION")

        def assigned() -> tuple[str, str]:
            key = self._one("name")
            self._need("=")
            return key, self._one("text")

        pairs = self._list(assigned)
        return [key for key, _ in pairs], tuple(value for _, value in pairs)

    def _table_name(self) -> str:
        database = self._one("name")
        self._need(".")
        return f"{database}.{self._one('name')}"

    # --- doing

    def _create_database(self) -> None:
        self._need("CREATE DATABASE IF NOT EXISTS")
        made = hive.Database(name=self._one("name"))
        made.description = self._one("text") if self._take("COMMENT") else None
        made.locationUri = self._one("text") if self._take("LOCATION") else None
        made.parameters = self._pairs() if self._take("WITH DBPROPERTIES") else {}
        self._catalog.databases.setdefault(made.name, made)

    def _alter_database(self) -> None:
        self._need("ALTER DATABASE")
        name = self._one("name")
        self._need("SET DBPROPERTIES")
        self._catalog.databases[name].parameters.update(self._pairs())

    def _drop_database(self) -> None:
        self._need("DROP DATABASE IF EXISTS")
        name = self._one("name")
        assert not [table for table in self._catalog.tables if table.startswith(f"{name}.")]
        self._catalog.databases.pop(name, None)

    def _create_table(self) -> None:
        self._need("CREATE EXTERNAL TABLE IF NOT EXISTS")
        name = self._table_name()
        database, table = name.split(".")
        storage = hive.StorageDescriptor(cols=self._list(self._column), numBuckets=-1, bucketCols=[], sortCols=[])
        made = hive.Table(dbName=database, tableName=table, sd=storage, tableType="EXTERNAL_TABLE", partitionKeys=[])
        made.parameters = {"EXTERNAL": "TRUE", "transient_lastDdlTime": "1"}
        if self._take("COMMENT"):
            made.parameters["comment"] = self._one("text")
        if self._take("PARTITIONED BY"):
            made.partitionKeys = self._list(self._column)
        self._storage(storage)
        if self._take("TBLPROPERTIES"):
            made.parameters |= self._pairs()
        if name not in self._catalog.tables:
            self._catalog.tables[name] = made
            self._catalog.partitions[name] = {}

    def _storage(self, storage: Any) -> None:
        if self._take("CLUSTERED BY"):
            storage.bucketCols = self._list(lambda: self._one("name"))
            self._need("INTO")
            storage.numBuckets = int(self._one("word"))
            self._need("BUCKETS")
        self._need("ROW FORMAT SERDE")
        storage.serdeInfo = hive.SerDeInfo(None, self._one("text"), {"serialization.format": "1"})
        if self._take("WITH SERDEPROPERTIES"):
            storage.serdeInfo.parameters |= self._pairs()
        self._need("STORED AS INPUTFORMAT")
        storage.inputFormat = self._one("text")
        self._need("OUTPUTFORMAT")
        storage.outputFormat = self._one("text")
        self._need("LOCATION")
        storage.location = self._one("text")

    def _drop_table(self) -> None:
        self._need("DROP TABLE IF EXISTS")
        name = self._table_name()
        self._catalog.tables.pop(name, None)
        self._catalog.partitions.pop(name, None)

    def _alter_table(self) -> None:
        self._need("ALTER TABLE")
        name = self._table_name()
        table, partitions = self._catalog.tables[name], self._catalog.partitions[name]
        if self._take("ADD COLUMNS"):
            table.sd.cols = [*table.sd.cols, *self._list(self._column)]
        elif self._take("REPLACE COLUMNS"):
            table.sd.cols = self._list(self._column)
        elif self._take("SET LOCATION"):
            table.sd.location = self._one("text")
        elif self._take("SET TBLPROPERTIES"):
            table.parameters |= self._pairs()
        elif self._take("ADD IF NOT EXISTS"):
            self._add(table, partitions)
        elif self._take("DROP IF EXISTS"):
            self._drop(table, partitions)
        else:
            values = self._values(table)
            self._need("SET LOCATION")
            partitions[values].sd.location = self._one("text")
        table.parameters |= {"last_modified_by": "hadoop", "last_modified_time": "2"}

    def _values(self, table: Any) -> tuple[str, ...]:
        keys, values = self._spec()
        assert keys == [key.name for key in table.partitionKeys], "every key, in order"
        return values

    def _add(self, table: Any, partitions: dict[tuple[str, ...], Any]) -> None:
        count = 0
        while self._at < len(self._tokens):
            values, storage = self._values(table), deepcopy(table.sd)
            self._need("LOCATION")
            storage.location = self._one("text")
            made = hive.Partition(values=list(values), sd=storage, parameters={"transient_lastDdlTime": "1"})
            partitions.setdefault(values, made)
            count += 1
        assert 0 < count <= 100

    def _drop(self, table: Any, partitions: dict[tuple[str, ...], Any]) -> None:
        partitions.pop(self._values(table), None)
        count = 1
        while self._take(","):
            partitions.pop(self._values(table), None)
            count += 1
        assert count <= 25
