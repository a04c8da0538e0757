"""The text of a view as a tree: sqlglot reads HiveQL, but what a function means is decided here."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp
from sqlglot.dialects.hive import Hive
from sqlglot.errors import SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokens import Token, TokenType

from pysync.hiveql.refusal import CannotTranslate

# Escapes that Hive, Spark and sqlglot read alike: \% and \_ keep their backslash. Others, as \u0041, they do not.
_ESCAPES = re.compile(r"""\\(?![\\'"nrt%_])""")
_ESCAPED_PAIR = re.compile(r"\\\\")
_BARE_HINT = re.compile(r"\bselect +(mapjoin|streamtable)\(", re.IGNORECASE)
_MOST = 400_000  # characters: no view that Glue takes is longer


class HiveText(Hive):  # type: ignore[misc]  # sqlglot is Any here
    """Hive's grammar with no knowledge of functions: each call stays a name and its arguments."""

    class Parser(Hive.Parser):  # type: ignore[misc]
        """Only what has a syntax of its own is not a plain call."""

        FUNCTIONS: dict[str, Any] = {}  # noqa: RUF012 - as sqlglot declares it
        NO_PAREN_FUNCTIONS: dict[Any, Any] = {}  # noqa: RUF012
        FUNCTION_PARSERS = {it: Hive.Parser.FUNCTION_PARSERS[it] for it in ("CAST", "EXTRACT", "TRIM")}  # noqa: RUF012

        def _parse_types(self, *arguments: Any, **named: Any) -> Any:
            # sqlglot's Hive takes a cast to varchar(3) for one to string, as Spark does; Hive cuts.
            return Parser._parse_types(self, *arguments, **named)


class _Hive4Text(HiveText):
    """The same, where NULLs come last unless an order says it or descends."""

    NULL_ORDERING = "nulls_are_large"


def parsed(text: str, *, puts_nulls_last: bool = False) -> exp.Query:
    """The query. Raises CannotTranslate for what is none, or cannot be read."""
    if len(text) > _MOST:
        raise CannotTranslate("the query is too long")
    try:
        dialect = _Hive4Text() if puts_nulls_last else HiveText()
        tokens = dialect.tokenize(text)
        for token in tokens:
            _assert_plain(token, text)
        statements = dialect.parser().parse(tokens, text)
    except (SqlglotError, RecursionError, ValueError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        hint = _BARE_HINT.search(text)
        why = f"{hint[1].upper()} is a hint that lost its comment; Hive cannot read this view either" if hint else first
        raise CannotTranslate(f"the query cannot be read: {why}") from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise CannotTranslate("the text is not a single query")
    return statements[0]


def _assert_plain(token: Token, text: str) -> None:
    if token.token_type is TokenType.STRING:
        raw = _ESCAPED_PAIR.sub("", text[token.start : token.end + 1])
        if _ESCAPES.search(raw):
            raise CannotTranslate("an escape in a string which engines read in different ways")
    elif token.token_type is not TokenType.IDENTIFIER and token.text in {"^", "${"}:
        raise CannotTranslate(f"the operator {token.text}")
