"""Traits: which tables a target takes by their definition: where they are, their type and their parameters. Pure.

An alter may change them, so a table can come into a target's scope and leave it under the same name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.table_formats import data_location
from pysync.replay.locations import Locations
from pysync.targets.base import Rejected
from pysync.targets.settings import TargetSettings


@dataclass(frozen=True, slots=True)
class Traits:
    """What a table must be, and must not have. Empty: every table is taken."""

    schemes: Sequence[str] = ()
    types: Sequence[str] = ()
    parameters: Sequence[tuple[str, str]] = ()
    locations: Locations = field(default_factory=Locations)

    @classmethod
    def of(cls, settings: TargetSettings) -> Traits:
        """The traits that a target's settings ask for."""
        pairs = (text.partition("=") for text in settings.exclude_parameters)
        return cls(
            tuple(scheme.lower() for scheme in settings.include_schemes),
            settings.include_types,
            tuple((key.strip(), value.strip() if equals else "*") for key, equals, value in pairs),
            Locations.of(settings.locations),
        )

    @property
    def are_any(self) -> bool:
        """Whether they ask for nothing."""
        return not (self.schemes or self.types or self.parameters)

    def rule_against(self, table: Any) -> str | None:
        """The rule by which a table of the source is not taken; None if it is taken, or if it is no table."""
        if self.are_any or not isinstance(table, hive.Table):
            return None
        kind, scheme = type_of(table), self._scheme(table)
        if self.types and kind not in self.types:
            return f"include_types does not have {kind}"
        if self.schemes and scheme is not None and not any(fnmatchcase(scheme, it) for it in self.schemes):
            return f"include_schemes does not have {scheme or 'a location without a scheme'}"
        found = self._excluding(table.parameters or {})
        return f"exclude_parameters has {found}" if found else None

    def _scheme(self, table: Any) -> str | None:
        """The scheme of its location at the target; None if it has no location, or one that is refused later."""
        try:
            place = self.locations.map(data_location(table))
        except Rejected:
            return None
        scheme, separator, _ = (place or "").partition(":/")
        return (scheme.lower() if separator else "") if place else None

    def _excluding(self, parameters: Mapping[str, str]) -> str | None:
        for key, value in self.parameters:
            if any(fnmatchcase(name, key) and fnmatchcase(its or "", value) for name, its in parameters.items()):
                return key if value == "*" else f"{key}={value}"
        return None


def type_of(table: Any) -> str:
    """The type of a table. EXTERNAL decides where a client left it out, as in a metastore."""
    if table.tableType:
        return str(table.tableType)
    external = (table.parameters or {}).get("EXTERNAL", "").upper() == "TRUE"
    return "EXTERNAL_TABLE" if external else "MANAGED_TABLE"
