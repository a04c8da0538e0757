"""What the policies of a pysync.toml make of names and locations, told without any server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pysync.model.names import TableName
from pysync.replay.mapping import NameMapping
from pysync.replay.policy import Policy
from pysync.targets.base import Rejected
from pysync.targets.settings import TargetSettings


def tried(targets: Sequence[TargetSettings], names: Sequence[str], location: str | None = None) -> list[dict[str, Any]]:
    """What each target makes of each name at the source, `db` or `db.table`, as JSON values (docs/scope.md).

    `location` is where the object's files are. Pure: nothing is read.
    """
    return [
        {"object": name, "targets": [_tried(settings, name, location) for settings in targets]}
        for name in (str(TableName.parse(it)) if "." in it else it.lower() for it in names)
    ]


def _tried(settings: TargetSettings, text: str, location: str | None) -> dict[str, Any]:
    policy, mapping = Policy.of(settings), NameMapping.of(settings)
    name = TableName.parse(text) if "." in text else text
    against = policy.rule_against(name)
    found: dict[str, Any] = {"target": settings.name, "taken": against is None}
    found["rule"] = against or policy.rule_for(name)
    if against is not None:
        return {**found, "name": None, "location": None, "refused": None, "rename": None, "rivals": [], "policy": None}
    found["name"] = str(mapping.table(name)) if isinstance(name, TableName) else mapping.database(name)
    try:
        found |= {"location": mapping.rewriting(name).locations.map(location), "refused": None}
    except Rejected as error:
        found |= {"location": None, "refused": str(error)}
    rivals = [str(it) for it in mapping.rivals_of(name) if policy.takes(it)]
    decides = policy.deciding(name).name or None
    return {**found, "rename": mapping.renames.rule(name), "rivals": rivals, "policy": decides}
