"""Functions of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pysync.views.casts import as_double, cast, common, unified
from pysync.views.functions.arguments import number
from pysync.views.operators import arithmetic
from pysync.views.refusal import CannotTranslate
from pysync.views.typed import Typed
from pysync.views.types import BIGINT, DOUBLE, INT, HiveType, decimal


def _double(template: str) -> Callable[[Typed], Typed]:
    return lambda value: Typed(template.format(as_double(value).sql), DOUBLE)


def _number(value: Typed) -> Typed:
    if value.type.is_text:
        return as_double(value)
    if not value.type.is_number or value.type.name == "float":
        raise CannotTranslate(f"a function of numbers of {value.type}")
    return value


def _abs(value: Typed) -> Typed:
    it = _number(value)
    kind = INT if it.type.is_integer and it.type != BIGINT else it.type
    return Typed(f"abs({cast(it, kind).sql})", kind)


def _whole(name: str) -> Callable[[Typed], Typed]:
    """`ceil` and `floor`: bigint, or a decimal without digits behind the point."""

    def of(value: Typed) -> Typed:
        it = _number(value)
        if it.type.name == "decimal":
            kind = decimal(it.type.precision - it.type.scale + 1, 0)
            return Typed(f"CAST({name}({it.sql}) AS {kind.trino})", kind)
        return Typed(f"CAST({name}({it.sql}) AS bigint)", BIGINT)

    return of


def _round(value: Typed, digits: Typed | None = None) -> Typed:
    it, places = _number(value), 0 if digits is None else number(digits, "the digits of round")
    if it.type.is_integer:
        return it
    if it.type.name == "decimal":
        scale = min(places, it.type.scale)
        kind = decimal(it.type.precision - it.type.scale + scale + (scale < it.type.scale), scale)
        return Typed(f"CAST({it.sql} AS {kind.trino})", kind)
    return Typed(f"round({it.sql}, {places})" if places else f"round({it.sql})", DOUBLE)


def _power(base: Typed, exponent: Typed) -> Typed:
    return Typed(f"power({as_double(base).sql}, {as_double(exponent).sql})", DOUBLE)


def _pmod(one: Typed, other: Typed) -> Typed:
    if not (one.type.is_integer and other.type.is_integer):
        raise CannotTranslate(f"the function pmod of {one.type} and {other.type}")
    rest = arithmetic(one, "%", other)
    return arithmetic(arithmetic(rest, "+", other), "%", other)


def _most(name: str) -> Callable[..., Typed]:
    """`greatest` and `least`."""

    def of(*values: Typed) -> Typed:
        kind: HiveType = common(it.type for it in values)
        is_mixed = any(it.type.is_text != kind.is_text for it in values)
        if len(values) < 2 or is_mixed or not (kind.is_number or kind.is_text or kind.name in {"date", "timestamp"}):
            raise CannotTranslate(f"the function {name} of such values")
        return Typed(f"{name}({', '.join(it.sql for it in unified(values)[1])})", kind)

    return of


# Logarithms of what has none are NULL.
_LOG = "{name}(IF({value} > 0e0, {value}))"


def _logarithm(name: str) -> Callable[[Typed], Typed]:
    return lambda value: Typed(_LOG.format(name=name, value=as_double(value).sql), DOUBLE)


NUMBERS: Mapping[str, Callable[..., Typed]] = {
    "abs": _abs,
    "ceil": _whole("ceil"),
    "ceiling": _whole("ceil"),
    "exp": _double("exp({})"),
    "floor": _whole("floor"),
    "greatest": _most("greatest"),
    "least": _most("least"),
    "ln": _logarithm("ln"),
    "log10": _logarithm("log10"),
    "log2": _logarithm("log2"),
    "pmod": _pmod,
    "pow": _power,
    "power": _power,
    "round": _round,
    "sqrt": _double("sqrt({})"),
}
