"""What a statement of DDL is about, by Hive's own syntax tree, and what Athena does not let pass though Hive would."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

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
class DdlStatement:
    """One statement: its kind in words, the databases and tables that it names, and its tree."""

    kind: str
    databases: list[str]
    tables: list[tuple[str, str]]
    tree: Node


@dataclass(slots=True)
class ViewStatement:
    """CREATE VIEW in Trino's language, which Hive does not read."""

    database: str
    name: str
    query: str
    replaces: bool


class NotForAthena(Exception):
    """Athena's words, or ours, for why it does not run a statement."""


def read_view(text: str, database: str) -> ViewStatement | None:
    """The view that a statement creates, if it is of that kind; NotForAthena if its quotes are Hive's."""
    match = _VIEW.fullmatch(text)
    if match is None:
        return None
    if "`" in text:
        raise NotForAthena("backquoted identifiers are not supported; use double quotes to quote identifiers")
    names = match[2].replace('"', "").lower().split(".")
    return ViewStatement(names[0] if len(names) > 1 else database, names[-1], match[3], bool(match[1]))


def read_statement(lines: str, database: str) -> DdlStatement:
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
    return DdlStatement(kind, databases, list(dict.fromkeys(tables)), root)


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
