"""The text of a policy, as Hive's REPL commands have it. Pure: text in, its parts out.

    sales                                  the database with everything in it
    sales.orders                           one table
    sales.['t3', '[a-z]+']                 tables by regular expressions that match whole names
    sales.['.*?'].['t[0-9]+', 'q4']        the same without some
    sales.[]                               functions, and no table
    sales.'t3|[a-z]+'.'q4'                 Hive 4 writes one expression without brackets

Hive's releases differ, and each form of each of them is taken. A name is taken in any case, as in Hive. Where Hive has
one name, pysync takes * and ?, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pysync.base.errors import UsageError
from pysync.base.text import quoted

_SHOWN = 20
_NAME_PATTERN = r"""[^.'"\[\]\s]+"""
_STRING_PATTERN = r"""'[^']*'|"[^"]*\""""
_LIST = rf"\[\s*(?:(?:{_STRING_PATTERN})(?:\s*,\s*(?:{_STRING_PATTERN}))*\s*)?\]"
_TABLES = rf"(?:{_STRING_PATTERN}|{_LIST})"

_POLICY = re.compile(
    rf"(?P<database>{_NAME_PATTERN})(?:\.(?P<table>{_NAME_PATTERN})|\.(?P<include>{_TABLES})(?:\.(?P<exclude>{_TABLES}))?)?"
)


_OPEN_LIST = rf"\[\s*(?:(?:{_STRING_PATTERN})(?:\s*,\s*(?:{_STRING_PATTERN}))*\s*(?:,\s*)?)?"
_BEGIN = re.compile(
    rf"{_NAME_PATTERN}(?:\.(?:{_TABLES}(?:\.(?:{_TABLES}|{_OPEN_LIST})?)?|{_OPEN_LIST}|{_NAME_PATTERN})?)?"
)
"""The longest beginning of a text that a policy may have."""


@dataclass(frozen=True, slots=True)
class ReplPolicy:
    """The parts of a policy. `include` is None for all tables, and empty for no table; both lists are expressions."""

    database: str
    table: str | None = None
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()


def parse_policy(text: str) -> ReplPolicy:
    """Read a policy. Raises UsageError, which names the place in the text, if it has none of the forms."""
    match = _POLICY.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"cannot read the policy {text!r}: {_fault(text)}",
            "write db, db.table, db.['include regex', …] or db.['include regex', …].['exclude regex', …]",
        )
    include, exclude = match["include"], match["exclude"]
    return ReplPolicy(
        match["database"], match["table"], None if include is None else _strings(include), _strings(exclude or "")
    )


def _fault(text: str) -> str:
    """Where the text stops being a policy: `column 7: found ']'`."""
    begin = _BEGIN.match(text.strip())
    rest = text.lstrip()[begin.end() if begin else 0 :].lstrip()
    there = rest.split(None, 1)
    return f"column {len(text) - len(rest) + 1}: found {quoted(there[0][:_SHOWN]) if there else 'the end'}"


def _strings(part: str) -> tuple[str, ...]:
    return tuple(it[1:-1] for it in re.findall(_STRING_PATTERN, part))
