"""Rules: the patterns of names, and the traits of definitions, by which a policy decides. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase, translate
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.errors import UsageError
from pysync.base.text import as_written
from pysync.model.catalogs import catalog_of
from pysync.model.names import TableName, normalized
from pysync.model.table_formats import data_location, format_of
from pysync.replay.window import repl_text
from pysync.replay.window.renames import Locations
from pysync.targets.base import Rejected
from pysync.targets.settings import TargetSettings

# Patterns: which names are meant.


_NO_TABLE = re.compile("(?!)")


@dataclass(frozen=True, slots=True)
class Pattern:
    """Matches whole names, in any case; without a table part it means the database and everything in it.

    It matches names of one catalog only: that of `catalog`, None for `hive`. `rule` is the setting that it comes from,
    as it is in pysync.toml.
    """

    database: re.Pattern[str]
    table: re.Pattern[str] | None = None
    rule: str = field(default="", compare=False)
    catalog: str | None = None

    def takes(self, name: TableName) -> bool:
        """Whether it matches the table."""
        whole = self.table is None or self.table.fullmatch(name.table) is not None
        return whole and self.database.fullmatch(name.database) is not None

    def takes_all_of(self, database: str) -> bool:
        """Whether it matches the database, with everything in it."""
        return self.table is None and self.database.fullmatch(normalized(database)) is not None


def repl_patterns(policy: str | None) -> tuple[Iterable[Pattern], Iterable[Pattern]]:
    """What a policy of Hive's REPL takes, and what it leaves out. Raises UsageError if it cannot be read."""
    if policy is None:
        return (), ()
    text = repl_text.parse_policy(policy)
    whole = Pattern(_database_glob(text.database), None, f"policy {as_written(policy)}", catalog_of(text.database))
    exclude = tuple(replace(whole, table=_regex(it, policy)) for it in text.exclude)
    if text.table is not None:
        return (replace(whole, table=_glob(text.table)),), exclude
    if text.include is None:
        return (whole,), exclude
    # Without a table the database is in scope all the same, for its functions.
    include = tuple(replace(whole, table=_regex(it, policy)) for it in text.include)
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


def _regex(text: str, policy: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.IGNORECASE)
    # OverflowError: a repetition like a{99999999999}.
    except (re.error, OverflowError) as error:
        raise UsageError(
            f"policy {as_written(policy)}: {as_written(text)} is not a regular expression: {error}"
        ) from error


# Traits: which tables a target takes by their definition: where they are, their type, format, owner and parameters.
#
# An alter may change them, so a table can come into a target's scope and leave it under the same name.


@dataclass(frozen=True, slots=True)
class TableTraits:
    """What the rules look at in the definition of a table. `scheme` and `format` are None where it has none."""

    scheme: str | None
    type: str
    format: str | None
    owner: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Traits:
    """What a table must be, and must not have. Empty: every table is taken."""

    schemes: Sequence[str] = ()
    types: Sequence[str] = ()
    formats: Sequence[str] = ()
    owners: Sequence[str] = ()
    parameters: Sequence[tuple[str, str]] = ()
    locations: Locations = field(default_factory=Locations)

    @classmethod
    def of(cls, settings: TargetSettings) -> Traits:
        """The traits that a target's settings ask for."""
        pairs = (text.partition("=") for text in settings.exclude_parameters)
        return cls(
            tuple(scheme.lower() for scheme in settings.include_schemes),
            settings.include_types,
            settings.include_formats,
            settings.include_owners,
            tuple((key.strip(), value.strip() if equals else "*") for key, equals, value in pairs),
            Locations.of(settings.locations),
        )

    @property
    def are_any(self) -> bool:
        """Whether they ask for nothing."""
        return not (self.schemes or self.types or self.formats or self.owners or self.parameters)

    def rule_against(self, table: Any) -> str | None:
        """The rule by which a table of the source is not taken; None if it is taken, or if it is no table."""
        if self.are_any or not isinstance(table, hive.Table):
            return None
        definition = TableTraits(
            self.scheme(data_location(table)),
            type_of(table),
            format_of(table),
            table.owner or "",
            table.parameters or {},
        )
        return self.rule_against_traits(definition)

    def rule_against_traits(self, definition: TableTraits) -> str | None:
        """The rule by which a table that looks like this is not taken; None if it is taken."""
        if self.types and definition.type not in self.types:
            return f"include_types does not have {definition.type}"
        if self.schemes and definition.scheme is not None and not _matches(definition.scheme, self.schemes):
            return f"include_schemes does not have {definition.scheme or 'a location without a scheme'}"
        if self.formats and definition.format is not None and definition.format not in self.formats:
            return f"include_formats does not have {definition.format}"
        if self.owners and not _matches(definition.owner, self.owners):
            return f"include_owners does not have {definition.owner or 'a table without an owner'}"
        parameter = self._excluding(definition.parameters)
        return f"exclude_parameters has {parameter}" if parameter else None

    def scheme(self, location: str | None) -> str | None:
        """The scheme of a location of the source at the target; None without one, or if it is refused later."""
        try:
            place = self.locations.map(location)
        except Rejected:
            return None
        scheme, separator, _ = (place or "").partition(":/")
        return (scheme.lower() if separator else "") if place else None

    def _excluding(self, parameters: Mapping[str, str]) -> str | None:
        for key, value in self.parameters:
            if any(fnmatchcase(name, key) and fnmatchcase(actual or "", value) for name, actual in parameters.items()):
                return key if value == "*" else f"{key}={value}"
        return None


def _matches(text: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(text, it) for it in patterns)


def type_of(table: Any) -> str:
    """The type of a table. EXTERNAL decides where a client left it out, as in a metastore."""
    if table.tableType:
        return str(table.tableType)
    external = (table.parameters or {}).get("EXTERNAL", "").upper() == "TRUE"
    return "EXTERNAL_TABLE" if external else "MANAGED_TABLE"
