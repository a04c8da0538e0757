"""Locations: as Hive keeps them, a text without escapes, and as the URI that Spark's catalog wants. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    pass


_LOCATION = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(.*)", re.DOTALL)
_SAFE = "/:@!$&'()*+,;=~"


def uri(location: str | None) -> str | None:
    """The URI of a location; None for none."""
    if not location:
        return None
    scheme, authority, path = _parts(location)
    return scheme + authority + quote(path, safe=_SAFE)


def location(text: str | None) -> str | None:
    """The location of a URI, as Hadoop's Path writes it."""
    if not text:
        return None
    scheme, authority, path = _parts(text)
    return scheme + authority + unquote(path)


def plain(text: str | None) -> str | None:
    """A location as it comes back, without superfluous slashes."""
    if not text:
        return text
    scheme, authority, path = _parts(text)
    short = re.sub("/+", "/", path)
    return scheme + authority + (short.rstrip("/") or short[:1])


def _parts(text: str) -> tuple[str, str, str]:
    """`hdfs:`, `//host:1` and the path; an empty authority is none."""
    scheme, authority, path = _LOCATION.fullmatch(text).groups()  # type: ignore[union-attr]  # it matches any text
    return f"{scheme}:" if scheme else "", f"//{authority}" if authority else "", path
