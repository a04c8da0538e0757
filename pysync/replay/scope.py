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
"""Those of the settings that are not at their defaults, as JSON values."""

_TEXTS = ("policy",)
_SETS = ("include", "exclude", "exclude_kinds", "drop_parameters")
_MAPS = ("databases", "tables", "locations", "parameters")
_REWRITE = "copy.rewrite"
_DROPS = "drops"


def scope_of(settings: TargetSettings) -> dict[str, Any]:
    """What decides what this target holds. The order of patterns does not count, nor do patterns given twice."""
    found: dict[str, Any] = {key: getattr(settings, key) for key in _TEXTS}
    found |= {key: sorted({str(it) for it in getattr(settings, key)}) for key in _SETS}
    found |= {key: dict(sorted(getattr(settings, key).items())) for key in _MAPS}
    found[_REWRITE] = settings.copy_files.rewrite if settings.copy_files else None
    found[_DROPS] = None if settings.drops == "apply" else settings.drops
    return {key: value for key, value in found.items() if value}


def changes(old: Settings, new: Settings) -> tuple[str, ...]:
    """What has changed, a line a setting: `include: aa → bb`."""
    keys = (*_TEXTS, *_SETS, *_MAPS, _REWRITE, _DROPS)
    return tuple(f"{it}: {_told(it, old)} → {_told(it, new)}" for it in keys if old.get(it) != new.get(it))


def _told(key: str, scope: Settings) -> str:
    value = scope.get(key)
    if isinstance(value, Mapping):
        return ", ".join(f"{one} = {other}" for one, other in value.items())
    return ", ".join(value) if isinstance(value, list) else str(value or ("apply" if key == _DROPS else "(none)"))


@dataclass(frozen=True, slots=True)
class Extent:
    """Which names of a target a scope gives to objects of the source, be they there or not."""

    policy: Policy
    mapping: NameMapping

    @classmethod
    def of(cls, scope: Settings) -> Extent:
        """That of a scope that was kept. Raises UsageError for a pattern which cannot be read any more."""
        names = {key: value for key, value in scope.items() if key not in {_REWRITE, _DROPS}}
        settings = TargetSettings(name="former", kind="any", **names)
        return cls(Policy.of(settings), NameMapping.of(settings))

    def holds(self, name: TableName) -> bool:
        """Whether a table of the source in scope would have this name."""
        return any(map(self.policy.takes_table, self.mapping.sources_of(name)))

    def holds_database(self, name: str) -> bool:
        """Whether a database in scope would have this name, or a table in scope would be in it."""
        moved = (old for old, new in self.mapping.tables.items() if new.database == name)
        whole = any(map(self.policy.takes_database, self.mapping.source_databases(name)))
        return whole or any(map(self.policy.takes_table, moved))
