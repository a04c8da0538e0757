"""What AWS refuses: quotas, the forms of requests, and faults that a test asks for."""

from __future__ import annotations

import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

import botocore.session

# --- How a service says no

SERVER_FAULTS = ("InternalService", "InternalServer", "InternalFailure", "OperationTimeout", "ServiceUnavailable")


class Refusal(Exception):
    """An error answer: its code and message as the real service words them, and further members of the answer."""

    def __init__(self, code: str, message: str, **members: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.members = members

    @property
    def status(self) -> int:
        """Its HTTP status: 500 if the fault is the service's, 400 if it is the caller's."""
        return 500 if self.code.startswith(SERVER_FAULTS) else 400


def invalid(message: str) -> Refusal:
    """Glue's refusal of a request that keeps to the model but makes no sense."""
    return Refusal("InvalidInputException", message)


def not_found(message: str) -> Refusal:
    """Glue's refusal of a name that nothing has."""
    return Refusal("EntityNotFoundException", message)


def already_exists(kind: str) -> Refusal:
    """Glue's refusal of a name that something has."""
    return Refusal("AlreadyExistsException", f"{kind} already exists.")


# --- How many calls an account may make: Athena's quotas as AWS documents them, which an account may have raised
# The sources are the tables "Per account API call quotas" (Athena's user guide) and "Amazon Athena endpoints and
# quotas" (AWS's general reference).

ACTIVE_DDL = 20
"""The most statements of DDL that are queued or run at once."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Calls a second; and how many may come at once, after a pause."""

    per_second: float
    burst: int


_STATEMENTS, _READS = Rate(20, 80), Rate(100, 200)
CALLS: Mapping[str, Rate] = {
    "StartQueryExecution": _STATEMENTS,
    "StopQueryExecution": _STATEMENTS,
    "GetQueryExecution": _READS,
    "GetQueryResults": _READS,
    "BatchGetQueryExecution": Rate(20, 40),
    "ListQueryExecutions": Rate(5, 10),
}


@dataclass(slots=True)
class Quotas:
    """The calls that are left of each quota: a bucket for each name. Safe to use from any thread."""

    rates: Mapping[str, Rate] = field(default_factory=lambda: CALLS)
    clock: Callable[[], float] = time.monotonic
    _tokens: dict[str, tuple[float, float]] = field(default_factory=dict)  # and when that was
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, operation: str) -> None:
        """Count a call. Refusal if it is one too many; other operations have no quota."""
        rate = self.rates.get(operation)
        if rate is None:
            return
        with self._lock:
            now = self.clock()
            tokens, then = self._tokens.get(operation, (float(rate.burst), now))
            tokens = min(rate.burst, tokens + (now - then) * rate.per_second)
            self._tokens[operation] = (tokens - 1 if tokens >= 1 else tokens, now)
        if tokens < 1:
            raise Refusal("ThrottlingException", "Rate exceeded")


# --- Strict: checks requests against the service's own model, as the real services do and moto does not
# Lengths, patterns, numbers, enumerations, list sizes and required members come from the model that botocore carries.
# The client checks only some of them.

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
        """Refusal with all that is wrong with the request; UnknownOperationException if there is no such operation."""
        if operation not in self._model.operation_names:
            raise Refusal("UnknownOperationException", f"{operation} is not an operation of this service")
        shape = self._model.operation_model(operation).input_shape
        broken = list(_broken(shape, request, "")) if shape else []
        if broken:
            count = f"{len(broken)} validation error{'s' * (len(broken) > 1)} detected"
            raise Refusal(self._code, f"{count}: {'; '.join(broken)}")


def _broken(shape: Any, value: Any, path: str) -> Iterator[str]:
    """What is wrong with a value and with what is in it, in the services' words."""
    kinds = _KINDS.get(shape.type_name)
    is_number = not isinstance(value, float) or math.isfinite(value)  # JSON has neither NaN nor infinity
    if kinds is not None and not (isinstance(value, kinds) and is_number):
        raise Refusal("SerializationException", f"{path or 'the request'} is not a {shape.type_name}")
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


# --- What tests ask of the bench: that calls go wrong, and how often each was made

_REASON = "an injected fault"


@dataclass(slots=True, kw_only=True)
class Fault:
    """What goes wrong with the next `count` calls of `target`, for example `Glue.BatchCreatePartition`.

    - `code`, `reason`: the error answer. For `Athena.exec`, the run of a statement, `reason` is the state's change
      reason, and `category`, `type` and `retryable` are those of its AthenaError.
    - `delay_seconds`: how long the call waits first. Without a code it is then carried out.
    - `after`: the call is carried out, and then answered with the error; or, without a code, not at all.
    - `lose`: the connection breaks instead of an answer.
    - `items`: only these items of a batch, counted from 0, fail with the code; the others are carried out.
    """

    target: str
    count: int = 1
    code: str = ""
    reason: str = ""
    delay_seconds: float = 0.0
    after: bool = False
    lose: bool = False
    items: Sequence[int] = ()
    category: int = 2
    type: int = 1003
    retryable: bool = False

    @property
    def refusal(self) -> Refusal | None:
        """The error answer, if there is to be one."""
        return Refusal(self.code, self.reason or _REASON) if self.code and not self.items else None

    def item_refusal(self, number: int) -> Refusal | None:
        """Why an item of a batch fails, if it does."""
        failing = number in self.items
        return Refusal(self.code or "InternalServiceException", self.reason or _REASON) if failing else None

    @property
    def loses_answer(self) -> bool:
        """Whether the connection breaks."""
        return self.lose or (self.after and not self.code)


def fault_of(values: dict[str, Any]) -> Fault:
    """The fault that was asked for; Refusal if its members are not those of a Fault."""
    known = {item.name for item in fields(Fault)}
    if "target" not in values or not known.issuperset(values):
        raise Refusal("InvalidFault", f"a fault needs a target, and may have {', '.join(sorted(known))}")
    return Fault(**values)


@dataclass(slots=True)
class Faults:
    """The faults that are still to come; safe to use from any thread."""

    _waiting: list[Fault] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, fault: Fault) -> None:
        """Add a fault, to happen after those with the same target that were added before."""
        with self._lock:
            self._waiting.append(fault)

    def take(self, target: str) -> Fault | None:
        """The fault of this call, if it has one; counted as used."""
        with self._lock:
            for fault in self._waiting:
                if fault.target == target:
                    fault.count -= 1
                    if fault.count <= 0:
                        self._waiting.remove(fault)
                    return fault
        return None

    def clear(self) -> None:
        """Forget the faults that are still to come."""
        with self._lock:
            self._waiting.clear()


@dataclass(slots=True)
class Calls:
    """How often each call was made since the last reset; safe to use from any thread."""

    _counted: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, name: str) -> None:
        """Count one more call of this name."""
        with self._lock:
            self._counted[name] += 1

    def counted(self) -> dict[str, int]:
        """The counts by name."""
        with self._lock:
            return dict(sorted(self._counted.items()))

    def reset(self) -> None:
        """Begin at zero again."""
        with self._lock:
            self._counted.clear()
