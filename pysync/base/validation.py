"""What pydantic finds wrong in pysync.toml, in words for people: what must be there, with an example."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PlainSerializer

from pysync.base.text import nearest, plain, quoted, shortened, shown

_LONGEST_PATH = 4095  # bytes: Linux's PATH_MAX without the one that ends a path
_LONGEST = 80
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_MOST_DAYS = 3650
_MOST_SECONDS = _MOST_DAYS * _UNITS["d"]
"""More than anybody waits, and less than what a thread can."""

# By pydantic's types of errors; `{input}` is the value that was given. Texts, lists and tables that were given are not
# shown: they may hold a secret in the wrong place.
_NUMBER = "{input} is not a number; write 10 or 0.5, without quotes"
_INTEGER = "{input} is not a whole number; write 10, without quotes"
_BOOLEAN = "{input} is not a boolean; write true or false, without quotes"
_LIST = 'this must be a list; write ["a", "b"]'
_TABLE = 'this must be a table; write {{ key = "value" }}'
_TEXTS: Mapping[str, str] = {
    "extra_forbidden": "unknown key",
    "missing": "missing",
    "greater_than_equal": "{input} is too small; the minimum is {ge:g}",
    "greater_than": "{input} is too small; it must be greater than {gt:g}",
    "less_than_equal": "{input} is too large; the maximum is {le:g}",
    "less_than": "{input} is too large; it must be less than {lt:g}",
    "literal_error": "{input} is not allowed; write {expected}",
    "enum": "{input} is not allowed; write {expected}",
    "int_type": _INTEGER,
    "int_parsing": _INTEGER,
    "int_from_float": _INTEGER,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": _NUMBER,
    "bool_type": _BOOLEAN,
    "bool_parsing": _BOOLEAN,
    "string_type": "this must be text in quotes",
    "path_type": "this must be a path in quotes",
    "string_too_short": "this must not be empty",
    "tuple_type": _LIST,
    "list_type": _LIST,
    "dict_type": _TABLE,
    "model_type": _TABLE,
    "model_attributes_type": _TABLE,
}


_ELSEWHERE: Mapping[str, str] = {"hive_version": "[source]", "hive_time_zone": "[source]"}
"""The sections of keys that are easily written into another one."""


def matching(pattern: str, form: str) -> AfterValidator:
    """For a text that matches `pattern` as a whole; `form` completes the refusal `'x' is not …`, with an example."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(f"{value!r:.{_LONGEST}} is not {form}")
        return value

    return AfterValidator(check)


def seconds(text: str) -> int | None:
    """How long `5m` is; None if that is no time. Raises ValueError for what is longer than ten years."""
    match = re.fullmatch(r"(0|[1-9][0-9]*)([smhd])", text)
    if not match:
        return None
    if len(match[1]) > len(str(_MOST_SECONDS)) or int(match[1]) * _UNITS[match[2]] > _MOST_SECONDS:
        raise ValueError(f"{text!r:.{_LONGEST}} is too long; the maximum is {_MOST_DAYS}d")
    return int(match[1]) * _UNITS[match[2]]


def _duration(least: int, form: str) -> BeforeValidator:
    def check(value: Any) -> int:
        # A number without its unit would have to be guessed at.
        number = seconds(value) if isinstance(value, str) else None
        if number is None or number < least:
            raise ValueError(f"{_given(value)} is not {form}")
        return number

    return BeforeValidator(check)


Duration = Annotated[int, _duration(0, 'a duration; write "30s", "5m", "12h" or "7d"')]
"""A time with its unit, in seconds."""
Interval = Annotated[
    int,
    _duration(1, 'an interval; write "30m", "1h" or "1d"'),
    PlainSerializer(lambda seconds: f"{seconds}s", return_type=str),
]
"""The time between two of a kind, in seconds. It is dumped with its unit, and so can be read again."""
Seconds = Annotated[float, Field(le=_MOST_SECONDS, allow_inf_nan=False)]
"""A time whose key names the unit."""
Finite = Annotated[float, Field(allow_inf_nan=False)]
"""A number; TOML has inf and nan, too."""


def path_of(text: str) -> Path:
    """The path that is written so. Raises ValueError for one that no file can have, or that would spoil a message."""
    if not text.strip():
        raise ValueError("the path is empty; write the path of a file or directory")
    if plain(text) != text or "\n" in text:
        raise ValueError(f"{quoted(text)} has characters that cannot be printed; rename the file")
    if len(os.fsencode(text)) > _LONGEST_PATH:
        raise ValueError(f"the path is too long; the maximum is {_LONGEST_PATH} bytes")
    return Path(text)


PlainPath = Annotated[Path, BeforeValidator(lambda it: path_of(it) if isinstance(it, str) else it)]
"""A path, whose name stands in messages and logs."""


HostName = Annotated[
    str,
    matching(
        r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?",
        'a host name; write "metrics.example.com", without a port and without *',
    ),
]
"""A host's name or IPv4 address, as it stands in a Host header."""

AccountName = Annotated[str, matching(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,255}", 'a user of this machine, as "www-data"')]
"""The name of an account of the operating system."""


def _rate(value: str) -> str:
    if value != "0" and rate(value) is None:
        raise ValueError(
            f'{value!r:.{_LONGEST}} is not a rate; write "1000 per 30m" (s, m, h or d), or "0" for no limit'
        )
    return value


def rate(text: str) -> tuple[int, int] | None:
    """How many in how many seconds; None if it is not that. Raises ValueError as `seconds`."""
    number, _, period = text.partition(" per ")
    length = seconds(period)
    return (int(number), length) if length and re.fullmatch(r"[1-9][0-9]{0,17}", number) else None


Rate = Annotated[str, AfterValidator(_rate)]
"""How many in a time: `1000 per 30m`; `0` for no limit."""


def readable(fault: Mapping[str, Any], model: type[BaseModel]) -> str:
    """What one of the `errors()` of the model's ValidationError says, without its key."""
    text = _TEXTS.get(fault["type"])
    if text is None:
        return str(fault["msg"]).removeprefix("Value error, ")
    message = text.format(**{**fault.get("ctx", {}), "input": _given(fault["input"])})
    *above, key = fault["loc"] or ("",)
    if fault["type"] == "extra_forbidden":
        if section := _ELSEWHERE.get(str(key)):
            return f"{message}; set it in {section}"
        near = nearest(str(key), _keys(model, above))
        return f"{message}; did you mean {near}?" if near else message
    if fault["type"] in {"literal_error", "enum"} and isinstance(fault["input"], str):
        near = nearest(fault["input"], re.findall(r"'([^']*)'", fault["ctx"]["expected"]))
        return f"{quoted(fault['input'])} is not allowed; did you mean {near!r}?" if near else message
    return message


def _given(value: Any) -> str:
    return "this" if isinstance(value, (dict, list)) else shortened(shown(value), _LONGEST)


def _keys(model: type[BaseModel], above: Sequence[int | str]) -> list[str]:
    """The keys of the table at this place in the model; none if the place is not a table with keys of its own."""
    for part in above:
        field = model.model_fields.get(str(part))
        kinds = [] if field is None else [field.annotation, *get_args(field.annotation)]
        tables = [it for it in kinds if isinstance(it, type) and issubclass(it, BaseModel)]
        if not tables:
            return []
        model = tables[0]
    return [field.alias or name for name, field in model.model_fields.items()]
