"""Patterns: which names are meant. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fnmatch import translate

from pysync.base.errors import UsageError
from pysync.base.text import as_written
from pysync.model.catalogs import catalog_of
from pysync.model.names import TableName, normalized
from pysync.replay.window.name_expression import NameExpression
from pysync.replay.window.repl_policy import parse_policy

_NO_TABLE = re.compile("(?!)")


@dataclass(frozen=True, slots=True)
class Pattern:
    """Matches whole names, in any case; without a table part it means the database and everything in it.

    It matches names of one catalog only: that of `catalog`, None for `hive`. `rule` is the setting that it comes from,
    as it is in pysync.toml.
    """

    database: re.Pattern[str]
    table: re.Pattern[str] | NameExpression | None = None
    rule: str = field(default="", compare=False)
    catalog: str | None = None

    def takes(self, name: TableName) -> bool:
        """Whether it matches the table."""
        whole = self.table is None or bool(self.table.fullmatch(name.table))
        return whole and self.database.fullmatch(name.database) is not None

    def takes_all_of(self, database: str) -> bool:
        """Whether it matches the database, with everything in it."""
        return self.table is None and self.database.fullmatch(normalized(database)) is not None


def repl_patterns(policy: str | None) -> tuple[Iterable[Pattern], Iterable[Pattern]]:
    """What a policy of Hive's REPL takes, and what it leaves out. Raises UsageError if it cannot be read."""
    if policy is None:
        return (), ()
    text = parse_policy(policy)
    whole = Pattern(_database_glob(text.database), None, f"policy {as_written(policy)}", catalog_of(text.database))
    exclude = tuple(replace(whole, table=_expression(it, policy)) for it in text.exclude)
    if text.table is not None:
        return (replace(whole, table=_glob(text.table)),), exclude
    if text.include is None:
        return (whole,), exclude
    # Without a table the database is in scope all the same, for its functions.
    include = tuple(replace(whole, table=_expression(it, policy)) for it in text.include)
    return include or (replace(whole, table=_NO_TABLE),), exclude


def glob_pattern(key: str, text: str) -> Pattern:
    """The pattern `db` or `db.table` of the setting `key`. Raises UsageError if it cannot be read."""
    parts = text.strip().split(".")
    if not all(parts) or len(parts) > 2:
        raise UsageError(f"cannot read the pattern {as_written(text)}", "write db or db.table; * and ? are allowed")
    table, rule = _glob(parts[1]) if len(parts) > 1 else None, f"{key} {as_written(text)}"
    return Pattern(_database_glob(parts[0]), table, rule, catalog_of(normalized(parts[0])))


def _database_glob(text: str) -> re.Pattern[str]:
    """As `_glob`; a `*` does not stand for a catalog."""
    glob = _glob(text)
    return glob if catalog_of(normalized(text)) else re.compile(f"(?!@){glob.pattern}", re.IGNORECASE)


def _glob(text: str) -> re.Pattern[str]:
    return re.compile(translate(normalized(text)), re.IGNORECASE)


def _expression(text: str, policy: str) -> NameExpression:
    try:
        return NameExpression(text)
    except UsageError as error:
        raise UsageError(
            f"policy {as_written(policy)}: {as_written(text)} is not a regular expression: {error}"
        ) from error
