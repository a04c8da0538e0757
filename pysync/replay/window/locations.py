"""Locations: prefixes of locations, and what happens to them on the way to a target. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate

from pysync.model.table_formats import ARCHIVED
from pysync.targets.base import Rejected

_ARCHIVE = re.compile(ARCHIVED + r"(/.*)")
_PLACE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(/.*)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?=/)")
_EMPTY_AUTHORITY = re.compile(r"^([a-z][a-z0-9+.-]*):///")


@dataclass(frozen=True, slots=True)
class Locations:
    """Location prefixes, source to target; they match at path boundaries and the longest wins."""

    prefixes: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, mapping: dict[str, str]) -> Locations:
        """From the setting `locations`."""
        # Without a slash at the end, which `map` adds: so prefixes match at path boundaries only.
        pairs = [(plain(source).rstrip("/"), target.rstrip("/")) for source, target in mapping.items()]
        return cls(tuple(sorted(pairs, key=lambda pair: -len(pair[0]))))

    def map(self, location: str | None) -> str | None:
        """The location at the target; the same if no prefix matches.

        Raises Rejected for a location that leaves its prefix by `..`: nobody has mapped the place that it leads to.
        """
        if not location or not self.prefixes:
            return location
        if archive := _ARCHIVE.fullmatch(location):
            return self._map_archive(location, *archive.groups())
        place = plain(location)
        for source, target in self.prefixes:
            if place == source or place.startswith(source + "/"):
                below = place[len(source) :]
                if _climbs(below):
                    raise Rejected(
                        f"the location {location} leaves its prefix {source or '/'} by '..'",
                        "correct the location at the source",
                    )
                return target + below or "/"
        return location

    def _map_archive(self, location: str, scheme: str, authority: str, path: str) -> str:
        """The location of a Hadoop archive, which is below the prefixes of the file system that it is in."""
        mapped = _PLACE.fullmatch(self.map(f"{scheme}://{authority}{path}") or "")
        return f"har://{mapped[1]}-{mapped[2]}{mapped[3]}" if mapped else location


def _climbs(path: str) -> bool:
    """Whether a relative path leaves the place where it begins, at its end or on the way."""
    steps = accumulate(-1 if part == ".." else part not in {"", "."} for part in path.split("/"))
    return min(steps) < 0


def plain(location: str) -> str:
    """The location without an empty authority, its scheme in lower case: `FILE:///a` and `file:/a` are the same."""
    scheme = _SCHEME.match(location)
    lowered = location if scheme is None else scheme[0].lower() + location[scheme.end() :]
    return _EMPTY_AUTHORITY.sub(r"\1:/", lowered)
