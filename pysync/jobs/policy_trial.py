"""What the policies of a pysync.toml make of names and locations, found without any server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pysync.model.names import TableName
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.policy import Policy
from pysync.replay.window.traits import TableTraits, Traits
from pysync.targets.apply.refusals import refuse_catalog
from pysync.targets.base import Rejected
from pysync.targets.settings import TargetSettings

_NOT_TAKEN: Mapping[str, Any] = {
    **dict.fromkeys(("name", "location", "refused", "rename")),
    "rivals": [],
    "policy": None,
    "depends_on": [],
}


@dataclass(frozen=True, slots=True)
class Definition:
    """What is known of the definition of a table of the source; None: not known."""

    location: str | None = None
    type: str | None = None
    format: str | None = None
    owner: str | None = None
    parameters: Mapping[str, str] | None = None
    partition: Mapping[str, str] | None = None
    """The values of the keys of a partition."""

    def rule_against(self, traits: Traits) -> str | None:
        """The rule by which a table like this is not taken; None if what is known is not against it."""
        scheme = traits.scheme(self.location)
        definition = TableTraits(scheme, self.type or "", self.format, self.owner or "", self.parameters or {})
        unknown: dict[str, Any] = {field: () for field, _, value in self._criteria() if value is None}
        return replace(traits, **unknown).rule_against_traits(definition)

    def rule_against_partition(self, policy: Policy, table: TableName) -> str | None:
        """The rule by which the partition is not taken; None if it is, or if none was given. Keys count as strings."""
        if self.partition is None:
            return None
        keys = [(key, "string") for key in self.partition]
        return policy.rule_against_partition(table, keys, list(self.partition.values()))

    def undecided(self, traits: Traits) -> list[str]:
        """The settings that decide by what is not known."""
        return [setting for field, setting, value in self._criteria() if value is None and getattr(traits, field)]

    def _criteria(self) -> Sequence[tuple[str, str, object]]:
        return (
            ("schemes", "include_schemes", self.location),
            ("types", "include_types", self.type),
            ("formats", "include_formats", self.format),
            ("owners", "include_owners", self.owner),
            ("parameters", "exclude_parameters", self.parameters),
        )


def tried(
    targets: Sequence[TargetSettings], names: Sequence[str], definition: Definition | None = None
) -> list[dict[str, Any]]:
    """What each target makes of each name at the source, `db` or `db.table`, as JSON values (docs/scope.md).

    `definition` is what is known of the tables. Pure: nothing is read.
    """
    known = definition or Definition()
    return [
        {"object": name, "targets": [_tried(settings, name, known) for settings in targets]}
        for name in (str(TableName.parse(it)) if "." in it else it.lower() for it in names)
    ]


def _tried(settings: TargetSettings, text: str, known: Definition) -> dict[str, Any]:
    policy, mapping = Policy.of(settings), NameMapping.of(settings)
    name = TableName.parse(text) if "." in text else text
    against, depends_on = policy.rule_against(name), list[str]()
    if against is None and isinstance(name, TableName):
        traits = policy.deciding(name).traits
        against = known.rule_against(traits) or known.rule_against_partition(policy, name)
        depends_on = known.undecided(traits) if against is None else []
    result: dict[str, Any] = {"target": settings.name, "taken": against is None}
    result["rule"] = against or policy.rule_for(name)
    if against is not None:
        return {**result, **_NOT_TAKEN}
    result["name"] = str(mapping.table(name)) if isinstance(name, TableName) else mapping.database(name)
    try:
        refuse_catalog(settings, result["name"])
        location = mapping.rewriting(name).locations.map(known.location)
        result |= {"location": location, "refused": settings.unreadable(location or "") or None}
    except Rejected as error:
        result |= {"location": None, "refused": str(error)}
    rivals = [str(it) for it in mapping.rivals_of(name) if policy.takes(it)]
    decides = policy.deciding(name).name or None
    return {
        **result,
        "rename": mapping.renames.rule(name),
        "rivals": rivals,
        "policy": decides,
        "depends_on": depends_on,
    }
