"""Places: which locations are below others, however they are spelled. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

_LOCATION = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(.*)", re.DOTALL)
_UP = ".."

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


def _contains(outer: Place, inner: Place) -> bool:
    return outer[:2] == inner[:2] and inner[2][: len(outer[2])] == outer[2]
