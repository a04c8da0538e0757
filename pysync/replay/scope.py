"""Scope: the settings that decide what a target holds, as they are kept in the queue's file and compared. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pysync.model.names import TableName
from pysync.replay.mapping import NameMapping
from pysync.replay.policy import Policy
from pysync.targets.settings import TargetSettings

Settings = Mapping[str, Any]
"""The settings that are not at their defaults, as JSON values."""

_TEXTS = ("policy",)
_SETS = (
    *("include", "exclude", "exclude_kinds", "drop_parameters"),
    *("include_schemes", "include_types", "exclude_parameters"),
)
_MAPS = ("databases", "tables", "locations", "parameters")
_REWRITE = "copy.rewrite"
_DROPS = "drops"


def scope_of(settings: TargetSettings) -> dict[str, Any]:
    """The settings that decide what this target holds. Order and repetition of patterns make no difference."""
    found: dict[str, Any] = {key: getattr(settings, key) for key in _TEXTS}
    found |= {key: sorted({str(it) for it in getattr(settings, key)}) for key in _SETS}
    found |= {key: dict(sorted(getattr(settings, key).items())) for key in _MAPS}
    found[_REWRITE] = settings.copy_files.rewrite if settings.copy_files else None
    found[_DROPS] = None if settings.drops == "apply" else settings.drops
    return {key: value for key, value in found.items() if value}


def changes(old: Settings, new: Settings) -> tuple[str, ...]:
    """What has changed, one line for each setting: `include: aa → bb`."""
    keys = (*_TEXTS, *_SETS, *_MAPS, _REWRITE, _DROPS)
    return tuple(f"{it}: {_told(it, old)} → {_told(it, new)}" for it in keys if old.get(it) != new.get(it))


def _told(key: str, scope: Settings) -> str:
    value = scope.get(key)
    if isinstance(value, Mapping):
        return ", ".join(f"{one} = {other}" for one, other in value.items())
    return ", ".join(value) if isinstance(value, list) else str(value or ("apply" if key == _DROPS else "(none)"))


@dataclass(frozen=True, slots=True)
class Extent:
    """The names at a target that a scope gives to objects of the source, whether they exist or not."""

    policy: Policy
    mapping: NameMapping

    @classmethod
    def of(cls, scope: Settings) -> Extent:
        """The extent of a kept scope. Raises UsageError for a pattern that this version cannot read."""
        # These two change what is written, but no names.
        names = {key: value for key, value in scope.items() if key not in {_REWRITE, _DROPS}}
        settings = TargetSettings(name="former", kind="any", **names)
        return cls(Policy.of(settings), NameMapping.of(settings))

    def holds(self, name: TableName) -> bool:
        """Whether a table of the source in scope would have this name."""
        return any(map(self.policy.takes_table, self.mapping.sources_of(name)))

    def holds_database(self, name: str) -> bool:
        """Whether a database in scope, or the database of a table in scope, would have this name."""
        moved = (old for old, new in self.mapping.tables.items() if new.database == name)
        whole = any(map(self.policy.takes_database, self.mapping.source_databases(name)))
        return whole or any(map(self.policy.takes_table, moved))
