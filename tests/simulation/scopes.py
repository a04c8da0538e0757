"""Scopes that a target may get, and what a target of each holds: said here once more, and otherwise than in pysync."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.state import State

_NAMES = frozenset({"name", "dbName", "tableName", "functionName"})
_PLACES = frozenset({"locationUri", "location"})


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """The settings, and which databases and tables (`db.table`) are within; `called` are the new names of both."""

    settings: Mapping[str, Any]
    database: Callable[[str], bool] = lambda _: True
    table: Callable[[str], bool] = lambda _: True
    called: Mapping[str, str] = field(default_factory=dict)

    def of(self, source: State) -> State:
        """What a target of this scope holds where the source has this."""
        found: State = {}
        for key, item in source.items():
            name, slash, values = key.partition("/")
            database, dot, rest = name.partition(".")
            if self.table(name) if dot and not rest.endswith("()") else self.database(database):
                named = self.called.get(name) or f"{self.called.get(database, database)}{dot}{rest}"
                found[f"{named}{slash}{values}"] = item
        return found


def comparable(held: State) -> State:
    """Without what follows from the names: they are keys already."""
    return {key: _unnamed(item) for key, item in held.items()}


def _unnamed(item: dict[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in item.items() if key not in _NAMES | _PLACES}
    if "sd" in found:
        found["sd"] = {key: value for key, value in found["sd"].items() if key not in _PLACES}
    return found


EVERYTHING = Scope({})
SCOPES = (
    EVERYTHING,
    Scope({"include": ("a",)}, lambda it: it == "a", lambda it: it.startswith("a.")),
    Scope({"include": ("b",)}, lambda it: it == "b", lambda it: it.startswith("b.")),
    Scope({"include": ("b.t", "a.*")}, table=lambda it: it == "b.t" or it.startswith("a.")),
    Scope({"exclude": ("a.u",)}, table=lambda it: it != "a.u"),
    Scope({"databases": {"a": "c"}}, called={"a": "c"}),
    Scope({"tables": {"a.t": "a.x"}}, called={"a.t": "a.x"}),
    Scope(
        {"databases": {"a*": "c*"}, "tables": {"b.*": "b.x*"}},
        called={"a": "c", "b.t": "b.xt", "b.u": "b.xu", "b.v": "b.xv"},
    ),
    Scope(
        {
            "databases": {"b": "a"},  # a policy's own replace it
            "policies": (
                {"name": "a", "include": ("a",), "databases": {"a": "c"}},
                {"name": "b", "include": ("b.t", "b.u"), "databases": {}, "tables": {"b.u": "b.x"}},
            ),
        },
        table=lambda it: it.startswith("a.") or it in {"b.t", "b.u"},
        called={"a": "c", "b.u": "b.x"},
    ),
    Scope({"databases": {"b": "c"}, "exclude": ("*.v",)}, table=lambda it: it[2:] != "v", called={"b": "c"}),
)
