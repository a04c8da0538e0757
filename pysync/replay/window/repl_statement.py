"""The text of Hive's REPL commands. Pure: text in, what it asks for out, with the place of any error.

    REPL DUMP policy [REPLACE policy] [FROM id [TO id] [LIMIT n]] [WITH ('key' = 'value', …)]
    REPL LOAD [db[.table]] FROM directory [WITH (…)]
    REPL STATUS db[.table] [WITH (…)]

Keywords and names are taken in any case; a `;` may end the text. A name may be in backquotes, a directory in quotes. In
quotes a backslash stands before a quote or another backslash; before anything else it is itself, as in an expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pysync.base.errors import UsageError
from pysync.base.text import quoted
from pysync.replay.window.cursor import Cursor
from pysync.replay.window.name_expression import NameExpression

_DIRECTORY = re.compile(r"[^\s;'\"]+")


@dataclass(frozen=True, slots=True)
class ReplDump:
    """REPL DUMP. `policy` and `replaces` are policies as `parse_policy` reads them, in one form each."""

    policy: str
    replaces: str | None
    since: int | None
    to: int | None
    limit: int | None
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ReplLoad:
    """REPL LOAD, of `directory`; `database` and `table` are None where the text does not name them."""

    database: str | None
    table: str | None
    directory: str
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ReplStatus:
    """REPL STATUS of a database, or of one table of it."""

    database: str
    table: str | None
    settings: Mapping[str, str]


Statement = ReplDump | ReplLoad | ReplStatus


def parse_statement(text: str) -> Statement:
    """Read a command. Raises UsageError, one line that names the place in the text, for what is none."""
    cursor = Cursor(text, "the REPL command")
    cursor.keyword("REPL")
    commands: Mapping[str, Callable[[Cursor], Statement]] = {"DUMP": _dump, "LOAD": _load, "STATUS": _status}
    read = next((it for word, it in commands.items() if cursor.has_keyword(word)), None) or cursor.fails()
    statement = read(cursor)
    cursor.has_symbol(";")
    cursor.ends()
    return statement


def quoted_string(value: str) -> str:
    """The value in quotes, as `parse` reads it back."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _dump(cursor: Cursor) -> ReplDump:
    policy = _policy(cursor)
    replaces = _replaced(cursor, policy) if cursor.has_keyword("REPLACE") else None
    since = to = limit = None
    if cursor.has_keyword("FROM"):
        since = cursor.number()
        if cursor.has_keyword("TO"):
            at = cursor.position()
            to = cursor.number()
            if to < since:
                cursor.refuse(f"TO {to} is before FROM {since}", at)
        if cursor.has_keyword("LIMIT"):
            at = cursor.position()
            limit = cursor.number()
            if not limit:
                cursor.refuse("LIMIT must be at least 1", at)
    return ReplDump(policy, replaces, since, to, limit, _settings(cursor))


def _load(cursor: Cursor) -> ReplLoad:
    database = table = None
    if not cursor.has_keyword("FROM"):
        database, table = _object(cursor)
        cursor.keyword("FROM")
    directory = cursor.string("a directory") if cursor.next_is("'", '"') else cursor.text_of(_DIRECTORY, "a directory")
    return ReplLoad(database, table, directory, _settings(cursor))


def _status(cursor: Cursor) -> ReplStatus:
    database, table = _object(cursor)
    return ReplStatus(database, table, _settings(cursor))


def _object(cursor: Cursor) -> tuple[str, str | None]:
    database = cursor.name("a database")
    return database, cursor.name("a table") if cursor.has_symbol(".") else None


def _settings(cursor: Cursor) -> dict[str, str]:
    settings: dict[str, str] = {}

    def one() -> None:
        at = cursor.position()
        key = cursor.string("a key in quotes")
        if key in settings:
            cursor.refuse(f"the key {quoted(key)} comes twice", at)
        cursor.symbol("=")
        settings[key] = cursor.string("a value in quotes")

    if cursor.has_keyword("WITH"):
        cursor.symbol("(")
        one()
        while cursor.has_symbol(","):
            one()
        cursor.symbol(")")
    return settings


def _policy(cursor: Cursor) -> str:
    """A policy, in the one form in which it is kept: `db`, `db.table`, `db.['a', 'b']`, `db.['a'].['b']`."""
    database = cursor.name("a database")
    if not cursor.has_symbol("."):
        return database
    if not cursor.next_is("[", "'", '"'):
        return f"{database}.{cursor.name('a table, or expressions in quotes')}"
    include = _expressions(cursor)
    exclude = f".{_expressions(cursor)}" if cursor.has_symbol(".") else ""
    return f"{database}.{include}{exclude}"


def _replaced(cursor: Cursor, policy: str) -> str:
    """The policy after REPLACE, which must be one of the same database."""
    at = cursor.position()
    replaced = _policy(cursor)
    if replaced.partition(".")[0] != policy.partition(".")[0]:
        cursor.refuse("a policy can only replace one of the same database", at)
    return replaced


def _expressions(cursor: Cursor) -> str:
    """`['a', 'b']`, of a list or of one string without brackets, as Hive 4 has it."""
    if not cursor.has_symbol("["):
        return f"[{_expression(cursor)}]"
    expressions = [] if cursor.next_is("]") else [_expression(cursor)]
    while expressions and cursor.has_symbol(","):
        expressions.append(_expression(cursor))
    cursor.symbol("]")
    return f"[{', '.join(expressions)}]"


def _expression(cursor: Cursor) -> str:
    at = cursor.position()
    text = cursor.string("an expression in quotes")
    try:
        NameExpression(text)
    except UsageError as error:
        cursor.refuse(f"{quoted(text)} is not a regular expression: {error.message}", at)
    quote = "'" if "'" not in text else '"'
    if quote in text:
        cursor.refuse("an expression cannot have both kinds of quotes", at)
    return f"{quote}{text}{quote}"
