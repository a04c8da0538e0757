"""Hive's types as statements write them, and the partition values that stay as they are in a typed column. Pure.

A type comes as text and goes into a statement without quotes, so it is parsed and rewritten: whatever is not a type
that Athena takes is refused. The names of a struct's fields are quoted, as `struct<date:int>` does not parse.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime

from pysync.model.names import DEFAULT_PARTITION
from pysync.targets.athena.quoting import InexpressibleError, identifier

_PLAIN = frozenset(
    {"tinyint", "smallint", "int", "bigint", "boolean", "float", "double", "string", "binary", "timestamp", "date"}
)

_SIZED = re.compile(r"(char|varchar)\(([0-9]{1,9})\)")
_DECIMAL = re.compile(r"decimal(?:\(([0-9]{1,9})(?:,([0-9]{1,9}))?\))?")
_TOKEN = re.compile(r"\s*([<>,:]|[^<>,:()]+(?:\([\d\s,]*\))?)\s*")
_FIELD = re.compile(r"\w+")
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_WIDER = ("tinyint", "smallint", "int", "bigint")


def hive_type(text: str) -> str:
    """The type as a statement writes it. Raises InexpressibleError for what is not a type that Athena takes."""
    tokens = _tokens(text)
    try:
        written = _type(tokens, text)
    except RecursionError:
        raise InexpressibleError(f"{text!r:.80} is nested too deeply") from None
    if tokens:
        raise InexpressibleError(f"{text!r:.80} is not a type")
    return written


def same_type(one: str | None, other: str | None) -> bool:
    """Whether two types are one: white space, case, and what `decimal` leaves out do not count."""
    return _canonical(one) == _canonical(other)


def is_readable_as(old: str, new: str) -> bool:
    """Whether Hive lets a column of type `old` become one of `new`: the same, a wider integer, or a string."""
    before, after = _canonical(old), _canonical(new)
    if before == after or (before == "float" and after == "double"):
        return True
    if before in _WIDER:
        return after == "string" or (after in _WIDER and _WIDER.index(before) < _WIDER.index(after))
    return after == "string" and (_SIZED.fullmatch(before) is not None or before in {"float", "double", "date"})


def keeps(kind: str, value: str) -> bool:
    """Whether a quoted partition value stays as it is in a column of this type.

    Hive reads it as that type and writes it again: `07` becomes `7`, `2020-1-2` becomes `2020-01-02`, a char is filled
    up with spaces. The empty value, the default partition's, and types whose text nobody promises are never kept.
    """
    if not value or value == DEFAULT_PARTITION:
        return False
    kind = _canonical(kind)
    varchar = re.fullmatch(r"varchar\(([0-9]{1,9})\)", kind)
    if varchar:
        return len(value) <= int(varchar[1])
    if _DECIMAL.fullmatch(kind):
        return _keeps_decimal(kind, value)
    check = _CHECKS.get(kind)
    return check is not None and check(kind, value)


def _tokens(text: str) -> list[str]:
    """The parts in reverse, to be popped."""
    tokens, at = [], 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise InexpressibleError(f"{text!r:.80} is not a type")
        tokens.append(token[1].strip())
        at = token.end()
    return tokens[::-1]


def _type(tokens: list[str], text: str) -> str:
    name = tokens.pop().lower() if tokens else ""
    if name == "struct":
        return f"struct<{_inner(tokens, text, _field)}>"
    if name == "array":
        return f"array<{_inner(tokens, text, _type, 1)}>"
    if name == "map":
        return f"map<{_inner(tokens, text, _type, 2)}>"
    return _primitive(name, text)


def _primitive(name: str, text: str) -> str:
    plain = re.sub(r"\s", "", name)
    decimal = _DECIMAL.fullmatch(plain)
    if decimal:
        return f"decimal({decimal[1] or 10},{decimal[2] or 0})"
    if name in _PLAIN or _SIZED.fullmatch(plain):
        return plain
    raise InexpressibleError(f"{text!r:.80} is not a type that Athena supports")


def _inner(tokens: list[str], text: str, part: Callable[[list[str], str], str], count: int | None = None) -> str:
    """What is between the angle brackets: parts with commas between them, `count` of them if there is a rule."""
    _expect(tokens, "<", text)
    parts = [part(tokens, text)]
    while tokens and tokens[-1] == ",":
        tokens.pop()
        parts.append(part(tokens, text))
    _expect(tokens, ">", text)
    if count not in {None, len(parts)}:
        raise InexpressibleError(f"{text!r:.80} is not a type")
    return ",".join(parts)


def _field(tokens: list[str], text: str) -> str:
    name = tokens.pop() if tokens else ""
    if not _FIELD.fullmatch(name):
        raise InexpressibleError(f"{text!r:.80} has a field name that Athena DDL does not accept")
    _expect(tokens, ":", text)
    return f"{identifier(name)}:{_type(tokens, text)}"


def _expect(tokens: list[str], token: str, text: str) -> None:
    if not tokens or tokens.pop() != token:
        raise InexpressibleError(f"{text!r:.80} is not a type")


def _canonical(text: str | None) -> str:
    plain = re.sub(r"\s", "", text or "").lower()
    return re.sub(r"\bdecimal(?!\()", "decimal(10,0)", plain)


def _keeps_text(_: str, __: str) -> bool:
    return True


def _keeps_integer(kind: str, value: str) -> bool:
    if not re.fullmatch(r"0|-?[1-9][0-9]{0,18}", value):
        return False
    limit: int = 2 ** (_BITS[kind] - 1)
    return -limit <= int(value) < limit


def _keeps_decimal(kind: str, value: str) -> bool:
    match = re.fullmatch(r"-?(0|[1-9][0-9]*)(?:\.([0-9]*[1-9]))?", value)
    limits = re.fullmatch(r"decimal\(([0-9]{1,9})(?:,([0-9]{1,9}))?\)", kind)
    if match is None or limits is None or value == "-0":
        return False
    precision, scale = int(limits[1]), int(limits[2] or 0)
    digits = 0 if match[1] == "0" else len(match[1])
    return len(match[2] or "") <= scale and digits <= precision - scale


def _keeps_date(_: str, value: str) -> bool:
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _keeps_timestamp(_: str, value: str) -> bool:
    seconds, _dot, fraction = value.partition(".")
    # Hive always writes a fraction, and cuts the zeros at its end: `.0` at least.
    if not re.fullmatch(r"0|[0-9]{0,8}[1-9]", fraction):
        return False
    try:
        return datetime.strptime(seconds, "%Y-%m-%d %H:%M:%S").isoformat(" ") == seconds
    except ValueError:
        return False


_CHECKS: dict[str, Callable[[str, str], bool]] = {
    "string": _keeps_text,
    "tinyint": _keeps_integer,
    "smallint": _keeps_integer,
    "int": _keeps_integer,
    "bigint": _keeps_integer,
    "date": _keeps_date,
    "timestamp": _keeps_timestamp,
}
