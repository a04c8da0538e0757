"""What Spark writes into the properties of its views, and what it means by their text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pysync.hiveql.refusal import CannotTranslate
from pysync.model.definition import VIEW_DATABASE_KEY
from pysync.views.arithmetic import LongProducts
from pysync.views.casts import is_day
from pysync.views.moments import moved
from pysync.views.months import MONTHS_OF_SPARK
from pysync.views.strings import OF_SPARK, OF_SPARK_4
from pysync.views.typed_expressions import Typed, repeated
from pysync.views.types import BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP, VOID, HiveType

_PARTS = "view.catalogAndNamespace.numParts"
_VERSION = "spark.sql.create.version"
_ORDERS_BY_PLACE = "view.sqlConfig.spark.sql.orderByOrdinal"
_IS_ANSI = "view.sqlConfig.spark.sql.ansi.enabled"
_MAJOR_AND_MINOR = re.compile(r"(\d+)\.(\d+)")
_HAS_ICU = "view.sqlConfig.spark.sql.icu.caseMappings.enabled"
_NULL_OF_ONE, _WITH_ICU, _ANSI_BY_DEFAULT = (3, 1), (4, 0), (4, 0)
SAMPLED = frozenset({"stddev_samp", "var_samp"})
"""Aggregate functions of samples."""
_HIVES_OWN = frozenset({"array_contains", "greatest", "initcap", "least", "months_between", "nullif", "sign", "sqrt"})
_HIVES_OWN |= {"get_json_object", "json_tuple", "parse_url", "parse_url_tuple", "stack", "str_to_map", "next_day"}
_HIVES_OWN |= {"find_in_set", "format_number", "printf", "space", "substring_index", "translate"}
_HIVES_OWN |= {"acos", "asin", "atan", "cos", "degrees", "radians", "sin", "tan"}
_OF_NUMBERS = frozenset({"abs", "avg", "ceil", "ceiling", "exp", "floor", "round", "sqrt", "sum"})
_OF_NUMBERS |= {"ln", "log10", "log2", "pow", "power", "stddev_pop", "stddev_samp", "var_pop", "var_samp"}
_NEVER_FAIL_ON_TEXT = frozenset(
    {"concat", "lcase", "length", "lower", "ltrim", "rtrim", "substr", "substring", "trim", "ucase", "upper"}
)
_NEVER_FAIL_ON_DAYS = frozenset({"datediff", "day", "dayofmonth", "month", "quarter", "to_date", "year"})
_CHOOSE = frozenset({"coalesce", "if", "isnotnull", "isnull", "nvl"})
_NEVER_FAIL_OVER_ROWS = frozenset({"count", "dense_rank", "max", "min", "rank", "row_number"})


class HiveRules:
    """What a view may say beyond what is refused everywhere. `versions` has what versions of Hive add."""

    of_spark = False
    """Whether what engines do in different ways is as in Spark."""
    long_products: LongProducts = None
    """What a product of decimals with more than 38 digits is; None if that is not known."""
    puts_nulls_last = False
    """Whether NULLs come last where an order does not say it, and first where it descends."""
    frames_by_values = ""
    """Why a frame by values has other rows than in Trino; empty if it has the same."""
    sums_nothing_to_null = False
    """Whether the sum of a frame with nothing but NULL is NULL, whatever is before it."""
    matches_lines = False
    """Whether a pattern of LIKE matches a text of several lines."""
    functions: Mapping[str, Callable[..., Typed]] = {}
    """Functions that have another rule than elsewhere, by name in lower case."""
    aggregates: Mapping[str, str] = {
        **dict.fromkeys(("std", "stddev", "stddev_pop"), "stddev_pop or 0"),
        **dict.fromkeys(("var_pop", "variance"), "var_pop or 0"),
        "corr": "corr or NaN",
        "covar_pop": "covar_pop or 0",
    }
    """The names under which aggregate functions have their rules, for those that are called otherwise."""
    aggregates_over: Mapping[str, str] = aggregates
    """The same of those over a window."""

    def compare(self, one: Typed, other: Typed) -> None:
        """Raises CannotTranslate for values whose comparison means something else than in Hive."""

    def call(self, name: str, arguments: Sequence[Typed]) -> None:
        """Raises CannotTranslate for a function, in lower case, whose result is another than in Hive."""

    def aggregate(self, name: str, arguments: Sequence[Typed], *, over: bool) -> None:
        """The same for an aggregate function, or one over a window."""

    def read_and_written(self, read: Sequence[Typed], written: Sequence[Typed]) -> Typed | None:
        """A time that `unix_timestamp` reads and `from_unixtime` writes, if there is a rule for both at once."""

    def read(self, kind: HiveType) -> None:
        """Raises CannotTranslate for a column of a type that the engine reads in another way than Hive."""

    def cast(self, value: Typed, to: HiveType) -> Typed:
        """What is to be cast. Raises CannotTranslate for a cast that gives something else than in Hive."""
        if value.type == BOOLEAN and to == STRING:
            return Typed(f"upper(CAST({value.sql} AS varchar))", STRING)
        if to.name != "decimal" or value.type != DOUBLE:
            return value
        tiny = f"{value.sql} <> 0 AND abs({value.sql}) < 1e-99"  # Hive reads no exponent of three digits
        return Typed(f"IF({tiny}, NULL, {repeated(value, 3).sql})", DOUBLE)

    def move(self, value: Typed, count: int, unit: str) -> Typed:
        """A value that many units later. Raises CannotTranslate."""
        return moved(value, count, unit)

    def decimal_as_text(self, value: Typed) -> Typed:
        """The value, as a string if it is a decimal of which it is known how it is written."""
        return value

    def calculate(self, one: Typed, operator: str, other: Typed) -> None:
        """Raises CannotTranslate for arithmetic, or an item of an array or a map (`[]`), with another result."""

    def mix(self, types: Sequence[HiveType]) -> None:
        """Raises CannotTranslate for types whose common type is another: in CASE, IF, coalesce, UNION."""


class SparkRules(HiveRules):
    """A view of Spark that is not in ANSI mode."""

    of_spark = True
    frames_by_values = "whose bounds overflow in a view of Spark"
    matches_lines = True
    long_products: LongProducts = "rounded"
    aggregates: Mapping[str, str] = {"std": "stddev_samp", "stddev": "stddev_samp", "variance": "var_samp"}
    aggregates_over = aggregates

    def __init__(self, version: tuple[int, int] = (0, 0), *, has_icu: bool = True) -> None:
        """The version that wrote the view, and whether it leaves small letters to ICU if it can."""
        self._has_null_of_one = version >= _NULL_OF_ONE
        functions = OF_SPARK_4 if has_icu and version >= _WITH_ICU else OF_SPARK
        self.functions = {**functions, **MONTHS_OF_SPARK} if self._has_null_of_one else functions

    def read(self, kind: HiveType) -> None:
        """Spark fills a char up with blanks."""
        if kind.name == "char":
            raise CannotTranslate(f"a column of {kind} in a view of Spark")

    def compare(self, one: Typed, other: Typed) -> None:
        """Spark makes an integer of a string beside an integer, Hive a double."""
        if (one.type.is_text and other.type.is_number) or (one.type.is_number and other.type.is_text):
            raise CannotTranslate("a comparison of a string with a number in a view of Spark")

    def calculate(self, one: Typed, operator: str, other: Typed) -> None:
        """Spark reads strings as numbers in its own way: `inf`, `nan`."""
        if operator != "[]" and (one.type.is_text or other.type.is_text):
            raise CannotTranslate(f"{one.type} {operator} {other.type} in a view of Spark")

    def aggregate(self, name: str, arguments: Sequence[Typed], *, over: bool) -> None:  # noqa: ARG002 - of no other rules
        """The same for sums and the like of strings."""
        if name in SAMPLED and not self._has_null_of_one:
            raise CannotTranslate(f"the function {name} in a view of Spark before 3.1, which gives NaN for one row")
        if name in _OF_NUMBERS and any(it.type.is_text for it in arguments):
            raise CannotTranslate(f"the function {name} of strings in a view of Spark")
        if name == "corr" and not all(it.type.is_exact for it in arguments):  # NaN, where Trino has NULL
            raise CannotTranslate("the function corr of doubles in a view of Spark")

    def call(self, name: str, arguments: Sequence[Typed]) -> None:
        """Some functions differ with NULLs, or before a string's head."""
        is_safe = name not in _HIVES_OWN and (name != "add_months" or name in self.functions)
        if name in {"substr", "substring"}:
            start = arguments[1].literal if len(arguments) > 1 else None
            is_safe = isinstance(start, int) and start >= 0
        if name in _OF_NUMBERS and any(it.type.is_text for it in arguments):
            is_safe = False
        if name == "concat_ws" and any(it.type.within for it in arguments):  # Spark leaves NULLs out
            is_safe = False
        if name == "round" and any(isinstance(it.literal, int) and it.literal < 0 for it in arguments[1:]):
            is_safe = False
        if not is_safe:
            raise CannotTranslate(f"the function {name} in a view of Spark")

    def cast(self, value: Typed, to: HiveType) -> Typed:
        """Spark does not cut a string to some length."""
        if to.name in {"char", "varchar"}:
            raise CannotTranslate(f"a cast to {to} in a view of Spark")
        if value.type.is_text and to.name in {"double", "float"}:
            raise CannotTranslate(f"a cast from string to {to} in a view of Spark")
        if to.is_integer and value.type.name == "decimal" and value.type.precision - value.type.scale >= to.precision:
            return _cut(value, to)
        return value


_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_MOST_CUT = 30  # digits before the point: sums with what is cut have no more than a decimal can have


def _cut(value: Typed, to: HiveType) -> Typed:
    """A decimal with the lowest bits of its whole part, which Spark takes where an integer does not hold it."""
    if value.type.precision - value.type.scale > _MOST_CUT:
        raise CannotTranslate(f"a cast from {value.type} to {to} in a view of Spark")
    all_, half = (f"decimal '{2**bits}'" for bits in (_BITS[to.name], _BITS[to.name] - 1))
    return Typed(f"(((truncate({value.sql}) + {half}) % {all_} + {all_}) % {all_} - {half})", value.type)


class AnsiRules(SparkRules):
    """A view of Spark in ANSI mode, the default of Spark 4: allowed is what never fails, or also fails in Trino.

    https://spark.apache.org/docs/latest/sql-ref-ansi-compliance.html
    """

    def compare(self, one: Typed, other: Typed) -> None:
        """A string beside a number is cast, which may fail; one beside a date is refused unless it is written well."""
        if (one.type.is_text and other.type.is_number) or (one.type.is_number and other.type.is_text):
            raise _fails("a comparison of a string with a number")

    def call(self, name: str, arguments: Sequence[Typed]) -> None:
        """Functions that take each value of their type, if no argument has to be cast."""
        SparkRules.call(self, name, arguments)
        if name in _NEVER_FAIL_ON_TEXT:
            is_safe = arguments[0].type.is_text and all(it.type.is_text or it.is_constant for it in arguments[1:])
        elif name in _NEVER_FAIL_ON_DAYS:
            is_safe = all(it.type.name in {"date", "timestamp"} for it in arguments)
        else:
            is_safe = name in _CHOOSE
        if not is_safe:
            raise _fails(f"the function {name}")
        if name in _CHOOSE:
            self.mix([it.type for it in (arguments[1:] if name == "if" else arguments)])

    def aggregate(self, name: str, arguments: Sequence[Typed], *, over: bool) -> None:  # noqa: ARG002 - of no other rules
        """An overflow of a sum is an error in Trino, too."""
        is_number = name in {"avg", "sum"} and all(it.type.is_number for it in arguments)
        if not (is_number or name in _NEVER_FAIL_OVER_ROWS):
            raise _fails(f"the function {name}")

    def cast(self, value: Typed, to: HiveType) -> Typed:
        """Integers fit, or fail in Trino, too; what is written is text for all."""
        SparkRules.cast(self, value, to)
        is_widened = value.type.is_integer and (to.is_integer or to.name == "double")
        is_date = to == DATE and isinstance(value.literal, str) and is_day(value.literal)
        is_same = value.type in {to, VOID} or to == STRING or (value.type, to) == (DATE, TIMESTAMP)
        if not (is_same or is_widened or is_date):
            raise _fails(f"a cast from {value.type} to {to}")
        return value

    def calculate(self, one: Typed, operator: str, other: Typed) -> None:
        """Sums and products overflow in Trino, too; what is divided by zero, and quotients of decimals, do not."""
        is_safe = one.type.is_number and other.type.is_number
        if operator not in {"+", "-", "*"}:
            is_divisor = isinstance(other.literal, int) and other.literal != 0
            is_safe = operator in {"/", "%", "div"} and one.type.is_integer and is_divisor
        if not is_safe:
            raise _fails(f"{one.type} {operator} {other.type}")

    def mix(self, types: Sequence[HiveType]) -> None:
        """A string beside something else is cast to that, which may fail."""
        known = [it for it in types if it != VOID]
        if any(it.is_text for it in known) and not all(it.is_text for it in known):
            raise _fails("strings and other values in one column")


def rules_of(view: Any) -> SparkRules | None:
    """The rules for a view of Spark; None for one of Hive. Raises CannotTranslate for one in a catalog of its own."""
    properties = view.parameters or {}
    if properties.get(_PARTS, "2") != "2":
        raise CannotTranslate("a view of Spark in another catalog")
    if not any(it in properties for it in (VIEW_DATABASE_KEY, _PARTS, _VERSION)):
        return None
    if properties.get(_ORDERS_BY_PLACE, "true").lower() == "false":
        raise CannotTranslate("a view of Spark with spark.sql.orderByOrdinal off")
    match = _MAJOR_AND_MINOR.match(properties.get(_VERSION, ""))
    version = (int(match[1]), int(match[2])) if match else (0, 0)
    has_icu = properties.get(_HAS_ICU, "true").lower() == "true"
    is_ansi = properties.get(_IS_ANSI, str(version >= _ANSI_BY_DEFAULT and _PARTS in properties)).lower() == "true"
    return AnsiRules(version, has_icu=has_icu) if is_ansi else SparkRules(version, has_icu=has_icu)


def _fails(what: str) -> CannotTranslate:
    return CannotTranslate(f"{what} in a view of Spark in ANSI mode, which may fail where Trino gives NULL")
