"""Scope: the settings that decide what a target holds, and the drops of what is not in it any more. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pysync.model.catalogs import is_default_database
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import DropDatabase, DropTable, Operation, Refresh
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.policy import Policy
from pysync.replay.window.translate import Translator
from pysync.targets.base import Target
from pysync.targets.settings import NamedPolicy, PolicySettings, TargetSettings

# Scope: the settings that decide what a target holds, as they are kept in the queue's file and compared. Pure.


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
        return any(self.policy.takes_table(it) and self.only(it) for it in self.mapping.sources_of(name))

    def holds_database(self, name: str) -> bool:
        """Whether a database in scope, or the database of a table in scope, would have this name."""
        policy = self.policy
        whole = any(map(policy.takes_database, self.mapping.source_databases(name)))
        # Which tables a pattern brings there is not known: any of their database may be one.
        return whole or any(
            policy.takes_database(database) if table is None else policy.takes_table(TableName(database, table))
            for database, table in self.mapping.renames.moved_into(name)
        )


# Leaving: drops what a target holds from former scopes, and what is not in its present one.
#
# Only objects that a former scope put there are meant, and only with this source's mark: another target of the same
# source may be in the same metastore. Files are never deleted: an object under another name may use the same ones.


@dataclass(frozen=True, slots=True)
class Leaving:
    """Which of the target's objects have left its scope; only reads the target."""

    target: Target
    source: str
    former: Sequence[Extent]
    now: Extent

    def databases(self) -> Iterator[str]:
        """The target's databases in which something may have left the scope, sorted."""
        return (name for name in self.target.databases() if any(it.holds_database(name) for it in self.former))

    def tables(self, database: str) -> Iterator[TableName]:
        """The tables of a target's database that have left the scope, sorted."""
        for table in self.target.tables(database):
            name = TableName(database, table)
            left = any(it.holds(name) for it in self.former) and not self.now.holds(name)
            if left and self._is_ours(self.target.table(name)):
                yield name

    def has_left(self, database: str, gone: Sequence[TableName]) -> bool:
        """Whether the database itself has left the scope, and is empty without the tables in `gone`."""
        if (
            is_default_database(database)
            or self.now.holds_database(database)
            or len(self.target.tables(database)) > len(gone)
        ):
            return False
        return self._is_ours(self.target.database(database))

    def _is_ours(self, item: Any) -> bool:
        mark = Mark.read(item.parameters) if item is not None else None
        return mark is not None and mark.source == self.source


@dataclass(frozen=True, slots=True)
class Replaced:
    """The scope of the dumps until now, and the one in its place, as policies: each takes what any of them takes."""

    old: Sequence[Policy]
    new: Sequence[Policy]

    @classmethod
    def from_json(cls, text: str) -> Replaced:
        """Read what `replaced_json` wrote."""
        fields = json.loads(text)
        return cls(*([_policy(it) for it in fields[key]] for key in ("old", "new")))

    def takes(self, name: TableName) -> bool:
        """Whether the new one takes a table of the source."""
        return any(it.takes_table(name) for it in self.new)

    def is_left(self, name: TableName) -> bool:
        """Whether the old one took a table of the source, and the new one does not."""
        return any(it.takes_table(name) for it in self.old) and not self.takes(name)


def replaced_json(old: Sequence[Settings], new: Sequence[Settings]) -> str:
    """The attribute `replaced` of a refresh: settings of both scopes, as in a target's table."""
    return json.dumps({"old": list(map(dict, old)), "new": list(map(dict, new))})


def _policy(scope: Mapping[str, Any]) -> Policy:
    return Policy.of(TargetSettings(name="former", kind="any", **scope))


def leaving(target: Target, translator: Translator, refresh: Refresh) -> Iterator[Operation]:
    """The drops of everything that has left the scope since the former ones that the refresh names.

    A database goes after its tables, and stays if others are left in it. If the policy of the dumps was replaced, only
    tables go that the old one took and the new one does not. Raises what the target raises.
    """
    former = [Extent.of(it) for it in json.loads(refresh.former)]
    now = Extent(translator.policy, translator.mapping)
    if refresh.replaced:
        replaced = Replaced.from_json(refresh.replaced)
        former = [replace(it, only=replaced.is_left) for it in former]
        now = replace(now, only=replaced.takes)
    extent = Leaving(target, refresh.mark.source, former, now)
    # createTime 0: whichever table has the name there by now, it is out of scope.
    origin: dict[str, Any] = {"mark": replace(refresh.mark, created=0), "visited": refresh.visited}
    for database in extent.databases():
        gone = list(extent.tables(database))
        for name in gone:
            yield DropTable(table=name, **origin)
        if not refresh.replaced and extent.has_left(database, gone):
            yield DropDatabase(database=database, **origin)
