"""A hold: what the brake of a target holds, database by database, with the names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pysync.base.text import count

MOST_NAMES = 500
"""Names of a database that are shown."""


@dataclass(frozen=True, slots=True)
class DatabaseOnHold:
    """What is held of a database; `objects` is how many a decision is about, `more` how many are not named."""

    database: str
    objects: int
    summary: str
    reason: str
    names: tuple[str, ...]
    more: int


def held_databases(brake: Mapping[str, Any], held: Mapping[str, Any] | None) -> tuple[DatabaseOnHold, ...]:
    """The databases of a target's `brake` in the status, with the names of an answer of `held list` if there is one."""
    names: dict[str, list[str]] = {}
    for it in (held or {}).get("objects") or ():
        names.setdefault(str(it["object"]).partition(".")[0], []).append(_in_words(it))
    return tuple(_database(it, names.get(it["database"], [])) for it in brake["databases"])


def _database(database: Mapping[str, Any], names: list[str]) -> DatabaseOnHold:
    shown = tuple(names[:MOST_NAMES])
    return DatabaseOnHold(
        database=database["database"],
        objects=database["objects"],
        summary=database["summary"],
        reason=database["reason"],
        names=shown,
        more=max(0, database["objects"] - len(shown)),
    )


def _in_words(held: Mapping[str, Any]) -> str:
    """`table db.t`, `partition db.t/k=1`, `12 partitions of db.t`."""
    name = str(held["object"])
    if name.endswith("/*"):
        return f"{count(held['count'], 'partition')} of {name.removesuffix('/*')}"
    return f"{held['kind']} {name}"
