"""Traits: which tables a target takes by what they are: location, type, format, owner and parameters. Pure.

An alter may change them, so a table can come into a target's scope and leave it under the same name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.table_formats import data_location, format_of
from pysync.replay.window.locations import Locations
from pysync.targets.base import Rejected
from pysync.targets.settings import TargetSettings


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
