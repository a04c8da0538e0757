"""Locations: which are below others, however they are spelled, and how files on the way are re-encoded. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from pysync.model.snapshot import Snapshot

_LOCATION = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(.*)", re.DOTALL)
_UP = ".."

Transactional = Literal["", "full", "insert_only"]
"""Whether a table is one of Hive's transactional tables, and which rows may change in it: all, or none."""

Place = tuple[str, str, tuple[str, ...]]
"""Scheme, authority, and the parts of the path."""


def place_at(location: str) -> Place:
    """The place that a location leads to: `file:///a//b/../c/` and `file:/a/c` are one."""
    scheme, authority, path = _LOCATION.fullmatch(location).groups(default="")  # type: ignore[union-attr]
    parts = posixpath.normpath(f"/{path.lstrip('/')}").split("/")
    return scheme.lower(), authority.lower(), tuple(filter(None, parts))


def is_below(location: str, prefix: str) -> bool:
    """Whether a location is `prefix`, or below it. One with `..` never is: a link on its way may lead elsewhere."""
    return _UP not in location.split("/") and _contains(place_at(prefix), place_at(location))


def shared_at(location: str, shared: Iterable[str]) -> str | None:
    """The first of these directories, which are `shared` by many tables, that is the location or below it."""
    place = place_at(location)
    return next((it for it in shared if _contains(place, place_at(it))), None)


def overlap(one: str, other: str) -> bool:
    """Whether one of the two locations is the other, or below it."""
    places = place_at(one), place_at(other)
    return _contains(*places) or _contains(*reversed(places))


def name_below(location: str, directory: str) -> str | None:
    """The first name on the way from a directory down to a location; None if that is not below the directory."""
    outer, inner = place_at(directory), place_at(location)
    return inner[2][len(outer[2])] if _contains(outer, inner) and outer != inner else None


def directories_of(database: Any) -> list[str]:
    """The directories of a `ttypes.Database`, in which its tables are; none of None."""
    locations = () if database is None else (database.locationUri, getattr(database, "managedLocationUri", None))
    return [it for it in locations if it]


def _contains(outer: Place, inner: Place) -> bool:
    return outer[:2] == inner[:2] and inner[2][: len(outer[2])] == outer[2]


@dataclass(frozen=True, slots=True)
class Form:
    """How to read the files of a directory (`parquet`, `orc`, `json`, `text`), and the format `to` write them in.

    `columns` are names and Hive types. `delimiter`, `null` and `header` (lines per file) are for text only.
    Of a `transactional` table only the rows of the `snapshot` are read, which an event does not have; a file's columns
    are those of the table by their places (`by_place`), or else by their names. Another table of the name, which was
    `created` at another time (s), counts its writes anew.
    """

    format: str
    to: str
    columns: tuple[tuple[str, str], ...]
    delimiter: str = ""
    null: str = ""
    header: int = 0
    transactional: Transactional = ""
    by_place: bool = False
    created: int = 0
    snapshot: Snapshot | None = None

    @property
    def lacks_snapshot(self) -> bool:
        """Whether nothing can be read, as nobody has said yet which rows count."""
        return bool(self.transactional) and self.snapshot is None


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """Files in a directory of the source, and how they are re-encoded; None: they are copied byte for byte.

    `removes_extras`: copied files that are not among them any more are removed at the target.
    """

    location: str
    form: Form | None = None
    removes_extras: bool = False

    def at(self, snapshot: Snapshot | None) -> SourceFiles:
        """The same files, of a transactional table with the rows of this snapshot."""
        if self.form is None or not self.form.transactional:
            return self
        return replace(self, form=replace(self.form, snapshot=snapshot))
