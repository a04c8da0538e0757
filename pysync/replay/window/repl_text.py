"""The text of Hive's REPL commands and of their policies. Pure: text in, its parts out, with the place of any error."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from pysync.base.errors import UsageError
from pysync.base.text import quoted

# Cursor: reads a short text of keywords, names, numbers and strings, and names the place of any error in it. Pure.


WORD = re.compile(r"""[^\s.,;=()'"`\[\]]+""")

_LARGEST = 2**63 - 1
_SPACE = re.compile(r"\s*")
_STRING = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_BACKQUOTED = re.compile(r"`([^`]+)`")
_ESCAPED = re.compile(r"""\\(['"\\])""")
_NAME = re.compile(r"""[^.'"\[\]\s]+""")
_SHOWN = 20


class Cursor:
    """A place in a text. What is read moves it; spaces before that are skipped.

    `what` names the text in errors, `word` says what a keyword or name may consist of.
    """

    def __init__(self, text: str, what: str, word: re.Pattern[str] = WORD) -> None:
        self.text = text
        self._what = what
        self._word = word
        self.at = 0
        self._expected: list[str] = []

    # --- what must be there

    def keyword(self, word: str) -> None:
        """Read a keyword."""
        if not self.has_keyword(word):
            self.fails()

    def symbol(self, symbol: str) -> None:
        """Read a symbol."""
        if not self.has_symbol(symbol):
            self.fails()

    def number(self) -> int:
        """Read a whole number."""
        match = self._matched(self._word)
        if match is None or not (match[0].isascii() and match[0].isdigit()):
            self.fails("a whole number")
        if len(match[0]) > len(str(_LARGEST)) or int(match[0]) > _LARGEST:
            self.refuse(f"the number is too large; the maximum is {_LARGEST}")
        self._past(match)
        return int(match[0])

    def name(self, what: str) -> str:
        """Read the name of a database or table, plain or in backquotes; in small letters, as a metastore keeps it."""
        match = self._matched(_BACKQUOTED) or self._matched(self._word)
        if match is None:
            self.fails(what)
        text = match[1] if match.re is _BACKQUOTED else match[0]
        if not _NAME.fullmatch(text):
            self.refuse(f"{quoted(text)} cannot be a name: it has a space, a dot, a quote or a bracket")
        self._past(match)
        return text.lower()

    def string(self, what: str) -> str:
        """Read a string in quotes of either kind."""
        match = self._matched(_STRING)
        if match is None:
            if self._next() in ("'", '"'):
                self.refuse("the string has no closing quote")
            self.fails(what)
        self._past(match)
        return _ESCAPED.sub(r"\1", match[1] if match[1] is not None else match[2])

    def text_of(self, pattern: re.Pattern[str], what: str) -> str:
        """Read what the pattern matches, which must be there."""
        match = self._matched(pattern)
        if match is None:
            self.fails(what)
        self._past(match)
        return match[0]

    def ends(self) -> None:
        """Nothing but spaces may be left."""
        if self._next():
            self.fails("the end")

    # --- what may be there

    def has_keyword(self, word: str) -> bool:
        """Read the keyword if it is next."""
        match = self._matched(self._word)
        return self._has(match if match is not None and match[0].upper() == word else None, word)

    def has_symbol(self, symbol: str) -> bool:
        """Read the symbol if it is next."""
        return self._has(self._matched(re.compile(re.escape(symbol))), symbol)

    def next_is(self, *symbols: str) -> bool:
        """Whether one of these symbols is next; nothing is read."""
        return self._next() in symbols

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Whether what is next matches the pattern; nothing is read."""
        return self._matched(pattern) is not None

    def position(self) -> int:
        """The place of what is next."""
        match = _SPACE.match(self.text, self.at)
        return match.end() if match else self.at

    # --- errors

    def fails(self, *expected: str) -> NoReturn:
        """Raise UsageError that says what was expected here, and what is there."""
        there = self.text[self.position() :][:_SHOWN].split(None, 1)
        text = quoted(there[0]) if there else "the end"
        wanted = list(dict.fromkeys([*self._expected, *expected]))
        listed = " or ".join([", ".join(wanted[:-1]), wanted[-1]] if len(wanted) > 1 else wanted)
        self.refuse(f"expected {listed}, found {text}")

    def refuse(self, why: str, at: int | None = None) -> NoReturn:
        """Raise UsageError about this place, or about another one that `here` gave."""
        before = self.text[: self.position() if at is None else at]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        place = f"line {line}, column {column}" if "\n" in self.text.strip() else f"column {column}"
        raise UsageError(f"cannot read {self._what}: {place}: {why}")

    # ---

    def _has(self, match: re.Match[str] | None, what: str) -> bool:
        if match is None:
            self._expected.append(what if what.replace("_", "").isalpha() else quoted(what))
            return False
        self._past(match)
        return True

    def _next(self) -> str:
        return self.text[self.position() :][:1]

    def _matched(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        return pattern.match(self.text, self.position())

    def _past(self, match: re.Match[str]) -> None:
        self.at = match.end()
        self._expected.clear()


# The text of a policy, as Hive's REPL commands have it. Pure: text in, its parts out.
#
#     sales                                  the database with everything in it
#     sales.orders                           one table
#     sales.['t3', '[a-z]+']                 tables by regular expressions that match whole names
#     sales.['.*?'].['t[0-9]+', 'q4']        the same without some
#     sales.[]                               functions, and no table
#     sales.'t3|[a-z]+'.'q4'                 Hive 4 writes one expression without brackets
#
# Hive's releases differ, and each form of each of them is taken. A name is taken in any case, as in Hive. Where Hive
# has one name, pysync takes * and ?, too.


_NAME_PATTERN = r"""[^.'"\[\]\s]+"""
_STRING_PATTERN = r"""'[^']*'|"[^"]*\""""
_LIST = rf"\[\s*(?:(?:{_STRING_PATTERN})(?:\s*,\s*(?:{_STRING_PATTERN}))*\s*)?\]"
_TABLES = rf"(?:{_STRING_PATTERN}|{_LIST})"
_POLICY = re.compile(
    rf"(?P<database>{_NAME_PATTERN})(?:\.(?P<table>{_NAME_PATTERN})|\.(?P<include>{_TABLES})(?:\.(?P<exclude>{_TABLES}))?)?"
)


@dataclass(frozen=True, slots=True)
class ReplPolicy:
    """The parts of a policy. `include` is None for all tables, and empty for no table; both lists are expressions."""

    database: str
    table: str | None = None
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()


def parse_policy(text: str) -> ReplPolicy:
    """Read a policy. Raises UsageError if it has none of the forms."""
    match = _POLICY.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"cannot read the policy {text!r}",
            "write db, db.table, db.['include regex', …] or db.['include regex', …].['exclude regex', …]",
        )
    include, exclude = match["include"], match["exclude"]
    return ReplPolicy(
        match["database"], match["table"], None if include is None else _strings(include), _strings(exclude or "")
    )


def _strings(part: str) -> tuple[str, ...]:
    return tuple(it[1:-1] for it in re.findall(_STRING_PATTERN, part))


# The text of Hive's REPL commands. Pure: text in, what it asks for out.
#
#     REPL DUMP policy [REPLACE policy] [FROM id [TO id] [LIMIT n]] [WITH ('key' = 'value', …)]
#     REPL LOAD [db[.table]] FROM directory [WITH (…)]
#     REPL STATUS db[.table] [WITH (…)]
#
# Keywords and names are taken in any case; a `;` may end the text. A name may be in backquotes, a directory in
# quotes. In quotes a backslash stands before a quote or another backslash; before anything else it is itself, as in
# an expression.


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


# --- the commands


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
    if wrong := _fault(text):
        cursor.refuse(f"{quoted(text)} is not a regular expression: {wrong}", at)
    quote = "'" if "'" not in text else '"'
    if quote in text:
        cursor.refuse("an expression cannot have both kinds of quotes", at)
    return f"{quote}{text}{quote}"


def _fault(expression: str) -> str | None:
    """What is wrong with a regular expression; None if nothing is."""
    try:
        with warnings.catch_warnings():
            # Python warns of what is a set within a set in Java, and so in Hive, and is none here.
            warnings.simplefilter("error", FutureWarning)
            re.compile(expression)
    # OverflowError: a repetition like a{99999999999}.
    except (re.error, OverflowError) as error:
        return str(error)
    except FutureWarning:
        return "sets within sets, and &&, are not supported"
    return None
