"""Verify: a tile for each database, and the fields of what differs side by side."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pysync.web.views.tones import BAD, GOOD, IDLE
from pysync.web.words import segment

_RESULTS = {
    "missing": "missing at the target",
    "extra": "only at the target",
    "different": "different",
    "foreign": "belongs to somebody else",
}
_INSTEAD = " instead of "


@dataclass(frozen=True, slots=True)
class Field:
    """A field that differs; where its line cannot be told apart, `line` is all of it."""

    name: str
    source: str = ""
    target: str = ""
    line: str = ""


@dataclass(frozen=True, slots=True)
class Object:
    """An object that differs; `excuse` says why that is no drift."""

    kind: str
    name: str
    source: str
    result: str
    tone: str
    excuse: str
    fields: tuple[Field, ...]
    link: str


@dataclass(frozen=True, slots=True)
class Tile:
    """A database: how many objects were compared, and how many have drifted."""

    name: str
    tone: str
    objects: int
    drift: int
    link: str


@dataclass(frozen=True, slots=True)
class VerifyView:
    """What was found at one target; `more` objects differ beyond those that are kept."""

    target: str
    tone: str
    began_at: float | None
    ended_at: float | None
    objects: int
    drift: int
    excused: int
    tiles: tuple[Tile, ...]
    differences: tuple[Object, ...]
    more: int


def verify_view(target: str, result: Mapping[str, Any], at: str = "/verify") -> VerifyView:
    """The view of a comparison: an answer of `verified`, or `pysync verify --json` with its `databases`.

    `at` is where the tiles lead: `AT/TARGET/DB`. With `#` in front it is the part of the same page about the database,
    which only one has in which something differs.
    """
    differences = tuple(object_of(it) for it in result.get("differences") or ())
    drifted = sum(it.tone == BAD for it in differences)
    drift = int(result.get("drift") or 0)
    return VerifyView(
        target=target,
        tone=BAD if drift else GOOD,
        began_at=result.get("began_at"),
        ended_at=result.get("ended_at"),
        objects=int(result.get("objects") or 0),
        drift=drift,
        excused=int(result.get("excused") or 0),
        tiles=tuple(_tiles(target, result.get("databases") or (), at, {database_of(it.source) for it in differences})),
        differences=differences,
        more=max(0, drift - drifted),
    )


def of_database(view: VerifyView, database: str) -> list[Object]:
    """What differs in one database."""
    return [it for it in view.differences if database_of(it.source) == database]


def database_of(name: str) -> str:
    """The database in `db`, `db.table` or `db.function`."""
    return name.partition(".")[0]


def object_of(compared: Mapping[str, Any]) -> Object:
    """One of the `differences`."""
    name = str(compared["name"])
    source = str(compared.get("source") or name)
    result = str(compared["result"])
    return Object(
        kind=str(compared["kind"]),
        name=name,
        source=source,
        result=_RESULTS.get(result, result),
        tone=BAD if compared.get("drift") else IDLE,
        excuse=str(compared.get("excuse") or ""),
        fields=tuple(field_of(it) for it in compared.get("fields") or ()),
        link=f"/tables/{segment(source)}" if compared["kind"] in {"table", "files"} and "." in source else "",
    )


def field_of(line: str) -> Field:
    """The two sides of `sd.location: 'file:/b' instead of 'file:/a'`, as verify prints it: the target's comes first.

    A value may hold the words that stand between the two; then, and for other lines, all of it is one text. Secrets
    are hidden in it already (model/difference).
    """
    name, colon, rest = line.partition(": ")
    parts = rest.split(_INSTEAD)
    if not colon or len(parts) != 2:
        return Field("", line=line)
    return Field(name, source=parts[1], target=parts[0])


def _tiles(target: str, databases: Sequence[Mapping[str, Any]], at: str, differing: Collection[str]) -> list[Tile]:
    """Those that have drifted come first, then by name."""

    def link(name: str) -> str:
        if at.startswith("#"):
            return f"{at}{segment(name)}" if name in differing else ""
        return f"{at}/{segment(target)}/{segment(name)}"

    ordered = sorted(databases, key=lambda it: (not it["drift"], it["name"]))
    return [
        Tile(it["name"], BAD if it["drift"] else GOOD, it["objects"], it["drift"], link(it["name"])) for it in ordered
    ]
