"""`parse_url`: the parts of a URL as java.net.URL reads them, by one pattern.

Trino's own functions follow java.net.URI, which refuses blanks and `|`, and decodes what is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from pysync.hiveql.differences import accepts, fails_without
from pysync.hiveql.refusal import CannotTranslate
from pysync.views.casts import as_string
from pysync.views.typed_expressions import Typed, named, repeated, text, written
from pysync.views.types import STRING

_HEAD, _TAIL = r"\A[\x00-\x20]*(?i:url:)?", r"[\x00-\x20]*\z"
_PORT = r"(?:\+?[0-9]{1,9}|-0*1|-0+)?"
# One @ ends the user; with several there is no host. What follows a colon must be a port.
_HOST = rf"(?:[^/?#]*@[^/?#]*@[^/?#]*|(?:[^/?#@]*@)?([^/?#@:]*?)(?::{_PORT})?)(?=[/?#]|{_TAIL})"
_URL = (
    rf"{_HEAD}(?i:(https?|ftp|file)):(?:(?=//)(?!////)//{_HOST}|(?!//)|(?=////))"
    rf"([^?#]*?)(?:\?([^#]*?))?(?:#([\s\S]*?))?{_TAIL}"
)
_GROUPS = {"PROTOCOL": 1, "HOST": 2, "PATH": 3, "QUERY": 4, "REF": 5}
_NEVER_MISSING = frozenset({"HOST", "PATH"})
_OTHERS = rf"{_HEAD}(?i:(?:jar|mailto|netdoc|jrt|jmod):|(?:https?|ftp|file)://[^/?#]*(?:[\[\]\\<>{{}}|^`\x22]|[\x00-\x20]+[^\x00-\x20/?#]))"
"""URLs that Java reads in other ways: those of these protocols, of an address of IPv6, or, by its version, of a host
with characters that none has.
"""
_KEY = re.compile(r"[A-Za-z0-9_-]+")


def _parse_url(value: Typed, part: Typed, key: Typed | None = None) -> Typed:
    """A part of a URL, or the first value of a key in its query."""
    name = written(part, "a part of parse_url")
    if name not in _GROUPS or (key is not None and name != "QUERY"):
        raise CannotTranslate(f"the function parse_url for {name!r}{' and a key' if key is not None else ''}")
    sql = f"regexp_extract(u, {text(_URL)}, {_GROUPS[name]})"
    if name == "PROTOCOL":
        sql = f"lower({sql})"
    if name in _NEVER_MISSING:
        sql = f"IF(regexp_like(u, {text(_URL)}), COALESCE({sql}, ''))"
    if not accepts("odd-url"):
        error = fails_without("odd-url", "a URL of IPv6, jar or mailto, or with a wrong host", "u")
        sql = f"IF(regexp_like(u, {text(_OTHERS)}), CAST({error} AS varchar), {sql})"
    whole = named(as_string(value).sql, "u", sql)
    return repeated(Typed(whole if key is None else _value_of(whole, key), STRING), 1)


def _value_of(query: str, key: Typed) -> str:
    name = written(key, "a key of parse_url")
    if not _KEY.fullmatch(name):
        raise CannotTranslate(f"the key {name!r} of parse_url, which Hive takes for a pattern")
    return f"regexp_extract({query}, '(?:&|^){name}=([^&]*)', 1)"


def parse_url_tuple(value: Typed, parts: Sequence[Typed]) -> list[Typed]:
    """Several parts of a URL; one of the query may have a key behind a colon. Raises CannotTranslate."""
    named = [written(it, "a part of parse_url_tuple").partition(":") for it in parts]
    return [
        _parse_url(value, Typed(text(name), STRING, name), Typed(text(key), STRING, key) if colon else None)
        for name, colon, key in named
    ]


URLS: Mapping[str, Callable[..., Typed]] = {"parse_url": _parse_url}
