"""Runs a statement of DDL as Athena would: its own rules, then Hive's, and the outcome in Glue."""

from __future__ import annotations

import base64
import fnmatch
import json
import re
import threading
from dataclasses import dataclass
from typing import Any

from pysync.lab.aws.faults import CallCounts
from pysync.lab.aws.glue import Glue
from pysync.lab.aws.hive import Hive, HiveRefused
from pysync.lab.aws.mirror import Mirror
from pysync.lab.aws.refusals import AwsRefusal
from pysync.lab.aws.statements import DdlStatement, NotForAthena, ViewStatement, identifier, read_statement, read_view

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

    def __init__(self, glue: Glue, hive: Hive, counted: CallCounts) -> None:
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
            except (NotForAthena, HiveRefused) as refused:
                raise failure(str(refused)) from refused
            except AwsRefusal as refusal:
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

    def _through_hive(self, statement: DdlStatement, database: str, text: str) -> list[str]:
        databases = list(dict.fromkeys([database, *statement.databases, *(owner for owner, _ in statement.tables)]))
        try:
            self._bring(statement, databases)
            rows = self._hive.run(database, text)
            for name in databases:
                self._mirror.take_database(name)
            for owner, name in statement.tables:
                self._mirror.take_table(owner, name)
        except HiveRefused:
            self._mirror.forget((), statement.tables)
            raise
        except BaseException:
            self._mirror.forget(databases, statement.tables)
            raise
        return rows

    def _bring(self, statement: DdlStatement, databases: list[str]) -> None:
        for name in databases:
            self._mirror.bring_database(name)
        if statement.kind == "DROP DATABASE":
            self._mirror.bring_all_of(statement.databases[0])
        for owner, name in statement.tables:
            self._mirror.bring_table(owner, name)

    def _show(self, statement: DdlStatement, database: str) -> list[str]:
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

    def _create_view(self, view: ViewStatement) -> list[str]:
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

    def _drop_view(self, statement: DdlStatement) -> list[str]:
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
        except AwsRefusal as refusal:
            if refusal.code != "EntityNotFoundException":
                raise
            return None
        kind: str = table.get("TableType", "")
        return kind


def _wrapped(refusal: AwsRefusal) -> str:
    """What Glue refused, in the words in which Athena hands it on."""
    details = f"Service: AmazonDataCatalog; Status Code: {refusal.status}; Error Code: {refusal.code}; Request ID: none"
    task = "FAILED: Execution Error, return code 1 from org.apache.hadoop.hive.ql.exec.DDLTask."
    return f"{task} MetaException(message:{refusal.message} ({details}; Proxy: null))"
