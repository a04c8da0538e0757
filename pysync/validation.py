"""What pydantic finds wrong in pysync.toml, in words for people: what must be there, with an example."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import AfterValidator

_LONGEST = 80

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


def matching(pattern: str, form: str) -> AfterValidator:
    """For a text that matches `pattern` as a whole; `form` completes the refusal `'x' is not …`, with an example."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(f"{value!r:.{_LONGEST}} is not {form}")
        return value

    return AfterValidator(check)


def readable(fault: Mapping[str, Any]) -> str:
    """What one of a ValidationError's `errors()` says, without its key."""
    text = _TEXTS.get(fault["type"])
    if text is None:
        return str(fault["msg"]).removeprefix("Value error, ")
    return text.format(**{**fault.get("ctx", {}), "input": f"{fault['input']!r:.{_LONGEST}}"})
