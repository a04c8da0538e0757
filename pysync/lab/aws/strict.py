"""Strict: checks requests against the service's own model, as the real services do and moto does not.

Lengths, patterns, numbers, enumerations, list sizes and required members come from the model that botocore carries. The
client checks only some of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import botocore.session

from pysync.lab.aws.refusals import AwsRefusal

_SHOWN = 200  # characters of a value in a message
_KINDS: dict[str, tuple[type, ...]] = {
    "structure": (dict,),
    "map": (dict,),
    "list": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "long": (int,),
    "double": (int, float),
    "blob": (str,),
    "timestamp": (int, float),
}


class Strict:
    """The rules of one service; `code` is what it calls a request that breaks them."""

    def __init__(self, service: str, code: str) -> None:
        self._model = botocore.session.get_session().get_service_model(service)
        self._code = code

    def check(self, operation: str, request: dict[str, Any]) -> None:
        """AwsRefusal with all that is wrong with the request; UnknownOperationException if there is none such."""
        if operation not in self._model.operation_names:
            raise AwsRefusal("UnknownOperationException", f"{operation} is not an operation of this service")
        shape = self._model.operation_model(operation).input_shape
        broken = list(_broken(shape, request, "")) if shape else []
        if broken:
            count = f"{len(broken)} validation error{'s' * (len(broken) > 1)} detected"
            raise AwsRefusal(self._code, f"{count}: {'; '.join(broken)}")


def _broken(shape: Any, value: Any, path: str) -> Iterator[str]:
    """What is wrong with a value and with what is in it, in the services' words."""
    kinds = _KINDS.get(shape.type_name)
    is_number = not isinstance(value, float) or math.isfinite(value)  # JSON has neither NaN nor infinity
    if kinds is not None and not (isinstance(value, kinds) and is_number):
        raise AwsRefusal("SerializationException", f"{path or 'the request'} is not a {shape.type_name}")
    yield from _broken_constraint(shape, value, path)
    yield from _broken_inside(shape, value, path)


def _broken_inside(shape: Any, value: Any, path: str) -> Iterator[str]:
    if shape.type_name == "structure":
        for name, member in shape.members.items():
            if value.get(name) is not None:
                yield from _broken(member, value[name], _below(path, name))
            elif name in shape.required_members:
                yield f"Value null at '{_below(path, name)}' failed to satisfy constraint: Member must not be null"
    elif shape.type_name == "list":
        for number, item in enumerate(value, 1):
            yield from _broken(shape.member, item, f"{path}.{number}.member")
    elif shape.type_name == "map":
        for key, item in value.items():
            yield from _broken(shape.key, key, f"{path}.key")
            yield from _broken(shape.value, item, f"{path}.{key}.member")


def _below(path: str, name: str) -> str:
    lower = name[:1].lower() + name[1:]
    return f"{path}.{lower}" if path else lower


def _broken_constraint(shape: Any, value: Any, path: str) -> Iterator[str]:
    rules = shape.metadata
    for rule in _sizes(shape.type_name, value, rules.get("min"), rules.get("max")):
        yield f"Value '{str(value)[:_SHOWN]}' at '{path}' failed to satisfy constraint: Member must {rule}"
    if "enum" in rules and value not in rules["enum"]:
        yield _unlike(value, path, f"enum value set: [{', '.join(rules['enum'])}]")
    if "pattern" in rules and not _python_pattern(rules["pattern"]).fullmatch(value):
        yield _unlike(value, path, f"regular expression pattern: {rules['pattern']}")


def _unlike(value: str, path: str, constraint: str) -> str:
    return f"Value '{value[:_SHOWN]}' at '{path}' failed to satisfy constraint: Member must satisfy {constraint}"


def _sizes(kind: str, value: Any, least: int | None, most: int | None) -> Iterator[str]:
    number = kind in {"integer", "long", "double"}
    size = value if number else len(value) if kind in {"string", "list", "map"} else 0
    noun = "value" if number else "length"
    if least is not None and size < least:
        yield f"have {noun} greater than or equal to {least}"
    if most is not None and size > most:
        yield f"have {noun} less than or equal to {most}"


@lru_cache
def _python_pattern(java: str) -> re.Pattern[str]:
    """A pattern of the model as Python's: Java's patterns have surrogate pairs and Unicode categories.

    Letters, numbers and punctuation become anything but white space, which lets some symbols through.
    """
    python = java.replace(r"\uD800\uDC00-\uDBFF\uDFFF", r"\U00010000-\U0010FFFF")
    return re.compile(python.replace(r"[\p{L}\p{N}\p{P}]", r"\S").replace("9-_$", r"9\-_$"), re.DOTALL)
