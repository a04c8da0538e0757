"""What pydantic finds wrong in pysync.toml, in words for people: what must be there, with an example."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import AfterValidator, BaseModel

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


def readable(fault: Mapping[str, Any], model: type[BaseModel]) -> str:
    """What one of the `errors()` of the model's ValidationError says, without its key."""
    text = _TEXTS.get(fault["type"])
    if text is None:
        return str(fault["msg"]).removeprefix("Value error, ")
    said = text.format(**{**fault.get("ctx", {}), "input": f"{fault['input']!r:.{_LONGEST}}"})
    *above, key = fault["loc"] or ("",)
    near = get_close_matches(str(key), _keys(model, above), n=1) if fault["type"] == "extra_forbidden" else []
    return f"{said}; did you mean {near[0]}?" if near else said


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
