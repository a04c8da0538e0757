"""Statements of DDL: what they are about, what Athena refuses though Hive would not, and how they are run."""

from __future__ import annotations

import base64
import fnmatch
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pysync.lab.aws.glue import Glue
from pysync.lab.aws.hive import Hive, Refused
from pysync.lab.aws.mirror import Mirror
from pysync.lab.aws.rules import Calls, Refusal

# --- What a statement of DDL is about, by Hive's own syntax tree, and what Athena does not let pass though Hive would


_KINDS = {
    "TOK_CREATEDATABASE": "CREATE DATABASE",
    "TOK_ALTERDATABASE_PROPERTIES": "ALTER DATABASE SET DBPROPERTIES",
    "TOK_DROPDATABASE": "DROP DATABASE",
    "TOK_DESCDATABASE": "DESCRIBE DATABASE",
    "TOK_CREATETABLE": "CREATE TABLE",
    "TOK_DROPTABLE": "DROP TABLE",
    "TOK_DROPVIEW": "DROP VIEW",
    "TOK_DESCTABLE": "DESCRIBE",
    "TOK_SHOWDATABASES": "SHOW DATABASES",
    "TOK_SHOWTABLES": "SHOW TABLES",
    "TOK_SHOWPARTITIONS": "SHOW PARTITIONS",
    "TOK_SHOWCOLUMNS": "SHOW COLUMNS",
    "TOK_SHOW_CREATETABLE": "SHOW CREATE TABLE",
    "TOK_SHOW_TBLPROPERTIES": "SHOW TBLPROPERTIES",
}
_ALTERS = {
    "TOK_ALTERTABLE_ADDCOLS": "ALTER TABLE ADD COLUMNS",
    "TOK_ALTERTABLE_ADDPARTS": "ALTER TABLE ADD PARTITION",
    "TOK_ALTERTABLE_RENAMECOL": "ALTER TABLE CHANGE COLUMN",
    "TOK_ALTERTABLE_DROPPARTS": "ALTER TABLE DROP PARTITION",
    "TOK_ALTERTABLE_RENAMEPART": "ALTER TABLE RENAME PARTITION",
    "TOK_ALTERTABLE_REPLACECOLS": "ALTER TABLE REPLACE COLUMNS",
    "TOK_ALTERTABLE_LOCATION": "ALTER TABLE SET LOCATION",
    "TOK_ALTERTABLE_PROPERTIES": "ALTER TABLE SET TBLPROPERTIES",
}
_OF_ONE_PARTITION = {"TOK_ALTERTABLE_LOCATION", "TOK_ALTERTABLE_RENAMEPART"}
_NOT_IN_ATHENA = {"TOK_CASCADE", "TOK_RESTRICT", "TOK_TABLESKEWED", "TOK_TABSORTCOLNAMEASC", "TOK_TABSORTCOLNAMEDESC"}
_OF_DATABASES = {"TOK_CREATEDATABASE", "TOK_ALTERDATABASE_PROPERTIES", "TOK_DROPDATABASE", "TOK_DESCDATABASE"}
_LOCATIONS = {"TOK_DATABASELOCATION", "TOK_TABLELOCATION", "TOK_PARTITIONLOCATION", "TOK_ALTERTABLE_LOCATION"}
_DDL_TASK = "FAILED: Execution Error, return code 1 from org.apache.hadoop.hive.ql.exec.DDLTask."
_VIEW = re.compile(r"\s*CREATE\s+(OR\s+REPLACE\s+)?VIEW\s+(\S+)\s+AS\s+(.*)", re.IGNORECASE | re.DOTALL)


@dataclass(slots=True)
class Node:
    """A node of a syntax tree: a token's name or its text, and what is below it."""

    text: str
    children: list[Node] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """The node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(slots=True)
class Statement:
    """One statement: its kind in words, the databases and tables that it names, and its tree."""

    kind: str
    databases: list[str]
    tables: list[tuple[str, str]]
    tree: Node


@dataclass(slots=True)
class View:
    """CREATE VIEW in Trino's language, which Hive does not read."""

    database: str
    name: str
    query: str
    replaces: bool


class NotForAthena(Exception):
    """Athena's words, or ours, for why it does not run a statement."""


def read_view(text: str, database: str) -> View | None:
    """The view that a statement creates, if it is of that kind; NotForAthena if its quotes are Hive's."""
    match = _VIEW.fullmatch(text)
    if match is None:
        return None
    if "`" in text:
        raise NotForAthena("backquoted identifiers are not supported; use double quotes to quote identifiers")
    names = match[2].replace('"', "").lower().split(".")
    return View(names[0] if len(names) > 1 else database, names[-1], match[3], bool(match[1]))


def read_statement(lines: str, database: str) -> Statement:
    """The statement whose tree Hive wrote as `lines`, run in a database; NotForAthena if Athena does not know it."""
    root = _tree(lines)
    for node in root.walk():
        # Only DROP DATABASE may say CASCADE or RESTRICT.
        if node.text in _NOT_IN_ATHENA and root.text != "TOK_DROPDATABASE":
            raise NotForAthena(f"FAILED: ParseException Athena does not know {_token_text(node)}")
        if node.text in _LOCATIONS:
            _check_location(node)
    kind = _kind(root)
    if kind == "CREATE TABLE":
        _check_create(root)
    tables = [_table(node, database) for node in root.walk() if node.text == "TOK_TABNAME"]
    databases = [identifier(root.children[0].text)] if root.text in _OF_DATABASES else []
    return Statement(kind, databases, list(dict.fromkeys(tables)), root)


def identifier(text: str) -> str:
    """A name as Hive understands it: without its backticks, in lower case."""
    if text.startswith("`"):
        text = text[1:-1].replace("``", "`")
    return text.lower()


def _kind(root: Node) -> str:
    if root.text != "TOK_ALTERTABLE":
        if root.text not in _KINDS:
            raise NotForAthena(f"Queries of this type are not supported: {_token_text(root)}")
        return _KINDS[root.text]
    clause = root.children[1]
    of_partition = any(child.text == "TOK_PARTSPEC" for child in root.children)
    if clause.text not in _ALTERS or (of_partition and clause.text not in _OF_ONE_PARTITION):
        raise NotForAthena(f"FAILED: ParseException Athena does not know {_token_text(clause)} of a table or partition")
    return _ALTERS[clause.text]


def _check_create(root: Node) -> None:
    has = {child.text.upper(): child for child in root.children}
    if "TOK_QUERY" in has or has["TOK_LIKETABLE"].children:
        raise NotForAthena("Queries of this type are not supported: CREATE TABLE AS, CREATE TABLE LIKE")
    if "EXTERNAL" not in has:
        raise NotForAthena("External keyword required in a CREATE TABLE statement")
    if "TOK_TABLELOCATION" not in has:
        raise NotForAthena(f"{_DDL_TASK} MetaException(message:No location was given for the table)")


def _check_location(node: Node) -> None:
    literal = node.children[0].text[1:-1]
    scheme, colon, _ = literal.partition("://")
    if scheme.lower() != "s3" or not colon:
        exception = f"java.io.IOException No FileSystem for scheme: {scheme if colon else 'none'}"
        raise NotForAthena(f"{_DDL_TASK} MetaException(message:Got exception: {exception})")


def _table(node: Node, database: str) -> tuple[str, str]:
    """The names of a TOK_TABNAME: `db`.`t`, t, or both within one pair of backticks."""
    names = [identifier(child.text) for child in node.children]
    if len(names) == 1:
        names = names[0].split(".", 1)
    return (names[0], names[1]) if len(names) > 1 else (database, names[0])


def _tree(lines: str) -> Node:
    root = Node("")
    path = [root]
    for line in lines.splitlines():
        depth, _, text = line.partition(" ")
        node = Node(base64.b64decode(text).decode())
        del path[int(depth) + 1 :]
        path[-1].children.append(node)
        path.append(node)
    return root.children[0]


def _token_text(node: Node) -> str:
    return node.text.removeprefix("TOK_").replace("_", " ")


# --- Runs a statement of DDL as Athena would: its own rules, then Hive's, and the outcome in Glue

_USER = 2
_SYSTEM = 1
# What the reason of a failure says, and the type of Athena's error for it; the first that is found counts.
_TYPES = (
    (r"Error Code: (Throttling|TooManyRequests)\w*", 1401),
    (r"Error Code: AccessDenied\w*", 1500),
    (r"\bParseException|mismatched input|backquoted|not supported", 1006),
    (r"SemanticException \[Error 10072\]|NoSuchObjectException", 1301),
    (r"SemanticException \[Error 10001\]|does not exist", 1110),
    (r"", 1003),
)
_RETRYABLE = frozenset({1401})


@dataclass(slots=True)
class Failure(Exception):
    """A statement failed: the reason, and the category, type and retryable of its AthenaError."""

    reason: str
    category: int
    type: int
    retryable: bool

    def __str__(self) -> str:
        return self.reason


def failure(reason: str) -> Failure:
    """The failure for this reason, with the type that its words imply."""
    number = next(number for pattern, number in _TYPES if re.search(pattern, reason))
    retryable = number in _RETRYABLE
    return Failure(reason, _SYSTEM if retryable else _USER, number, retryable)


class Ddl:
    """Runs statements one after another, whichever thread asks; counts them by kind in `counted`."""

    def __init__(self, glue: Glue, hive: Hive, counted: Calls) -> None:
        self._glue = glue
        self._hive = hive
        self._mirror = Mirror(glue, hive)
        self._counted = counted
        self._lock = threading.Lock()

    def run(self, database: str, text: str) -> list[str]:
        """The lines of the result; Failure if it fails."""
        with self._lock:
            try:
                return self._run(database.lower(), text.strip().removesuffix(";").rstrip())
            except (NotForAthena, Refused) as refused:
                raise failure(str(refused)) from refused
            except Refusal as refusal:
                raise failure(_wrapped(refusal)) from refusal

    def _run(self, database: str, text: str) -> list[str]:
        view = read_view(text, database)
        if view is not None:
            self._counted.count("CREATE VIEW")
            return self._create_view(view)
        tree = self._hive.tree(text)
        if tree is None:
            self._counted.count("UNREADABLE")
            return self._hive.run(database, text)
        statement = read_statement(tree, database)
        self._counted.count(statement.kind)
        if statement.kind in {"SHOW DATABASES", "SHOW TABLES"}:
            return self._show(statement, database)
        if statement.kind == "DROP VIEW":
            return self._drop_view(statement)
        return self._through_hive(statement, database, text)

    def _through_hive(self, statement: Statement, database: str, text: str) -> list[str]:
        databases = list(dict.fromkeys([database, *statement.databases, *(owner for owner, _ in statement.tables)]))
        try:
            self._bring(statement, databases)
            rows = self._hive.run(database, text)
            for name in databases:
                self._mirror.take_database(name)
            for owner, name in statement.tables:
                self._mirror.take_table(owner, name)
        except Refused:
            self._mirror.forget((), statement.tables)
            raise
        except BaseException:
            self._mirror.forget(databases, statement.tables)
            raise
        return rows

    def _bring(self, statement: Statement, databases: list[str]) -> None:
        for name in databases:
            self._mirror.bring_database(name)
        if statement.kind == "DROP DATABASE":
            self._mirror.bring_all_of(statement.databases[0])
        for owner, name in statement.tables:
            self._mirror.bring_table(owner, name)

    def _show(self, statement: Statement, database: str) -> list[str]:
        """SHOW DATABASES and SHOW TABLES, from Glue itself: Hive has only what statements named."""
        texts = [node.text for node in statement.tree.children]
        source = [identifier(texts[number + 1]) for number, text in enumerate(texts) if text == "TOK_FROM"]
        patterns = [text[1:-1] for text in texts if text[:1] in {"'", '"'}] or ["*"]
        if statement.kind == "SHOW TABLES":
            names = self._all("GetTables", "TableList", {"DatabaseName": (source or [database])[0]})
        else:
            names = self._all("GetDatabases", "DatabaseList", {})
        return [name for name in names if any(fnmatch.fnmatchcase(name, part) for part in patterns[0].split("|"))]

    def _all(self, operation: str, member: str, request: dict[str, str]) -> list[str]:
        names: list[str] = []
        answer: dict[str, Any] = {"NextToken": ""}
        while "NextToken" in answer:
            answer = self._glue.answer(operation, {**request, "NextToken": answer["NextToken"]})
            names += [item["Name"] for item in answer[member]]
        return names

    def _create_view(self, view: View) -> list[str]:
        """Keep a view as Athena does, its query as base64 in a comment; without columns: nothing here reads Trino."""
        content = json.dumps({"originalSql": view.query, "catalog": "awsdatacatalog", "schema": view.database})
        table = {
            "Name": view.name,
            "TableType": "VIRTUAL_VIEW",
            "Parameters": {"comment": "Presto View", "presto_view": "true"},
            "ViewOriginalText": f"/* Presto View: {base64.b64encode(content.encode()).decode()} */",
            "ViewExpandedText": "/* Presto View */",
            "StorageDescriptor": {"Columns": [], "Location": "", "SerdeInfo": {}},
        }
        exists = self._type_of(view.database, view.name)
        if exists not in ((None, "VIRTUAL_VIEW") if view.replaces else (None,)):
            raise NotForAthena(f"line 1:1: Table or view already exists: '{view.database}.{view.name}'")
        operation = "UpdateTable" if exists else "CreateTable"
        self._glue.answer(operation, {"DatabaseName": view.database, "TableInput": table})
        return []

    def _drop_view(self, statement: Statement) -> list[str]:
        database, name = statement.tables[0]
        kind = self._type_of(database, name)
        if kind == "VIRTUAL_VIEW":
            self._glue.answer("DeleteTable", {"DatabaseName": database, "Name": name})
        elif kind is not None or all(node.text != "TOK_IFEXISTS" for node in statement.tree.children):
            raise NotForAthena(f"line 1:1: View '{database}.{name}' does not exist")
        return []

    def _type_of(self, database: str, name: str) -> str | None:
        """The type of a table, "" if it has none, or None if there is no table."""
        try:
            table = self._glue.answer("GetTable", {"DatabaseName": database, "Name": name})["Table"]
        except Refusal as refusal:
            if refusal.code != "EntityNotFoundException":
                raise
            return None
        kind: str = table.get("TableType", "")
        return kind


def _wrapped(refusal: Refusal) -> str:
    """What Glue refused, in the words in which Athena hands it on."""
    details = f"Service: AmazonDataCatalog; Status Code: {refusal.status}; Error Code: {refusal.code}; Request ID: none"
    task = "FAILED: Execution Error, return code 1 from org.apache.hadoop.hive.ql.exec.DDLTask."
    return f"{task} MetaException(message:{refusal.message} ({details}; Proxy: null))"
