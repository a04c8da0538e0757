"""Scope: the settings that decide what a target holds, as they are kept in the queue's file and compared. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.policy import Policy
from pysync.targets.settings import NamedPolicy, PolicySettings, TargetSettings

Settings = Mapping[str, Any]
"""The settings that are not at their defaults, as JSON values."""

_TEXTS = ("policy", "where")
_SETS = (
    *("include", "exclude", "exclude_kinds", "drop_parameters"),
    *("include_schemes", "include_types", "include_formats", "include_owners", "exclude_parameters"),
)
_MAPS = ("databases", "tables", "locations", "parameters")
_REWRITE = "copy.rewrite"
_DROPS = "drops"
_POLICIES = "policies"


def scope_of(settings: TargetSettings) -> dict[str, Any]:
    """The settings that decide what this target holds. Order and repetition of patterns make no difference.

    The order of policies does, and so does whether one sets something that the target sets as well.
    """
    scope = _of(settings)
    scope[_REWRITE] = settings.copy_files.rewrite if settings.copy_files else None
    scope[_POLICIES] = [_of_policy(it) for it in settings.policies]
    return {key: value for key, value in scope.items() if value}


def _of(settings: PolicySettings) -> dict[str, Any]:
    scope: dict[str, Any] = {key: getattr(settings, key) for key in _TEXTS}
    scope |= {key: sorted({str(it) for it in getattr(settings, key)}) for key in _SETS}
    scope |= {key: dict(sorted(getattr(settings, key).items())) for key in _MAPS}
    scope[_DROPS] = settings.drops if settings.drops == "suppress" else None
    return scope


def _of_policy(policy: NamedPolicy) -> dict[str, Any]:
    """What a policy sets, be it empty: an empty setting replaces the target's. Its name decides nothing."""
    given = {key: it for key, it in _of(policy).items() if key in policy.model_fields_set}
    if _DROPS in given:
        given[_DROPS] = policy.drops
    return given


def changes(old: Settings, new: Settings) -> tuple[str, ...]:
    """What has changed, one line for each setting: `include: aa → bb`."""
    keys = (*_TEXTS, *_SETS, *_MAPS, _REWRITE, _DROPS, _POLICIES)
    return tuple(
        f"{it}: {_setting_text(it, old)} → {_setting_text(it, new)}" for it in keys if old.get(it) != new.get(it)
    )


def _setting_text(key: str, scope: Settings) -> str:
    value = scope.get(key)
    if key == _POLICIES:
        return "; ".join(_policy_text(it) for it in value or ()) or "(none)"
    if isinstance(value, Mapping):
        return ", ".join(f"{one} = {other}" for one, other in value.items())
    return ", ".join(value) if isinstance(value, list) else str(value or ("apply" if key == _DROPS else "(none)"))


def _policy_text(policy: Settings) -> str:
    return ", ".join(f"{key} {_setting_text(key, policy) or '(none)'}" for key in policy)


@dataclass(frozen=True, slots=True)
class Extent:
    """The names at a target that a scope gives to objects of the source, whether they exist or not.

    `only` restricts it to some tables of the source.
    """

    policy: Policy
    mapping: NameMapping
    only: Callable[[TableName], bool] = lambda _: True

    @classmethod
    def of(cls, scope: Settings) -> Extent:
        """The extent of a kept scope. Raises UsageError for a pattern that this version cannot read."""
        # These two change what is written, but no names. Policies may set `drops` as well, which does no harm.
        names = {key: value for key, value in scope.items() if key not in {_REWRITE, _DROPS, _POLICIES}}
        policies = [{"name": f"policy-{at}", **it} for at, it in enumerate(scope.get(_POLICIES, ()))]
        settings = TargetSettings.model_validate({"name": "former", "kind": "any", **names, _POLICIES: policies})
        return cls(Policy.of(settings), NameMapping.of(settings))

    def holds(self, name: TableName) -> bool:
        """Whether a table of the source in scope would have this name."""
        return bool(self.sources_of(name))

    def former_object(self, name: TableName | str, mark: Mark | None) -> str:
        """The object of the source that the target's `name` is a copy of, if this scope does not give it that name.

        "" if it does, or if the mark does not say. A database has the name by right if a table of it goes there, too.
        """
        copied = mark.object if mark is not None else ""
        if isinstance(name, str):
            is_named = not copied or self._leads(copied.partition(".")[0], name)
        else:
            is_named = "." not in copied or TableName.parse(copied) in self.sources_of(name)
        return "" if is_named else copied

    def sources_of(self, name: TableName) -> list[TableName]:
        """The tables of the source in scope that would have this name, whether they exist or not."""
        return [it for it in self.mapping.sources_of(name) if self.policy.takes_table(it) and self.only(it)]

    def _leads(self, source: str, name: str) -> bool:
        return self.policy.takes_database(source) and self.mapping.renames.leads(source, name)

    def holds_database(self, name: str) -> bool:
        """Whether a database in scope, or the database of a table in scope, would have this name."""
        policy = self.policy
        whole = any(map(policy.takes_database, self.mapping.source_databases(name)))
        # Which tables a pattern brings there is not known: any of their database may be one.
        return whole or any(
            policy.takes_database(database) if table is None else policy.takes_table(TableName(database, table))
            for database, table in self.mapping.renames.moved_into(name)
        )
